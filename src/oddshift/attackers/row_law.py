"""The law of whole rows: columns cut into bins, a cherry tree over the bins, and the law of a value inside its bin.

Pr[row] = Pr[bins] · Π_c Pr[x_c | bin of x_c]. Numbers are cut at quantiles, so that neighbours share a bin; the most
frequent values of other columns have a bin each, and the rest of them share one. Posteriors and joint draws are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, observations, supported
from oddshift.attackers.cherry_tree import Cherry, CherryTree
from oddshift.attackers.row_layout import RowBatch, RowLayout, column_laws, drawn_rows, row_batches, row_cells
from oddshift.attackers.threes import TRIED
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.release import Release
from oddshift.model.space import Space

BINS = (5, 8, 12)
"""Bins of a column for few, some hundreds of, and thousands of rows."""

ENOUGH = (600, 6_000)
"""Rows from which there are as many bins as the second, and the third, of BINS."""


@dataclass(frozen=True, eq=False, repr=False)
class RowLaw:
    """The bin of every value and its law inside the bin, column by column, and the law of the bins of a row."""

    layout: RowLayout
    bins: tuple[IntArray, ...]
    inside: tuple[FloatArray, ...]
    tree: CherryTree

    def marginals(self, known: Knowledge, release: Release) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """(positions, candidate points, Pr[x_l | all outputs of the row]), column by column of every batch."""
        for batch in row_batches(known, release, self.layout):
            seen, binned = self._binned(batch)
            log_bins = self.tree.marginals(_by_column(binned))
            for c, points, mine, at in batch.cells(self.layout):
                bins, likely = self.bins[c], self.inside[c] * seen[c][at]
                posterior = np.exp(log_bins[c][at])[:, bins] * likely / np.maximum(binned[at, c][:, bins], 1e-300)
                yield mine, points, posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)

    def draw(self, known: Knowledge, release: Release, rng: np.random.Generator) -> IntArray:
        """One joint draw of every row given its outputs, as a point for every position."""
        found = np.empty(len(release.outputs), dtype=np.int64)
        for batch in row_batches(known, release, self.layout):
            seen, binned = self._binned(batch)
            drawn = self.tree.draw(_by_column(binned), rng)
            for c, points, mine, at in batch.cells(self.layout):
                likely = self.inside[c] * seen[c][at] * (self.bins[c] == drawn[at, c][:, None])
                found[mine] = points[drawn_rows(likely, rng)]
        return found

    def _binned(self, batch: RowBatch) -> tuple[list[FloatArray], FloatArray]:
        """Likelihoods of the values by column (rows, values), and those of the bins, (rows, columns, bins)."""
        seen = [each.reshape(-1, each.shape[-1]) for each in batch.seen]
        binned = np.zeros((len(seen[0]), len(seen), self.tree.cherries[0].law.shape[-1]))
        for c, (bins, inside) in enumerate(zip(self.bins, self.inside, strict=True)):
            shares = np.zeros((len(bins), binned.shape[2]))
            shares[np.arange(len(bins)), bins] = inside
            binned[:, c] = seen[c] @ shares
        return seen, binned


def _by_column(binned: FloatArray) -> list[FloatArray]:
    return [binned[:, c] for c in range(binned.shape[1])]


def fit_row_law(known: Knowledge, layout: RowLayout, least: int = 1) -> RowLaw:
    """Estimate the law; combinations of bins that fewer than `least` documents hold count as never seen.

    **Guarantee**: with `least` = k, every count behind a tie is that of at least k documents.
    """
    cells = row_cells(known, layout)
    most = BINS[sum(len(cells.values) >= enough for enough in ENOUGH)]
    laws = column_laws(known, layout, cells, least)
    bins = [column_bins(known.fit.space, points, law, most) for points, law in zip(layout.members, laws, strict=True)]
    pairs = list(zip(bins, laws, strict=True))
    of_bins: list[FloatArray] = [np.bincount(number, weights=law).astype(np.float64) for number, law in pairs]
    inside = [law / each[number] for law, each, number in zip(laws, of_bins, bins, strict=True)]
    binned = np.full(cells.values.shape, -1, dtype=np.int64)
    for c, number in enumerate(bins):
        binned[:, c] = np.where(cells.values[:, c] >= 0, number[cells.values[:, c]], -1)
    whole = (binned >= 0).all(axis=1)
    tree = estimated_cherry_tree(binned[whole], of_bins, cells.document[whole], least)
    return RowLaw(layout, tuple(bins), tuple(inside), tree)


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


def estimated_cherry_tree(values: IntArray, laws: list[FloatArray], units: IntArray, least: int) -> CherryTree:
    """The law of documents as an array (documents, places), whose cliques are chosen by what they tell of each other.

    `laws` has the law of every place. Combinations of values that fewer than `least` of the units hold count as never
    seen.
    """
    points = max(len(law) for law in laws)
    padded = [np.pad(law, (0, points - len(law))) for law in laws]
    cherries: list[Cherry] = []
    for place, parents in chosen_cherries(values, points):
        cherries.append(Cherry(place, parents, _table(values, padded, (place, parents), (units, least))))
    return CherryTree(tuple(cherries))


def chosen_cherries(values: IntArray, points: int) -> list[tuple[int, tuple[int, ...]]]:
    """(place, parents) with parents first: again and again the clique whose new places are told most, in nats."""
    places = range(values.shape[1])
    told: dict[tuple[int, tuple[int, ...]], float] = {(v, ()): 0.0 for v in places}
    for count in (1, 2):
        for v in places:
            for pair in combinations([p for p in places if p != v], count):
                told[v, pair] = _told(values, points, v, pair)
    order: list[tuple[int, tuple[int, ...]]] = []
    while len(order) < len(places):
        _, added = max(((_gain(added, told), added) for added in _additions(order, places)), key=lambda a: a[0])
        order.extend(added)
    return order


def _additions(order: list[tuple[int, tuple[int, ...]]], places: range) -> Iterator[list[tuple[int, tuple[int, ...]]]]:
    """Every clique of three places (in every order of the new ones) that can join those of `order`."""
    rank = {v: i for i, (v, _) in enumerate(order)}
    tied = {frozenset((v, p)) for v, parents in order for p in parents}
    for clique in combinations(places, 3):
        inside = tuple(sorted((v for v in clique if v in rank), key=rank.__getitem__))
        if len(inside) == 3 or (len(inside) == 2 and frozenset(inside) not in tied):
            continue
        for new in permutations([v for v in clique if v not in rank]):
            yield [(v, inside + new[:i]) for i, v in enumerate(new)]
    for v in places:  # a place whose neighbours cannot be joined as a clique
        if v not in rank:
            for p in rank:
                yield [(v, (p,))]
            yield [(v, ())]


def _gain(added: list[tuple[int, tuple[int, ...]]], told: dict[tuple[int, tuple[int, ...]], float]) -> float:
    return sum(told[v, tuple(sorted(parents))] for v, parents in added)


def _told(values: IntArray, points: int, place: int, parents: tuple[int, ...]) -> float:
    """Nats that the parents tell of a place, each document predicted from all others, beyond the law of the place."""
    seen = observations(_context(values, points, parents), values[:, place], points ** len(parents), points)
    law = np.bincount(values[:, place], minlength=points) / len(values)
    score = max(backoff.score(seen, law[seen.value]) for backoff in TRIED)
    return float(score - seen.count @ np.log(law[seen.value])) / len(values)


def _context(values: IntArray, points: int, parents: tuple[int, ...]) -> IntArray:
    number = np.zeros(len(values), dtype=np.int64)
    for parent in parents:
        number = number * points + values[:, parent]
    return number


def _table(
    values: IntArray, laws: list[FloatArray], clique: tuple[int, tuple[int, ...]], support: tuple[IntArray, int]
) -> FloatArray:
    """Pr[value | values of the parents], counts over the tables of one parent less, down to the law of the place."""
    place, parents = clique
    law, points = laws[place], len(laws[place])
    if not parents:
        return law
    contexts = points ** len(parents)
    context = _context(values, points, parents)
    seen = observations(context, values[:, place], contexts, points)
    kept = supported(context, values[:, place], points, *support)
    bases = [np.broadcast_to(law, (contexts, points))]
    if len(parents) == 2:
        one, two = (_table(values, laws, (place, (p,)), support) for p in parents)
        bases += [np.repeat(one, points, axis=0), np.tile(two, (points, 1))]
    return backed_off(seen, seen.table(contexts, points), bases, kept).reshape((points,) * (len(parents) + 1))
