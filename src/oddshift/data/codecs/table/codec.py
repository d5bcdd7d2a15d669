"""Tables: each cell is a secret that stays in its column; public columns are left alone."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.data.codecs.codec import (
    Codec,
    Columns,
    Encoded,
    UnknownValues,
    checked_outputs,
    length_of,
    marked_positions,
)
from oddshift.data.codecs.coverage import Counts
from oddshift.data.codecs.table.cells import (
    cell_space,
    column_numbers,
    column_tiers,
    learn_domains,
    public_steps,
    read_cells,
    refuse_bad_cells,
    table_context,
)
from oddshift.data.codecs.table.domains import ColumnDomain, TableVocabulary
from oddshift.data.codecs.table.settings import TableSettings, groups_of, table_notes
from oddshift.data.formats.cells import is_missing, missing_cells
from oddshift.model.nouns import who_found
from oddshift.model.records import Records, offsets_of
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class EncodedTable(Encoded):
    """A table as secrets: `order` is the cell, row by row, behind each position.

    `rows` is the first row of each document; `unseen` counts values outside the domains, `size` all rows. `kept` are
    the cells that stay as they are because they are missing, by column; `as_text` says whose cells are strings.
    `groups` names the group of every document, where values belong to it. `outside` says for each column how many cells
    hold a value outside its domain.
    """

    records: Records
    settings: TableSettings
    vocabulary: TableVocabulary
    order: IntArray
    rows: IntArray
    size: int
    unseen: int
    kept: dict[str, dict[int, Any]]
    as_text: frozenset[str]
    masked_columns: tuple[str, ...]
    groups: tuple[bytes, ...] = ()
    keep: None = None
    outside: Mapping[str, int] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Counts only."""
        return f"EncodedTable({self.records!r})"

    @property
    def counts(self) -> Counts:
        """A cell of an unseen category is masked; a missing one is not a secret."""
        found = self.size * len(self.settings.secret) - sum(map(len, self.kept.values()))
        return Counts(found=found, perturbed=len(self.order), masked=found - len(self.order), unseen=self.unseen)

    def decode(self, outputs: npt.ArrayLike, *, masked: bool | BoolArray = False) -> dict[str, list[Any]]:
        """The secret columns with released values, rows in the order of the table; None where a cell is masked."""
        chosen = checked_outputs(outputs, 1 if masked is True else len(self.records.space), len(self.order))
        hidden = {name: [None] * self.size for name in self.masked_columns}
        if masked is True:
            return {**{name: [None] * self.size for name in self.settings.secret}, **hidden}
        return {**self._cells(chosen, marked_positions(masked, len(chosen))), **hidden}

    @property
    def is_once(self) -> BoolArray:
        """Which positions hold a value of their group: rows that agree share one draw."""
        return self.settings.is_once(self.vocabulary.domains)[self.records.points]

    def crossing(self, outputs: npt.ArrayLike) -> int:
        """How many outputs are values of another column than their cell's: a mechanism that keeps the tier has none."""
        column = self.records.space.points[np.asarray(outputs), 0].astype(np.int64)
        return int((column != self.order % len(self.vocabulary.domains)).sum())

    def _cells(self, chosen: IntArray, marked: BoolArray) -> dict[str, list[Any]]:
        domains = self.vocabulary.domains
        column, row = self.order % len(domains), self.order // len(domains)
        reads = [cell for d in domains for cell in d.shown(as_text=d.name in self.as_text)]
        shown = np.empty(len(reads), dtype=object)
        shown[:] = reads
        released: dict[str, list[Any]] = {}
        for c, domain in enumerate(domains):
            cells: npt.NDArray[Any] = np.full(self.size, None, dtype=object)
            mine = (column == c) & ~marked
            cells[row[mine]] = shown[chosen[mine]]
            for place, cell in self.kept[domain.name].items():
                cells[place] = cell
            released[domain.name] = cells.tolist()
        return released


