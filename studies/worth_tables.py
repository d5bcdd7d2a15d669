"""What a released table serves for: a task on original rows, correlations, means, and risks next to their baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from oddshift.audit.released_table import reference_qualities, table_quality
from oddshift.audit.table_risks import INFERRING, MixedTable, table_risks
from oddshift.base.arrays import FloatArray
from oddshift.data.dataset import Dataset
from oddshift.model.records import Records
from oddshift.protect.release import ReleasePolicy

TABLE_HEADER = [
    "data", "AUC, original", "copula", "shuffled", "released", "typical", "slope, copula", "released", "typical",
    "mean moves, copula", "released", "typical", "quality, typical", "shuffled", "constants",
]  # fmt: skip

RISK_HEADER = ["data", "risk", "original", "released", "typical", "copula", "shuffled"]

RISKS_SAID = """\
Three attacks in the manner of Anonymeter, by how much more often they succeed against rows that were released than
against as many rows that were not (its control split): singling out (by one or by several columns, whichever says
more), linking two halves of the columns, inferring the column of largest excess. 500 attacks of each kind, so
differences of .06 are chance; 0 where fewer than 100 predicates are true of a single released row. Anonymeter itself
needs an older NumPy than ours and runs in an environment of its own: [table_risks](table_risks.md) has both side by
side."""

FEWEST = 100
"""Predicates that are true of one released row, without which nobody is singled out."""

RISK_NAMES = ("singling out", "linking", "inferring")


@dataclass(frozen=True)
class TableUse:
    """Areas under the curve, slopes of correlations, largest moves of a mean and excess risks by release, qualities."""

    auc: dict[str, float]
    slopes: dict[str, float]
    moved: dict[str, float]
    risks: dict[str, tuple[float, ...]]
    quality: tuple[float, float, float]


def table_use(release: ReleasePolicy, fit: Records, data: Dataset, held: Dataset, target: str) -> TableUse:
    """Release all rows that were adapted on, in the certified form and as `typical`, and use them."""
    rng, names = np.random.default_rng(3), list(data.columns)
    typical = release.repairing("typical", fit)
    old, test = (cells(each.columns, names) for each in (data, held))
    made = {
        "original": old,
        "copula": copula(old, rng),
        "shuffled": rng.permuted(old, axis=0),
        "released": cells(release.apply(dict(data.columns)), names),
        "typical": cells(typical.apply(dict(data.columns)), names),
    }
    number = names.index(target)
    both = [MixedTable(rows, np.ones(len(names), dtype=bool)) for rows in (old, made["typical"])]
    return TableUse(
        {name: auc(rows, test, number) for name, rows in made.items()},
        {name: slope(old, rows) for name, rows in made.items()},
        {
            name: float((np.abs(rows.mean(axis=0) - old.mean(axis=0)) / old.std(axis=0)).max())
            for name, rows in made.items()
        },
        {name: excess_risks(old, test, rows, rng) for name, rows in made.items()},
        (table_quality(*both), *reference_qualities(both[0], rng)),
    )


def excess_risks(
    old: FloatArray, test: FloatArray, released: FloatArray, rng: np.random.Generator
) -> tuple[float, ...]:
    """How much more often each kind of attack succeeds against released rows than against as many others."""
    size, numbers = min(len(test), 1_000), np.ones(old.shape[1], dtype=bool)
    rows, others = (MixedTable(part[rng.permutation(len(part))[:size]], numbers) for part in (old, test))
    shown = MixedTable(released, numbers)
    mine = table_risks(rows, shown, rng)
    control = table_risks(others, shown, rng, inferred=[int(mine[-1].name.removeprefix(INFERRING))])
    alone, several, linking, inferring = (
        a.rate - b.rate if min(a.attacks, b.attacks) >= FEWEST else 0.0 for a, b in zip(mine, control, strict=True)
    )
    return max(alone, several), linking, inferring


def cells(columns: Mapping[str, Any], names: list[str]) -> FloatArray:
    """The columns as numbers, empty cells as the mean of their column."""
    rows = np.column_stack(
        [np.array([np.nan if cell in (None, "") else float(cell) for cell in columns[n]]) for n in names]
    )
    return np.where(np.isnan(rows), np.nan_to_num(np.nanmean(rows, axis=0)), rows)


def auc(train: FloatArray, test: FloatArray, target: int) -> float:
    """Logistic regression for one column above its mean, from the other columns."""
    middle = test[:, target].mean()
    old, new = ((rows[:, target] > middle).astype(int) for rows in (train, test))
    if old.min() == old.max():
        return 0.5
    scale = StandardScaler().fit(np.delete(train, target, 1))
    model = LogisticRegression(max_iter=1_000).fit(scale.transform(np.delete(train, target, 1)), old)
    return float(roc_auc_score(new, model.predict_proba(scale.transform(np.delete(test, target, 1)))[:, 1]))


def slope(old: FloatArray, new: FloatArray) -> float:
    """Least squares of the correlations of a release on the true ones."""
    upper = np.triu_indices(old.shape[1], 1)
    with np.errstate(invalid="ignore"):
        before, after = (np.nan_to_num(np.corrcoef(rows.T))[upper] for rows in (old, new))
    return float(before @ after / (before @ before))


def copula(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A Gaussian copula of the rows: normal scores, their correlations, and the quantiles of every column."""
    scores = norm.ppf((rankdata(rows + 1e-9 * rng.random(rows.shape), axis=0) - 0.5) / len(rows))
    drawn = norm.cdf(rng.multivariate_normal(np.zeros(rows.shape[1]), np.corrcoef(scores.T), size=len(rows)))
    return np.column_stack([np.sort(rows[:, c])[(drawn[:, c] * len(rows)).astype(int)] for c in range(rows.shape[1])])


def table_line(name: str, use: TableUse) -> list[str]:
    """One line of the table."""
    areas = [f"{use.auc[each]:.3f}" for each in ("original", "copula", "shuffled", "released", "typical")]
    rest = [f"{found[each]:.2f}" for found in (use.slopes, use.moved) for each in ("copula", "released", "typical")]
    return [name, *areas, *rest, *(f"{value:.2f}" for value in use.quality)]


def risk_line(name: str, use: TableUse) -> list[str]:
    """The excess risks of one table, a line in the cell for each kind."""
    shown = ("original", "released", "typical", "copula", "shuffled")
    return [name, ", ".join(RISK_NAMES), *(", ".join(f"{value:.2f}" for value in use.risks[each]) for each in shown)]


def tables_said(uses: Sequence[TableUse]) -> str:
    """On how many tables the typical release serves."""
    held = {
        "has at least the area of a Gaussian copula": [use.auc["typical"] >= use.auc["copula"] for use in uses],
        "is within .05 of the original": [use.auc["typical"] >= use.auc["original"] - 0.05 for use in uses],
        "keeps correlations with a slope of at least .8": [use.slopes["typical"] >= 0.8 for use in uses],
        "moves no mean by more than .1": [use.moved["typical"] <= 0.1 for use in uses],
        "has no risk more than .05 above its control": [max(use.risks["typical"]) <= 0.05 for use in uses],
    }
    said = "; it ".join(f"{what} on {sum(holds)}" for what, holds in held.items())
    return f"Of {len(uses)} tables, the typical release {said}."
