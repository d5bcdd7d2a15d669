"""A space: finitely many distinct points and the distance between them.

Points are known by their row number everywhere else; their coordinates are the public vocabulary, never the
secrets. Distances come in blocks, so that 60,000 points never need a 60,000 x 60,000 matrix.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import DENSE_LIMIT, FloatArray, IntArray, blocks, dense, finite, frozen
from oddshift.base.errors import InvalidInput, TooLarge, a_kind
from oddshift.base.identity import content, fingerprint
from oddshift.model.metric import Metric, MetricLike, Pairwise, Precomputed, metric_of

METRIC_CHECK_LIMIT = 2_000
"""Points up to which a caller's own distances are checked against the triangle inequality (n³ work)."""

KEPT_POINTS = 2_500
"""Points up to which a space keeps its distances (50 MB) once they are asked for; a performance setting."""

_MOST_PARTS = 64  # parts of a space that are kept
_SLACK = 1e-9  # relative rounding allowed in a caller's distance matrix
_ROWS = 32  # rows of one block of the triangle check


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Space:
    """Points (n, k) with a metric; distinct points are at a distance above zero.

    `metric` is a name ("euclidean", "angular", "manhattan", "haversine", "hamming"), a function of two
    points, or a Metric. Points at distance zero are refused; `Space.merged` keeps one of each instead.

    >>> Space([[0.0], [1.0], [3.0]]).distances[2]
    array([3., 2., 0.])
    """

    points: FloatArray
    metric: Metric

    def __init__(self, points: npt.ArrayLike, metric: MetricLike = "euclidean") -> None:
        """Check the points once, so that everything behind can rely on them."""
        array = finite(points, "points", 2)
        chosen = metric_of(metric)
        chosen.check(array)
        object.__setattr__(self, "points", frozen(array))
        object.__setattr__(self, "metric", chosen)
        _refuse_duplicates(self)
        if isinstance(chosen, Pairwise):
            _check_distances(finite(self.distances, "distances from the metric function", 2), "distances")

    @classmethod
    def from_distances(cls, distances: npt.ArrayLike) -> Space:
        """A space known only by its (n, n) distance matrix: symmetric, zero diagonal, triangle inequality."""
        matrix = finite(distances, "distances", 2)
        _check_distances(matrix, "distances")
        return cls(np.arange(len(matrix), dtype=np.float64)[:, None], Precomputed(frozen(matrix)))

    @classmethod
    def merged(cls, points: npt.ArrayLike, metric: MetricLike = "euclidean") -> tuple[Space, IntArray]:
        """One point for each group at distance zero, and for every given row the point that stands for it."""
        array = finite(points, "points", 2)
        chosen = metric_of(metric)
        chosen.check(array)
        first, inverse = _groups(array, chosen)
        return cls(array[first], chosen), inverse

    def part(self, index: IntArray) -> Space:
        """Some of these points as a space of their own; they were checked already.

        The same points give the same space again, so that its distances are computed once; all of them are this space.
        """
        if len(index) == len(self) and np.array_equal(index, np.arange(len(self))):
            return self
        key = hashlib.sha256(np.ascontiguousarray(index, dtype=np.int64).tobytes()).digest()
        if key not in self._parts:
            found = object.__new__(Space)
            object.__setattr__(found, "points", frozen(self.points[index]))
            object.__setattr__(found, "metric", self.metric)
            if len(self._parts) >= _MOST_PARTS:
                self._parts.clear()
            self._parts[key] = found
        return self._parts[key]

    @cached_property
    def _parts(self) -> dict[bytes, Space]:
        """Parts that were asked for."""
        return {}

    def __getstate__(self) -> dict[str, object]:
        """Points and metric: distances are computed faster than they are sent to a worker."""
        return {"points": self.points, "metric": self.metric}

    def __len__(self) -> int:
        """Number of points."""
        return len(self.points)

    def __repr__(self) -> str:
        """Size and metric; never the coordinates."""
        return f"Space(n={len(self)}, metric={self.metric.name})"

    @cached_property
    def fingerprint(self) -> str:
        """Points and metric; a metric that only a local function computes counts by its distances."""
        if self.has_named_metric:
            return content(self)
        return fingerprint(("Space", self.points, self.distances))

    @cached_property
    def has_named_metric(self) -> bool:
        """Whether the metric itself has a fingerprint: not when it is a function without a module-level name."""
        try:
            fingerprint(self.metric)
        except InvalidInput:
            return False
        return True

    @cached_property
    def distances(self) -> FloatArray:
        """All (n, n) distances; refused above DENSE_LIMIT entries."""
        dense(len(self), len(self), "distances", "use Space.between on blocks of points")
        matrix = np.empty((len(self), len(self)))
        for part in blocks(len(self), len(self)):
            matrix[part] = self.metric.between(self.points[part], self.points)
        return frozen(matrix)

    def between(self, index: IntArray, other: Space | None = None) -> FloatArray:
        """Distances (len(index), m) from the points `index` to every point of `other` (default: this space).

        Those of few points are kept, and those of many where `distances` was asked for before.
        """
        if (other is None or other is self) and (len(self) <= KEPT_POINTS or "distances" in self.__dict__):
            return np.asarray(self.distances[index])
        target = self if other is None else other
        return self.metric.between(self.points[index], target.points)

    def tile(self, rows: slice, columns: slice) -> FloatArray:
        """Distances between two blocks of the points, in an array of their own; read where they are kept."""
        if "distances" in self.__dict__:
            return self.distances[rows, columns].copy()
        return self.metric.between(self.points[rows], self.points[columns])

    def nearest(self, places: FloatArray) -> IntArray:
        """The point closest to each of some places (m, k), the lowest row number among equals."""
        found = [
            self.metric.between(places[part], self.points).argmin(axis=1) for part in blocks(len(places), len(self))
        ]
        return np.concatenate([np.empty(0, dtype=np.int64), *found])

    def candidates(self, outputs: Space | None) -> Space:
        """The given outputs when this space's metric can measure them; by default the points themselves."""
        if outputs is None:
            return self
        space_of(outputs, "outputs")
        width, expected = outputs.points.shape[1], self.points.shape[1]
        if width != expected:
            raise InvalidInput(f"outputs have {width} columns, expected {expected} like the points")
        if isinstance(self.metric, Precomputed) and outputs.metric is not self.metric:
            raise InvalidInput(f"outputs are {outputs}, expected points of the same distance matrix")
        self.metric.check(outputs.points)
        return outputs

    def contains(self, other: Space) -> bool:
        """Whether every point of `other` is a point of this space, under the same metric."""
        if other is self:
            return True
        if type(self.metric) is not type(other.metric) or self.metric.name != other.metric.name:
            return False
        if isinstance(self.metric, Precomputed) or self.points.shape[1] != other.points.shape[1]:
            return False
        mine = {row.tobytes() for row in self.points + 0.0}
        return all(row.tobytes() in mine for row in other.points + 0.0)


