"""Points of a table: what its rows or cells can be, learned from the fit part, and where new values belong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.scaling import SCALINGS, ColumnScale
from oddshift.data.codecs.table_settings import TableSettings
from oddshift.data.formats.cell_values import categories, numbers
from oddshift.model.metric import Metric, metric_of, scaled, summed
from oddshift.model.records import numbered
from oddshift.model.space import Space

Value = bool | int | float | str | None
"""What a cell of a table can hold."""

_BETWEEN_COLUMNS = 1e3  # distance between cells of different columns: they are never alternatives of one another


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableVocabulary:
    """What each point reads as in a table, and how new values become points: (value − centre)/spread, categories."""

    values: tuple[tuple[Value, ...], ...]
    centres: FloatArray
    spreads: FloatArray
    categories: tuple[tuple[Value, ...], ...]

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


def learn_table(columns: Columns, settings: TableSettings) -> tuple[Space, TableVocabulary]:
    """The points of some rows and what they read as."""
    scales = [SCALINGS[settings.scaling](columns, name) for name in settings.numeric]
    codes = [numbered(categories(columns, name)) for name in settings.categorical]
    learn = _rows if settings.unit == "row" else _cells
    space, values = learn(settings, scales, codes)
    vocabulary = TableVocabulary(
        values=values,
        centres=np.array([scale.centre for scale in scales], dtype=np.float64),
        spreads=np.array([scale.spread for scale in scales], dtype=np.float64),
        categories=tuple(names for _, names in codes),  # type: ignore[misc]
    )
    return space, vocabulary


_Coded = tuple[IntArray, tuple[Any, ...]]
_Learned = tuple[Space, tuple[tuple[Value, ...], ...]]


def _rows(settings: TableSettings, scales: Sequence[ColumnScale], codes: Sequence[_Coded]) -> _Learned:
    """Points are the distinct rows under the mixed metric."""
    numeric = [scale.apply(scale.values) for scale in scales]
    table = np.stack([*numeric, *(code.astype(np.float64) for code, _ in codes)], axis=1)
    space, point = Space.merged(table, _mixed(len(scales), len(codes), settings.weight))
    first = np.unique(point, return_index=True)[1]
    raw = [scale.values.tolist() for scale in scales] + [[names[c] for c in code] for code, names in codes]
    return space, tuple(tuple(column[row] for column in raw) for row in first)


def _cells(settings: TableSettings, scales: Sequence[ColumnScale], codes: Sequence[_Coded]) -> _Learned:
    """A point is (column, scaled value or 0, category or 0)."""
    tables: list[FloatArray] = []
    values: list[tuple[Value, ...]] = []
    for column, scale in enumerate(scales):
        steps = scale.binned(settings.bins)
        values += [(float(v),) for v in steps]
        tables.append(np.stack([np.full(len(steps), column), scale.apply(steps), np.zeros(len(steps))], axis=1))
    for column, (_, names) in enumerate(codes, start=len(scales)):
        values += [(name,) for name in names]
        n = len(names)
        tables.append(np.stack([np.full(n, column), np.zeros(n), np.arange(n)], axis=1).astype(np.float64))
    apart = (scaled("hamming", _BETWEEN_COLUMNS), [0])
    metric = summed([apart, ("euclidean", [1]), (scaled("hamming", settings.weight), [2])])
    return Space(np.vstack(tables), metric), tuple(values)


def _mixed(numeric: int, categorical: int, weight: float) -> Metric:
    """Euclidean over the numeric columns plus `weight` for every category that differs."""
    if not categorical:
        return metric_of("euclidean")
    different = (scaled("hamming", weight), list(range(numeric, numeric + categorical)))
    return summed([("euclidean", list(range(numeric))), different] if numeric else [different])


def cell_points(space: Space, column: int, values: FloatArray, is_numeric: bool) -> IntArray:
    """The nearest point of one column for each scaled value, or the point of each category; −1 for one never seen."""
    mine = np.flatnonzero(space.points[:, 0] == column)
    coordinate = space.points[mine, 1 if is_numeric else 2]
    order = np.argsort(coordinate, kind="stable")
    ranked = coordinate[order]
    above = np.searchsorted(ranked, values).clip(1, max(1, len(ranked) - 1))
    below = above - 1
    above = np.minimum(above, len(ranked) - 1)
    closest = np.where(values - ranked[below] < ranked[above] - values, below, above)
    found: IntArray = mine[order[closest]]
    return found if is_numeric else np.where(values < 0, -1, found)
