"""The cherry tree: a law of documents with fixed places in which a value depends on at most two others, read exactly.

Every place hangs below none, one or two earlier places that are tied themselves, so that cliques have at most three
places (treewidth 2; Kovács and Szántai). Chains, trees and second order are special cases. Which places form a clique
is chosen greedily, by what they tell of each other where every observation is predicted from all others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import Backoff, backed_off, observations, supported
from oddshift.base.arrays import FloatArray, IntArray

MOST_POINTS = 32
"""Largest number of points for tables of three places."""

MOST_PLACES = 12
"""Longest documents for which every three places are compared."""

FEWEST = 100
"""Smallest number of documents from which such tables are estimated."""

TRIED = tuple(Backoff(discount, strength) for discount in (0.0, 0.6) for strength in (1.0, 10.0, 100.0))
"""How far counts may be trusted where ties are compared."""

_LEAST = 1e-30  # a likelihood that can still be divided out of a marginal


@dataclass(frozen=True, eq=False, repr=False)
class Cherry:
    """A place, the earlier places that it depends on, and Pr[value | theirs], with one axis for each and its own."""

    place: int
    parents: tuple[int, ...]
    law: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class CherryTree:
    """Cherries with parents first; the later of two parents depends on the earlier one. `law` is that of any value.

    Likelihoods `seen` are (documents, places, points): M(y_l|x) of every output, or ones where nothing was released.

    **Guarantee**: `marginals` and `draw` are exact under this law; how close it is to the truth they do not say.
    """

    cherries: tuple[Cherry, ...]
    law: FloatArray

    @property
    def width(self) -> int:
        """Entries of a table of three places, in multiples of the number of points."""
        return len(self.law) ** 2

    def marginals(self, seen: FloatArray) -> FloatArray:
        """log Pr[x_l | all outputs] for every place, (documents, places, points)."""
        tables = self._collected(seen)
        joints: dict[int, FloatArray] = {}
        found = np.empty(seen.shape)
        for cherry in self.cherries:
            table = tables[cherry.place]
            total = table.sum(axis=-1, keepdims=True)
            above = self._law_of(cherry.parents, joints)[..., None]
            joint = table * (above / np.maximum(total, 1e-300))
            joints[cherry.place] = joint
            found[:, cherry.place] = joint.reshape(len(seen), -1, seen.shape[2]).sum(axis=1)
        return np.asarray(np.log(np.maximum(found, 1e-300)))

    def draw(self, seen: FloatArray, rng: np.random.Generator) -> IntArray:
        """One joint draw of every document given its outputs, (documents, places): collect, then draw outwards."""
        tables = self._collected(seen)
        documents = np.arange(len(seen))
        found = np.empty(seen.shape[:2], dtype=np.int64)
        for cherry in self.cherries:
            rows = tables[cherry.place][(documents, *(found[:, p] for p in cherry.parents))]
            sums = np.cumsum(rows, axis=1)
            below = rng.random((len(rows), 1)) * sums[:, -1:]
            found[:, cherry.place] = (sums <= below).sum(axis=1).clip(max=rows.shape[1] - 1)
        return found

    def messages(self, seen: FloatArray) -> FloatArray:
        """What the others say about each place; documents of another length get the law of any value."""
        if seen.shape[1] != len(self.cherries):
            return np.broadcast_to(np.log(self.law), seen.shape)
        seen = np.maximum(seen, _LEAST)
        return self.marginals(seen) - np.log(seen)

    def _collected(self, seen: FloatArray) -> dict[int, FloatArray]:
        """Pr[value, outputs of it and of all below | parents] of every place, (documents, *parents, points), scaled."""
        tables = {
            c.place: c.law * seen[:, c.place].reshape(len(seen), *(1,) * len(c.parents), -1) for c in self.cherries
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


def suits_cherry_tree(known: Knowledge) -> bool:
    """Whether all fit documents have the same few places, the points are few and the documents enough."""
    lengths = known.fit.lengths
    is_fixed = len(lengths) >= FEWEST and bool((lengths == lengths[0]).all())
    return is_fixed and 3 <= int(lengths[0]) <= MOST_PLACES and 2 <= len(known.log_prior) <= MOST_POINTS


def fit_cherry_tree(known: Knowledge) -> CherryTree:
    """Estimate the law from clean fit documents; only where `suits_cherry_tree`."""
    fit = known.fit
    return estimated_cherry_tree(fit.points.reshape(len(fit.lengths), -1), len(known.log_prior))


def estimated_cherry_tree(values: IntArray, points: int, units: IntArray | None = None, least: int = 1) -> CherryTree:
    """Return the same for documents as an array (documents, places).

    Combinations of values that fewer than `least` of the `units` (by default: documents) hold count as never seen.
    """
    law = np.bincount(values.ravel(), minlength=points) + 0.5
    units = np.arange(len(values)) if units is None else units
    cherries: list[Cherry] = []
    for place, parents in chosen_cherries(values, points):
        cherries.append(Cherry(place, parents, _table(values, points, (place, parents), (units, least))))
    return CherryTree(tuple(cherries), law / law.sum())


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
    values: IntArray, points: int, clique: tuple[int, tuple[int, ...]], support: tuple[IntArray, int]
) -> FloatArray:
    """Pr[value | values of the parents], counts over the tables of one parent less, down to the law of the place."""
    place, parents = clique
    counts = np.bincount(values[:, place], minlength=points) + 0.5
    law = counts / counts.sum()
    if not parents:
        return np.asarray(law)
    contexts = points ** len(parents)
    context = _context(values, points, parents)
    seen = observations(context, values[:, place], contexts, points)
    kept = supported(context, values[:, place], points, *support)
    bases = [np.broadcast_to(law, (contexts, points))]
    if len(parents) == 2:
        one, two = (_table(values, points, (place, (p,)), support) for p in parents)
        bases += [np.repeat(one, points, axis=0), np.tile(two, (points, 1))]
    return backed_off(seen, seen.table(contexts, points), bases, kept).reshape((points,) * (len(parents) + 1))
