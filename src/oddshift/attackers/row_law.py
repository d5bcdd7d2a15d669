"""The law of whole rows: columns cut into bins, a cherry tree over the bins, and the law of a value inside its bin.

Pr[row] = Pr[bins] · Π_c Pr[x_c | bin of x_c]. Numbers are cut at quantiles, so that neighbours share a bin; the most
frequent values of other columns have a bin each, and the rest of them share one. An attacker reads what it says of a
cell, a repairer its posteriors and joint draws; all are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.cherry_tree import MOST_VALUES, Binned, CherryTree, Edges, cherry_tree, graph_of, three_graph
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.row_layout import (
    RowBatch,
    RowLayout,
    column_laws,
    drawn_rows,
    row_batches,
    row_cells,
)
from oddshift.attackers.threes import Ties, threes_of
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.release import Release
from oddshift.model.space import Space

BINS = (5, 8, 12)
"""Bins of a column that a repairer reads for few, some hundreds of, and thousands of rows."""

ENOUGH = (600, 6_000)
"""Rows from which there are as many bins as the second, and the third, of BINS."""


@dataclass(frozen=True, eq=False, repr=False)
class RowLaw:
    """The bin of every value and its law inside the bin, column by column, and the law of the bins of a row."""

    layout: RowLayout
    bins: tuple[IntArray, ...]
    inside: tuple[FloatArray, ...]
    tree: CherryTree

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c = what the other cells of the row say about a cell, less what is said without any.

        All values of a bin hear the same.
        """
        nothing = self.tree.messages(self._binned([np.ones((1, len(each))) for each in self.bins]))
        for batch in row_batches(known, release, self.layout):
            said = self.tree.messages(self._binned(_by_row(batch)))
            for c, points, mine, at in batch.cells(self.layout):
                yield Terms(mine, (said[c][at] - nothing[c])[:, self.bins[c]], known.log_prior[points], points)

    def marginals(self, known: Knowledge, release: Release) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """(positions, candidate points, Pr[x_l | all outputs of the row]), column by column of every batch."""
        for batch in row_batches(known, release, self.layout):
            seen = _by_row(batch)
            binned = self._binned(seen)
            log_bins = self.tree.marginals(binned)
            for c, points, mine, at in batch.cells(self.layout):
                bins, likely = self.bins[c], self.inside[c] * seen[c][at]
                posterior = np.exp(log_bins[c][at])[:, bins] * likely / np.maximum(binned[c][at][:, bins], 1e-300)
                yield mine, points, posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)

    def draw(self, known: Knowledge, release: Release, rng: np.random.Generator) -> IntArray:
        """One joint draw of every row given its outputs, as a point for every position."""
        found = np.empty(len(release.outputs), dtype=np.int64)
        for batch in row_batches(known, release, self.layout):
            seen = _by_row(batch)
            drawn = self.tree.draw(self._binned(seen), rng)
            for c, points, mine, at in batch.cells(self.layout):
                likely = self.inside[c] * seen[c][at] * (self.bins[c] == drawn[at, c][:, None])
                found[mine] = points[drawn_rows(likely, rng)]
        return found

    def _binned(self, seen: Sequence[FloatArray]) -> list[FloatArray]:
        """Likelihoods of the bins by column, (rows, bins), from those of the values."""
        found = []
        for each, bin_of, inside in zip(seen, self.bins, self.inside, strict=True):
            shares = np.zeros((len(bin_of), int(bin_of.max()) + 1))
            shares[np.arange(len(bin_of)), bin_of] = inside
            found.append(each @ shares)
        return found


def _by_row(batch: RowBatch) -> list[FloatArray]:
    """Likelihoods of the values by column, (rows, values)."""
    return [each.reshape(-1, each.shape[-1]) for each in batch.seen]


def row_graph(known: Knowledge, layout: RowLayout) -> Edges:
    """The ties among the columns of a table in which some value is decided by two others."""
    return three_graph(column_cells(known, layout).ties)


def fit_row_tree(known: Knowledge, layout: RowLayout, edges: Edges) -> RowLaw:
    """The law with these ties that an attacker reads: as many bins as a column has values, up to MOST_VALUES."""
    return _row_law(layout, column_cells(known, layout), edges)


def fit_row_law(known: Knowledge, layout: RowLayout, least: int = 1) -> RowLaw:
    """The law that a repairer draws from: bins that hold enough rows for tables of three columns.

    **Guarantee**: with `least` = k, every count behind a tie is that of at least k documents.
    """
    rows = int((np.diff(known.fit.offsets) > 0).sum())
    cells = column_cells(known, layout, BINS[sum(rows >= enough for enough in ENOUGH)], least)
    return _row_law(layout, cells, graph_of(cells.ties, threes_of(cells.ties)))


def _row_law(layout: RowLayout, cells: Binned, edges: Edges) -> RowLaw:
    bins = tuple(cells.number[points] for points in layout.members)
    inside = tuple(cells.share[points] for points in layout.members)
    return RowLaw(layout, bins, inside, cherry_tree(cells.ties, edges))


def column_cells(known: Knowledge, layout: RowLayout, most: int = MOST_VALUES, least: int = 1) -> Binned:
    """The rows of the fit records, of which every column has points of its own, in at most this many bins."""
    cells, size = row_cells(known, layout), len(known.log_prior)
    number, share = np.zeros(size, dtype=np.int64), np.zeros(size)
    laws: list[FloatArray] = []
    for points, law in zip(layout.members, column_laws(known, layout, cells, least), strict=True):
        bin_of = column_bins(known.fit.space, points, law, most)
        laws.append(np.bincount(bin_of, weights=law).astype(np.float64))
        number[points], share[points] = bin_of, law / laws[-1][bin_of]
    local = np.stack([np.append(number[points], -1)[cells.values[:, c]] for c, points in enumerate(layout.members)])
    names = tuple(known.tiers.names[tier] for tier in np.argsort(layout.column_of_tier))
    ties = Ties(local.T, tuple(len(law) for law in laws), tuple(laws), cells.document, least)
    return Binned(ties, number, share, names)


def column_bins(space: Space, points: IntArray, counts: FloatArray, most: int) -> IntArray:
    """The bin of every value of a column: quantiles where values lie on a line, else the frequent ones and the rest.

    >>> column_bins(Space([[0.0], [1.0], [2.0], [3.0]]), np.arange(4), np.ones(4), 2).tolist()
    [0, 0, 1, 1]
    """
    if len(points) <= most:
        return np.arange(len(points))
    distances = space.between(points)[:, points]
    steps = np.append(0.0, np.cumsum(np.diagonal(distances, 1)))
    if np.allclose(distances[0], steps):
        middle = (np.cumsum(counts) - counts / 2) / counts.sum()
        return np.unique(np.minimum((middle * most).astype(np.int64), most - 1), return_inverse=True)[1]
    rank = np.empty(len(points), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(points))
    return np.minimum(rank, most - 1)
