"""Nearness: laws of a value given another one that read the metric, for data in which every value is rare.

Near points follow each other (exp(−d/h)), and near points behave similarly: what followed the neighbours of a is used
in place of what followed a. Each width h gives one broader law; `backoff` weighs them by how well they predict.
"""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import FloatArray
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
