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

from oddshift.attackers.backoff import TRIED, Backoff, Observations, backed_off, observations, supported
from oddshift.base.arrays import FloatArray, IntArray

FEWEST = 100
"""Smallest number of documents from which threes are told from pairs."""

MOST_PLACES = 24
"""Largest number of places among which every three are compared."""

MOST_TRIED = 40
"""Largest number of threes that are estimated; the quick measure ranks them."""

SURE, LEAST = 4.0, 0.01
"""Standard errors by which a gain must exceed 0, for many are looked at, and the smallest one in nats that is read."""

_SMALL = 1e-12

Threes = tuple[tuple[int, int, int], ...]
"""Sets of three places, each in order."""


@dataclass(frozen=True, eq=False, repr=False)
class Ties:
    """Values of documents, (documents, places), −1 for none, and the number of values of every place.

    Values that fewer than `least` of the `units` of these documents hold together count as never seen in a table; the
    laws of the places are then `known_laws`.
    """

    values: IntArray
    sizes: tuple[int, ...]
    known_laws: tuple[FloatArray, ...] = ()
    units: IntArray | None = None
    least: int = 1
    _dependence: dict[tuple[int, ...], float] = field(default_factory=dict)
    _entropy: dict[tuple[int, ...], float] = field(default_factory=dict)
    _tables: dict[tuple[int, ...], FloatArray] = field(default_factory=dict)

    @cached_property
    def laws(self) -> Sequence[FloatArray]:
        """The law of every place."""
        if self.known_laws:
            return self.known_laws
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

    def table(self, place: int, parents: tuple[int, ...]) -> FloatArray:
        """Pr[value | values of the parents], with an axis for each of them; counts over what fewer of them say."""
        if not parents:
            return self.laws[place]
        if (place, *parents) not in self._tables:
            rows, shape = self.having(place, *parents), tuple(self.sizes[p] for p in parents)
            contexts = np.zeros((int(np.prod(shape)), len(self.sizes)), dtype=np.int64)
            contexts[:, parents] = np.stack(np.unravel_index(np.arange(len(contexts)), shape), axis=1)
            seen, kept = self.seen(rows, place, parents), None
            if self.units is not None:
                context, _ = _numbered(self.values[rows], parents, self.sizes)
                values = self.values[rows, place]
                kept = supported(context, values, self.sizes[place], self.units[rows], self.least)
            laws = self.broader(place, parents, contexts)
            found = backed_off(seen, seen.table(len(contexts), self.sizes[place]), laws, kept)
            self._tables[place, *parents] = found.reshape(*shape, -1)
        return self._tables[place, *parents]

    def broader(self, place: int, parents: tuple[int, ...], values: IntArray) -> list[FloatArray]:
        """Laws of a place without counts of all together, (documents, its values), for those of values everywhere."""
        law = self.laws[place]
        flat = np.broadcast_to(law, (len(values), len(law)))
        if len(parents) == 1:
            return [flat]
        one, two = (self.table(place, (p,))[values[:, p]] for p in parents)
        product = one * two / law
        return [flat, one, two, product / product.sum(axis=1, keepdims=True)]

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
    """The threes in which some value is told more than pairs explain, beyond chance."""
    promising = [three for gain, three in quick_threes(ties) if gain > LEAST][:MOST_TRIED]
    return tuple(t for t in promising if any(beyond_pairs(ties, t[k], t[k - 2], t[k - 1]) > LEAST for k in range(3)))


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
