"""Nearness: laws of a value given another one that read the metric, for data in which every value is rare.

Near points follow each other (exp(−d/h)), and near points behave similarly: what followed the neighbours of a is used
in place of what followed a. Each width h gives one broader law; `backoff` weighs them by how well they predict.

A table of steps between places that is trusted as far as it predicts the trips of others.

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
from oddshift.attackers.paired_log_score import choosing_clusters
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.space import Space

WIDTHS = (0.1, 0.2, 0.4, 0.8)
"""Widths of kernels, in units of the mean distance between two points."""

NEIGHBOUR_WIDTHS = (0.1, 0.2, 0.4)

STEPS = (0.2, 0.35, 0.6, 1.0, 1.7, 3.0)
"""Widths of steps, in units of the median distance from a point to the nearest other one."""

LINES = 3
"""Coordinates of points that lie on a line, in the plane or in space: there a step is a move."""

_BIN, _BINS = 0.5, 60  # steps are counted in bins of half the distance to the nearest point, the last one open
_FLOOR = 1e-9  # of every kernel, so that no row is empty


def local_laws(space: Space, law: FloatArray) -> list[FloatArray]:
    """p(b|a) ∝ law(b)·exp(−d(a,b)/h) for every width, (points, points) each."""
    return [normalised_rows((kernel + _FLOOR) * law) for kernel in kernels(space, WIDTHS)]


def neighbour_laws(space: Space, counts: FloatArray, law: FloatArray) -> list[FloatArray]:
    """p(b|a) from the counts of other contexts a' near a, spread over values near theirs; a itself is left out.

    So an observation is never predicted from itself. `counts` is (points, points).
    """
    laws = []
    for kernel in kernels(space, NEIGHBOUR_WIDTHS):
        others = kernel.copy()
        np.fill_diagonal(others, 0.0)
        spread = others @ counts @ normalised_rows((kernel + _FLOOR) * law)
        laws.append(normalised_rows(spread + _FLOOR * law))
    return laws


def is_spatial(space: Space) -> bool:
    """Whether points are places, between which something moves: on the globe, or with few coordinates.

    >>> is_spatial(Space([[38.0, 23.7], [38.1, 23.7]], "haversine")), is_spatial(Space(np.eye(5)))
    (True, False)
    """
    name = space.metric.name
    return name == "haversine" or (name in {"euclidean", "manhattan"} and space.points.shape[1] <= LINES)


def nearest_distance(space: Space) -> float:
    """The median distance from a point to the nearest other one."""
    apart = space.distances + np.diag(np.full(len(space), np.inf))
    return float(np.median(apart.min(axis=1)))


def step_laws(space: Space, law: FloatArray) -> list[FloatArray]:
    """p(b|a) ∝ exp(−d(a,b)/h), and the same times law(b), for steps much shorter than the whole, (points, points) each.

    One for each of the STEPS that is narrower than the narrowest of WIDTHS; none where points are not places.
    """
    if not is_spatial(space) or len(space) < 2:
        return []
    distances, nearest = space.distances, nearest_distance(space)
    narrow = WIDTHS[0] * float(distances.sum()) / (len(space) * (len(space) - 1))
    found = []
    for width in (step * nearest for step in STEPS if step * nearest < narrow):
        kernel = np.exp(-distances / width) + _FLOOR
        found += [normalised_rows(kernel), normalised_rows(kernel * law)]
    return found


def measured_steps(space: Space, counts: FloatArray, law: FloatArray) -> list[FloatArray]:
    """p(b|a) by the distance alone: how often steps of about that length were taken, of those that could have been.

    Also the same times law(b); none where points are not places. `counts` is (points, points).
    """
    if not is_spatial(space) or len(space) < 2 or not counts.any():
        return []
    distances, nearest = space.distances, nearest_distance(space)
    bins = np.minimum(np.round(distances / (_BIN * nearest)), _BINS).astype(np.int64)
    leaving = np.broadcast_to(counts.sum(axis=1)[:, None], counts.shape)
    taken = np.bincount(bins.ravel(), weights=counts.ravel(), minlength=_BINS + 1)
    possible = np.bincount(bins.ravel(), weights=leaving.ravel(), minlength=_BINS + 1)
    rate = (taken / np.maximum(possible, 1e-300))[bins] + _FLOOR
    return [normalised_rows(rate), normalised_rows(rate * law)]


def kernels(space: Space, widths: tuple[float, ...]) -> list[FloatArray]:
    """exp(−d/h) for every width, (points, points) each."""
    distances = space.distances
    mean = distances.sum() / max(1, len(space) * (len(space) - 1))
    return [np.exp(-distances / (width * max(float(mean), 1e-300))) for width in widths]


def onward_laws(space: Space, law: FloatArray) -> list[FloatArray]:
    """p(c|a,b) ∝ law(c)·exp(−|c − (2b − a)|/h): the same step again, (points², points) each; none without coordinates.

    Only where the metric is a norm of coordinates, so that a step from one point to the next means something.
    """
    if space.metric.name not in {"euclidean", "manhattan"}:
        return []
    points = space.points
    ahead = (2.0 * points[None, :, :] - points[:, None, :]).reshape(len(points) ** 2, -1)
    distances = space.metric.between(ahead, points)
    mean = space.distances.mean()
    return [normalised_rows(np.exp(-distances / (width * mean)) * law + _FLOOR * law) for width in WIDTHS[:3]]


def normalised_rows(values: FloatArray) -> FloatArray:
    """Rows divided by their sums."""
    return np.asarray(values / values.sum(axis=1, keepdims=True))


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
