"""The prior given the place: where a position stands in its document is public, and so is the law of secrets there.

log Pr[x | place] = log π(x) + Σ_r β_r·log(Pr[x | r]/π(x)) + const over the place from the start, the place from the end
and the length of the document. Each Pr[x | r] comes from counts with back-off to π, and β ≥ 0 are the weights that
predict held-out secrets best, for each tier; 0, so that one law holds for all places, unless they do beyond chance.
The context term is 0: this is a prior, and nothing is read jointly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.backoff import fit_backoff, observations
from oddshift.attackers.candidate_sampling import foreseeable
from oddshift.attackers.law_attacker import Terms, law_over
from oddshift.attackers.paired_log_score import choosing_clusters, choosing_units, gain, split
from oddshift.attackers.term_weights import NearWeights, likeliest_weights
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.logarithms import log, log_sum
from oddshift.model.records import Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates, set_numbers

REACHES = (32, 8, 16)
"""Places from the start, places from the end and lengths that have laws of their own; further ones share the last."""

HELD_OUT = 0.2
FEWEST = 10
"""Smallest number of independent units for the estimate of laws by place."""

WEIGHED = 4_000
"""Held-out positions of a candidate set on which the relations are weighed."""


def place_codes(lengths: IntArray) -> IntArray:
    """The place of every position from the start and from the end, and the length, (3, positions); the first is 0.

    >>> place_codes(np.array([3, 1]))
    array([[0, 1, 2, 0],
           [2, 1, 0, 0],
           [2, 2, 2, 0]])
    """
    length = np.repeat(lengths, lengths)
    start = np.arange(len(length)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.minimum(np.stack([start, length - 1 - start, length - 1]), np.array(REACHES)[:, None])


@dataclass(frozen=True, eq=False, repr=False)
class PlacePrior:
    """For each candidate set, β of the three relations, and of each log(Pr[x | code]/π(x)), (codes, candidates).

    A set without β > 0 keeps π everywhere, and has no tables.
    """

    weights: tuple[FloatArray, ...]
    ratios: tuple[tuple[FloatArray, ...], ...]

    reads_outputs = False

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """No context term; the prior of every position given its place."""
        codes = place_codes(release.lengths)
        for mine in candidate_sets(release, known.tiers):
            prior = known.log_prior[mine.points]
            if self.weights[mine.tier].any():
                prior = prior + self.log_ratio(mine, codes)
            nothing = np.broadcast_to(0.0, (len(mine.positions), len(mine.points)))
            yield Terms(mine.positions, nothing, prior, mine.points)

    def log_ratio(self, mine: CandidateSet, codes: IntArray) -> FloatArray:
        """Σ_r β_r·log(Pr[x | r]/π(x)) at the positions of a set with weights; each place is worked out once."""
        distinct, which = _distinct(codes[:, mine.positions])
        return _weighed(self.weights[mine.tier], _rows(self.ratios[mine.tier], distinct))[which]


def fit_place_prior(known: Knowledge, weights: tuple[FloatArray, ...]) -> PlacePrior:
    """Count secrets by place; the weights say how far that counts."""
    sets = set_numbers(known.tiers)
    return PlacePrior(weights, tuple(_ratios(known, g) if weights[g].any() else () for g in sets))


def place_weights(known: Knowledge, rng: np.random.Generator) -> tuple[FloatArray, ...] | None:
    """β of every candidate set, from fit documents that were left out of the counts; None where places say nothing.

    **Guarantee**: weights other than 0 predict the held-out secrets better than π beyond chance.
    """
    clusters = choosing_clusters(known.fit)
    if len(np.unique(clusters)) < FEWEST:
        return None
    learn, held = split(clusters, HELD_OUT, int(rng.integers(1 << 31)))
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    fresh = known.fit.take(rng.permutation(held))
    found = tuple(_supported(part, fresh, tier) for tier in set_numbers(known.tiers))
    return found if any(weights.any() for weights in found) else None


@dataclass(frozen=True, eq=False, repr=False)
class _HeldPlaces:
    """Held-out secrets of one candidate set by place: log π, what each relation says there, and the truth."""

    base: FloatArray  # (candidates,)
    terms: Sequence[FloatArray]  # each (places, candidates)
    place: IntArray  # (positions,)
    truth: IntArray  # (positions,)

    def scores(self, weights: FloatArray) -> FloatArray:
        """−log Pr[truth | place] at every position."""
        return -self._log_law(weights)[self.place, self.truth]

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Mean of the scores, and its gradient."""
        law = self._log_law(weights)
        value = -law[self.place, self.truth].mean()
        np.exp(law, out=law)
        law *= np.bincount(self.place, minlength=len(law))[:, None]  # what is expected at each place
        gradient = [np.vdot(law, term) - term[self.place, self.truth].sum() for term in self.terms]
        return float(value), np.array(gradient) / len(self.truth)

    def _log_law(self, weights: FloatArray) -> FloatArray:
        total = self.base + _weighed(weights, self.terms)
        total -= log_sum(total)[:, None]
        return np.asarray(total)


