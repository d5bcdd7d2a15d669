"""Threes: places of which two together tell more of a third than pairs of places explain.

What a value is told is predicted for every observation from all others (leave one out): Pr[c | a, b] from counts over
broader laws, against the product of pairs, Pr[c | a]·Pr[c | b]/Pr[c], and each of them alone. Every three places are
compared by a quick measure first, their information less what chance gives, and only promising ones are estimated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from oddshift.attackers.backoff import Backoff, Observations, backed_off, observations
from oddshift.base.arrays import FloatArray, IntArray

FEWEST = 100
"""Smallest number of documents from which threes are told from pairs."""

MOST_PLACES = 24
"""Largest number of places among which every three are compared."""

TRIED = tuple(Backoff(discount, strength) for discount in (0.0, 0.6) for strength in (1.0, 10.0, 100.0))
"""How far counts may be trusted where ties are compared."""

MOST_TRIED = 40
"""Largest number of threes that are estimated; the quick measure ranks them."""

SURE, LEAST = 4.0, 0.01
"""Standard errors by which a gain must exceed 0, for many are looked at, and the smallest one in nats that is read."""

_SMALL = 1e-12

Threes = tuple[tuple[int, int, int], ...]
"""Sets of three places, each in order."""


@dataclass(frozen=True, eq=False, repr=False)
class Ties:
    """Values of documents, (documents, places), −1 for none, and the number of values of every place."""

    values: IntArray
    sizes: tuple[int, ...]
    _dependence: dict[tuple[int, ...], float] = field(default_factory=dict)
    _entropy: dict[tuple[int, ...], float] = field(default_factory=dict)
    _tables: dict[tuple[int, int], FloatArray] = field(default_factory=dict)

    @cached_property
    def laws(self) -> list[FloatArray]:
        """The law of every place."""
        counts = [
            np.bincount(v[v >= 0], minlength=size) + 0.5 for v, size in zip(self.values.T, self.sizes, strict=True)
        ]
        return [each / each.sum() for each in counts]

    def having(self, *places: int) -> IntArray:
        """The documents that have values at all of these places."""
        return np.flatnonzero((self.values[:, places] >= 0).all(axis=1))

    def seen(self, rows: IntArray, place: int, parents: Sequence[int]) -> Observations:
        """Counts of a value given others."""
        context, size = _numbered(self.values[rows], parents, self.sizes)
        return observations(context, self.values[rows, place], size, self.sizes[place])

    def dependence(self, place: int, parents: tuple[int, ...]) -> float:
        """Nats that the parents tell of a place, each document predicted from all others, beyond its law."""
        key = (place, *parents)
        if key not in self._dependence:
            rows, law = self.having(*key), self.laws[place]
            if not len(rows):
                return 0.0
            seen = self.seen(rows, place, parents)
            score = max(backoff.score(seen, law[seen.value]) for backoff in TRIED)
            self._dependence[key] = float(score - seen.count @ np.log(law[seen.value])) / len(rows)
        return self._dependence[key]

    def pair_table(self, place: int, parent: int) -> FloatArray:
        """Pr[value | value of a parent], (values of the parent, values)."""
        if (place, parent) not in self._tables:
            seen = self.seen(self.having(place, parent), place, (parent,))
            shape = (self.sizes[parent], self.sizes[place])
            laws = [np.broadcast_to(self.laws[place], shape)]
            self._tables[place, parent] = backed_off(seen, seen.table(*shape), laws)
        return self._tables[place, parent]

    def broader(self, place: int, parents: tuple[int, ...], values: IntArray) -> list[FloatArray]:
        """Laws of a place without counts of all together, (documents, its values), for those of values everywhere."""
        law = self.laws[place]
        flat = np.broadcast_to(law, (len(values), len(law)))
        if len(parents) == 1:
            return [flat]
        one, two = (self.pair_table(place, p)[values[:, p]] for p in parents)
        product = one * two / law
        return [one, two, product / product.sum(axis=1, keepdims=True)]

    def counted(self, place: int, parents: tuple[int, ...]) -> tuple[Observations, FloatArray, Backoff, int]:
        """Counts of a value given others, the best broader law at each, how far counts are trusted, and its number."""
        seen = self.seen(self.having(place, *parents), place, parents)
        values, context = np.zeros((len(seen.count), len(self.sizes)), dtype=np.int64), seen.context
        for parent in reversed(parents):
            values[:, parent], context = context % self.sizes[parent], context // self.sizes[parent]
        laws = [rows[np.arange(len(rows)), seen.value] for rows in self.broader(place, parents, values)]
        number = max(range(len(laws)), key=lambda k: float(seen.count @ np.log(laws[k])))
        best = max(TRIED, key=lambda backoff: backoff.score(seen, laws[number]))
        return seen, laws[number], best, number

    def log_ratios(self, place: int, parents: tuple[int, ...], values: IntArray) -> FloatArray:
        """How counts of all together change the best broader law, (documents, values of the place), in logarithms."""
        seen, _, best, number = self.counted(place, parents)
        context, _ = _numbered(values, parents, self.sizes)
        size = int(np.prod([self.sizes[p] for p in parents]))
        base = self.broader(place, parents, values)[number]
        return np.asarray(np.log(best.rows(seen.table(size, self.sizes[place])[context], base) / base))

    def entropy(self, *places: int) -> float:
        """The entropy of the values at some places together, with what few observations hide of it (Miller)."""
        if places not in self._entropy:
            number, size = _numbered(self.values[self.having(*places)], places, self.sizes)
            if size <= 1_000_000:
                count = np.bincount(number)
                count = count[count > 0]
            else:
                count = np.unique(number, return_counts=True)[1]
            share = count / max(1, count.sum())
            self._entropy[places] = float(-(share @ np.log(share))) + (len(count) - 1) / max(1, 2 * count.sum())
        return self._entropy[places]


def _numbered(values: IntArray, places: Sequence[int], sizes: Sequence[int]) -> tuple[IntArray, int]:
    """One number for the values at some places, and how many numbers there are."""
    number, size = np.zeros(len(values), dtype=np.int64), 1
    for place in places:
        number, size = number * sizes[place] + values[:, place], size * sizes[place]
    return number, size


def threes_of(ties: Ties) -> Threes:
    """The threes in which some value is told more than pairs explain, beyond chance; the strongest first."""
    found = []
    for _, three in [row for row in quick_threes(ties) if row[0] > LEAST][:MOST_TRIED]:
        gains = (beyond_pairs(ties, three[k], three[k - 2], three[k - 1]) for k in range(3))
        found.append((max(gains), three))
    return tuple(three for gain, three in sorted(found, reverse=True) if gain > LEAST)


def quick_threes(ties: Ties) -> list[tuple[float, tuple[int, int, int]]]:
    """All threes, by how far their information goes beyond that of the two strongest of their pairs and chance."""
    if len(ties.values) < FEWEST or not 3 <= len(ties.sizes) <= MOST_PLACES:
        return []
    found = []
    for a, b, c in combinations(range(len(ties.sizes)), 3):
        pairs = sorted(max(0.0, information(ties, pair)) for pair in ((a, b), (a, c), (b, c)))
        found.append((information(ties, (a, b, c)) - pairs[1] - pairs[2], (a, b, c)))
    return sorted(found, reverse=True)


def information(ties: Ties, places: tuple[int, ...]) -> float:
    """How much less doubt places leave together than each alone, less one standard error of what chance gives.

    Where nothing depends 2n times that is about χ² with as many degrees of freedom as free cells.
    """
    free = float(np.prod([ties.sizes[p] - 1 for p in places]))
    chance = np.sqrt(2.0 * free) / (2 * len(ties.values))
    return sum(ties.entropy(p) for p in places) - ties.entropy(*places) - float(chance)


def beyond_pairs(ties: Ties, place: int, first: int, second: int) -> float:
    """Nats by which counts of three predict a value better than pairs, each from all others; 0 unless beyond chance."""
    rows = ties.having(place, first, second)
    if len(rows) < FEWEST:
        return 0.0
    seen, plain, best, _ = ties.counted(place, (first, second))
    gains = np.log(np.maximum(best.left_out(seen, plain), _SMALL) / plain)
    mean = float(seen.count @ gains) / len(rows)
    error = float(np.sqrt(seen.count @ (gains - mean) ** 2)) / len(rows)
    return mean if mean > SURE * error else 0.0


def triple_table(ties: Ties, place: int, first: int, second: int) -> FloatArray:
    """Pr[value | values of two parents], with an axis for each; counts over what pairs say."""
    seen, counts, bases = _counted(ties, place, first, second)
    return backed_off(seen, counts, bases).reshape(ties.sizes[first], ties.sizes[second], -1)


def _counted(ties: Ties, place: int, first: int, second: int) -> tuple[Observations, FloatArray, list[FloatArray]]:
    """Counts given both parents, also as a table, and what pairs say: the law, each parent alone, and their product."""
    law, shape = ties.laws[place], (ties.sizes[first], ties.sizes[second], ties.sizes[place])
    one, two = (ties.pair_table(place, p) for p in (first, second))
    product = one[:, None, :] * two[None, :, :] / law
    laws = [law, one[:, None, :], two[None, :, :], product / product.sum(axis=2, keepdims=True)]
    seen = ties.seen(ties.having(place, first, second), place, (first, second))
    contexts = shape[0] * shape[1]
    bases = [np.broadcast_to(each, shape).reshape(contexts, shape[2]) for each in laws]
    return seen, seen.table(contexts, shape[2]), bases
