"""The tree of columns: the strongest ties between two columns of a table that form a tree, with exact inference.

A tie is what one column tells of another in rows that were not counted (after Chow and Liu). Where rows come in groups
(the visits of one patient), a column whose rows nearly always agree has one hidden value for the group; every row (or
the first alone, where such values are drawn once) then shows it: what one row says about a column counts for all rows
of its group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, normalised_rows, observations
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.row_layout import (
    RowCells,
    RowLayout,
    row_batches,
    row_cells,
    spread_over_points,
)
from oddshift.attackers.threes import Ties
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.release import Release
from oddshift.model.space import Space

AGREE = 0.5
"""A column belongs to the group, not to the row, when it agrees beyond chance by at least this share."""

FEWEST = 30
"""Smallest number of pairs of rows for the estimate of such a share."""

WIDTHS = (0.2, 0.6)
"""Widths of the kernels that smooth tables of pairs, in units of distance within a column."""

_TINY = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class ColumnNode:
    """A column of the tree: its parent (−1 for a root), the law of its value given the parent's (or its own law).

    `spread` is the law of a cell given the value of the group, for a column that belongs to the group; None otherwise.
    """

    column: int
    parent: int
    law: FloatArray
    spread: FloatArray | None


@dataclass(frozen=True, eq=False, repr=False)
class ColumnTree:
    """Columns with parents before children; a column of the group never hangs below one of the row."""

    layout: RowLayout
    nodes: tuple[ColumnNode, ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c = what all other cells say about a cell, given the tree, minus what the tree says without any."""
        size = len(known.log_prior)
        for batch in row_batches(known, release, self.layout):
            rows = batch.seen[0].shape[1]
            nothing = self.messages([np.ones((1, rows, len(points))) for points in self.layout.members])
            said = self.messages(batch.seen)
            context = [a - b for a, b in zip(said, nothing, strict=True)]
            yield Terms(batch.positions, spread_over_points(batch, self.layout, context, size), known.log_prior)

    def messages(self, seen: list[FloatArray]) -> list[FloatArray]:
        """For every cell the log of what all others say, (documents, rows, values) by column."""
        up, shown, sent = self._upward(seen)
        below: dict[int, FloatArray] = {}
        found: list[FloatArray] = [np.empty(0)] * len(seen)
        for node in self.nodes:
            c = node.column
            if node.parent < 0:
                above = np.log(node.law)
            else:
                parent = next(other for other in self.nodes if other.column == node.parent)
                total = below[parent.column] + up[parent.column]
                if parent.spread is not None and node.spread is None:
                    total = total[:, None, :]
                above = _through(total - sent[c], node.law)
            below[c] = above
            if node.spread is None:
                found[c] = above + up[c] - np.log(np.maximum(seen[c], _TINY))
            else:
                others = (above + up[c])[:, None, :] - shown[c]
                found[c] = _through(others, node.spread)
        return found

    def _upward(
        self, seen: list[FloatArray]
    ) -> tuple[dict[int, FloatArray], dict[int, FloatArray], dict[int, FloatArray]]:
        """What every column gathers from its cells and from below; what each cell shows; what is sent to the parent."""
        up, shown, sent = {}, {}, {}
        for node in self.nodes:
            c = node.column
            if node.spread is None:
                up[c] = np.log(np.maximum(seen[c], _TINY))
            else:
                shown[c] = np.log(np.maximum(seen[c] @ node.spread.T, _TINY))
                up[c] = shown[c].sum(axis=1)
        belongs = {node.column: node.spread is not None for node in self.nodes}
        for node in reversed(self.nodes):
            if node.parent >= 0:
                message = _through(up[node.column], node.law.T)
                sent[node.column] = message
                is_group = belongs[node.parent] and not belongs[node.column]
                up[node.parent] = up[node.parent] + (message.sum(axis=1) if is_group else message)
        return up, shown, sent


def _through(message: FloatArray, law: FloatArray) -> FloatArray:
    """log Σ_x exp(message(x))·law(x, y), each row scaled to a peak of 1 first."""
    peak = message.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.maximum(np.exp(message - peak) @ law, _TINY)))


