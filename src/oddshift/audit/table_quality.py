"""How much a released table still looks like the original: shapes of its columns, and how pairs of columns move.

One number between 0 and 1, after the quality report of SDMetrics: the mean of the column shapes (1 − the
Kolmogorov-Smirnov distance of numbers, 1 − the total variation of categories) and of the pair trends (1 − half the
difference of the correlations of two numbers, 1 − the total variation of other pairs, numbers cut into ten shares).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from oddshift.audit.table_risks import MixedTable
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput

SHARES = 10
"""Number of shares into which a column of numbers is cut when it is compared with categories."""


def table_quality(original: MixedTable, released: MixedTable) -> float:
    """The mean of column shapes and pair trends; 1 for a table of the same law.

    >>> cells = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    >>> table = MixedTable(cells, np.array([True, False]))
    >>> table_quality(table, table)
    1.0
    """
    if original.cells.shape[1] != released.cells.shape[1]:
        raise InvalidInput(
            f"the tables have {original.cells.shape[1]} and {released.cells.shape[1]} columns, expected the same"
        )
    width = original.cells.shape[1]
    shapes = [_shape(original, released, column) for column in range(width)]
    if width == 1:
        return float(np.mean(shapes))
    codes = [_codes(original, released, column) for column in range(width)]
    trends = [_trend(original, released, pair, codes) for pair in combinations(range(width), 2)]
    return float((np.mean(shapes) + np.mean(trends)) / 2.0)


def _shape(original: MixedTable, released: MixedTable, column: int) -> float:
    one, two = (_known(table.cells[:, column]) for table in (original, released))
    if not len(one) or not len(two):
        return float(len(one) == len(two))
    if original.is_number[column]:
        both = np.sort(np.concatenate([one, two]))
        below = [np.searchsorted(np.sort(side), both, side="right") / len(side) for side in (one, two)]
        return 1.0 - float(np.abs(below[0] - below[1]).max())
    return _overlap(*_same_codes(one, two))


def _trend(original: MixedTable, released: MixedTable, pair: tuple[int, int], codes: list[_Codes]) -> float:
    if original.is_number[list(pair)].all():
        one, two = (_correlation(table.cells[:, pair]) for table in (original, released))
        if one is not None and two is not None:
            return 1.0 - abs(one - two) / 2.0
    (first, first_size), (second, second_size) = codes[pair[0]], codes[pair[1]]
    both = first * second_size + second
    rows = len(original.cells)
    return _overlap(both[:rows], both[rows:], first_size * second_size)


_Codes = tuple[IntArray, int]


def _codes(original: MixedTable, released: MixedTable, column: int) -> _Codes:
    """Both columns below each other as numbers of categories or of shares of the original; missing cells are one."""
    one, both = original.cells[:, column], np.concatenate([original.cells[:, column], released.cells[:, column]])
    if original.is_number[column] and len(_known(one)):
        edges = np.unique(np.quantile(_known(one), np.arange(1, SHARES) / SHARES))
        values = np.where(np.isnan(both), -1, np.searchsorted(edges, both, side="right"))
    else:
        values = np.nan_to_num(both, nan=-1e300)
    _, code = np.unique(values, return_inverse=True)
    return code.astype(np.int64), int(code.max()) + 1


def _correlation(cells: FloatArray) -> float | None:
    known = cells[~np.isnan(cells).any(axis=1)]
    if len(known) < 2 or (known.std(axis=0) == 0).any():
        return None
    scaled = (known - known.mean(axis=0)) / known.std(axis=0)
    return float((scaled[:, 0] * scaled[:, 1]).mean())


def _same_codes(one: FloatArray, two: FloatArray) -> tuple[IntArray, IntArray]:
    _, code = np.unique(np.concatenate([one, two]), return_inverse=True)
    return code[: len(one)].astype(np.int64), code[len(one) :].astype(np.int64)


def _overlap(one: IntArray, two: IntArray, size: int = 0) -> float:
    """1 − the total variation between the frequencies of two lists of numbers."""
    count = max(size, int(one.max()) + 1, int(two.max()) + 1)
    shares = [np.bincount(side, minlength=count) / len(side) for side in (one, two)]
    return 1.0 - float(np.abs(shares[0] - shares[1]).sum()) / 2.0


def _known(column: FloatArray) -> FloatArray:
    found: FloatArray = column[~np.isnan(column)]
    return found
