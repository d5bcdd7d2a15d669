"""The exponential mechanism over its own points: normalisers and exact ε from half of the pairs.

d is symmetric, so a tile of distances serves the rows of both its sides. Every point is an output at distance 0, so
1 ≤ Z_x ≤ n and no sum under- or overflows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BLOCK_ENTRIES, FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.model.space import Space

_SIDE = 1024  # points on each side of a tile, so that it stays in a core's cache
_ROWS = 256  # points that are compared together
_EXTREME = 512  # points on either end that are compared first
_SLACK = 1e-9  # pairs within this share of the largest value are computed: covers the rounding of distances


@dataclass(frozen=True, eq=False, repr=False)
class OwnNormalisers:
    """ln Z_x of every point, and the distance to its nearest other point (∞ for a single one)."""

    log_z: FloatArray
    nearest: FloatArray


def own_normalisers(space: Space, half_epsilon: float) -> OwnNormalisers:
    """Z_x = Σ_y exp(−½ε·d(x, y)) over the space's own points, tile by tile.

    >>> found = own_normalisers(Space([[0.0], [1.0]]), 0.5)
    >>> np.exp(found.log_z).round(4), found.nearest
    (array([1.6065, 1.6065]), array([1., 1.]))
    """
    total, nearest = np.zeros(len(space)), np.full(len(space), np.inf)
    for rows, columns, distance in _tiles(space):
        if rows == columns:
            np.fill_diagonal(distance, np.inf)
        nearest[rows] = np.minimum(nearest[rows], distance.min(axis=1))
        nearest[columns] = np.minimum(nearest[columns], distance.min(axis=0))
        np.multiply(distance, -half_epsilon, out=distance)
        np.exp(distance, out=distance)
        total[rows] += distance.sum(axis=1)
        if rows != columns:
            total[columns] += distance.sum(axis=0)
    return OwnNormalisers(np.log1p(total), nearest)


def own_epsilon(space: Space, half_epsilon: float, found: OwnNormalisers) -> float:
    """Exact ε: ½ε + max |ln Z_a − ln Z_b| / d(a, b) over all pairs.

    d(a, b) is at least the distance from a to its nearest other point, so b can only beat the largest value r so far
    when ln Z_b > ln Z_a + r·nearest(a): points are sorted by ln Z, and few pairs are left to compute.

    **Guarantee**: the maximum over all pairs, to float rounding.
    """
    if len(space) < 2:
        return 0.0
    if found.nearest.min() == 0.0:
        _refuse_coinciding(space, int(np.argmin(found.nearest)))
    order = np.argsort(found.log_z, kind="stable")
    heights, nearest, points = found.log_z[order], found.nearest[order], space.points[order]
    ends = np.arange(len(order))
    largest = 0.0
    for few in (np.concatenate([ends[:_EXTREME], ends[-_EXTREME:]]), np.sort(np.argsort(nearest)[: 2 * _EXTREME])):
        largest = max(largest, _steepest(space, points[few], points[few], heights[few], heights[few]))
    keys = heights + (1.0 - _SLACK) * largest * nearest
    rows = np.argsort(keys, kind="stable")
    for start in range(0, len(rows), _ROWS):
        block = rows[start : start + _ROWS]
        reach = float((heights[block] + (1.0 - _SLACK) * largest * nearest[block]).min())
        first = int(np.searchsorted(heights, reach))
        step = max(1, BLOCK_ENTRIES // _ROWS)
        for low in range(first, len(heights), step):
            part = slice(low, low + step)
            largest = max(largest, _steepest(space, points[block], points[part], heights[block], heights[part]))
    return half_epsilon + largest


def _steepest(space: Space, left: FloatArray, right: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """max |high − low| / d over all pairs of two groups of points; a point is not compared with itself."""
    distance = space.metric.between(left, right)
    distance[distance == 0.0] = np.inf  # the same point: distinct ones have a distance, which was checked
    return float((np.abs(high[None, :] - low[:, None]) / distance).max())


def _tiles(space: Space) -> Iterator[tuple[slice, slice, FloatArray]]:
    """Distances between blocks of points, each pair of blocks once."""
    starts = range(0, len(space), _SIDE)
    for i in starts:
        left = slice(i, min(i + _SIDE, len(space)))
        for j in starts[i // _SIDE :]:
            right = slice(j, min(j + _SIDE, len(space)))
            yield left, right, space.tile(left, right)


def _refuse_coinciding(space: Space, a: int) -> None:
    distance = space.between(np.array([a]))[0]
    distance[a] = np.inf
    b = int(np.argmin(distance))
    raise InvalidInput(f"points {min(a, b)} and {max(a, b)} are at distance 0 after rounding, expected a distance > 0")


def own_weighted_sums(space: Space, half_epsilon: float, values: FloatArray) -> FloatArray:
    """Σ_x exp(−½ε·d(x, y))·values(x) for every point y; `values` is (n, k).

    >>> own_weighted_sums(Space([[0.0], [1.0]]), 0.5, np.array([[1.0], [2.0]])).round(4)
    array([[2.2131],
           [2.6065]])
    """
    sums = np.zeros_like(values)
    for rows, columns, distance in _tiles(space):
        np.multiply(distance, -half_epsilon, out=distance)
        np.exp(distance, out=distance)
        sums[rows] += distance @ values[columns]
        if rows != columns:
            sums[columns] += distance.T @ values[rows]
    return sums
