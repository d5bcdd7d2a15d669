"""Ties between fixed places over few points: the first secret and the last one, place i and place j.

For every pair of places that documents share, a table of one value given the other, with back-off; how much it predicts
beyond the place's own law (leave one out) is its gain. The strongest ties that form a tree are kept (Chow and Liu), so
that inference is exact. Places count from the start and from the end, which is what documents of several lengths share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, observations
from oddshift.attackers.chain_laws import smoothed_table
from oddshift.attackers.law_attacker import log_floor
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records

REACH = 8
"""Number of places from either end that may be tied."""

FEWEST = 30
"""Smallest number of documents for the estimate of a tie."""

LONGEST = 104
"""Positions of the longest document whose ties are read; longer ones keep their places' own laws."""

Key = tuple[str, int, int]
"""How two places are named: counted from the start (ss), the end (ee), or one from each (se)."""

Tied = TypeVar("Tied")


@dataclass(frozen=True, eq=False, repr=False)
class Tie:
    """Joint law of two places, (points, points), and the gain of its second value given the first, in nats."""

    table: FloatArray
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class TiedPlaces:
    """Ties by name, and the law of a place that nothing is tied to."""

    ties: dict[Key, Tie]
    law: FloatArray

    @property
    def width(self) -> int:
        """Messages along edges, both ways."""
        return 4

    def messages(self, seen: FloatArray) -> FloatArray:
        """Belief propagation on the tree of the strongest ties among this length's places."""
        length = seen.shape[1]
        edges = strongest_tree(self.ties, length) if length <= LONGEST else []
        near: dict[int, list[tuple[int, FloatArray]]] = {t: [] for t in range(length)}
        for p, q, table in edges:
            near[p].append((q, table))
            near[q].append((p, table.T))
        marginal = [near[t][0][1].sum(axis=1) if near[t] else self.law for t in range(length)]
        found = np.empty_like(seen)
        for root in range(length):  # from the root, each edge is the law of the farther place given the nearer one
            value = np.broadcast_to(marginal[root], seen[:, root].shape)
            for other, table in near[root]:
                value = value * _towards(other, root, table, near, seen)
                value = value / np.maximum(value.max(axis=1, keepdims=True), 1e-300)
            found[:, root] = log_floor(value)
        return found


def _towards(
    place: int, goal: int, table: FloatArray, near: dict[int, list[tuple[int, FloatArray]]], seen: FloatArray
) -> FloatArray:
    """What `place` and all beyond it say about the value at `goal`; `table` is (goal, place)."""
    value = seen[:, place]
    for other, further in near[place]:
        if other != goal:
            value = value * _towards(other, place, further, near, seen)
    given = table / np.maximum(table.sum(axis=1, keepdims=True), 1e-300)
    message = value @ given.T
    return np.asarray(message / np.maximum(message.max(axis=1, keepdims=True), 1e-300))


def strongest_tree(ties: dict[Key, Tie], length: int) -> list[tuple[int, int, FloatArray]]:
    """Edges (p, q, joint table) of the spanning forest with the largest total gain, for documents of one length."""
    found = []
    for p, q in combinations(range(length), 2):
        known = [ties[key] for key in keys_of(p, q, length) if key in ties]
        if known:
            best = max(known, key=lambda tie: tie.gain)
            found.append((best.gain, p, q, best.table))
    return spanning_forest(found, length)


def spanning_forest(found: Iterable[tuple[float, int, int, Tied]], length: int) -> list[tuple[int, int, Tied]]:
    """Of edges (gain, p, q, what ties them) those without a circle whose total gain is largest, as (p, q, what)."""
    group, edges = list(range(length)), []
    for _, p, q, tied in sorted(found, key=lambda row: -row[0]):
        if group[p] != group[q]:
            old, new = group[p], group[q]
            group = [new if g == old else g for g in group]
            edges.append((p, q, tied))
    return edges


def keys_of(p: int, q: int, length: int) -> Iterator[Key]:
    """The names of a pair of places p < q in a document of that length, as far as they are within reach.

    >>> list(keys_of(0, 5, 6))
    [('ss', 0, 5), ('ee', 5, 0), ('se', 0, 0)]
    """
    ends = (length - 1 - p, length - 1 - q)
    if q < REACH:
        yield "ss", p, q
    if ends[0] < REACH:
        yield "ee", *ends
    if p < REACH and ends[1] < REACH:
        yield "se", p, ends[1]


def fit_tied_places(known: Knowledge) -> TiedPlaces:
    """Estimate every tie within reach that predicts something."""
    law = np.exp(known.log_prior)
    pairs = place_pairs(known.fit).items()
    ties = {key: tie for key, (p, q, _) in pairs if (tie := _tie(known, p, q, law)) is not None}
    return TiedPlaces(ties, law)


def place_pairs(fit: Records) -> dict[Key, tuple[IntArray, IntArray, IntArray]]:
    """The secrets at both places of every named pair, over all documents that have them, and those documents.

    With a single length the three names mean the same, and one is enough.
    """
    lengths = np.unique(fit.lengths[fit.lengths > 1])
    found: dict[Key, list[IntArray]] = {}
    for length in lengths[lengths <= LONGEST]:
        documents = np.flatnonzero(fit.lengths == length)
        starts = fit.offsets[documents]
        for p, q in combinations(range(int(length)), 2):
            names = list(keys_of(p, q, int(length)))
            for key in names if len(lengths) > 1 else names[:1]:
                found.setdefault(key, []).append(np.stack([fit.points[starts + p], fit.points[starts + q], documents]))
    joined = {key: np.concatenate(parts, axis=1) for key, parts in found.items()}
    return {key: (rows[0], rows[1], rows[2]) for key, rows in joined.items() if rows.shape[1] >= FEWEST}


def _tie(known: Knowledge, p: IntArray, q: IntArray, law: FloatArray) -> Tie | None:
    first, second = (_place_law(values, law) for values in (p, q))
    table = smoothed_table(known, p, q, second)
    held = np.arange(len(p)) % 5 == 0  # one document in five says what the tie is worth
    trial = smoothed_table(known, p[~held], q[~held], second)
    gain = float(np.mean(np.log(trial[p[held], q[held]] / second[q[held]])))
    return Tie(first[:, None] * table, gain) if gain > 0 else None


def _place_law(values: IntArray, law: FloatArray) -> FloatArray:
    seen = observations(np.zeros_like(values), values, 1, len(law))
    counts = np.bincount(values, minlength=len(law)).astype(np.float64)[None]
    return backed_off(seen, counts, [law])[0]
