"""A chain of second order over any number of points: each secret depends on the two before it, as far as that was seen.

Pr[c | a, b] = own(ab, c) + rest(ab)·p(c|b) for pairs (a, b) that were followed at least twice, and p(c|b), a sparse
law, for all others. A message then is a number for every point and one for each such pair (`pair_passes`), so that
forward-backward is exact without a table of triples, or even of pairs.

Forward and backward passes of a sparse chain of second order, over points and over the pairs that know more.

Let p(c|b) be the chain and own, rest the laws of pairs. From the left, mass of a pair goes by own, and what rest leaves
of it goes with all other mass by the chain. From the right, a pair says what its second value says, and a little more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import Observations, fit_backoff, observed
from oddshift.attackers.chain import triples
from oddshift.attackers.estimated_chain import totals
from oddshift.attackers.law_attacker import Terms, log_floor
from oddshift.attackers.paired_log_score import Gain, choosing_clusters, standard_error
from oddshift.attackers.sparse_law import (
    SparseLaw,
    alike_batches,
    entries,
    number_of_sets,
    seen_by_place,
    set_labels,
    with_left_out,
    within_sets,
)
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release

FEWEST = 2
"""How often a pair must have been followed by a third secret to have a law of its own."""

HELD = 5
"""One unit out of this many says whether pairs predict more than their second secret."""


@dataclass(frozen=True, eq=False, repr=False)
class SparseSecondOrder:
    """The chain of first order and the pairs that know more; without pairs nothing is said, which a chain may do."""

    chain: SparseLaw
    pairs: PairLaws | None

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c = messages given outputs and sets minus messages given the sets alone."""
        size, labels = len(known.log_prior), set_labels(known.tiers)
        for positions in alike_batches(release, 4 * (size + (len(self.pairs.a) if self.pairs else 0))):
            context = np.zeros((*positions.shape, size))
            if self.pairs is not None and positions.shape[1] > 1:
                for t, value in self.log_ratios(self.pairs, *seen_by_place(known, release, positions), labels):
                    context[:, t] = value.T
            yield Terms(positions.ravel(), context.reshape(positions.size, -1), known.log_prior)

    def log_ratios(
        self, pairs: PairLaws, seen: list[FloatArray], sets: list[IntArray], labels: IntArray
    ) -> Iterator[tuple[int, FloatArray]]:
        """What all others say about each place, log ratios (points, documents), the last place first."""
        passes = Passes(self.chain, pairs, sets, labels)
        patterns, which = np.unique(np.stack(sets), axis=1, return_inverse=True)
        plain = Passes(self.chain, pairs, list(patterns), labels)
        before = plain.forward([plain.inside(t) for t in range(len(sets))])
        lefts, right = passes.forward(seen), passes.end()
        for t in range(len(seen) - 1, -1, -1):
            both = lefts[t].points * right.points + pairs.by_second @ (lefts[t].pairs * right.pairs)
            prior = before[t].points[:, which.ravel()]
            yield t, np.where(prior > 0, log_floor(both) - log_floor(prior), 0.0)
            if t:
                right = passes.back(t, right, seen[t])


def fit_sparse_second_order(known: Knowledge, least: float = 0.0) -> SparseSecondOrder:
    """Count pairs and triples; pairs are kept where they predict held-out documents beyond chance.

    Their mean gain must also be `least` nats, where a smaller one is not worth the time of reading with pairs.
    """
    labels, sets = set_labels(known.tiers), number_of_sets(known.tiers)
    law = within_sets(np.exp(known.log_prior), labels, sets)
    held = np.unique(choosing_clusters(known.fit), return_inverse=True)[1] % HELD == 0
    found = _estimate(known.fit, law, labels, sets)
    if held.all() or not held.any():
        return SparseSecondOrder(found.chain, None)
    rest, fresh = (known.fit.take(np.flatnonzero(which)) for which in (~held, held))
    gain = _gain(_estimate(rest, law, labels, sets), fresh, labels)
    return found if gain.is_significant and gain.mean >= least else SparseSecondOrder(found.chain, None)


def _estimate(fit: Records, law: FloatArray, labels: IntArray, sets: int) -> SparseSecondOrder:
    """Back-off from pairs to their second secret, set by set of the third one."""
    size, document = len(law), fit.document_of_position
    same = document[1:] == document[:-1]
    chain, left_out = with_left_out(fit.points[:-1][same], fit.points[1:][same], law, labels, sets)
    a, b, c = triples(fit)
    code, number, count = np.unique(a * size + b, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(count >= FEWEST)
    place = np.full(len(code), -1)
    place[kept] = np.arange(len(kept))
    pair = place[number]
    followed = pair >= 0
    pair, c, first, second = pair[followed], c[followed], code[kept] // size, code[kept] % size
    rest, found = np.ones((len(kept), sets)), [np.empty((3, 0))]
    for each in range(sets):
        inside = labels[c] == each
        seen = _triples_seen(pair[inside], c[inside], len(kept), size)
        backoff = fit_backoff(seen, entries(left_out, second[seen.context], seen.value))
        share = np.maximum(seen.count - backoff.discount, 0.0) / (seen.total + backoff.strength)
        rest[:, each] -= np.bincount(seen.context, weights=share, minlength=len(kept))
        found.append(np.stack([seen.context, seen.value, share]))
    rows = np.concatenate(found, axis=1)
    own = rows[0].astype(np.int64), rows[1].astype(np.int64), rows[2]
    pairs = PairLaws.of(chain, (first, second), own, np.maximum(rest, 0.0)) if len(kept) else None
    return SparseSecondOrder(chain, pairs)


def _triples_seen(pair: IntArray, value: IntArray, pairs: int, size: int) -> Observations:
    code, count = np.unique(pair * size + value, return_counts=True)
    return observed(code // size, code % size, count.astype(np.float64), pairs)


def _gain(trial: SparseSecondOrder, held: Records, labels: IntArray) -> Gain:
    """How much better a pair predicts what follows than its second secret does, on held-out documents."""
    a, b, c = triples(held)
    if trial.pairs is None or len(a) < 2:
        return Gain(0.0, np.inf)
    plain = trial.chain.predicted(b, c, labels)
    better = trial.pairs.predicted(a, b, c, plain, labels=labels)
    values = np.log(np.maximum(better, 1e-300) / np.maximum(plain, 1e-300))
    return Gain(float(values.mean()), standard_error(values))


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
