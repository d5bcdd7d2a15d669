"""What is found of dependence in threes, what is said of it, and how often the test of completeness raises an alarm.

Worlds with a known posterior in which a value is decided by two others, alone and next to an ordinary tie: audits and
adaptations as in the studies of worlds. Then the test of completeness by itself, against attackers that read pairs
alone: independent places and an ordinary tie, where an alarm is false, and a code that a share of all documents
follows, where it is right. Last real tables of statsmodels to which columns are added by arithmetic: totals of two
columns, a check digit, a year of birth from an age and a year that is drawn, the days between two dates.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.combination import Combination
from oddshift.attackers.completeness import LEVEL, Completeness, completeness
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.attackers.positional_pairs import PositionalPairs, fit_positional_pairs
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.storage import load, save
from oddshift.bounds import clopper_pearson_upper
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.mechanisms import Exponential, MechanismSettings, build_mechanism
from oddshift.model.records import Records
from oddshift.model.release import one_tier, perturb
from oddshift.model.space import Space
from studies import worlds, worlds_adapt
from studies.real_tables import Source, content
from studies.tables import table, write
from studies.three_laws import THREES
from studies.worlds import (
    EPSILON,
    HEADER,
    PARAMETERS,
    SELECT,
    Outcome,
    asked,
    file_of,
    finished,
    row,
    summary,
    work,
)
from studies.worlds_adapt import Choice

POINTS, LENGTH = 12, 6
ROWS = 5_000
"""Rows of a real table at most."""

SHARES = (0.05, 0.1, 0.2, 0.4, 1.0)
"""Shares of documents that follow the code."""

REPEATED, POWERED, LEARNED = 300, 20, 1_000
"""Tests of each kind without anything missing, and for each share of a code; fit documents of each."""


@dataclass(frozen=True)
class Alarms:
    """How often the test found something, of how many, and the mean CPU seconds of one."""

    found: int
    asked: int
    seconds: float


def independent(n: int, rng: np.random.Generator) -> IntArray:
    """Every value equally likely, whatever the others are."""
    return rng.integers(POINTS, size=(n, LENGTH))


def tied(n: int, rng: np.random.Generator) -> IntArray:
    """The last value repeats the one before it 9 times in 10."""
    values = independent(n, rng)
    values[:, -1] = np.where(rng.random(n) < 0.9, values[:, -2], values[:, -1])
    return values


def coded(share: float) -> Callable[[int, np.random.Generator], IntArray]:
    """The same tie; the third value is the sum of the first two in a share of the documents."""

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = tied(n, rng)
        follows = rng.random(n) < share
        values[follows, 2] = (values[follows, 0] + values[follows, 1]) % POINTS
        return values

    return draw


def tested(draw: Callable[[int, np.random.Generator], IntArray], size: int, seed: int, weight: float) -> Completeness:
    """The test on fresh documents, against ties between fixed places with this weight."""
    rng = np.random.default_rng([2031, size, seed])
    space = Space(4.0 * rng.random((POINTS, 2)))
    mechanism, tiers = Exponential(space, EPSILON), one_tier(space)
    fit, select = (Records.from_documents(space, list(draw(n, rng))) for n in (size, SELECT))
    known = knowledge(mechanism, tiers, fit)
    found = completeness([_pairs(known, weight)], known, perturb(select, mechanism, tiers, rng), select)
    assert found is not None
    return found


def _pairs(known: Knowledge, weight: float) -> Combination:
    law = fit_positional_pairs(known) if weight else PositionalPairs({})
    return Combination(known, (LawAttacker(known, law, "ties"),), (((weight, weight),),))


def alarms(draw: Callable[[int, np.random.Generator], IntArray], size: int, times: int, weight: float) -> Alarms:
    """The test again and again."""
    start = time.process_time()
    found = sum(bool(tested(draw, size, seed, weight).missing) for seed in range(times))
    return Alarms(found, times, (time.process_time() - start) / times)


def kinds() -> dict[str, tuple[Callable[[int, np.random.Generator], IntArray], int]]:
    """What the test is tried on, and how often."""
    codes = {f"a tie, and a code in {share:.0%} of documents": (coded(share), POWERED) for share in SHARES}
    return {"independent places": (independent, REPEATED), "a tie": (tied, REPEATED), **codes}


def gate_rows(minutes: float) -> Iterator[list[object]]:
    """Every kind of the test by itself, those that were computed or that there is time for."""
    end = time.monotonic() + 60 * minutes
    for name, (draw, times) in kinds().items():
        file = file_of("gate", name, LEARNED)
        if not file.is_file() and time.monotonic() < end:
            save(file, alarms(draw, LEARNED, times, float(draw is not independent)))
        if file.is_file():
            made: Alarms = load(file, Alarms)
            most = f"{clopper_pearson_upper(made.found, made.asked, 0.05):.1%}" if times == REPEATED else ""
            yield [name, f"{made.found} of {made.asked}", most, f"{made.seconds:.2f}"]


Columns = dict[str, list[str]]


def made_tables(rng: np.random.Generator) -> Iterator[tuple[str, Columns]]:
    """Columns of surveys in statsmodels next to some made by arithmetic; none where it is not installed."""
    for name, (separator, made) in MADE.items():
        text = content(Source(name, "statsmodels", f"datasets/{name}/{name}.csv"))
        if text is not None:
            some = list(csv.DictReader(io.StringIO(text.replace("'", "")), delimiter=separator))
            some = [some[k] for k in rng.permutation(len(some))[:ROWS]]
            given = {key: np.array([float(row[key]) for row in some]) for key in some[0]}
            columns = made(given, rng)
            yield name, {key: [f"{float(x):g}" for x in column] for key, column in columns.items()}


def fair(given: dict[str, FloatArray], rng: np.random.Generator) -> dict[str, FloatArray]:
    """A total of two columns, and a year of birth from an age and a year that is drawn."""
    age, children, pious = given["age"], np.ceil(given["children"]), given["religious"]
    year = rng.integers(1970, 1978, size=len(age))
    numbers = {"age": age, "children": children, "religious": pious, "year": year, "educ": given["educ"]}
    return numbers | {"total": children + pious, "born": year - np.floor(age)}


def randhie(given: dict[str, FloatArray], rng: np.random.Generator) -> dict[str, FloatArray]:
    """A total of visits and ten diseases, and a check digit of both."""
    visits, diseases = np.minimum(given["mdvis"], 12), np.floor(given["disea"] / 5)
    numbers = {"visits": visits, "diseases": diseases, "idp": given["idp"], "limits": given["physlm"]}
    return numbers | {"total": visits + diseases, "check": (3 * visits + 7 * diseases) % 10}


def anes96(given: dict[str, FloatArray], rng: np.random.Generator) -> dict[str, FloatArray]:
    """The days since a call on a day that is drawn, from two dates, and a total of two columns."""
    called, asked_on = rng.integers(0, 15, size=len(given["age"])), rng.integers(15, 30, size=len(given["age"]))
    numbers = {key: given[key] for key in ("TVnews", "PID", "educ", "vote")}
    return numbers | {"total": given["TVnews"] + given["educ"], "called": called, "asked": asked_on,
                      "days": asked_on - called}  # fmt: skip


MADE: dict[str, tuple[str, Callable[[dict[str, FloatArray], np.random.Generator], dict[str, FloatArray]]]] = {
    "fair": (",", fair),
    "randhie": (",", randhie),
    "anes96": ("\t", anes96),
}
"""What separates the cells of each table, and the columns that are made of it."""


def real_rows() -> Iterator[list[object]]:
    """Which threes the default attackers read in each table, and what the test says with and without them."""
    rng = np.random.default_rng(2032)
    for name, columns in made_tables(rng):
        codec = TableCodec.fit(columns, TableSettings(categorical=tuple(columns)))
        records = codec.encode(columns).records
        mechanism = build_mechanism(MechanismSettings(), codec.space, codec.tiers, 3.0)
        order, most = rng.permutation(len(records)), int(0.7 * len(records))
        fit, select = (records.take(np.sort(part)) for part in (order[:most], order[most:]))
        known = knowledge(mechanism, codec.tiers, fit)
        reader, release = fit_portfolio(known, rng), perturb(select, mechanism, codec.tiers, rng)
        for without in ("threes", ""):
            weights = tuple(
                tuple((0.0, 0.0) if part.name == without else w for w, part in zip(row, reader.parts, strict=True))
                for row in reader.weights
            )
            found = completeness([replace(reader, weights=weights)], known, release, select)
            assert found is not None
            missing = "; ".join(" with ".join(names) for names in found.missing) or "nothing"
            read = "without the part of threes" if without else "as they are"
            yield [name, f"{len(fit):,}", read, found.tested, missing]


def main() -> None:
    """Work for some minutes, most of them on audits, then write the page from everything that is finished."""
    minutes, repetitions = asked(20, 4)
    names, (audits, adaptations) = tuple(THREES), (0.5 * minutes, 0.3 * minutes)
    work("audit", worlds.once, audits, repetitions, names=names)
    work("adapt", worlds_adapt.once, adaptations, repetitions, names=names)
    gates = list(gate_rows(0.2 * minutes))
    lines = finished("audit", Outcome, repetitions, names)
    chosen = finished("adapt", Choice, repetitions, names)
    shares = [choice.share for _, _, done in chosen for choice in done if choice.share is not None]
    adapted = sum(len(done) for _, _, done in chosen)
    beyond = f"{len(shares)} of {adapted} adaptations certified scales, {sum(s > 1 for s in shares)} truly above delta"
    parts = [
        " ".join((__doc__ or "").split()),
        table(HEADER, [row(*line) for line in lines]),
        summary(lines).replace(f"{PARAMETERS} sets of parameters", f"{PARAMETERS} sets of parameters, drawn by seed"),
        f"{beyond} (by {max(shares, default=0.0):.2f} times delta at most); delta is half of the true rate at scale 1.",
        f"## The test by itself, at level {LEVEL:g}",
        table(["documents", "alarms", "share at most (level 0.05)", "CPU s with the fit"], gates),
        f"{LEARNED:,} fit and {SELECT} select documents of {LENGTH} places over {POINTS} values. Attackers read ties "
        "between fixed places.",
        "## Real tables with columns added by arithmetic",
        table(["table", "fit rows", "default attackers", "relations", "found missing"], list(real_rows())),
    ]
    write("threes", "Dependence that no pair shows", "\n\n".join(parts))


if __name__ == "__main__":
    main()
