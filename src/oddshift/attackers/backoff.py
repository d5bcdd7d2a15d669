"""Back-off: the law of a value given a context, from counts of that context and a broader law where counts are few.

p(b|a) = (n(a,b) − d + (k + d·kinds(a))·q(b|a)) / (n(a) + k) for n(a,b) > 0, without n − d otherwise (Pitman and Yor).
Discount d and strength k are those that predict every observation best from all others (leave one out), and q is a
mixture of broader laws with the weights that do.

Nearness: laws of a value given another one that read the metric, for data in which every value is rare.

Near points follow each other (exp(−d/h)), and near points behave similarly: what followed the neighbours of a is used
in place of what followed a. Each width h gives one broader law; `backoff` weighs them by how well they predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.space import Space

DISCOUNTS = (0.0, 0.2, 0.4, 0.6, 0.8, 0.95)
STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 1e4)
MIXING = 60
"""Steps of expectation-maximisation for the weights of broader laws."""

SCORED = 40_000
"""Distinct pairs on which discounts and strengths are compared; more of them are taken at even steps."""

_SMALL = 1e-12


@dataclass(frozen=True)
class Backoff:
    """How far counts are trusted: a discount in [0, 1) and a strength > 0 of the broader law."""

    discount: float
    strength: float

    def rows(self, counts: FloatArray, base: FloatArray) -> FloatArray:
        """p(b|a) for dense counts (contexts, values); `base` is q, of that shape or one row.

        >>> Backoff(0.5, 1.0).rows(np.array([[3.0, 0.0]]), np.array([[0.5, 0.5]]))
        array([[0.8125, 0.1875]])
        """
        total, kinds = counts.sum(axis=1, keepdims=True), (counts > 0).sum(axis=1, keepdims=True)
        kept = np.maximum(counts - self.discount, 0.0)
        return (kept + (self.strength + self.discount * kinds) * base) / (total + self.strength)

    def predicted(self, seen: Observations, base: FloatArray) -> FloatArray:
        """p(b|a) of every pair that was seen; `base` is q of each."""
        kept = np.maximum(seen.count - self.discount, 0.0)
        return (kept + (self.strength + self.discount * seen.kinds) * base) / (seen.total + self.strength)

    def shares(self, seen: Observations) -> FloatArray:
        """The part of p(b|a) that the counts of each pair give; the rest of the context is that of the broader law."""
        return np.maximum(seen.count - self.discount, 0.0) / (seen.total + self.strength)

    def left_out(self, seen: Observations, base: FloatArray) -> FloatArray:
        """The same as predicted without one of the pair's own observations."""
        kept, kinds = np.maximum(seen.count - 1.0 - self.discount, 0.0), seen.kinds - (seen.count == 1)
        return (kept + (self.strength + self.discount * kinds) * base) / (seen.total - 1.0 + self.strength)

    def score(self, seen: Observations, base: FloatArray) -> float:
        """Σ log p of every observation, each predicted from all others."""
        return float(seen.count @ np.log(np.maximum(self.left_out(seen, base), _SMALL)))


TRIED = tuple(Backoff(discount, strength) for discount in (0.0, 0.6) for strength in (1.0, 10.0, 100.0))
"""How far counts may be trusted where many ties are compared."""


@dataclass(frozen=True, eq=False, repr=False)
class Observations:
    """Distinct (context, value) pairs with how often each was seen, and totals and kinds of its context."""

    context: IntArray
    value: IntArray
    count: FloatArray
    total: FloatArray
    kinds: FloatArray

    def table(self, contexts: int, values: int) -> FloatArray:
        """The same counts as a dense table (contexts, values)."""
        counts = np.zeros((contexts, values))
        counts[self.context, self.value] = self.count
        return counts


def first_values(fit: Records) -> IntArray:
    """The first secret of every document that has one."""
    return fit.points[fit.offsets[:-1][fit.lengths > 0]]


def successive(fit: Records) -> tuple[IntArray, IntArray]:
    """Each secret and the next one of the same document."""
    same = fit.document_of_position[1:] == fit.document_of_position[:-1]
    return fit.points[:-1][same], fit.points[1:][same]