def _supported(known: Knowledge, held: Records, tier: int) -> FloatArray:
    """The best weights on held-out secrets of one candidate set; 0 unless they gain beyond chance."""
    nothing, allowed = np.zeros(len(REACHES)), candidates(known.tiers, tier)
    rows = np.flatnonzero((allowed & foreseeable(known, held))[held.points])[:WEIGHED]
    points = np.flatnonzero(allowed)
    if not len(rows) or len(points) < 2 or held.lengths.max() < 2:
        return nothing
    distinct, place = _distinct(place_codes(held.lengths)[:, rows])
    terms, truth = _rows(_ratios(known, tier), distinct), np.searchsorted(points, held.points[rows])
    return _beyond_chance(_HeldPlaces(log(law_over(known, points)), terms, place, truth), held, rows, nothing)


def next_to(
    log_prior: FloatArray, known: Knowledge, held: Records, tier: int, rows: IntArray
) -> tuple[float, FloatArray]:
    """The power of another prior, (rows, candidates), and β of the place next to it; 1 and 0 unless β gains.

    `rows` are held-out positions, which the counts of `known` do not hold.
    """
    truth = np.searchsorted(np.flatnonzero(candidates(known.tiers, tier)), held.points[rows])
    terms = log_prior, *_rows(_ratios(known, tier), place_codes(held.lengths)[:, rows])
    mine = _HeldPlaces(np.zeros(log_prior.shape[1]), terms, np.arange(len(rows)), truth)
    found = _beyond_chance(mine, held, rows, np.append(1.0, np.zeros(len(REACHES))))
    return float(found[0]), found[1:]


def _beyond_chance(mine: _HeldPlaces, held: Records, rows: IntArray, start: FloatArray) -> FloatArray:
    """The best weights; those of the start unless the log score gains beyond chance."""
    units = choosing_units(held)
    found = likeliest_weights(NearWeights(mine, start, len(rows)), start)
    better = gain(mine.scores(start), mine.scores(found), replace(units, of_position=units.of_position[rows]))
    return found if better.is_significant else start


def _ratios(known: Knowledge, tier: int) -> tuple[FloatArray, ...]:
    """For each relation log(Pr[x | code]/π(x)) over the candidates of one set, (codes, candidates)."""
    allowed = candidates(known.tiers, tier)
    points, rows = np.flatnonzero(allowed), np.flatnonzero(allowed[known.fit.points])
    law, value = law_over(known, points), np.searchsorted(points, known.fit.points[rows])
    found = []
    for code, reach in zip(place_codes(known.fit.lengths)[:, rows], REACHES, strict=True):
        seen = observations(code, value, reach + 1, len(points))
        laws = fit_backoff(seen, law[seen.value]).rows(seen.table(reach + 1, len(points)), law[None])
        found.append(np.log(np.where(law > 0, laws / np.where(law > 0, law, 1.0), 1.0)))
    return tuple(found)


def _distinct(codes: IntArray) -> tuple[IntArray, IntArray]:
    """The distinct places among some, (3, places), and which of them each is."""
    distinct, which = np.unique(codes, axis=1, return_inverse=True)
    return distinct, which.ravel()


def _rows(ratios: Sequence[FloatArray], codes: IntArray) -> list[FloatArray]:
    """What each relation says at some places, (places, candidates)."""
    return [ratio[code] for ratio, code in zip(ratios, codes, strict=True)]


def _weighed(weights: FloatArray, terms: Sequence[FloatArray]) -> FloatArray:
    return np.asarray(sum(weight * term for weight, term in zip(weights, terms, strict=True)))
