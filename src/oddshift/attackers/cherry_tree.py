"""The cherry tree: a law of documents with fixed places in which a value depends on at most two others, read exactly.

Every place hangs below none, one or two earlier places that are tied themselves, so that cliques have at most three
places (treewidth 2; Kovács and Szántai). Chains, trees and second order are special cases. Places are the positions of
documents of one length or the columns of a table, and each has values of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import combinations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.threes import Threes, Ties, threes_of
from oddshift.base.arrays import FloatArray, IntArray

MOST_VALUES = 32
"""Largest number of values of a place: those of a column with more are read in bins of about as many cells each."""

BATCH_ENTRIES = 300_000
"""Entries of the tables of one batch of documents, which a cache holds; a performance setting."""

_LEAST = 1e-30  # a likelihood that can still be divided out of a marginal


@dataclass(frozen=True, eq=False, repr=False)
class Cherry:
    """A place, the earlier places that it depends on, and Pr[value | theirs], with one axis for each and its own."""

    place: int
    parents: tuple[int, ...]
    law: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class CherryTree:
    """Cherries with parents first; the later of two parents depends on the earlier one.

    Likelihoods `seen` are given place by place, each (documents, values): M(y|x) of every output, or ones where nothing
    was released.

    **Guarantee**: `marginals` and `draw` are exact under this law; how close it is to the truth they do not say.
    """

    cherries: tuple[Cherry, ...]

    def marginals(self, seen: Sequence[FloatArray]) -> list[FloatArray]:
        """log Pr[x | all outputs] for every place, (documents, values)."""
        tables = self._collected(seen)
        joints: dict[int, FloatArray] = {}
        found = [np.empty(0)] * len(seen)
        for cherry in self.cherries:
            table = tables[cherry.place]
            total = np.maximum(table.sum(axis=-1, keepdims=True), 1e-300)
            joint = table * (self._law_of(cherry.parents, joints)[..., None] / total)
            joints[cherry.place] = joint
            mine = joint.reshape(len(joint), -1, joint.shape[-1]).sum(axis=1)
            found[cherry.place] = np.log(np.maximum(mine, 1e-300))
        return found

    def draw(self, seen: Sequence[FloatArray], rng: np.random.Generator) -> IntArray:
        """One joint draw of every document given its outputs, (documents, places): collect, then draw outwards."""
        tables = self._collected(seen)
        documents = np.arange(len(seen[0]))
        found = np.empty((len(documents), len(seen)), dtype=np.int64)
        for cherry in self.cherries:
            rows = tables[cherry.place][(documents, *(found[:, p] for p in cherry.parents))]
            sums = np.cumsum(rows, axis=1)
            below = rng.random((len(rows), 1)) * sums[:, -1:]
            found[:, cherry.place] = (sums <= below).sum(axis=1).clip(max=rows.shape[1] - 1)
        return found

    def messages(self, seen: Sequence[FloatArray]) -> list[FloatArray]:
        """What the others say about each place, in logarithms, each row up to a constant."""
        most = max(c.law.size for c in self.cherries)
        step, found = max(1, BATCH_ENTRIES // most), []
        for low in range(0, len(seen[0]), step):
            part = [np.maximum(each[low : low + step], _LEAST) for each in seen]
            found.append([a - np.log(b) for a, b in zip(self.marginals(part), part, strict=True)])
        return [np.concatenate(rows) for rows in zip(*found, strict=True)]

    def _collected(self, seen: Sequence[FloatArray]) -> dict[int, FloatArray]:
        """Pr[value, outputs of it and of all below | parents] of every place, (documents, *parents, values), scaled."""
        tables = {
            c.place: c.law * seen[c.place].reshape(len(seen[c.place]), *(1,) * len(c.parents), -1)
            for c in self.cherries
        }
        parents = {c.place: c.parents for c in self.cherries}
        for cherry in reversed(self.cherries):
            if not cherry.parents:
                continue
            message = tables[cherry.place].sum(axis=-1)
            message /= np.maximum(message.max(axis=tuple(range(1, message.ndim)), keepdims=True), 1e-300)
            host = cherry.parents[-1]
            if len(cherry.parents) == 2 and len(parents[host]) == 2:
                axis = 2 - parents[host].index(cherry.parents[0])  # the axis of the host's other parent
                message = np.expand_dims(message, axis)
            elif len(cherry.parents) == 1 and parents[host]:
                message = message.reshape(len(message), *(1,) * len(parents[host]), -1)
            tables[host] = tables[host] * message
        return tables

    def _law_of(self, places: tuple[int, ...], joints: dict[int, FloatArray]) -> FloatArray:
        """The posterior of the parents of a cherry, summed from the table of the later one."""
        if not places:
            return np.ones(1)
        joint, host = joints[places[-1]], next(c for c in self.cherries if c.place == places[-1])
        others = tuple(1 + i for i, p in enumerate(host.parents) if p not in places)
        return np.asarray(joint.sum(axis=others))


@dataclass(frozen=True, eq=False, repr=False)
class PlaceTrees:
    """A cherry tree for documents of each length that has one, as a dense law; others get the law of any value."""

    trees: dict[int, CherryTree]
    law: FloatArray

    @property
    def width(self) -> int:
        """Tables of three places, in multiples of the number of points; batches of documents are cut inside."""
        return len(self.law)

    def messages(self, seen: FloatArray) -> FloatArray:
        """What the others say about each place."""
        tree = self.trees.get(seen.shape[1])
        if tree is None:
            return np.broadcast_to(np.log(self.law), seen.shape)
        return np.stack(tree.messages([seen[:, t] for t in range(seen.shape[1])]), axis=1)


@dataclass(frozen=True, eq=False, repr=False)
class Binned:
    """Fit documents with fixed places: values by bin, the bin of every point in its place, and its share of that bin.

    `names` says in words what each place is.
    """

    ties: Ties
    number: IntArray
    share: FloatArray
    names: tuple[str, ...]


def place_cells(known: Knowledge, length: int) -> Binned:
    """The fit documents of one length, whose places have all points."""
    fit, points = known.fit, len(known.log_prior)
    values = fit.points[fit.offsets[:-1][fit.lengths == length][:, None] + np.arange(length)]
    names = tuple(f"position {place + 1}" for place in range(length))
    return Binned(Ties(values, (points,) * length), np.arange(points), np.ones(points), names)


def place_graphs(known: Knowledge) -> dict[int, Edges]:
    """The ties of documents of every length in which some value is decided by two others."""
    if len(known.log_prior) > MOST_VALUES:
        return {}
    found = {int(n): three_graph(place_cells(known, int(n)).ties) for n in np.unique(known.fit.lengths)}
    return {length: edges for length, edges in found.items() if edges}


def fit_place_trees(known: Knowledge, graphs: Mapping[int, Edges]) -> PlaceTrees:
    """A law for the documents of every length that has ties."""
    law = np.exp(known.log_prior)
    trees = {length: cherry_tree(place_cells(known, length).ties, edges) for length, edges in graphs.items()}
    return PlaceTrees(trees, law / law.sum())


def cherry_tree(ties: Ties, edges: Edges) -> CherryTree:
    """The law in which these places are tied."""
    order = hung(edges, len(ties.sizes))
    return CherryTree(tuple(Cherry(place, parents, ties.table(place, parents)) for place, parents in order))


Edges = frozenset[tuple[int, int]]
"""Tied places, the smaller one first."""


def three_graph(ties: Ties) -> Edges:
    """The ties to read where some value is decided by two others; none where none is."""
    threes = threes_of(ties)
    return graph_of(ties, threes) if threes else Edges()


def graph_of(ties: Ties, threes: Threes) -> Edges:
    """Threes and pairs that can be read exactly together: one after the other, what tells most beyond the rest."""
    everyone = list(combinations(range(len(ties.sizes)), 2))
    edges, told = Edges(), 0.0
    waiting: list[tuple[float, tuple[int, ...]]] = [(-np.inf, some) for some in sorted((*everyone, *threes))]
    while waiting:
        _, some = heappop(waiting)
        grown = edges | set(combinations(some, 2))
        near = [pair for pair in everyone if set(pair) & set(some)] if len(some) == 3 else []
        tried = (grown, *(grown | {pair} for pair in near))  # one more tie may close a ring
        more, best = next(
            ((_told(ties, each) - told, each) for each in tried if hung(each, len(ties.sizes))), (0, edges)
        )
        if more > 0 and waiting and more < -waiting[0][0]:
            heappush(waiting, (-more, some))
        elif more > 0:
            edges, told = best, told + more
    return edges


def _told(ties: Ties, edges: Edges) -> float:
    """Nats that all places are told; 0 where ties have no order of cliques."""
    return sum(ties.dependence(place, parents) for place, parents in hung(edges, len(ties.sizes)))


def hung(edges: Edges, places: int) -> list[tuple[int, tuple[int, ...]]]:
    """(place, parents) with parents first, by maximum cardinality search; empty where the ties have no such order.

    >>> hung(frozenset({(0, 1), (0, 2), (1, 2), (2, 3)}), 4)
    [(0, ()), (1, (0,)), (2, (0, 1)), (3, (2,))]
    >>> hung(frozenset({(0, 1), (1, 2), (2, 3), (0, 3)}), 4)
    []
    """
    near: dict[int, set[int]] = {v: set() for v in range(places)}
    for p, q in edges:
        near[p].add(q)
        near[q].add(p)
    order: list[tuple[int, tuple[int, ...]]] = []
    rank: dict[int, int] = {}
    while len(order) < places:
        place = max((v for v in near if v not in rank), key=lambda v: (len(near[v] & rank.keys()), -v))
        parents = tuple(sorted(near[place] & rank.keys(), key=rank.__getitem__))
        if len(parents) > 2 or (len(parents) == 2 and parents[0] not in near[parents[1]]):
            return []
        rank[place] = len(order)
        order.append((place, parents))
    return order