def triples(fit: Records) -> tuple[IntArray, IntArray, IntArray]:
    """Each secret with the next two of the same document."""
    same = fit.document_of_position[2:] == fit.document_of_position[:-2]
    return fit.points[:-2][same], fit.points[1:-1][same], fit.points[2:][same]


def observed(context: IntArray, value: IntArray, count: FloatArray, contexts: int) -> Observations:
    """Distinct pairs with their counts, as observations."""
    total = np.bincount(context, weights=count, minlength=contexts).astype(np.float64)
    kinds = np.bincount(context, minlength=contexts).astype(np.float64)
    return Observations(context, value, count, total[context], kinds[context])


def observations(context: IntArray, value: IntArray, contexts: int, values: int) -> Observations:
    """Count pairs."""
    code, count = np.unique(context.astype(np.int64) * values + value, return_counts=True)
    return observed(code // values, code % values, count.astype(np.float64), contexts)


def supported(context: IntArray, value: IntArray, values: int, units: IntArray, least: int) -> npt.NDArray[np.bool_]:
    """Whether at least `least` of the units hold a pair, for the distinct pairs in the order of `observations`.

    >>> supported(*(np.array([0, 0, 1]),) * 2, 2, np.array([4, 5, 5]), 2)
    array([ True, False])
    """
    pair, number = np.unique(context.astype(np.int64) * values + value, return_inverse=True)
    if least <= 1:
        return np.ones(len(pair), dtype=np.bool_)
    width = int(units.max(initial=0)) + 1
    held = np.unique(number * width + units) // width
    return np.bincount(held, minlength=len(pair)) >= least


def fit_backoff(seen: Observations, base: FloatArray) -> Backoff:
    """The discount and strength of the best leave-one-out score; `base` is q of every distinct pair."""
    if not len(seen.count):
        return Backoff(0.0, 1.0)
    step = -(-len(seen.count) // SCORED)
    some = Observations(*(getattr(seen, each.name)[::step] for each in fields(seen)))
    grid = [Backoff(d, k) for d in DISCOUNTS for k in STRENGTHS]
    return max(grid, key=lambda backoff: backoff.score(some, base[::step]))


def mixing_weights(predictions: FloatArray, count: FloatArray) -> FloatArray:
    """Shares w of broader laws that make Σ count·log(w·predictions) largest; `predictions` is (pairs, laws).

    >>> mixing_weights(np.array([[0.9, 0.1], [0.8, 0.2]]), np.ones(2)).round(2)
    array([1., 0.])
    """
    weights = np.full(predictions.shape[1], 1.0 / predictions.shape[1])
    if not count.sum():
        return weights
    for _ in range(MIXING):
        parts = predictions * weights
        parts /= np.maximum(parts.sum(axis=1, keepdims=True), _SMALL)
        weights = count @ parts / count.sum()
    return np.asarray(weights)


def backed_off(
    seen: Observations, counts: FloatArray, bases: Sequence[FloatArray], kept: npt.NDArray[np.bool_] | None = None
) -> FloatArray:
    """The law of every context, (contexts, values): counts over the best mixture of broader laws of that shape.

    Only pairs in `kept` (by default all) have a share of their own; that of the others goes to the broader law.
    """
    full = [np.broadcast_to(base, counts.shape) for base in bases]
    weights = mixing_weights(np.stack([base[seen.context, seen.value] for base in full], axis=1), seen.count)
    base = sum(w * law for w, law in zip(weights, full, strict=True) if w > _SMALL)
    backoff = fit_backoff(seen, base[seen.context, seen.value])
    if kept is None:
        return backoff.rows(counts, base)
    own = np.zeros(counts.shape)
    own[seen.context, seen.value] = backoff.shares(seen) * kept
    return np.asarray(own + (1.0 - own.sum(axis=1, keepdims=True)) * base)


def law_of_values(values: IntArray, law: FloatArray) -> FloatArray:
    """The law of some values without any context, from their counts over a broader law.

    >>> law_of_values(np.array([], dtype=np.int64), np.array([0.25, 0.75]))
    array([0.25, 0.75])
    """
    seen = observations(np.zeros_like(values), values, 1, len(law))
    return backed_off(seen, seen.table(1, len(law)), [law])[0]


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
