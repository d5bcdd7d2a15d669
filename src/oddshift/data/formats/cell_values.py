"""Cells as numbers, texts or categories, with refusals that name column and row.

Messages never quote a cell. Rows are counted from 1, without the header.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput


def numbers(columns: Mapping[str, Sequence[Any]], name: str, *, first: int = 1) -> FloatArray:
    """A column as finite numbers; the first row without one is named. `first` is the number of the first row."""
    try:
        values = np.array(columns[name], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        values = np.zeros((0, 0))
    if values.ndim != 1:
        row = next(i for i, value in enumerate(columns[name], start=first) if not _is_number(value))
        raise InvalidInput(f"column {name!r} at row {row} is not a number")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        kind = "NaN" if np.isnan(values[bad[0]]) else "infinite"
        raise InvalidInput(f"column {name!r} at row {first + int(bad[0])} is {kind}, expected a finite number")
    return values


def strings(columns: Mapping[str, Sequence[Any]], name: str, *, first: int = 1) -> list[str]:
    """A column as text; a missing value is refused, an empty string is data."""
    values = columns[name]
    for row, value in enumerate(values, start=first):
        if value is None:
            raise InvalidInput(f"column {name!r} at row {row} is missing, expected text")
    return [value if isinstance(value, str) else str(value) for value in values]


def categories(columns: Mapping[str, Sequence[Any]], name: str, *, first: int = 1) -> list[Any]:
    """A column of plain values; a list, a table or NaN is not a category."""
    try:
        if not any(isinstance(value, float) and isnan(value) for value in set(columns[name])):
            return list(columns[name])
    except TypeError:  # some cell is not a plain value, and is named below
        pass
    for row, value in enumerate(columns[name], start=first):
        if not isinstance(value, Hashable) or (isinstance(value, float) and isnan(value)):
            raise InvalidInput(f"column {name!r} at row {row} is not a category, expected a plain value")
    return list(columns[name])


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
