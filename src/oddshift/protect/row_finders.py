"""Secrets in rows: cells of tables, places of trajectories and vectors, each led to the nearest point of the policy.

Rounding a value to the policy's points comes before the noise: distances, and what was certified, are between points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.location import cell_centres, seconds_of
from oddshift.protect.policies import Cells, LocationRules, Policy, TableRules, VectorRules

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class FoundRows:
    """The secrets of some rows as points, which rows are released at all, and what each output reads as.

    `values` is None for a mask: its cells are empty. With unit "cell" the points are those of row after row.
    """

    points: IntArray
    names: tuple[str, ...]
    values: Sequence[Sequence[Any]] | None
    unit: str = "row"
    keep: BoolArray | None = None
    masked: int = 0
    unseen: int = 0

    def read(self, outputs: IntArray) -> dict[str, list[Any]]:
        """The secret columns of the released rows."""
        table = outputs[:, None] if self.unit == "row" else outputs.reshape(-1, len(self.names))
        if self.values is None:
            return {name: [None] * len(table) for name in self.names}
        if self.unit == "row":
            return {name: [self.values[p][c] for p in outputs] for c, name in enumerate(self.names)}
        return {name: [self.values[p][0] for p in table[:, c]] for c, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False, repr=False)
class TableFinder:
    """Finds the point of every row or cell of a table; a category that the policy does not know is refused."""

    policy: Policy

    def find(self, columns: Columns, first: int = 1) -> FoundRows:
        """The secrets of some rows; `first` is the number of the first row, for messages."""
        numeric = [numeric_column(columns, name, first) for name in self._rules.numeric]
        scaled = [(v - c) / s for v, c, s in zip(numeric, self._cells.centres, self._cells.spreads, strict=True)]
        coded = [self._codes(columns, k, first) for k in range(len(self._rules.categorical))]
        if self._rules.unit == "row":
            points = self.policy.space.nearest(np.stack([*scaled, *coded], axis=1))
        else:
            columns_of = [self._cell_points(c, values) for c, values in enumerate([*scaled, *coded])]
            points = np.stack(columns_of, axis=1).ravel()
        values = None if is_mask(self.policy) else self._cells.values
        return FoundRows(points, self._rules.columns, values, self._rules.unit)

    def _codes(self, columns: Columns, k: int, first: int) -> FloatArray:
        name, known = self._rules.categorical[k], {v: i for i, v in enumerate(self._cells.categories[k])}
        codes = [known.get(value, -1) for value in columns[name]]
        if -1 in codes:
            row = first + codes.index(-1)
            raise InvalidInput(f"column {name!r} at row {row} holds a category that the policy does not know")
        return np.array(codes, dtype=np.float64)

    def _cell_points(self, column: int, values: FloatArray) -> IntArray:
        """The nearest point of that column for each scaled value or category code."""
        table = self.policy.space.points
        mine = np.flatnonzero(table[:, 0] == column)
        coordinate = table[mine, 1 if column < len(self._rules.numeric) else 2]
        order = np.argsort(coordinate, kind="stable")
        ranked = coordinate[order]
        above = np.searchsorted(ranked, values).clip(1, max(1, len(ranked) - 1))
        below = above - 1
        above = np.minimum(above, len(ranked) - 1)
        closest = np.where(values - ranked[below] < ranked[above] - values, below, above)
        return mine[order[closest]]

    @property
    def _rules(self) -> TableRules:
        rules = self.policy.terms.rules
        assert isinstance(rules, TableRules)
        return rules

    @property
    def _cells(self) -> Cells:
        reading = self.policy.vocabulary.reading
        assert isinstance(reading, Cells)
        return reading


@dataclass(frozen=True, eq=False, repr=False)
class PlaceFinder:
    """Finds the cell (or listed place) of every fix, and leaves out fixes as the audit did: one in `every` seconds.

    It remembers the last interval of each trip, so that a trip may go on in the next rows.
    """

    policy: Policy
    _last: dict[tuple[str, object], float] = field(default_factory=dict)
    _lock: AbstractContextManager[object] = field(default_factory=Lock)

    def __post_init__(self) -> None:
        """Refuse stay points, which need a whole trip at once."""
        if self._rules.stay_kilometres is not None:
            raise InvalidInput("the policy keeps stay points only, which rows in a stream cannot give")

    def find(self, columns: Columns, first: int = 1) -> FoundRows:
        """The secrets of some fixes, in order of time within each trip."""
        rules = self._rules
        places = np.stack([numeric_column(columns, name, first) for name in rules.columns], axis=1)
        for column, limit in enumerate((90.0, 180.0)):
            outside = np.flatnonzero(np.abs(places[:, column]) > limit)
            if len(outside):
                where = f"column {rules.columns[column]!r} at row {first + int(outside[0])}"
                raise InvalidInput(f"{where} is outside [-{limit:g}, {limit:g}] degrees")
        with self._lock:
            keep = self._kept(columns, len(places), first) if rules.every else None
        points = self.points(places if keep is None else places[keep])
        return FoundRows(points, rules.columns, self._values, keep=keep)

    def points(self, places: FloatArray) -> IntArray:
        """The cell of each place; of a place outside all cells, the nearest one."""
        if self._rules.cell_km is None or not len(places):
            return self.policy.space.nearest(places)
        centres = cell_centres(places, self._rules.cell_km)
        found = np.array([self._cell_of.get(row.tobytes(), -1) for row in centres], dtype=np.int64)
        outside = np.flatnonzero(found < 0)
        found[outside] = self.policy.space.nearest(centres[outside])
        return found

    def _kept(self, columns: Columns, rows: int, first: int) -> BoolArray:
        """Which fixes are the first of their trip's interval."""
        rules, keep = self._rules, np.zeros(rows, dtype=np.bool_)
        users = columns[rules.user] if rules.user else [""] * rows
        for row in range(rows):
            seconds = seconds_of(str(columns[rules.timestamp][row]), first + row, f"column {rules.timestamp!r}")
            trip = (str(users[row]), columns[rules.trip][row] if rules.trip else seconds // 86400)
            slot, last = seconds // (rules.every or 1.0), self._last.get(trip, -np.inf)
            if slot < last:
                raise InvalidInput(f"the fix at row {first + row} is out of order, expected each trip in order of time")
            keep[row] = slot > last
            self._last[trip] = slot
        return keep

    @cached_property
    def _values(self) -> list[list[float]] | None:
        return None if is_mask(self.policy) else self.policy.space.points.tolist()

    @cached_property
    def _cell_of(self) -> dict[bytes, int]:
        return {row.tobytes(): i for i, row in enumerate(self.policy.space.points)}

    @property
    def _rules(self) -> LocationRules:
        rules = self.policy.terms.rules
        assert isinstance(rules, LocationRules)
        return rules


@dataclass(frozen=True, eq=False, repr=False)
class VectorFinder:
    """Finds the nearest point of every vector."""

    policy: Policy

    def find(self, columns: Columns, first: int = 1) -> FoundRows:
        """The secrets of a column of vectors."""
        rules = self.policy.terms.rules
        assert isinstance(rules, VectorRules)
        name, width = rules.columns[0], self.policy.space.points.shape[1]
        for row, vector in enumerate(columns[name]):
            if len(vector) != width or not np.isfinite(vector).all():
                raise InvalidInput(f"column {name!r} at row {first + row}: expected {width} finite numbers")
        points = self.policy.space.nearest(np.array(columns[name], dtype=np.float64).reshape(-1, width))
        return FoundRows(points, rules.columns, self._values)

    @cached_property
    def _values(self) -> list[list[list[float]]] | None:
        return None if is_mask(self.policy) else [[row] for row in self.policy.space.points.tolist()]


def is_mask(policy: Policy) -> bool:
    """Whether the policy releases nothing but a placeholder."""
    return policy.terms.mechanism.name == "mask"


def numeric_column(columns: Columns, name: str, first: int) -> FloatArray:
    """A column as finite numbers; the first row that is none is named, its cell is not."""
    found = np.full(len(columns[name]), np.nan)
    for row, value in enumerate(columns[name]):
        try:
            found[row] = float(value)
        except (TypeError, ValueError):
            break
    bad = np.flatnonzero(~np.isfinite(found))
    if len(bad):
        raise InvalidInput(f"column {name!r} at row {first + int(bad[0])} is no finite number")
    return found
