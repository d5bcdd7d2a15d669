"""Tables: numeric and categorical columns, each row a secret or each cell one, public columns left alone.

The paper's case beyond text: the 30 z-scored measurements of a Breast Cancer Wisconsin record as one secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.data.codecs.codec import Columns, Counts, checked_outputs, length_of, points_of, rows_by_bytes
from oddshift.data.codecs.table_points import TableVocabulary, cell_points, learn_table
from oddshift.data.codecs.table_settings import TableSettings, groups_of
from oddshift.model.records import MASKED, SLOT, Context, Records, numbered, offsets_of
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """A table as secrets: `order` is the row (or cell, row by row) behind each position.

    `values` holds, for each point, what it reads as in the table: the cells of a row, or one cell. `rows` is the first
    row of each document; `unseen` counts the values that no fit row has, `size` all rows.
    """

    records: Records
    settings: TableSettings
    values: tuple[tuple[Any, ...], ...]
    order: IntArray
    rows: IntArray
    size: int
    unseen: int
    keep: None = None

    def __repr__(self) -> str:
        """Counts only."""
        return f"EncodedTable({self.records!r}, {self.settings.unit}s)"

    @property
    def counts(self) -> Counts:
        """A cell of an unseen category is masked."""
        width = 1 if self.settings.unit == "row" else len(self.settings.secret)
        found = self.size * width
        return Counts(found=found, perturbed=len(self.order), masked=found - len(self.order), unseen=self.unseen)

    def decode(self, outputs: npt.ArrayLike, *, masked: bool = False) -> dict[str, list[Any]]:
        """The secret columns with released values, rows in the order of the table; None where a cell is masked."""
        chosen = checked_outputs(outputs, 1 if masked else len(self.records.space), len(self.order))
        columns = self.settings.secret
        if masked:
            return {name: [None] * self.size for name in columns}
        if self.settings.unit == "row":
            point = np.empty(self.size, dtype=np.int64)
            point[self.order] = chosen
            return {name: [self.values[p][c] for p in point] for c, name in enumerate(columns)}
        cells: list[Any] = [None] * (self.size * len(columns))
        for place, output in zip(self.order.tolist(), chosen.tolist(), strict=True):
            cells[place] = self.values[output][0]
        return {name: cells[c :: len(columns)] for c, name in enumerate(columns)}


@dataclass(frozen=True, eq=False, repr=False)
class TableCodec:
    """The distinct rows (or the values of each column) of the fit part as points; others are taken for the nearest."""

    settings: TableSettings
    space: Space
    tiers: Tiers
    vocabulary: TableVocabulary

    kind: ClassVar[str] = "table"
    point_names: ClassVar[None] = None
    notes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def fit(cls, columns: Columns, settings: TableSettings) -> TableCodec:
        """Scales, categories, points and tiers of some rows."""
        length_of(columns, settings.wanted(()), "the table")
        space, vocabulary = learn_table(columns, settings)
        return cls(settings, space, _column_tiers(settings, space), vocabulary)

    @property
    def released(self) -> tuple[str, ...]:
        """The secret columns."""
        return self.settings.secret

    @property
    def required(self) -> tuple[str, ...]:
        """The secret columns."""
        return self.settings.secret

    def encode(self, columns: Columns, first: int = 1) -> EncodedTable:
        """Rows of one group as a document; public columns, where they are there, as context."""
        length_of(columns, self.required, "the table")
        coordinates = self.vocabulary.coordinates(self.settings, columns, first)
        numeric = len(self.settings.numeric)
        unseen = sum(int((codes < 0).sum()) for codes in coordinates[numeric:])
        if self.settings.unit == "row":
            point = points_of(self.space, self._known, np.stack(coordinates, axis=1))[:, None]
        else:
            found = [cell_points(self.space, c, values, c < numeric) for c, values in enumerate(coordinates)]
            point = np.stack(found, axis=1)
        return _arranged(self, columns, point, unseen)

    def stream(self) -> TableCodec:
        """Itself: rows do not continue one another."""
        return self

    def to_policy(self) -> tuple[TableSettings, TableVocabulary]:
        """The settings and the values."""
        return self.settings, self.vocabulary

    @classmethod
    def from_policy(
        cls, settings: TableSettings, vocabulary: TableVocabulary, space: Space, tiers: Tiers
    ) -> TableCodec:
        """The codec over stored points."""
        return cls(settings, space, tiers, vocabulary)

    @cached_property
    def _known(self) -> dict[bytes, int]:
        return rows_by_bytes(self.space)


def _arranged(codec: TableCodec, columns: Columns, point: IntArray, unseen: int) -> EncodedTable:
    """Points (rows, secrets of a row) as documents, in order of group."""
    settings, (size, width) = codec.settings, point.shape
    groups = groups_of(columns, settings.group, size)
    rows: IntArray = np.argsort(groups, kind="stable").astype(np.int64)
    place = rows[:, None] * width + np.arange(width)
    sizes = np.bincount(groups) * width
    if settings.joint_by == "column":
        place, sizes = place.T, np.full(width, size)
    flat: IntArray = place.ravel().astype(np.int64)
    is_known: BoolArray = point.ravel()[flat] >= 0
    before = np.append(0, np.cumsum(is_known))[offsets_of(sizes)]
    order = flat[is_known]
    starts = rows[offsets_of(np.bincount(groups))[:-1]]
    if settings.joint_by == "column":
        starts = np.zeros(width, dtype=np.int64)
    records = Records(
        space=codec.space,
        points=point.ravel()[order],
        offsets=before,
        joint_by=settings.joint_by,
        context=_context(settings, columns, rows, is_known.reshape(-1, width), np.bincount(groups)),
    )
    return EncodedTable(records, settings, codec.vocabulary.values, order, starts, size, unseen)


def _context(
    settings: TableSettings, columns: Columns, rows: IntArray, is_known: BoolArray, sizes: IntArray
) -> Context | None:
    """For every row its public cells as symbols `column=value`, then its slots; None without public columns."""
    public = [name for name in settings.public if name in columns]
    if not public:
        return None
    number, symbols = numbered([f"{name}={value}" for name in public for value in columns[name]])
    shown = number.reshape(len(public), len(rows)).T[rows]
    table = np.hstack([shown, np.where(is_known, SLOT, MASKED)])
    breaks = np.zeros(table.shape, dtype=np.bool_)
    breaks[:, 0] = True
    offsets = offsets_of(sizes * table.shape[1])
    return Context(tokens=table.ravel(), offsets=offsets, symbols=tuple(map(str, symbols)), breaks=breaks.ravel())


def _column_tiers(settings: TableSettings, space: Space) -> Tiers:
    if not settings.tier_of:
        return one_tier(space)
    of_column = np.array([settings.tier_names.index(settings.tier_of[name]) for name in settings.secret])
    scales = (1.0,) * len(settings.tier_names)
    labels = of_column[space.points[:, 0].astype(np.int64)]
    return Tiers(labels, names=settings.tier_names, scales=scales, is_public=settings.is_public)


def breast_cancer() -> tuple[TableCodec, EncodedTable]:
    """Breast Cancer Wisconsin (diagnostic): 569 records, 30 z-scored measurements, each record one secret."""
    from sklearn.datasets import load_breast_cancer

    loaded = load_breast_cancer()
    names = tuple(str(name) for name in loaded.feature_names)
    columns = {name: loaded.data[:, c].tolist() for c, name in enumerate(names)}
    codec = TableCodec.fit(columns, TableSettings(numeric=names))
    return codec, codec.encode(columns)
