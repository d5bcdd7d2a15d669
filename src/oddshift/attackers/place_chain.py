"""A table of steps between places that is trusted as far as it predicts the trips of others.

Whoever waits repeats a step, and a prior knows the places that it was counted on, so leaving out one observation at a
time overrates both. Here the shares of the broader laws, and how far counts are trusted, are those that predict every
trip best from trips of other units (users, where they are known), which are all that an attacker has for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.backoff import DISCOUNTS, STRENGTHS, Backoff, mixing_weights, observations
from oddshift.attackers.nearness import _FLOOR, measured_steps, nearest_distance, normalised_rows
from oddshift.attackers.paired_log_score import choosing_clusters
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.space import Space

FOLDS = 4
"""Parts of the units, each predicted from the others."""

REACHES = (0.2, 0.35, 0.6, 1.0, 1.7, 3.0, 5.0, 9.0)
"""Lengths of steps, in units of the median distance from a point to the nearest other one."""

_SMALL = 1e-12

Laws = Callable[[FloatArray, FloatArray], Iterator[FloatArray]]
"""The broader laws (points, points) that follow from counts of steps and a law of places."""


@dataclass(frozen=True, eq=False, repr=False)
class _Steps:
    """Successive points of one document, with the document's part."""

    before: IntArray
    after: IntArray
    fold: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class _Predicted:
    """Distinct steps of one part, how often each was taken there, and what the other parts say about it."""

    laws: FloatArray  # (steps, laws)
    count: FloatArray
    seen: FloatArray
    total: FloatArray
    kinds: FloatArray

    def score(self, backoff: Backoff, weights: FloatArray) -> float:
        """Σ log p of the steps, under counts of the other parts."""
        base, kept = self.laws @ weights, np.maximum(self.seen - backoff.discount, 0.0)
        rest = (backoff.strength + backoff.discount * self.kinds) * base
        return float(self.count @ np.log(np.maximum((kept + rest) / (self.total + backoff.strength), _SMALL)))


def step_table(known: Knowledge) -> FloatArray:
    """Pr[next place | place], (points, points)."""
    space, clusters = known.fit.space, choosing_clusters(known.fit)
    distinct, cluster = np.unique(clusters, return_inverse=True)
    fold = np.random.default_rng(len(distinct)).permutation(len(distinct))[cluster] % FOLDS
    steps = _successive(known, fold)
    laws = _laws_of(space)
    held = [_predicted(known, steps, fold, part, laws) for part in np.unique(steps.fold) if len(np.unique(fold)) > 1]
    weights, backoff = _trust(held)
    counts, law = _counted(steps, len(space)), np.exp(known.log_prior)
    if weights is None:
        return Backoff(0.0, 1.0).rows(counts, law)
    base = sum(w * each for w, each in zip(weights, laws(counts, law), strict=True) if w > _SMALL)
    return backoff.rows(counts, np.asarray(base))


def _laws_of(space: Space) -> Laws:
    distances, nearest = space.distances, nearest_distance(space)

    def laws(counts: FloatArray, law: FloatArray) -> Iterator[FloatArray]:
        yield np.broadcast_to(law, counts.shape)
        yield 0.999 * np.eye(len(law)) + 0.001 * law
        for reach in REACHES:
            kernel = np.exp(-distances / (reach * nearest)) + _FLOOR
            yield normalised_rows(kernel)
            yield normalised_rows(kernel * law)
        yield from measured_steps(space, counts, law) or [np.broadcast_to(law, counts.shape)] * 2

    return laws


def _predicted(known: Knowledge, steps: _Steps, fold: IntArray, part: int, laws: Laws) -> _Predicted:
    """The steps of one part as the others predict them."""
    size, others = len(known.log_prior), np.flatnonzero(fold != part)
    law = np.exp(knowledge(known.mechanism, known.tiers, known.fit.take(others)).log_prior)
    rest, mine = steps.fold != part, steps.fold == part
    counts = _counted(_Steps(steps.before[rest], steps.after[rest], steps.fold[rest]), size)
    found = observations(steps.before[mine], steps.after[mine], size, size)
    at = found.context, found.value
    return _Predicted(
        laws=np.stack([each[at] for each in laws(counts, law)], axis=1),
        count=found.count,
        seen=counts[at],
        total=counts.sum(axis=1)[found.context],
        kinds=(counts > 0).sum(axis=1)[found.context].astype(np.float64),
    )


def _trust(held: list[_Predicted]) -> tuple[FloatArray | None, Backoff]:
    """The shares of the broader laws, and how far counts are trusted."""
    if not held:
        return None, Backoff(0.0, 1.0)
    weights = mixing_weights(np.concatenate([h.laws for h in held]), np.concatenate([h.count for h in held]))
    grid = [Backoff(d, k) for d in DISCOUNTS for k in STRENGTHS]
    return weights, max(grid, key=lambda backoff: sum(h.score(backoff, weights) for h in held))


def _counted(steps: _Steps, size: int) -> FloatArray:
    return observations(steps.before, steps.after, size, size).table(size, size)


def _successive(known: Knowledge, fold: IntArray) -> _Steps:
    fit = known.fit
    document = fit.document_of_position
    same = document[1:] == document[:-1]
    return _Steps(fit.points[:-1][same], fit.points[1:][same], fold[document[1:][same]])
