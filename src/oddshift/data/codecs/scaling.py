"""Scaling of a numeric column: how many units apart two values are, and the inverse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats.cell_values import numbers


@dataclass(frozen=True, eq=False, repr=False)
class ColumnScale:
    """(value − centre)/spread for the values of one column."""

    values: FloatArray
    centre: float
    spread: float

    def apply(self, values: FloatArray) -> FloatArray:
        """Values in units of the spread."""
        return (values - self.centre) / self.spread


def _z_score(columns: Mapping[str, Sequence[Any]], name: str) -> ColumnScale:
    values = numbers(columns, name)
    return ColumnScale(values, float(values.mean()), _above_zero(float(values.std()), name))


def _robust(columns: Mapping[str, Sequence[Any]], name: str) -> ColumnScale:
    values = numbers(columns, name)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return ColumnScale(values, float(middle), _above_zero(float(high - low), name))


def _above_zero(spread: float, name: str) -> float:
    if not spread > 0:
        raise InvalidInput(f"column {name!r} has spread 0, expected values that differ")
    return spread


SCALINGS: dict[str, Callable[[Mapping[str, Sequence[Any]], str], ColumnScale]] = {
    "z-score": _z_score,
    "robust": _robust,
}
"""Mean and standard deviation, or median and interquartile range."""
