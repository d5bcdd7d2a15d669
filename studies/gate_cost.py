"""What the test and the reading of threes add to the CPU seconds of an audit, and what the test says of two corpora.

A table of 10,000 rows and 10 columns of a survey is audited with both and with neither, twice each and the faster one
counts: once as it is, and once with two columns made by arithmetic. Texts have no fixed places, so that only the test
is added: the default attackers are fitted to the fit documents of a corpus as an audit does, and its select documents
are tested; the audit of it is that of its own page.
"""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from unittest import mock

import numpy as np

import oddshift as od
from oddshift.app.attacker_choice import fit_attackers
from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.attackers import FitOptions, portfolio
from oddshift.attackers.attacker import knowledge
from oddshift.attackers.completeness import IMPOSSIBLE, completeness
from oddshift.audit import trials
from oddshift.audit.settings import DEFAULT_ATTACKERS
from oddshift.base.storage import load, save
from oddshift.mechanisms import build_mechanism
from oddshift.model.release import perturb
from studies.ag_news_attackers import CORPORA, NAMES
from studies.made_tables import randhie
from studies.real_tables import Source, content
from studies.worlds import file_of

ROWS = 10_000
ASKED = f'[audit]\ndelta = 0.05\nattackers = ["{DEFAULT_ATTACKERS[0]}", "{DEFAULT_ATTACKERS[1]}"]\n'

HEADER = ["data", "CPU s without", "with", "ratio", "the test"]


@dataclass(frozen=True)
class Cost:
    """CPU seconds without the test and threes, and with them; what the test said."""

    without: float
    both: float
    said: str


def survey(*, is_made: bool) -> dict[str, list[str]]:
    """Ten columns of randhie, of which two are the total and the check digit of two others where they are made."""
    text = content(Source("randhie", "statsmodels", "datasets/randhie/randhie.csv")) or ""
    rows = list(csv.DictReader(io.StringIO(text)))[:ROWS]
    given = {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}
    columns = randhie(given, np.random.default_rng(0))
    columns |= {key: np.floor(given[key]) for key in ("lncoins", "hlthg", "hlthf", "hlthp", "lpi", "fmde")}
    for key in ("lpi", "fmde") if is_made else ("total", "check"):
        del columns[key]
    return {key: [f"{float(x):g}" for x in column] for key, column in columns.items()}


def table_cost(*, is_made: bool) -> Cost:
    """Two audits each way."""
    columns = survey(is_made=is_made)
    data = od.table(columns, settings={"categorical": tuple(columns)})
    used: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(4):
        start, is_with = time.process_time(), turn % 2 == 0
        if is_with:
            found = od.audit(data, epsilon=2.0, delta=0.05)
        else:
            with (
                mock.patch.object(portfolio, "three_parts", return_value=[]),
                mock.patch.object(trials, "completeness", return_value=None),
            ):
                od.audit(data, epsilon=2.0, delta=0.05)
        used[is_with].append(time.process_time() - start)
    said = next((each for each in found.result.assumptions if "relations" in each), "")
    return Cost(min(used[False]), min(used[True]), said)


def corpus_cost(name: str) -> Cost:
    """The test of the default attackers of a corpus; without it, the seconds until it begins."""
    start = time.process_time()
    config = parse_config(CORPORA[name](ASKED), "this study")
    loaded = prepare_configured(config)
    mechanism = build_mechanism(config.mechanism, loaded.split.fit.space, loaded.tiers, config.audit.epsilon)
    known = knowledge(mechanism, loaded.tiers, loaded.split.fit)
    attackers = fit_attackers(DEFAULT_ATTACKERS, known, loaded, config.audit, FitOptions())
    release = perturb(loaded.split.select, mechanism, loaded.tiers, np.random.default_rng(1))
    before = time.process_time()
    found = completeness(attackers, known, release, loaded.split.select)
    spent = time.process_time() - before
    return Cost(before - start, spent, IMPOSSIBLE if found is None else found.sentence)


KINDS = {
    "table": lambda: table_cost(is_made=False),
    "table with made columns": lambda: table_cost(is_made=True),
    **{name: (lambda name=name: corpus_cost(name)) for name in CORPORA},
}
"""What is measured, each by its name."""


def cost_rows() -> Iterator[list[object]]:
    """What was measured so far."""
    for name in KINDS:
        file = file_of("cost", name)
        if not file.is_file():
            yield [NAMES.get(name, name), "", "", "", "not measured yet"]
        else:
            cost: Cost = load(file, Cost)
            if name in CORPORA:
                yield [NAMES[name], "see its page", f"{cost.both:.0f} more", "", cost.said]
            else:
                yield [name, f"{cost.without:.1f}", f"{cost.both:.1f}", f"{cost.both / cost.without:.2f}", cost.said]


def main() -> None:
    """Measure what was asked for; `studies.threes` shows it."""
    for name in sys.argv[1:] or KINDS:
        file = file_of("cost", name)
        file.parent.mkdir(parents=True, exist_ok=True)
        save(file, KINDS[name]())
    for row in cost_rows():
        print(row)


if __name__ == "__main__":
    main()
