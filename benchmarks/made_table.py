"""Made tables of the shape of a medical cohort, of any number of rows: what the benchmarks of tables read.

The columns follow the survival study of free light chains (7,874 persons, ten columns): an age that drives the two
measured proteins, the creatinine and the death, a group that is cut from the sum of the proteins, and a diagnosis that
is rare. Five more columns make it fifteen. Some cells of `creatinine` are missing.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

TEN = ("age", "sex", "year", "kappa", "lambda", "group", "creatinine", "mgus", "futime", "death")
FIFTEEN = (*TEN, "height", "weight", "city", "visit", "score")
BLOCK = 50_000


def cohort(rows: int, rng: np.random.Generator) -> dict[str, list[object]]:
    """That many persons, in the fifteen columns."""
    age = np.clip(rng.normal(64, 10, rows), 50, 101).round().astype(int)
    sex = rng.integers(0, 2, rows)
    older = (age - 64) / 10
    kappa = np.exp(0.2 + 0.15 * older + rng.normal(0, 0.45, rows))
    lamda = kappa * np.exp(0.15 + rng.normal(0, 0.3, rows))
    group = np.clip((np.argsort(np.argsort(kappa + lamda)) * 10) // rows + 1, 1, 10)
    creatinine = np.round(np.exp(0.05 + 0.1 * sex + 0.06 * older + rng.normal(0, 0.2, rows)), 1)
    blank = rng.random(rows) < 0.17
    death = rng.random(rows) < 1 / (1 + np.exp(1.2 - older - 0.1 * group))
    futime = np.where(death, rng.integers(0, 5000, rows), rng.integers(3000, 5200, rows))
    height = np.round(rng.normal(162, 6, rows) + 13 * sex).astype(int)
    days = np.datetime64("1995-01-01") + rng.integers(0, 2500, rows)
    return {
        "age": age.tolist(),
        "sex": np.array(["F", "M"])[sex].tolist(),
        "year": rng.integers(1995, 2004, rows).tolist(),
        "kappa": np.round(kappa, 3).tolist(),
        "lambda": np.round(lamda, 3).tolist(),
        "group": group.tolist(),
        "creatinine": ["" if no else value for no, value in zip(blank.tolist(), creatinine.tolist(), strict=True)],
        "mgus": (rng.random(rows) < 0.015).astype(int).tolist(),
        "futime": futime.tolist(),
        "death": death.astype(int).tolist(),
        "height": height.tolist(),
        "weight": np.round(22 * (height / 100) ** 2 * np.exp(rng.normal(0.1, 0.15, rows)), 1).tolist(),
        "city": [f"city {k}" for k in (30 * rng.random(rows) ** 2).astype(int).tolist()],
        "visit": np.datetime_as_string(days, unit="D").tolist(),
        "score": rng.integers(0, 101, rows).tolist(),
    }


def write_cohort(path: Path, rows: int, names: tuple[str, ...] = TEN, seed: int = 0) -> None:
    """The persons as a CSV file, written in blocks."""
    rng = np.random.default_rng(seed)
    with path.open("w", encoding="utf-8", newline="") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(names)
        for start in range(0, rows, BLOCK):
            columns = cohort(min(BLOCK, rows - start), rng)
            out.writerows(zip(*(columns[name] for name in names), strict=True))
