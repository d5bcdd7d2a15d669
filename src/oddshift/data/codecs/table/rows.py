"""Rows of a table as secrets: the points are the distinct rows of the fit part, and where new rows belong.

A released row is then a row of the fit part. This is used for the paper's table, and on request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.table.domains import ColumnDomain, Value, centre_and_spread
from oddshift.data.codecs.table.settings import TableSettings
from oddshift.data.formats.cells import categories, numbers
from oddshift.model.metric import Metric, metric_of, scaled, summed
from oddshift.model.records import numbered
from oddshift.model.space import Space


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableVocabulary:
    """How the points of a table are written, and how new values become points.

    With unit "cell", `domains` has the values of every secret column. With unit "row", `values` has the cells of every
    point, and a new row is (value − centre)/spread and categories. `steps` cuts public numbers.
    """

    domains: tuple[ColumnDomain, ...] = ()
    values: tuple[tuple[Value, ...], ...] = ()
    centres: FloatArray = field(default_factory=lambda: np.empty(0))
    spreads: FloatArray = field(default_factory=lambda: np.empty(0))
    categories: tuple[tuple[Value, ...], ...] = ()
    steps: Mapping[str, FloatArray] = field(default_factory=dict)

    def coordinates(self, settings: TableSettings, columns: Columns, first: int) -> list[FloatArray]:
        """Each secret column in units of distance, or as the numbers of its categories; −1 for one never seen."""
        values = [numbers(columns, name, first=first) for name in settings.numeric]
        scaled_values = [(v - c) / s for v, c, s in zip(values, self.centres, self.spreads, strict=True)]
        codes = [self._codes(settings, columns, k, first) for k in range(len(settings.categorical))]
        return [*scaled_values, *codes]

    def _codes(self, settings: TableSettings, columns: Columns, k: int, first: int) -> FloatArray:
        name, known = settings.categorical[k], {v: i for i, v in enumerate(self.categories[k])}
        codes = [known.get(value, -1) for value in categories(columns, name, first=first)]
        if settings.unknown == "refuse" and -1 in codes:
            row = first + codes.index(-1)
            raise InvalidInput(f"column {name!r} at row {row} holds a category that the policy does not know")
        return np.array(codes, dtype=np.float64)


_Coded = tuple[IntArray, tuple[Any, ...]]


def learn_rows(columns: Columns, settings: TableSettings) -> tuple[Space, TableVocabulary]:
    """The distinct rows under the mixed metric, and how they are written; whole numbers stay whole."""
    values = [numbers(columns, name) for name in settings.numeric]
    scales = [_scale(column, name, settings) for column, name in zip(values, settings.numeric, strict=True)]
    codes: list[_Coded] = [numbered(categories(columns, name)) for name in settings.categorical]
    numeric = [(column - centre) / spread for column, (centre, spread) in zip(values, scales, strict=True)]
    table = np.stack([*numeric, *(code.astype(np.float64) for code, _ in codes)], axis=1)
    space, point = Space.merged(table, _mixed(len(scales), len(codes), settings.weight))
    first = np.unique(point, return_index=True)[1]
    raw = [_as_they_came(column) for column in values] + [[names[c] for c in code] for code, names in codes]
    vocabulary = TableVocabulary(
        values=tuple(tuple(column[row] for column in raw) for row in first),
        centres=np.array([centre for centre, _ in scales], dtype=np.float64),
        spreads=np.array([spread for _, spread in scales], dtype=np.float64),
        categories=tuple(names for _, names in codes),
    )
    return space, vocabulary


def _scale(values: FloatArray, name: str, settings: TableSettings) -> tuple[float, float]:
    centre, spread = centre_and_spread(values, settings.scaling)
    if not spread > 0:
        raise InvalidInput(f"column {name!r} has spread 0, expected values that differ")
    return centre, spread


def _as_they_came(values: FloatArray) -> list[Any]:
    return (values.astype(np.int64) if (values == np.round(values)).all() else values).tolist()


def _mixed(numeric: int, categorical: int, weight: float) -> Metric:
    """Euclidean over the numeric columns plus `weight` for every category that differs."""
    if not categorical:
        return metric_of("euclidean")
    different: tuple[Metric, Sequence[int]] = (
        scaled("hamming", weight),
        list(range(numeric, numeric + categorical)),
    )
    return summed([("euclidean", list(range(numeric))), different] if numeric else [different])