@dataclass(frozen=True, eq=False, repr=False)
class TableCodec(Codec):
    """The values of the columns as points; other numbers are taken for the nearest."""

    settings: TableSettings
    space: Space
    tiers: Tiers
    vocabulary: TableVocabulary

    kind: ClassVar[str] = "table"
    settings_class: ClassVar[type[TableSettings]] = TableSettings
    vocabulary_class: ClassVar[type[TableVocabulary]] = TableVocabulary

    @classmethod
    def fit(cls, columns: Columns, settings: TableSettings) -> TableCodec:
        """Domains and tiers of some rows."""
        length_of(columns, settings.wanted(()), "the table")
        domains = learn_domains(columns, settings)
        vocabulary = TableVocabulary(domains=domains, steps=public_steps(settings, columns))
        return cls(settings, cell_space(domains, settings.weight), column_tiers(settings, domains), vocabulary)

    @property
    def notes(self) -> tuple[str, ...]:
        """What counts as public, what stays, and what a row costs."""
        return tuple(table_notes(self.settings, self.vocabulary.domains))

    def notes_on(self, encoded: EncodedTable) -> tuple[str, ...]:
        """The same, and which columns have cells outside their domains, and what can be done about it."""
        if not encoded.outside:
            return super().notes_on(encoded)
        found, beyond, domains = [], [], {domain.name: domain for domain in self.domains}
        for name, count in encoded.outside.items():
            if domains[name].type is not None:
                beyond.append(f"{count:,} in {name!r}")
                continue
            found.append(
                f"column {name!r}: {count:,} of {encoded.size:,} cells hold none of its {len(domains[name])} "
                "categories and are left empty; most_categories keeps more, and domains lists them"
            )
        if beyond:
            found.append(f"cells outside the grid of their column take the nearest value: {', '.join(beyond)}")
        return (*self.notes, *found)

    @property
    def found_by(self) -> str:
        """The secret columns, and what is read together."""
        return who_found(self.kind, self.settings.secret, self.settings.group or "")

    @property
    def domains(self) -> tuple[ColumnDomain, ...]:
        """The values of each column."""
        return self.vocabulary.domains

    @property
    def drawn_once(self) -> BoolArray | None:
        """The values of columns that belong to the group."""
        return self.settings.is_once(self.domains) if self.settings.of_group else None

    @property
    def released(self) -> tuple[str, ...]:
        """The secret columns, and those that are left empty."""
        return (*self.settings.secret, *self.settings.masked)

    @property
    def required(self) -> tuple[str, ...]:
        """The same, and the group where values belong to it."""
        group = (self.settings.group,) if self.settings.of_group and self.settings.group else ()
        return tuple(dict.fromkeys((*self.released, *group)))

    @classmethod
    def refuse_bad_cells(cls, columns: Columns, settings: TableSettings) -> None:
        """Cells that are neither missing nor a number or date like the others of their column."""
        refuse_bad_cells(columns, settings)

    def encode(self, columns: Columns, first: int = 1) -> EncodedTable:
        """Rows of one group as a document; public columns, where there are any, as context."""
        length_of(columns, self.settings.secret, "the table")
        found = [read_cells(domain, columns, self.settings, first) for domain in self.vocabulary.domains]
        start = offsets_of(np.array([len(domain) for domain in self.vocabulary.domains]))[:-1]
        point = np.stack([np.where(f.values < 0, -1, f.values + s) for f, s in zip(found, start, strict=True)], axis=1)
        names = self.settings.secret
        kept = {n: {int(r): columns[n][r] for r in f.kept} for n, f in zip(names, found, strict=True)}
        outside = {name: f.outside for name, f in zip(names, found, strict=True) if f.outside}
        return replace(_arranged(self, columns, point, sum(outside.values()), kept), outside=outside)

    def unknown_values(self, encoded: EncodedTable, columns: Columns) -> UnknownValues:
        """Categories that a domain lacks, and numbers more than a step outside it; missing cells do not count."""
        rows, flags = [], []
        for domain in self.domains:
            if domain.type is None:
                there: BoolArray = ~missing_cells(columns[domain.name])
                outside: BoolArray = read_cells(domain, columns, self.settings, 1).values < 0
            else:
                numbers = column_numbers(columns, domain.name, domain.type)
                there, outside = ~np.isnan(numbers), domain.is_outside(numbers)
            rows.append(np.flatnonzero(there))
            flags.append(outside[there])
        return UnknownValues(np.concatenate(rows), np.concatenate(flags))

    def to_policy(self) -> tuple[TableSettings, TableVocabulary]:
        """The settings and the values."""
        return self.settings, self.vocabulary

    @classmethod
    def from_policy(
        cls, settings: TableSettings, vocabulary: TableVocabulary, space: Space, tiers: Tiers
    ) -> TableCodec:
        """The codec over stored points."""
        return cls(settings, space, tiers, vocabulary)


def _arranged(
    codec: TableCodec, columns: Columns, point: IntArray, unseen: int, kept: dict[str, dict[int, Any]]
) -> EncodedTable:
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
        context=table_context(
            settings, codec.vocabulary, columns, rows, (point[rows] >= 0, kept), sizes=np.bincount(groups)
        ),
    )
    return EncodedTable(
        records,
        settings,
        codec.vocabulary,
        order,
        starts,
        size,
        unseen,
        kept,
        frozenset(n for n in settings.secret if any(isinstance(cell, str) for cell in columns[n])),
        tuple(name for name in settings.masked if name in columns),
        _group_names(columns, settings, starts),
    )


def _group_names(columns: Columns, settings: TableSettings, starts: IntArray) -> tuple[bytes, ...]:
    """The group of every document; a row without one is a group of its own."""
    if not settings.of_group or settings.group is None or settings.group not in columns:
        return ()
    cells = columns[settings.group]
    return tuple(
        b"row" + secrets.token_bytes(16) if is_missing(cells[row]) else b"is " + str(cells[row]).encode()
        for row in starts.tolist()
    )
