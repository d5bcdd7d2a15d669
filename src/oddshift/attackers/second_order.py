"""A chain of second order: each secret depends on the two before it.

Pr[c | a, b] = own(ab, c) + rest(ab)·p(c|b) for pairs (a, b) that were followed at least twice, and p(c|b), a sparse
law, for all others. Over few points every pair has such a law, without a rest: counts of triples over the law given b,
the law given a (a skip), their product, and, where points have coordinates, the same step again.

A message is a number for every point and one for each such pair, so that forward-backward is exact without a table of
pairs. From the left, mass of a pair goes by own, and what rest leaves of it goes with all other mass by p. From the
right, a pair says what its second value says, and a little more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, normalised_rows, observations, onward_laws, successive, triples
from oddshift.attackers.chain_laws import fit_chain, smoothed_table
from oddshift.attackers.estimated_chain import totals
from oddshift.attackers.law_attacker import Terms, length_batches, log_floor
from oddshift.attackers.paired_log_score import Gain, choosing_clusters, gain_of_laws
from oddshift.attackers.sparse_law import (
    SparseLaw,
    counted,
    entries,
    labelled_law,
    place_among,
    seen_by_place,
    set_labels,
    within_sets,
)
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release

TRIPLE_POINTS = 64
"""Largest number of points for a table of all triples."""


def fit_second_order(known: Knowledge, least: float = 0.0) -> SecondOrder:
    """From a table of all triples where the points are few enough, otherwise from what was counted.

    `least` is the gain in nats that makes counted pairs worth the time of reading with them.
    """
    return _from_table(known) if len(known.log_prior) <= TRIPLE_POINTS else _from_counts(known, least)


def _from_table(known: Knowledge) -> SecondOrder:
    """All pairs have a law of their own, cut down to the candidate sets: the rest is nothing."""
    from scipy.sparse import csr_array

    labels, sets, _ = labelled_law(known)
    size = len(labels)
    first, near, steps = smoothed_steps(known)
    rows = np.array([within_sets(row, labels, sets) for row in (*near, *steps.reshape(-1, size))])
    chain = SparseLaw(rows[:size], np.zeros((size, sets)), within_sets(first, labels, sets))
    pairs, rest = np.divmod(np.arange(size * size), size), np.zeros((size * size, sets))
    return SecondOrder(chain, PairLaws.of(chain, pairs, csr_array(rows[size:]), rest))


def smoothed_steps(known: Knowledge) -> tuple[FloatArray, FloatArray, FloatArray]:
    """First law (points,), step (points, points), and Pr[c | a before b], (a, b, c).

    Counts of triples; broader laws are weighed by how well they predict.
    """
    chain, prior = fit_chain(known), np.exp(known.log_prior)
    size, fit = len(prior), known.fit
    a, b, c = triples(fit)
    skip = smoothed_table(known, a, c, prior)
    near = chain.steps[0]
    shape = (size * size, size)
    product = near[None, :, :] * skip[:, None, :] / np.maximum(prior, 1e-300)
    bases = [
        np.broadcast_to(near[None], (size, size, size)).reshape(shape),
        np.broadcast_to(skip[:, None, :], (size, size, size)).reshape(shape),
        normalised_rows(product.reshape(shape)),
        *onward_laws(fit.space, prior),
    ]
    seen = observations(a * size + b, c, size * size, size)
    counts = seen.table(*shape)
    return chain.first[0], near, backed_off(seen, counts, bases).reshape(size, size, size)


FEWEST = 2
"""How often a pair must have been followed by a third secret to have a law of its own."""

HELD = 5
"""One unit out of this many says whether pairs predict more than their second secret."""


@dataclass(frozen=True, eq=False, repr=False)
class SecondOrder:
    """The chain of first order and the pairs that know more; without pairs nothing is said, which a chain may do."""

    chain: SparseLaw
    pairs: PairLaws | None

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c = messages given outputs and sets minus messages given the sets alone."""
        size, labels = len(known.log_prior), set_labels(known.tiers)
        for positions in length_batches(release, 4 * (size + (len(self.pairs.a) if self.pairs else 0))):
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


