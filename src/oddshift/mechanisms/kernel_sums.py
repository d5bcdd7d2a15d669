"""The exponential mechanism over its own points: normalisers and exact ε from half of the pairs.

d is symmetric, so a tile of distances serves the rows of both its sides. Every point is an output at distance 0, so
1 ≤ Z_x ≤ n and no sum under- or overflows.

Posterior mean directions of the exponential mechanism over its own points, in float32 with a proven error.

Most outputs have one best direction by far, and need no more. Where the error could matter, float64 decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


_COARSE_SIDE = 1024  # points on each side of a tile: also the number of terms that are added in float32
_UNIT = 2.0**-24  # the rounding of one float32 operation
_ADDED = 1_100.0 * _UNIT  # relative error of adding up to 1,024 products of rounded numbers
_AGAIN = 512.0  # squares up to this number times their error are computed again
_SMALLEST = 1e-37  # what underflows in float32 is smaller

_Floats32 = npt.NDArray[np.float32]


class CoarseMeans(NamedTuple):
    """Means (n, k) up to one positive factor, and a bound on the length of each one's error, infinite if none holds."""

    means: FloatArray
    error: FloatArray


def coarse_means(
    space: Space, half_epsilon: float, prior: FloatArray, directions: FloatArray, log_z: FloatArray | None = None
) -> CoarseMeans:
    """Σ_x K(x, y)·w_x·u_x for every point y, K = e^{−½εd} and w_x = prior_x/Z_x, for euclidean distances.

    `log_z` is ln Z_x where it is known already; otherwise it is found in float32 too.

    **Guarantee** of the error, with u = 2⁻²⁴. An entry of K errs by at most 1.1·(½ε·E/d + r) of itself (`_Tiles`, with
    what E and r are), so Z_x by ζ_x of itself, ζ_x·Z_x = Σ_y 1.1·½ε·E·K/d + (1.1r + 1,100u)·(Z_x − 1): adding at most
    1,024 terms in float32 errs by 1,026u of the sum of their sizes, and tiles are added in float64. Directions have
    length 1, so a mean errs by at most Σ_x (1.1·½ε·E/d + 2.2ζ_x)·K·w_x + (1.1r + 1,100u)·Σ_x K·w_x, and by what
    underflows.

    >>> points = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    >>> found = coarse_means(Space(points), 0.5, np.full(3, 1 / 3), points / np.linalg.norm(points, axis=1)[:, None])
    >>> found.means.shape, bool((found.error < 1e-3).all())
    ((3, 2), True)
    """
    tiles, n = _Tiles(space.points - space.points.mean(axis=0), half_epsilon), len(space)
    total, of_total = tiles.normalisers() if log_z is None else (np.exp(log_z), np.zeros(n))
    weights = prior / total
    weights /= weights.max()
    columns = (weights[:, None] * directions, weights[:, None], (weights * of_total)[:, None])
    sums, sloped = tiles.sums(np.hstack(columns), weights[:, None])
    error = sloped[:, 0] + 2.2 * sums[:, -1] + (1.1 * tiles.rounding + 2.0 * _ADDED) * sums[:, -2] + n * _SMALLEST
    largest = 1.1 * max(tiles.largest_error + tiles.rounding, float(of_total.max()))
    return CoarseMeans(sums[:, :-2], error if largest < 0.15 else np.full(n, np.inf))


@dataclass(frozen=True, eq=False, repr=False)
class _Tiles:
    """K between blocks of points, each pair of blocks once.

    ‖a − b‖² = ‖a‖² + ‖b‖² − 2a·b is a product of k + 2 terms of sizes that add up to at most (‖a‖ + ‖b‖)², so with the
    rounding of a and b it errs by at most E = (k + 8)u·(‖a‖ + ‖b‖)². Squares up to 512·E are computed again in
    float64. For the others the distance d errs by at most E/d, and the exponent by ½ε·E/d ≤ ½ε·√E/22; rounding d,
    the exponent and the exponential adds r = 4u·½ε·d + 8u. An exponent that errs by t ≤ 0.15 gives 1.1t.
    """

    points: FloatArray
    half_epsilon: float

    @property
    def each(self) -> float:
        """E of two points whose norms add up to 1."""
        return (self.points.shape[1] + 8) * _UNIT * 1.01

    @property
    def reach(self) -> float:
        """The largest norm: no two points are further apart than twice that."""
        return float(np.linalg.norm(self.points, axis=1).max())

    @property
    def rounding(self) -> float:
        """The largest r."""
        return (8.0 * self.half_epsilon * self.reach + 8.0) * _UNIT

    @property
    def largest_error(self) -> float:
        """The largest ½ε·E/d of a pair that is not computed again."""
        return self.half_epsilon * float(np.sqrt(self.each)) * 2.0 * self.reach / 22.0

    def normalisers(self) -> tuple[FloatArray, FloatArray]:
        """Z_x and its relative error ζ_x."""
        ones = np.ones((len(self.points), 1))
        total, sloped = self.sums(ones, ones)
        others = np.maximum(total[:, 0] - 1.0, 0.0)  # a point's own term is 1 exactly
        return 1.0 + others, (sloped[:, 0] + (1.1 * self.rounding + _ADDED) * others) / (1.0 + others)

    def sums(self, values: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Σ_x K(x, y)·values(x), and Σ_x 1.1·½ε·E·K/d(x, y)·weights(x), each for every point y."""
        coarse, light = values.astype(np.float32), weights.astype(np.float32)
        sums, sloped = np.zeros(values.shape), np.zeros(weights.shape)
        for rows, columns, kernel, slope in self:
            sums[rows] += kernel @ coarse[columns]
            sloped[rows] += slope @ light[columns]
            if rows != columns:
                sums[columns] += kernel.T @ coarse[rows]
                sloped[columns] += slope.T @ light[rows]
        return sums, sloped

    def __iter__(self) -> Iterator[tuple[slice, slice, _Floats32, _Floats32]]:
        """Rows, columns, K, and 1.1·½ε·E·K/d with the largest E of the tile."""
        norms, ones = np.linalg.norm(self.points, axis=1), np.ones(len(self.points))
        left = np.column_stack((-2.0 * self.points, norms**2, ones)).astype(np.float32)
        right = np.column_stack((self.points, ones, norms**2)).astype(np.float32)
        starts = range(0, len(self.points), _COARSE_SIDE)
        for i in starts:
            rows = slice(i, min(i + _COARSE_SIDE, len(norms)))
            for j in starts[i // _COARSE_SIDE :]:
                columns = slice(j, min(j + _COARSE_SIDE, len(norms)))
                error = self.each * float(norms[rows].max() + norms[columns].max()) ** 2
                yield rows, columns, *self._tile(left[rows] @ right[columns].T, rows, columns, error)

    def _tile(self, squares: _Floats32, rows: slice, columns: slice, error: float) -> tuple[_Floats32, _Floats32]:
        i, j = np.divmod(np.flatnonzero(squares <= np.float32(_AGAIN * error)), squares.shape[1])
        squares[i, j] = ((self.points[rows][i] - self.points[columns][j]) ** 2).sum(axis=1)
        distance = np.sqrt(squares, out=squares)
        kernel = distance * np.float32(-self.half_epsilon)
        np.exp(kernel, out=kernel)
        distance[i, j] = np.inf  # what was computed again has no error of this kind
        slope = np.divide(kernel, distance, out=distance)
        slope *= np.float32(1.1 * 1.01 * self.half_epsilon * error)
        return kernel, slope
