"""Scaling of a numeric column: how many units apart two values are, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
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

    def binned(self, bins: int) -> tuple[FloatArray, IntArray]:
        """The middles of equal steps between the smallest and the largest value that hold some value, and each
        value's step; a column of at most `bins` distinct values keeps them.
        """
        distinct, number = np.unique(self.values, return_inverse=True)
        if len(distinct) <= bins:
            return distinct, number.ravel().astype(np.int64)
        low, high = distinct[0], distinct[-1]
        step = np.minimum(((self.values - low) / (high - low) * bins).astype(np.int64), bins - 1)
        used, number = np.unique(step, return_inverse=True)
        return low + (used + 0.5) * (high - low) / bins, number.ravel().astype(np.int64)


def _z_score(columns: Mapping[str, Sequence[Any]], name: str, source: str) -> ColumnScale:
    values = numbers(columns, name, source)
    return ColumnScale(values, float(values.mean()), _above_zero(float(values.std()), name, source))


def _robust(columns: Mapping[str, Sequence[Any]], name: str, source: str) -> ColumnScale:
    values = numbers(columns, name, source)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return ColumnScale(values, float(middle), _above_zero(float(high - low), name, source))


def _above_zero(spread: float, name: str, source: str) -> float:
    if not spread > 0:
        raise InvalidInput(f"{source}: column {name!r} has spread 0, expected values that differ")
    return spread


SCALINGS: dict[str, Callable[[Mapping[str, Sequence[Any]], str, str], ColumnScale]] = {
    "z-score": _z_score,
    "robust": _robust,
}
"""Mean and standard deviation, or median and interquartile range."""