def space_of(value: object, name: str = "space") -> Space:
    """The argument when it is a Space; otherwise a refusal that says how to make one."""
    if not isinstance(value, Space):
        raise InvalidInput(f"{name} is {a_kind(value)}, expected a Space: Space(points) makes one")
    return value


def _groups(points: FloatArray, metric: Metric) -> tuple[IntArray, IntArray]:
    """First row of each group of points at distance zero, in order, and each row's group."""
    rows = metric.identity(points)
    if rows is None:
        zero = metric.between(points, points) == 0
        leader = np.argmax(zero, axis=1)
    else:
        _, first, inverse = np.unique(rows + 0.0, axis=0, return_index=True, return_inverse=True)
        leader = first[inverse.ravel()]
    kept, group = np.unique(leader, return_inverse=True)
    return kept.astype(np.int64), group.astype(np.int64)


def _refuse_duplicates(space: Space) -> None:
    if space.metric.identity(space.points[:1]) is None and len(space) ** 2 > DENSE_LIMIT:
        raise TooLarge(f"a {space.metric.name} metric over {len(space)} points cannot be checked; use a named metric")
    kept, group = _groups(space.points, space.metric)
    if len(kept) < len(space):
        second = int(np.setdiff1d(np.arange(len(space)), kept)[0])
        first = int(kept[group[second]])
        extra = len(space) - len(kept)
        raise InvalidInput(
            f"points {first} and {second} are at distance 0 ({extra} duplicates in all), "
            "expected distinct points; Space.merged keeps one of each"
        )


def _check_distances(matrix: FloatArray, name: str) -> None:
    """Refuse what is not a metric: square, zero diagonal, non-negative, symmetric, triangle inequality."""
    if matrix.shape[0] != matrix.shape[1]:
        raise InvalidInput(f"{name} has shape {matrix.shape}, expected a square matrix")
    if (matrix < 0).any():
        i, j = np.argwhere(matrix < 0)[0]
        raise InvalidInput(f"{name}[{i}, {j}] = {matrix[i, j]}, expected distances >= 0")
    if np.diag(matrix).any():
        i = int(np.argmax(np.diag(matrix)))
        raise InvalidInput(f"{name}[{i}, {i}] = {matrix[i, i]}, expected 0 on the diagonal")
    gap = np.abs(matrix - matrix.T)
    if (gap > _SLACK * np.maximum(matrix, matrix.T)).any():
        i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
        raise InvalidInput(f"{name}[{i}, {j}] = {matrix[i, j]} and [{j}, {i}] = {matrix[j, i]}, expected symmetry")
    if len(matrix) > METRIC_CHECK_LIMIT:
        raise TooLarge(
            f"{name} of {len(matrix)} points, expected at most {METRIC_CHECK_LIMIT}: above, the triangle "
            "inequality cannot be checked; use coordinates with a named metric"
        )
    _refuse_shortcut(matrix, name)


def _refuse_shortcut(matrix: FloatArray, name: str) -> None:
    """Compare every distance with the shortest way through one stop, in blocks of rows that stay in a core's cache."""
    for start in range(0, len(matrix), _ROWS):
        rows, onwards = matrix[start : start + _ROWS], matrix[:, start:]
        shortest = np.full((len(rows), onwards.shape[1]), np.inf)
        way = np.empty_like(shortest)
        for middle in range(len(matrix)):
            np.add(rows[:, middle, None], onwards[middle], out=way)
            np.minimum(shortest, way, out=shortest)
        broken = rows[:, start:] > shortest * (1 + _SLACK)
        if broken.any():
            i, j = (start + int(k) for k in np.unravel_index(int(np.argmax(broken)), broken.shape))
            ways = matrix[i] + matrix[:, j]
            raise InvalidInput(
                f"{name}[{i}, {j}] = {matrix[i, j]:.6g} but the way through {int(np.argmin(ways))} is "
                f"{ways.min():.6g}, expected the triangle inequality"
            )