def fit_column_tree(known: Knowledge, layout: RowLayout) -> ColumnTree:
    """Estimate agreement within groups, the ties between columns, and the tables along the strongest tree."""
    cells = row_cells(known, layout)
    laws = [_law(cells.values[:, c], len(points)) for c, points in enumerate(layout.members)]
    spreads = [_spread(cells, c, law) for c, law in enumerate(laws)]
    order = _strongest_tree(_ties(cells.values, layout), [spread is not None for spread in spreads])
    nodes = []
    for column, parent in order:
        law = laws[column]
        if parent >= 0:
            law = pair_law(known.fit.space, layout, cells.values, (parent, column), laws[column])
        nodes.append(ColumnNode(column, parent, law, spreads[column]))
    return ColumnTree(layout, tuple(nodes))


def _law(values: IntArray, size: int) -> FloatArray:
    counts = np.bincount(values[values >= 0], minlength=size) + 0.5
    return np.asarray(counts / counts.sum())


def _spread(cells: RowCells, column: int, law: FloatArray) -> FloatArray | None:
    """A cell shows the value of its group, or any value: ρ·[x = z] + (1 − ρ)·law(x), with ρ² the agreement of rows."""
    if _only_first(cells, column):
        return np.asarray((1.0 - 1e-9) * np.eye(len(law)) + 1e-9 * law)
    first, second = cells.neighbours
    one, two = cells.values[first, column], cells.values[second, column]
    both = (one >= 0) & (two >= 0)
    if both.sum() < FEWEST:
        return None
    chance = float((law**2).sum())
    agree = (float((one == two)[both].mean()) - chance) / max(1.0 - chance, 1e-9)
    if agree < AGREE:
        return None
    share = min(float(np.sqrt(agree)), 1.0 - 1.0 / (2.0 + both.sum()))
    return np.asarray(share * np.eye(len(law)) + (1.0 - share) * law)


def _only_first(cells: RowCells, column: int) -> bool:
    """Whether a column occurs only in the first rows of groups: then one cell was drawn for all rows that agree."""
    _, later = cells.neighbours
    has = cells.values[:, column] >= 0
    return len(later) >= FEWEST and bool(has[later].mean() < 0.2 < has.mean())


def _ties(values: IntArray, layout: RowLayout) -> dict[tuple[int, int], float]:
    """How much every two columns tell of each other, in nats: what predicts each cell from all other rows."""
    ties = Ties(values, tuple(len(points) for points in layout.members))
    pairs = combinations(range(len(layout.members)), 2)
    return {(c, d): ties.dependence(d, (c,)) for c, d in pairs if len(ties.having(c, d)) >= FEWEST}


def _strongest_tree(ties: dict[tuple[int, int], float], belongs: list[bool]) -> list[tuple[int, int]]:
    """(column, parent) with parents first: columns of groups among themselves, then the others where they fit best."""
    left = set(range(len(belongs)))
    order: list[tuple[int, int]] = []
    while left:
        first = {c for c in left if belongs[c]} or left
        inside = {c for c, _ in order}
        edges = [
            (tie, c, p)
            for pair, tie in ties.items()
            for c, p in (pair, pair[::-1])
            if tie > 0 and c in first and p in inside
        ]
        if edges:
            _, column, parent = max(edges)
        else:
            column, parent = max(first, key=lambda c: sum(t for pair, t in ties.items() if c in pair)), -1
        order.append((column, parent))
        left.remove(column)
    return order


def pair_law(space: Space, layout: RowLayout, values: IntArray, pair: tuple[int, int], law: FloatArray) -> FloatArray:
    """Pr[value of the second column | value of the first], counts over tables smoothed by distance and the law."""
    one, two = pair
    both = (values[:, one] >= 0) & (values[:, two] >= 0)
    shape = (len(layout.members[one]), len(layout.members[two]))
    seen = observations(values[both, one], values[both, two], *shape)
    counts = seen.table(*shape)
    bases = [np.broadcast_to(law, shape)]
    distances = [space.between(layout.members[c])[:, layout.members[c]] for c in pair]
    for width in WIDTHS:
        near, far = (np.exp(-d / width) for d in distances)
        np.fill_diagonal(near, 0.0)  # an observation is never predicted from itself
        bases.append(normalised_rows(near @ counts @ normalised_rows(far) + 1e-9 * law))
    return backed_off(seen, counts, bases)
