"""The distance d between points: what an attacker's shift of odds is divided by.

A metric turns two blocks of points, (n, k) and (m, k), into an (n, m) block of distances. Definition 1 of the
paper asks for a metric: symmetric, zero on the diagonal, and within the triangle inequality.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from oddshift.base.arrays import FloatArray, blocks, positive
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.base.identity import content, fingerprint
from oddshift.base.registry import Registry

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth (IUGG), in kilometres."""

_NEAR = 1e-4  # squared distances below this share of the squared norms are computed again without cancellation
_LARGEST = 1e150
_FEW_AXES = 8  # up to here distances are computed from differences, which is exact and as fast as a matrix product


@runtime_checkable
class Metric(Protocol):
    """Anything with a name, a check of points, an identity of points, and distances between two blocks.

    Unless it says otherwise every finite point is in its domain, and only equal points are at distance zero.
    """

    @property
    def name(self) -> str:
        """The name under which it is printed."""

    def check(self, points: FloatArray) -> None:
        """Raise InvalidInput when the points are outside the metric's domain."""
        return None

    def identity(self, points: FloatArray) -> FloatArray | None:
        """Rows that are equal exactly where the distance is zero; None when only distances can tell."""
        return points

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The (n, m) distances between two blocks of points."""


@dataclass(frozen=True)
class Euclidean(Metric):
    """d = ‖a − b‖₂."""

    name: str = "euclidean"

    def check(self, points: FloatArray) -> None:
        """Refuse coordinates whose squares are out of range."""
        if np.abs(points).max() > _LARGEST:
            raise InvalidInput(f"points reach {np.abs(points).max():.3g}, expected coordinates up to {_LARGEST:g}")

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """From differences for few axes, otherwise by a matrix product with the near pairs computed again."""
        if left.shape[1] <= _FEW_AXES:
            return _from_differences(left, right, "euclidean")
        squared = _squared_by_product(left, right)
        return np.sqrt(squared, out=squared)


@dataclass(frozen=True)
class Angular:
    """d = arccos of the cosine similarity, in radians, for points that are not the origin."""

    name: str = "angular"

    def check(self, points: FloatArray) -> None:
        """Refuse the origin, which has no direction."""
        norms = np.linalg.norm(points, axis=1)
        if (norms == 0).any():
            raise InvalidInput(f"point {int(np.argmin(norms))} is the origin, expected a direction (angular metric)")

    def identity(self, points: FloatArray) -> FloatArray:
        """Directions to 12 digits: parallel points are at distance zero."""
        return np.round(_directions(points), 12) + 0.0

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """2·arcsin(‖u − v‖/2) of the unit vectors, which keeps its digits for small angles."""
        chord = Euclidean().between(_directions(left), _directions(right))
        return 2.0 * np.arcsin(np.minimum(chord / 2.0, 1.0))


@dataclass(frozen=True)
class Manhattan(Metric):
    """d = Σ |a_k − b_k|."""

    name: str = "manhattan"

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Summed pair by pair, so that no (n, m, k) array is built."""
        return _from_differences(left, right, "cityblock")


@dataclass(frozen=True)
class Hamming(Metric):
    """d = number of coordinates that differ."""

    name: str = "hamming"

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Counted pair by pair; SciPy gives the share of axes that differ, which is made a whole number again."""
        return np.rint(left.shape[1] * _from_differences(left, right, "hamming"))


@dataclass(frozen=True)
class Haversine:
    """Great-circle distance in kilometres between (latitude, longitude) pairs in degrees."""

    name: str = "haversine"

    def check(self, points: FloatArray) -> None:
        """Two columns, latitudes in [−90, 90] and longitudes in [−180, 180]."""
        if points.shape[1] != 2:
            raise InvalidInput(f"haversine points have {points.shape[1]} columns, expected 2 (latitude, longitude)")
        for column, (name, limit) in enumerate((("latitude", 90.0), ("longitude", 180.0))):
            values = points[:, column]
            if (np.abs(values) > limit).any():
                bad = int(np.argmax(np.abs(values)))
                raise InvalidInput(f"{name} at row {bad} is outside [-{limit:g}, {limit:g}] degrees")

    def identity(self, points: FloatArray) -> FloatArray:
        """Positions on the unit sphere to 15 digits, so that ±180° and the poles coincide with themselves."""
        latitude, longitude = np.radians(points).T
        sphere = np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)
        return np.round(np.stack(sphere, axis=1), 15) + 0.0

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """2R·arcsin √(sin²(Δφ/2) + cos φ₁ cos φ₂ sin²(Δλ/2))."""
        (lat_a, lon_a), (lat_b, lon_b) = np.radians(left).T, np.radians(right).T
        half_lat = np.sin((lat_a[:, None] - lat_b[None, :]) / 2.0) ** 2
        half_lon = np.sin((lon_a[:, None] - lon_b[None, :]) / 2.0) ** 2
        chord = half_lat + np.cos(lat_a)[:, None] * np.cos(lat_b)[None, :] * half_lon
        return 2.0 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.minimum(chord, 1.0)))


@dataclass(frozen=True, eq=False)
class Precomputed:
    """Distances read from a matrix; a point is its row number (one column)."""

    matrix: FloatArray
    name: str = "precomputed"

    def check(self, points: FloatArray) -> None:
        """Refuse fractions and row numbers outside the matrix."""
        is_whole = points.shape[1] == 1 and bool((points == np.floor(points)).all())
        if not is_whole or (points < 0).any() or (points >= len(self.matrix)).any():
            raise InvalidInput(f"precomputed points must be one column of row numbers in [0, {len(self.matrix)})")

    def identity(self, points: FloatArray) -> None:
        """Only the distances can tell."""

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Rows and columns of the matrix."""
        rows, columns = left[:, 0].astype(np.int64), right[:, 0].astype(np.int64)
        return self.matrix[np.ix_(rows, columns)]