def _from_counts(known: Knowledge, least: float) -> SecondOrder:
    """Count pairs and triples; pairs are kept where they predict held-out documents beyond chance.

    Their mean gain must also be `least` nats, where a smaller one is not worth the time of reading with pairs.
    """
    labels, sets, law = labelled_law(known)
    held = np.unique(choosing_clusters(known.fit), return_inverse=True)[1] % HELD == 0
    found = _estimate(known.fit, law, labels, sets)
    if held.all() or not held.any():
        return SecondOrder(found.chain, None)
    rest, fresh = (known.fit.take(np.flatnonzero(which)) for which in (~held, held))
    gain = _gain(_estimate(rest, law, labels, sets), fresh, labels)
    return found if gain.is_significant and gain.mean >= least else SecondOrder(found.chain, None)


def _estimate(fit: Records, law: FloatArray, labels: IntArray, sets: int) -> SecondOrder:
    """Back-off from pairs to their second secret, set by set of the third one."""
    size = len(law)
    chain = counted(successive(fit), (size, sets), labels, lambda seen: law[seen.value])
    a, b, c = triples(fit)
    code, number, count = np.unique(a * size + b, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(count >= FEWEST)
    place = np.full(len(code), -1)
    place[kept] = np.arange(len(kept))
    pair = place[number]
    followed = pair >= 0
    pair, c, first, second = pair[followed], c[followed], code[kept] // size, code[kept] % size
    near = SparseLaw(chain.own, chain.rest, law)
    if not len(kept):
        return SecondOrder(near, None)
    found = counted(
        (pair, c), (len(kept), sets), labels, lambda seen: entries(chain.left_out, second[seen.context], seen.value)
    )
    return SecondOrder(near, PairLaws.of(near, (first, second), found.own, found.rest))


def _gain(trial: SecondOrder, held: Records, labels: IntArray) -> Gain:
    """How much better a pair predicts what follows than its second secret does, on held-out documents."""
    a, b, c = triples(held)
    if trial.pairs is None or len(a) < 2:
        return Gain(0.0, np.inf)
    plain = trial.chain.predicted(b, c, labels)
    return gain_of_laws(trial.pairs.predicted(a, b, c, plain, labels=labels), plain)


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
    def of(cls, chain: SparseLaw, pairs: tuple[IntArray, IntArray], own: Any, rest: FloatArray) -> PairLaws:
        """From pairs in the order of a·points + b, own and rest."""
        from scipy.sparse import csr_array

        (a, b), entry = pairs, own.tocoo()
        (pair, value), share = entry.coords, entry.data
        size, many = len(chain.law), len(a)
        next_one, is_pair = place_among(a * size + b, b[pair] * size + value)
        at = pair[is_pair], next_one[is_pair]
        ones, numbers = np.ones(many), np.arange(many)
        return cls(
            a,
            b,
            own,
            rest,
            csr_array((share[is_pair], at), shape=(many, many)),
            entries(chain.own, a, b)[:, None],
            csr_array((ones, (a, numbers)), shape=(size, many)),
            csr_array((ones, (b, numbers)), shape=(size, many)),
        )

    def predicted(self, a: IntArray, b: IntArray, c: IntArray, plain: FloatArray, *, labels: IntArray) -> FloatArray:
        """Pr[c | a, b] of some triples, where the chain says `plain`."""
        size = self.own.shape[1]
        pair, is_pair = place_among(self.a * size + self.b, a * size + b)
        at, value = pair[is_pair], c[is_pair]
        found = plain.copy()
        found[is_pair] = entries(self.own, at, value) + self.rest[at, labels[value]] * plain[is_pair]
        return found


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
