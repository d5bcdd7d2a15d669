"""A chain of second order over any number of points: each secret depends on the two before it, as far as that was seen.

Pr[c | a, b] = own(ab, c) + rest(ab)·p(c|b) for pairs (a, b) that were followed at least twice, and p(c|b), a sparse
law, for all others. A message then is a number for every point and one for each such pair (`pair_passes`), so that
forward-backward is exact without a table of triples, or even of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import Observations, fit_backoff, observed
from oddshift.attackers.gains import Gain, choosing_clusters, standard_error
from oddshift.attackers.law_attacker import Terms, log_floor
from oddshift.attackers.pair_passes import PairLaws, Passes
from oddshift.attackers.second_order import triples
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
