"""Forward and backward passes of a sparse chain of second order, over points and over the pairs that know more.

Let p(c|b) be the chain and own, rest the laws of pairs. From the left, mass of a pair goes by own, and what rest leaves
of it goes with all other mass by the chain. From the right, a pair says what its second value says, and a little more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.estimated_chain import totals
from oddshift.attackers.sparse_law import SparseLaw, entries
from oddshift.base.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class PairLaws:
    """Pairs (a, b) in order, own(ab, c), sparse (pairs, points), and the rest of each row, (pairs, sets).

    `onward` is own(ab, c) at (ab, bc) where (b, c) is such a pair too, sparse (pairs, pairs); `step` the counted share
    of b after a in the chain, (pairs, 1); `by_first` and `by_second` add up pairs with one value, (points, pairs).
    """

    a: IntArray
    b: IntArray
    own: Any
    rest: FloatArray
    onward: Any
    step: FloatArray
    by_first: Any
    by_second: Any

    @classmethod
    def of(
        cls, chain: SparseLaw, pairs: tuple[IntArray, IntArray], own: tuple[IntArray, IntArray, FloatArray], rest: Any
    ) -> PairLaws:
        """From pairs in the order of a·points + b, and the entries of own as (pair, point, share)."""
        from scipy.sparse import csr_array

        (a, b), (pair, value, share) = pairs, own
        size, many = len(chain.law), len(a)
        next_one, is_pair = _numbers(a * size + b, b[pair] * size + value)
        at = pair[is_pair], next_one[is_pair]
        ones, numbers = np.ones(many), np.arange(many)
        return cls(
            a,
            b,
            csr_array((share, (pair, value)), shape=(many, size)),
            rest,
            csr_array((share[is_pair], at), shape=(many, many)),
            entries(chain.own, a, b)[:, None],
            csr_array((ones, (a, numbers)), shape=(size, many)),
            csr_array((ones, (b, numbers)), shape=(size, many)),
        )

    def predicted(self, a: IntArray, b: IntArray, c: IntArray, plain: FloatArray, *, labels: IntArray) -> FloatArray:
        """Pr[c | a, b] of some triples, where the chain says `plain`."""
        size = self.own.shape[1]
        pair, is_pair = _numbers(self.a * size + self.b, a * size + b)
        at, value = pair[is_pair], c[is_pair]
        found = plain.copy()
        found[is_pair] = entries(self.own, at, value) + self.rest[at, labels[value]] * plain[is_pair]
        return found


def _numbers(codes: IntArray, asked: IntArray) -> tuple[IntArray, Any]:
    """Where each code stands among sorted ones, and whether it does."""
    number = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    return number, codes[number] == asked


@dataclass(frozen=True, eq=False, repr=False)
class PairMessage:
    """A message, (points, documents) and (pairs, documents).

    From the left: the mass of each value and of each pair that ends in it. From the right: what follows says about each
    value, and what it says about each pair beyond that.
    """

    points: FloatArray
    pairs: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Passes:
    """The passes for documents whose places lie in these candidate sets; likelihoods are (points, documents)."""

    chain: SparseLaw
    laws: PairLaws
    sets: list[IntArray]
    labels: IntArray

    @cached_property
    def _candidates(self) -> FloatArray:
        """1 for the candidates of each set, (points, sets)."""
        return (self.labels[:, None] == np.arange(self.chain.rest.shape[1])).astype(np.float64)

    def inside(self, t: int) -> FloatArray:
        """1 for the candidates of a place, 0 for other points."""
        return np.asarray(self._candidates[:, self.sets[t]])

    def forward(self, seen: list[FloatArray]) -> list[PairMessage]:
        """The messages from the left to every place, each divided by its sum."""
        first = self.chain.law[:, None] * self.inside(0)
        found = [PairMessage(first, np.zeros((len(self.laws.a), first.shape[1])))]
        for t in range(1, len(seen)):
            found.append(self._ahead(found[-1], seen[t - 1], t))
        return found

    def _ahead(self, left: PairMessage, seen: FloatArray, t: int) -> PairMessage:
        """From place t − 1 to place t."""
        laws, sets, law = self.laws, self.sets[t], self.chain.law
        mass, inside = left.pairs * seen[laws.b], self.inside(t)
        spread = seen * left.points
        spread -= laws.by_second @ (mass * (1.0 - laws.rest)[:, sets])
        loose = self.chain.rest[:, sets] * spread
        points = law[:, None] * totals(loose)
        points += self.chain.own.T @ spread
        points += laws.own.T @ mass
        points *= inside
        pairs = laws.onward.T @ mass
        pairs += laws.step * spread[laws.a]
        pairs += law[laws.b, None] * loose[laws.a]
        pairs *= inside[laws.b]
        scale = 1.0 / np.maximum(totals(points), 1e-300)
        points *= scale
        pairs *= scale
        return PairMessage(points, pairs)

    def end(self) -> PairMessage:
        """From the right at the last place, nothing is said."""
        documents = len(self.sets[-1])
        return PairMessage(np.ones((len(self.chain.law), documents)), np.zeros((len(self.laws.a), documents)))

    def back(self, t: int, right: PairMessage, seen: FloatArray) -> PairMessage:
        """From place t to place t − 1."""
        laws, sets, law = self.laws, self.sets[t], self.chain.law
        alone, beyond = seen * right.points, seen[laws.b] * right.pairs
        points = laws.by_first @ (law[laws.b, None] * beyond)
        points += law @ alone
        points *= self.chain.rest[:, sets]
        points += self.chain.own @ alone
        points += laws.by_first @ (laws.step * beyond)
        pairs = laws.own @ alone
        pairs += laws.onward @ beyond
        pairs -= (1.0 - laws.rest)[:, sets] * points[laws.b]
        scale = len(points) / np.maximum(totals(points), 1e-300)
        points *= scale
        pairs *= scale
        return PairMessage(points, pairs)
