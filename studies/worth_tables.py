"""What a released table serves for: a task on original rows, correlations, means, and risks next to their baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from oddshift.audit.released_table import reference_qualities, table_quality
from oddshift.audit.table_risks import MixedTable, table_risks
from oddshift.base.arrays import FloatArray
from oddshift.data.dataset import Dataset
from oddshift.model.records import Records
from oddshift.protect.release import ReleasePolicy

TABLE_HEADER = [
    "data", "AUC, original", "copula", "shuffled", "released", "typical", "slope, copula", "released", "typical",
    "mean moves, copula", "released", "typical", "risk, original", "typical", "quality, typical", "shuffled",
    "constants",
]  # fmt: skip


@dataclass(frozen=True)
class TableUse:
    """Areas under the curve, slopes of correlations and largest moves of a mean by release, risks and qualities."""

    auc: dict[str, float]
    slopes: dict[str, float]
    moved: dict[str, float]
    risks: tuple[float, float]
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
    risks = [max(risk.excess for risk in table_risks(both[0], each, rng)) for each in both]
    return TableUse(
        {name: auc(rows, test, number) for name, rows in made.items()},
        {name: slope(old, rows) for name, rows in made.items()},
        {
            name: float((np.abs(rows.mean(axis=0) - old.mean(axis=0)) / old.std(axis=0)).max())
            for name, rows in made.items()
        },
        (risks[0], risks[1]),
        (table_quality(*both), *reference_qualities(both[0], rng)),
    )


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
    return [name, *areas, *rest, *(f"{value:.2f}" for value in (*use.risks, *use.quality))]
