"""Rows in records: positions that come column by column, each column a public tier of few values.

The records of a table are of this kind: a document is a row or a group of rows, in which cells may be missing.
Attackers that know it work with small tables for pairs of columns instead of one table over all points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import of_outputs
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.release import Release
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

MOST_VALUES = 512
"""Largest number of values of a column."""

MOSTLY_WHOLE = 0.8
"""Smallest average share of the columns that the first row of a document has."""

BATCH_ENTRIES = 2_000_000
"""Entries (rows x values of all columns) of one batch; a performance setting."""


@dataclass(frozen=True, eq=False, repr=False)
class RowLayout:
    """The points of every column in the order of the columns, and the column of every tier."""

    members: tuple[IntArray, ...]
    column_of_tier: IntArray

    @property
    def width(self) -> int:
        """Values of all columns together."""
        return sum(len(points) for points in self.members)

    def places(self, tiers: IntArray, offsets: IntArray) -> tuple[IntArray, IntArray]:
        """Row (numbered through all documents) and column of every position; a row begins where columns start over."""
        column = self.column_of_tier[tiers]
        begins = np.ones(len(column), dtype=np.bool_)
        begins[1:] = column[1:] <= column[:-1]
        begins[offsets[:-1][offsets[:-1] < len(column)]] = True
        return np.cumsum(begins) - 1, column


@dataclass(frozen=True, eq=False, repr=False)
class RowCells:
    """The cells of some rows by column (rows, columns) as numbers of values, −1 for none, and the document of each."""

    values: IntArray
    document: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class RowBatch:
    """Documents with the same number of rows: where their positions stand, and what was seen in every cell.

    `document`, `row` and `column` place each of the `positions`; `seen` has the likelihoods of every column (documents,
    rows, values), 1 where there is no cell.
    """

    positions: IntArray
    document: IntArray
    row: IntArray
    column: IntArray
    seen: list[FloatArray]

    def cells(self, layout: RowLayout) -> Iterator[tuple[int, IntArray, IntArray, IntArray]]:
        """For every column its number, its points, the positions of its cells, and their rows in the batch."""
        rows = self.seen[0].shape[1]
        for c, points in enumerate(layout.members):
            mine = np.flatnonzero(self.column == c)
            if len(mine):
                yield c, points, self.positions[mine], self.document[mine] * rows + self.row[mine]


def row_layout(known: Knowledge) -> RowLayout | None:
    """The layout of the fit records, or None where they are not rows."""
    return layout_of(known.tiers, known.fit.tier_of_position(known.tiers), known.fit.offsets)


def layout_of(tiers: Tiers, position_tiers: IntArray, offsets: IntArray) -> RowLayout | None:
    """The layout of documents whose positions have these tiers."""
    found = _layout(tiers)
    if found is None or not len(position_tiers):
        return None
    rows, _ = found.places(position_tiers, offsets)
    first = rows[offsets[:-1][np.diff(offsets) > 0]]
    whole = np.isin(rows, first).sum() / (len(first) * len(found.members))
    return found if whole >= MOSTLY_WHOLE else None


def _layout(tiers: Tiers) -> RowLayout | None:
    if not tiers.is_public or len(tiers) < 2:
        return None
    members = [np.flatnonzero(tiers.labels == tier) for tier in range(len(tiers))]
    sizes = [len(points) for points in members]
    if min(sizes) < 1 or max(sizes) > MOST_VALUES:
        return None
    order = sorted(range(len(members)), key=lambda tier: int(members[tier][0]))
    column = np.empty(len(order), dtype=np.int64)
    column[order] = np.arange(len(order))
    return RowLayout(tuple(members[tier] for tier in order), column)


def row_cells(known: Knowledge, layout: RowLayout) -> RowCells:
    """The fit records as rows."""
    fit = known.fit
    row, column = layout.places(fit.tier_of_position(known.tiers), fit.offsets)
    local = np.empty(len(known.log_prior), dtype=np.int64)
    for points in layout.members:
        local[points] = np.arange(len(points))
    count = int(row[-1]) + 1
    values = np.full((count, len(layout.members)), -1, dtype=np.int64)
    values[row, column] = local[fit.points]
    document = np.zeros(count, dtype=np.int64)
    document[row] = fit.document_of_position
    return RowCells(values, document)


def row_batches(known: Knowledge, release: Release, layout: RowLayout) -> Iterator[RowBatch]:
    """A release as batches of documents with equally many rows."""
    assert release.position_tiers is not None
    row, column = layout.places(release.position_tiers, release.offsets)
    document = np.repeat(np.arange(len(release)), release.lengths)
    held = np.flatnonzero(release.lengths > 0)
    first = row[release.offsets[held]]
    rows_of = np.zeros(len(release), dtype=np.int64)
    rows_of[held] = np.diff(np.append(first, row[-1] + 1)) if len(row) else 0
    start = np.zeros(len(release), dtype=np.int64)
    start[held] = first
    for count in np.unique(rows_of[held]):
        these = np.flatnonzero(rows_of == count)
        step = max(1, BATCH_ENTRIES // int(count * layout.width))
        for low in range(0, len(these), step):
            chosen = these[low : low + step]
            positions = np.concatenate([np.arange(release.offsets[d], release.offsets[d + 1]) for d in chosen])
            local = np.repeat(np.arange(len(chosen)), release.lengths[chosen])
            within = row[positions] - start[document[positions]]
            columns, seen = column[positions], []
            for c, points in enumerate(layout.members):
                mine, cells = np.flatnonzero(columns == c), np.ones((len(chosen), count, len(points)))
                likely = of_outputs(known, release.outputs[positions[mine]], points)
                cells[local[mine], within[mine]] = likely
                seen.append(cells)
            yield RowBatch(positions, local, within, columns, seen)


def drawn_rows(weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """One column for every row of weights, in proportion; the last one where a row has none.

    >>> drawn_rows(np.array([[0.0, 2.0], [1.0, 0.0]]), np.random.default_rng(0)).tolist()
    [1, 0]
    """
    sums = np.cumsum(weights, axis=1)
    below = rng.random((len(weights), 1)) * sums[:, -1:]
    return np.asarray((sums <= below).sum(axis=1).clip(max=weights.shape[1] - 1))


def column_laws(known: Knowledge, layout: RowLayout, cells: RowCells, least: int) -> list[FloatArray]:
    """The law of every column (`column_law`), whose neighbours are pooled where its values lie on a line."""
    return [
        column_law(cells, c, len(points), least, on_line(known.fit.space, points))
        for c, points in enumerate(layout.members)
    ]


def on_line(space: Space, points: IntArray) -> bool:
    """Whether the points lie on a line in their order."""
    distances = space.between(points)[:, points]
    return bool(np.allclose(distances[0], np.append(0.0, np.cumsum(np.diagonal(distances, 1)))))


def column_law(cells: RowCells, column: int, values: int, least: int, is_line: bool) -> FloatArray:
    """The law of a column, with as many neighbouring values pooled as `least` documents hold together.

    Values of a column without order are pooled with all others that too few documents hold.
    """
    own, document = cells.values[:, column], cells.document
    counts = np.bincount(own[own >= 0], minlength=values) + 0.5
    holders = [np.unique(document[own == v]) for v in range(values)]
    group = np.zeros(values, dtype=np.int64)
    if is_line:
        number, together = 0, np.zeros(0, dtype=np.int64)
        for v in range(values):
            group[v], together = number, np.union1d(together, holders[v])
            if len(together) >= least:
                number, together = number + 1, together[:0]
        group = np.minimum(group, max(number - 1, 0))
    else:
        group = np.where([len(each) >= least for each in holders], 1 + np.arange(values), 0)
    size, mass = np.bincount(group), np.bincount(group, weights=counts)
    law = (mass / np.maximum(size, 1))[group]
    return np.asarray(law / law.sum())
