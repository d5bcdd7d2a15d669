"""Boosting: how much better gradient boosting on the clear values of all other columns predicts a column of select rows
than the default attackers do from the same, in nats for each row, with two standard errors; the best of all columns.

Both are fitted on the fit rows, and how much they are trusted on the other half of the select rows.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.combination import Combination
from oddshift.attackers.completeness import completeness, foretold
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.data.codecs import TableCodec, TableSettings
from oddshift.mechanisms import MechanismSettings, build_mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release, perturb
from studies.real_tables import Source, content

ROWS = 5_000
"""Rows of a real table at most."""

TABLES_HEADER = ["table", "fit rows", "default attackers", "relations", "found missing", "boosting predicts better"]

TRUSTED = (0.25, 0.5, 0.7, 0.85, 0.95, 0.99)
"""Shares that the law of boosting may have next to that of the column."""

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
    """Which threes the default attackers read in each table, what the test says with and without them, and boosting."""
    rng = np.random.default_rng(2032)
    for name, columns in made_tables(rng):
        codec = TableCodec.fit(columns, TableSettings(categorical=tuple(columns)))
        records = codec.encode(columns).records
        mechanism = build_mechanism(MechanismSettings(), codec.space, codec.tiers, 3.0)
        order, most = rng.permutation(len(records)), int(0.7 * len(records))
        fit, select = (np.sort(part) for part in (order[:most], order[most:]))
        known, truth = knowledge(mechanism, codec.tiers, records.take(fit)), records.take(select)
        reader, release = fit_portfolio(known, rng), perturb(truth, mechanism, codec.tiers, rng)
        numbers = {key: np.array([float(x) for x in column]) for key, column in columns.items()}
        for without in ("threes", ""):
            weights = tuple(
                tuple((0.0, 0.0) if part.name == without else w for w, part in zip(row, reader.parts, strict=True))
                for row in reader.weights
            )
            some = replace(reader, weights=weights)
            found = completeness([some], known, release, truth)
            assert found is not None
            missing = "; ".join(" with ".join(names) for names in found.missing) or "nothing"
            read = "without the part of threes" if without else "as they are"
            better = boosted((some, known, release, truth), numbers, (fit, select))
            yield [name, f"{most:,}", read, found.tested, missing, better]


def boosted(
    read: tuple[Combination, Knowledge, Release, Records],
    numbers: dict[str, FloatArray],
    rows: tuple[IntArray, IntArray],
) -> str:
    """By how much boosting predicts the column better in which it gains most, with two standard errors."""
    gains = []
    for each in foretold(*read):
        name = read[1].tiers.names[int(read[1].tiers.labels[each.points[0]])]
        gain = each.scores - boosting_scores(numbers, name, rows)
        gains.append((float(gain.mean()), 2.0 * float(gain.std()) / np.sqrt(len(gain)), name))
    best = max(gains)
    return f"{best[2]}: {best[0]:+.3f} ± {best[1]:.3f}"


def boosting_scores(numbers: dict[str, FloatArray], name: str, rows: tuple[IntArray, IntArray]) -> FloatArray:
    """−log Pr[value | all others] of select rows, mixed with the law of the column by half of them for the other."""
    (fit, select), own = rows, numbers[name]
    others = np.column_stack([values for key, values in numbers.items() if key != name])
    learner = HistGradientBoostingClassifier(max_iter=60, learning_rate=0.1, random_state=0)
    values, number, counts = np.unique(own[fit], return_inverse=True, return_counts=True)
    learner.fit(others[fit], number)
    at = np.searchsorted(values, own[select]).clip(max=len(values) - 1)
    seen = values[at] == own[select]
    said = np.where(seen, learner.predict_proba(others[select])[np.arange(len(select)), at], 0.0)
    plain = np.where(seen, counts[at], 0.5) / len(fit)
    losses = np.stack([-np.log(share * said + (1.0 - share) * plain) for share in TRUSTED])
    half = np.arange(len(select)) % 2
    best = [int(losses[:, half != side].mean(axis=1).argmin()) for side in (0, 1)]
    return np.asarray(losses[np.array(best)[half], np.arange(len(select))])