@dataclass(frozen=True, eq=False)
class Pairwise(Metric):
    """Distances from a function of two points; slow, one call for each pair."""

    function: Callable[[FloatArray, FloatArray], float]
    name: str = "callable"

    def identity(self, points: FloatArray) -> None:
        """Only the distances can tell."""

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """One call for each pair."""
        values = [[self.function(a, b) for b in right] for a in left]
        try:
            block = np.array(values, dtype=np.float64).reshape(len(left), len(right))
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                "the metric function returned something other than a number, expected a distance >= 0"
            ) from error
        if not np.isfinite(block).all():
            bad = block[~np.isfinite(block)][0]
            raise InvalidInput(f"the metric function returned {bad}, expected a distance >= 0")
        return block


@dataclass(frozen=True, eq=False)
class Scaled:
    """factor · d: changes the unit in which a budget is spent."""

    metric: Metric
    factor: float

    @property
    def name(self) -> str:
        """The inner name with its factor."""
        return f"{self.factor:g}*{self.metric.name}"

    @property
    def fingerprint(self) -> str:
        """The inner metric and the factor; 1 · d is d."""
        return fingerprint(self.metric) if self.factor == 1.0 else content(self)

    def check(self, points: FloatArray) -> None:
        """The inner metric decides."""
        self.metric.check(points)

    def identity(self, points: FloatArray) -> FloatArray | None:
        """Scaling merges no points."""
        return self.metric.identity(points)

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The inner distances times the factor."""
        return self.factor * self.metric.between(left, right)


@dataclass(frozen=True, eq=False)
class Summed:
    """Σ_p d_p over groups of columns: one metric for a table of mixed columns."""

    parts: tuple[tuple[Metric, tuple[int, ...]], ...]

    @property
    def name(self) -> str:
        """The inner names joined by a plus."""
        return "+".join(metric.name for metric, _ in self.parts)

    def check(self, points: FloatArray) -> None:
        """Each part checks its own columns."""
        width = points.shape[1]
        for metric, columns in self.parts:
            if max(columns) >= width:
                raise InvalidInput(f"a summed metric reads column {max(columns)}, the points have {width}")
            metric.check(points[:, columns])

    def identity(self, points: FloatArray) -> FloatArray | None:
        """The identities side by side, when every part has one."""
        identities = [metric.identity(points[:, columns]) for metric, columns in self.parts]
        known = [rows for rows in identities if rows is not None]
        return np.hstack(known) if len(known) == len(identities) else None

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The sum of the parts."""
        return np.asarray(sum(metric.between(left[:, c], right[:, c]) for metric, c in self.parts))


METRICS: Registry[Metric] = Registry(
    "metric",
    "oddshift.metrics",
    {
        "euclidean": Euclidean(),
        "angular": Angular(),
        "manhattan": Manhattan(),
        "haversine": Haversine(),
        "hamming": Hamming(),
    },
)
"""Every metric by name, those of installed packages included."""

MetricLike = str | Metric | Callable[[FloatArray, FloatArray], float]


def metric_of(value: MetricLike) -> Metric:
    """A metric from its name, from a function of two points, or as it is."""
    if isinstance(value, str):
        if value not in METRICS:
            raise InvalidInput(f"metric={value!r}, expected one of {', '.join(METRICS)}, a function or a Metric")
        return METRICS[value]
    if isinstance(value, Metric):
        return value
    if callable(value):
        return Pairwise(value)
    raise InvalidInput(f"metric is {a_kind(value)}, expected a name, a function or a Metric")


def scaled(metric: MetricLike, factor: float) -> Scaled:
    """Return the metric factor · d.

    >>> scaled("euclidean", 2.0).name
    '2*euclidean'
    """
    return Scaled(metric_of(metric), positive(factor, "factor"))


def summed(parts: Sequence[tuple[MetricLike, Sequence[int]]]) -> Summed:
    """Return the metric Σ_p d_p, each part read from its own columns.

    >>> summed([("euclidean", [0, 1]), (scaled("hamming", 3.0), [2])]).name
    'euclidean+3*hamming'
    """
    if not parts or any(not len(columns) or min(columns) < 0 for _, columns in parts):
        raise InvalidInput("a summed metric needs at least one part, each with at least one column >= 0")
    return Summed(tuple((metric_of(metric), tuple(int(c) for c in columns)) for metric, columns in parts))


def _directions(points: FloatArray) -> FloatArray:
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def _from_differences(left: FloatArray, right: FloatArray, name: str) -> FloatArray:
    """Distances pair by pair in compiled code: each depends on its two points alone, so blocks agree with the whole."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(left, right, name))


def _squared_by_product(left: FloatArray, right: FloatArray) -> FloatArray:
    """‖a‖² + ‖b‖² − 2a·b as one matrix product; pairs where that cancels are computed again from differences."""
    centre = right.mean(axis=0)
    left, right = left - centre, right - centre
    norms_left, norms_right = (left**2).sum(axis=1), (right**2).sum(axis=1)
    squared = np.column_stack((-2.0 * left, norms_left, np.ones(len(left)))) @ (
        np.column_stack((right, np.ones(len(right)), norms_right)).T
    )
    threshold = _NEAR * (norms_left + norms_right.max())
    rows, columns = np.divmod(np.flatnonzero(squared <= threshold[:, None]), len(right))
    for part in blocks(len(rows), left.shape[1]):
        i, j = rows[part], columns[part]
        squared[i, j] = ((left[i] - right[j]) ** 2).sum(axis=1)
    return squared
