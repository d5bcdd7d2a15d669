"""Reuse: a document takes some of its secrets from among its other ones.

X_l is, with probability ρ, one of the n others of its candidate set, each with the same chance, and otherwise follows
π: c_l(x) = log(1 − ρ + ρ/n·Σ_{s≠l} M(y_s|x)/P(y_s)), P(y) = Σ_b π(b)·M(y|b). Unlike `copies`, which multiplies what
every other position says, this asks that some position holds x, and others that hold something else do no harm: in
a long text a name that was seen once is likely again.

Copies: the same secret again anywhere in a document, or never again.

e(x) = Pr[X_s = x | X_l = x] exceeds chance where secrets repeat and falls below it where each is drawn once. Then
c_l(x) = Σ_{s≠l} log(e·r + (1 − e)·(1 − π(x)·r)/(1 − π(x))), r = M(y_s|x)/P(y_s), exact for two positions. The excess is
one number for each tier and distance, so it is known for words that were seen once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, release_blocks
from oddshift.attackers.law_attacker import BATCH_ENTRIES, Terms, law_over, law_within, likelihood_ratios
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates, set_numbers

REUSED = 0.5
"""ρ. The weight of the term is fitted, which makes up for most of what this number misses."""


@dataclass(frozen=True)
class Reuse:
    """The law above."""

    share: float = REUSED

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        for first, block in release_blocks(release.without_context(), len(known.log_prior), BATCH_ENTRIES):
            for mine in candidate_sets(block, known.tiers):
                ratio = likelihood_ratios(known, block, mine, law_over(known, mine.points))
                document = np.searchsorted(block.offsets, mine.positions, side="right")
                _, starts, count = np.unique(document, return_index=True, return_counts=True)
                others = np.repeat(np.add.reduceat(ratio, starts, axis=0), count, axis=0) - ratio
                others /= np.maximum(np.repeat(count, count) - 1, 1)[:, None]
                others[np.repeat(count == 1, count)] = 1.0
                context = np.log1p(self.share * np.maximum(others - 1.0, -1.0))
                yield Terms(first + mine.positions, context, known.log_prior[mine.points], mine.points)


DISTANCES = (1, 2, 3, 4, 8)
"""Numbers of positions from which a new distance class starts; the last class has no end."""


@dataclass(frozen=True, eq=False, repr=False)
class Copies:
    """Excess (candidate sets, distance classes) in [−1, 1] of equal pairs over chance: 1 always, −1 never."""

    excess: FloatArray

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        for first, block in release_blocks(release.without_context(), len(known.log_prior), BATCH_ENTRIES):
            for found in candidate_sets(block, known.tiers):
                context = self._context(known, block, found)
                yield Terms(first + found.positions, context, known.log_prior[found.points], found.points)

    def _context(self, known: Knowledge, release: Release, mine: CandidateSet) -> FloatArray:
        """The terms between positions of one candidate set, over its candidates."""
        law, excess = law_within(known, mine.tier)[mine.points], self.excess[mine.tier]
        seen = likelihood_ratios(known, release, mine, law)
        context = np.zeros_like(seen)
        for number, pairs in _pairs_by_distance(release, mine.positions):
            e = equal_again(law, float(excess[number]))
            rest = (1.0 - e) / np.maximum(1.0 - law, 1e-12)
            # e·r + rest·(1 − π·r), a line in r
            factor = (e - rest * law) * seen
            factor += rest
            np.log(np.maximum(factor, 1e-12, out=factor), out=factor)
            context += pairs @ np.where(law > 0, factor, 0.0)
        return context


def _pairs_by_distance(release: Release, positions: IntArray) -> Iterator[tuple[int, Any]]:
    """For every distance class the pairs of these positions in one document, a sparse 0-1 matrix both ways."""
    from scipy.sparse import csr_array

    document = np.searchsorted(release.offsets, positions, side="right")
    most = int(np.bincount(document).max(initial=0))
    first = [np.flatnonzero(document[k:] == document[:-k]) for k in range(1, most)]
    left = np.concatenate([np.empty(0, dtype=np.int64), *first])
    right = np.concatenate([np.empty(0, dtype=np.int64), *(rows + k for k, rows in enumerate(first, 1))])
    number = _distance_class(positions[right] - positions[left])
    for each in np.unique(number):
        rows, columns = left[number == each], right[number == each]
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        yield int(each), csr_array((np.ones(len(both[0])), both), shape=(len(positions), len(positions)))


def equal_again(law: FloatArray, excess: float) -> FloatArray:
    """e(x): π(x) moved towards 1 for an excess above 0, towards 0 for one below.

    >>> equal_again(np.array([0.2]), 0.5), equal_again(np.array([0.2]), -1.0)
    (array([0.6]), array([0.]))
    """
    return np.asarray(excess + (1.0 - excess) * law if excess >= 0 else (1.0 + excess) * law)


def fit_copies(known: Knowledge) -> Copies:
    """Count equal pairs of every distance class within each candidate set, against chance."""
    sets = set_numbers(known.tiers)
    return Copies(np.array([_excess(known, g) for g in sets]))


def _excess(known: Knowledge, tier: int) -> FloatArray:
    law, allowed = law_within(known, tier), candidates(known.tiers, tier)
    chance = float(law @ law)
    equal, pairs = np.zeros(len(DISTANCES)), np.zeros(len(DISTANCES))
    for gap, same in _pairs_at(known.fit, allowed):
        number = _distance_class(np.array([gap]))[0]
        equal[number] += same.sum()
        pairs[number] += len(same)
    rate = (equal + 2.0 * chance) / (pairs + 2.0)  # two pairs of chance where nothing was seen
    return np.where(rate >= chance, (rate - chance) / max(1.0 - chance, 1e-12), rate / max(chance, 1e-12) - 1.0)


def _pairs_at(fit: Records, allowed: BoolArray) -> Iterator[tuple[int, BoolArray]]:
    """For every distance, whether the two secrets are equal, over pairs inside the candidate set."""
    inside, document = allowed[fit.points], fit.document_of_position
    for gap in range(1, int(fit.lengths.max(initial=0))):
        keep = (document[gap:] == document[:-gap]) & inside[gap:] & inside[:-gap]
        yield gap, (fit.points[gap:] == fit.points[:-gap])[keep]


def _distance_class(gap: IntArray) -> IntArray:
    return np.searchsorted(DISTANCES, gap, side="right") - 1
