"""Tables: numeric and categorical columns, each row a secret or each cell one, public columns left alone.

The paper's case beyond text: the 30 z-scored measurements of a Breast Cancer Wisconsin record as one secret.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, indices, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.scaling import SCALINGS, ColumnScale
from oddshift.data.formats import open_data, read_columns
from oddshift.data.formats.cell_values import categories
from oddshift.model.metric import Metric, metric_of, scaled, summed
from oddshift.model.records import SLOT, Context, Records, numbered, offsets_of
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

UNITS = ("row", "cell")
"""What a secret is: a whole row, or each of its cells."""

_APART = 1e3  # distance between cells of different columns: they are never alternatives of one another


@dataclass(frozen=True)
class TableSettings:
    """Which columns are secret and how far apart their values are.

    A numeric column is scaled ("z-score" or "robust": median and interquartile range); two values of a categorical
    column are `weight` apart; the distance of rows is the Euclidean distance of the numeric part plus the sum over
    categorical columns. With unit "cell" numeric values are rounded to `bins` equal steps. `tier_of` names the tier of
    a column, most sensitive first in `tier_names`; it needs unit "cell". Rows with the same `group` are read together
    (without it each row is); `joint_by` "column" reads each column together instead. `public` columns are context.
    """

    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    unit: str = "row"
    scaling: str = "z-score"
    weight: float = 1.0
    bins: int = 20
    group: str | None = None
    public: tuple[str, ...] = ()
    joint_by: str = "document"
    tier_names: tuple[str, ...] = ()
    tier_of: Mapping[str, str] = field(default_factory=dict)
    is_public: bool = True

    def __post_init__(self) -> None:
        """Check the names against each other."""
        columns = self.secret
        if not columns or len(set(columns)) != len(columns):
            raise InvalidInput(f"{len(columns)} secret columns, expected at least one, each named once")
        one_of(self.unit, "unit", UNITS)
        one_of(self.scaling, "scaling", tuple(SCALINGS))
        one_of(self.joint_by, "joint_by", ("document", "column"))
        if self.joint_by == "column" and (self.unit != "cell" or self.group or self.public):
            raise InvalidInput("joint_by='column' needs unit='cell', no group and no public columns")
        positive(self.weight, "weight")
        whole(self.bins, "bins", 2)
        if self.tier_of and (self.unit != "cell" or set(self.tier_of) != set(columns)):
            raise InvalidInput("tier_of needs unit='cell' and a tier for every secret column")
        if not set(self.tier_of.values()) <= set(self.tier_names):
            raise InvalidInput(f"tier_of leads to a tier outside tier_names={self.tier_names}")

    @property
    def secret(self) -> tuple[str, ...]:
        """The secret columns, numeric ones first."""
        return (*self.numeric, *self.categorical)

    @property
    def wanted(self) -> tuple[str, ...]:
        """Every column that is read."""
        return (*self.secret, *self.public, *((self.group,) if self.group else ()))


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable:
    """A table as secrets: `order` is the row (or cell, row by row) behind each position.

    `values` holds, for each point, what it reads as in the table: the cells of a row, or one cell. `scales` (numeric
    columns, 2) are the centre and spread of each numeric column, `categories` the values of each categorical one.
    """

    records: Records
    tiers: Tiers | None
    settings: TableSettings
    order: IntArray
    values: tuple[tuple[Any, ...], ...]
    scales: FloatArray
    categories: tuple[tuple[Any, ...], ...]

    def __repr__(self) -> str:
        """Counts only."""
        return f"EncodedTable({self.records!r}, {self.settings.unit}s)"

    def decode(self, outputs: npt.ArrayLike) -> dict[str, list[Any]]:
        """The secret columns with released values, rows in the order of the table."""
        chosen = indices(outputs, "outputs", len(self.records.space))
        if len(chosen) != len(self.order):
            raise InvalidInput(f"outputs has {len(chosen)} entries, expected {len(self.order)} (one a secret)")
        columns = self.settings.secret
        cells = np.empty(len(chosen), dtype=np.int64)
        cells[self.order] = chosen
        if self.settings.unit == "row":
            return {name: [self.values[p][c] for p in cells] for c, name in enumerate(columns)}
        return {name: [self.values[p][0] for p in cells[c :: len(columns)]] for c, name in enumerate(columns)}


def encode_table(columns: Mapping[str, Sequence[Any]], settings: TableSettings, source: str = "table") -> EncodedTable:
    """Named columns of equal length as secrets; the rest of the table is public and not looked at."""
    for name in settings.wanted:
        if name not in columns:
            raise InvalidInput(f"{source} has no column {name!r}; it has {', '.join(columns)}")
    lengths = {len(columns[name]) for name in settings.wanted}
    if len(lengths) != 1 or 0 in lengths:
        raise InvalidInput(f"{source}: columns have lengths {sorted(lengths)}, expected one length above 0")
    scales = [SCALINGS[settings.scaling](columns, name, source) for name in settings.numeric]
    codes = [numbered(categories(columns, name, source)) for name in settings.categorical]
    groups = numbered(list(columns[settings.group]))[0] if settings.group else np.arange(lengths.pop())
    layout = _Layout.of(settings, columns, groups.astype(np.int64))
    build = _rows if settings.unit == "row" else _cells
    return build(settings, scales, codes, layout)


def read_table(path: str | Path, settings: TableSettings, *, at_least: int = 2) -> EncodedTable:
    """A table from a file."""
    columns = read_columns(open_data(path, "table"), settings.wanted, at_least=at_least)
    return encode_table(columns, settings, Path(path).name)


def breast_cancer() -> EncodedTable:
    """Breast Cancer Wisconsin (diagnostic): 569 records, 30 z-scored measurements, one secret a record."""
    from sklearn.datasets import load_breast_cancer

    loaded = load_breast_cancer()
    names = tuple(str(name) for name in loaded.feature_names)
    columns = {name: loaded.data[:, c].tolist() for c, name in enumerate(names)}
    return encode_table(columns, TableSettings(numeric=names), "breast cancer")


_Coded = tuple[IntArray, tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class _Layout:
    """Rows in order of their group, the rows of each group, and the public context of one group after another."""

    rows: IntArray
    sizes: IntArray
    symbols: tuple[str, ...]
    shown: IntArray

    @classmethod
    def of(cls, settings: TableSettings, columns: Mapping[str, Sequence[Any]], groups: IntArray) -> _Layout:
        """The layout of a table; public cells are symbols `column=value`."""
        rows = np.argsort(groups, kind="stable").astype(np.int64)
        cells = [f"{name}={value}" for name in settings.public for value in columns[name]]
        number, symbols = numbered(cells)
        shown = number.reshape(len(settings.public), len(groups)).T[rows]
        return cls(rows, np.bincount(groups).astype(np.int64), tuple(str(s) for s in symbols), shown)

    def context(self, slots: int) -> Context | None:
        """For every row its public cells, then its slots; None without public columns."""
        if not self.symbols:
            return None
        table = np.hstack([self.shown, np.full((len(self.rows), slots), SLOT)])
        breaks = np.zeros(table.shape, dtype=np.bool_)
        breaks[:, 0] = True
        offsets = offsets_of(self.sizes * table.shape[1])
        return Context(tokens=table.ravel(), offsets=offsets, symbols=self.symbols, breaks=breaks.ravel())


def _rows(
    settings: TableSettings, scales: Sequence[ColumnScale], codes: Sequence[_Coded], layout: _Layout
) -> EncodedTable:
    """One secret a row: points are the distinct rows under the mixed metric."""
    numeric = [scale.apply(scale.values) for scale in scales]
    table = np.stack([*numeric, *(code.astype(np.float64) for code, _ in codes)], axis=1)
    space, point = Space.merged(table, _mixed(len(scales), len(codes), settings.weight))
    first = np.unique(point, return_index=True)[1]
    raw = [scale.values.tolist() for scale in scales] + [[names[c] for c in code] for code, names in codes]
    values = tuple(tuple(column[row] for column in raw) for row in first)
    offsets = offsets_of(layout.sizes)
    records = Records(space=space, points=point[layout.rows], offsets=offsets, context=layout.context(1))
    return EncodedTable(records, None, settings, layout.rows, values, *_coding(scales, codes))


def _cells(
    settings: TableSettings, scales: Sequence[ColumnScale], codes: Sequence[_Coded], layout: _Layout
) -> EncodedTable:
    """One secret a cell: a point is (column, scaled value or 0, category or 0)."""
    table, values, cells = _cell_points(settings, scales, codes)
    metric = summed([(scaled("hamming", _APART), [0]), ("euclidean", [1]), (scaled("hamming", settings.weight), [2])])
    width = cells.shape[1]
    place = layout.rows[:, None] * width + np.arange(width)
    if settings.joint_by == "column":
        place, offsets = place.T, offsets_of([len(layout.rows)] * width)
    else:
        offsets = offsets_of(layout.sizes * width)
    order = place.ravel().astype(np.int64)
    records = Records(
        space=Space(table, metric),
        points=cells.ravel()[order],
        offsets=offsets,
        joint_by=settings.joint_by,
        context=layout.context(width),
    )
    tiers = _column_tiers(settings, table[:, 0].astype(np.int64))
    return EncodedTable(records, tiers, settings, order, values, *_coding(scales, codes))


def _coding(scales: Sequence[ColumnScale], codes: Sequence[_Coded]) -> tuple[FloatArray, tuple[tuple[Any, ...], ...]]:
    """How values became coordinates: centre and spread of numeric columns, values of categorical ones."""
    pairs = np.array([(scale.centre, scale.spread) for scale in scales]).reshape(-1, 2)
    return pairs, tuple(names for _, names in codes)


def _cell_points(
    settings: TableSettings, scales: Sequence[ColumnScale], codes: Sequence[_Coded]
) -> tuple[FloatArray, tuple[tuple[Any, ...], ...], IntArray]:
    """Points (n, 3), what each reads as, and the point (rows, columns) of every cell."""
    parts: list[FloatArray] = []
    of_cell: list[IntArray] = []
    values: list[tuple[Any, ...]] = []
    for column, scale in enumerate(scales):
        steps, number = scale.binned(settings.bins)
        of_cell.append(number + len(values))
        values += [(float(v),) for v in steps]
        parts.append(np.stack([np.full(len(steps), column), scale.apply(steps), np.zeros(len(steps))], axis=1))
    for column, (code, names) in enumerate(codes, start=len(scales)):
        of_cell.append(code + len(values))
        values += [(name,) for name in names]
        n = len(names)
        parts.append(np.stack([np.full(n, column), np.zeros(n), np.arange(n)], axis=1).astype(np.float64))
    return np.vstack(parts), tuple(values), np.stack(of_cell, axis=1)


def _column_tiers(settings: TableSettings, column: IntArray) -> Tiers | None:
    if not settings.tier_of:
        return None
    of_column = np.array([settings.tier_names.index(settings.tier_of[name]) for name in settings.secret])
    scales = (1.0,) * len(settings.tier_names)
    return Tiers(of_column[column], names=settings.tier_names, scales=scales, is_public=settings.is_public)


def _mixed(numeric: int, categorical: int, weight: float) -> Metric:
    """Euclidean over the numeric columns plus `weight` for every category that differs."""
    if not categorical:
        return metric_of("euclidean")
    different = (scaled("hamming", weight), list(range(numeric, numeric + categorical)))
    return summed([("euclidean", list(range(numeric))), different] if numeric else [different])
