"""Nearness: laws of a value given another one that read the metric, for data in which every value is rare.

Near points follow each other (exp(−d/h)), and near points behave alike: what followed the neighbours of a stands in for
what followed a. Each width h gives one broader law; `backoff` weighs them by how well they predict.
"""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.model.space import Space

WIDTHS = (0.1, 0.2, 0.4, 0.8)
"""Widths of kernels, in units of the mean distance between two points."""

NEIGHBOUR_WIDTHS = (0.1, 0.2, 0.4)

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
