"""Copies: the same secret again anywhere in a document, or never again.

e(x) = Pr[X_s = x | X_l = x] exceeds chance where secrets repeat and falls below it where each is drawn once. Then
c_l(x) = Σ_{s≠l} log(e·r + (1 − e)·(1 − π(x)·r)/(1 − π(x))), r = M(y_s|x)/P(y_s), exact for two positions. The excess is
one number for each tier and distance, so it is known for words that were seen once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import Terms, length_batches, likelihoods
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates

DISTANCES = (1, 2, 3, 4, 8)
"""Numbers of positions from which a new distance class starts; the last class has no end."""


@dataclass(frozen=True, eq=False, repr=False)
class Copies:
    """Excess (candidate sets, distance classes) in [−1, 1] of equal pairs over chance: 1 always, −1 never."""

    excess: FloatArray

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Documents of one length at a time."""
        size = len(known.log_prior)
        for positions in length_batches(release, 3 * size):
            tiers = np.zeros_like(positions) if release.position_tiers is None else release.position_tiers[positions]
            sets = range(len(self.excess)) if release.position_tiers is not None else [0]
            context = np.zeros((*positions.shape, size))
            seen = likelihoods(known, release, positions.ravel()).reshape(context.shape)
            for g in sets:
                self._add(context, seen, tiers == g, _law(known, g), self.excess[g])
            yield positions.ravel(), context.reshape(-1, size), known.log_prior

    def _add(self, context: FloatArray, seen: FloatArray, mine: BoolArray, law: FloatArray, excess: FloatArray) -> None:
        """Add the terms between positions of one candidate set to `context`; both are (documents, length, points)."""
        inside = np.flatnonzero(law > 0)
        if not len(inside) or not mine.any():
            return
        law, seen = law[inside], seen[..., inside]
        average = (seen @ law)[..., None]
        ratio = np.where(average > 0, seen / np.where(average > 0, average, 1.0), 1.0)
        total, length = np.zeros_like(ratio), seen.shape[1]
        gaps = np.arange(1, length)
        for number in np.unique(_distance_class(gaps)):
            e = equal_again(law, float(excess[number]))
            rest = (1.0 - e) / np.maximum(1.0 - law, 1e-12)
            # e·r + rest·(1 − π·r), a line in r, the same for all gaps of one class
            factor = np.log(np.maximum((e - rest * law) * ratio + rest, 1e-12))
            factor[~mine] = 0.0
            for gap in gaps[_distance_class(gaps) == number].tolist():
                total[:, gap:] += factor[:, :-gap]
                total[:, :-gap] += factor[:, gap:]
        total[~mine] = 0.0
        context[..., inside] += total


def equal_again(law: FloatArray, excess: float) -> FloatArray:
    """e(x): π(x) moved towards 1 for an excess above 0, towards 0 for one below.

    >>> equal_again(np.array([0.2]), 0.5), equal_again(np.array([0.2]), -1.0)
    (array([0.6]), array([0.]))
    """
    return np.asarray(excess + (1.0 - excess) * law if excess >= 0 else (1.0 + excess) * law)


def fit_copies(known: Knowledge) -> Copies:
    """Count equal pairs of every distance class within each candidate set, against chance."""
    sets = range(len(known.tiers)) if known.tiers.is_public else [0]
    return Copies(np.array([_excess(known, g) for g in sets]))


def _excess(known: Knowledge, tier: int) -> FloatArray:
    law, allowed = _law(known, tier), candidates(known.tiers, tier)
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


def _law(known: Knowledge, tier: int) -> FloatArray:
    law = np.where(candidates(known.tiers, tier), np.exp(known.log_prior), 0.0)
    return np.asarray(law / max(float(law.sum()), 1e-300))
