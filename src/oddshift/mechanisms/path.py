"""The tier-safe mechanism: the exponential mechanism on a metric that is stretched less near sensitive points.

With w(u, v) = ½(scale_u + scale_v)·d(u, v) and d_s its shortest-path closure, the exponential mechanism on d_s is
ε·d_s-private for all pairs: scale·ε inside a tier, at most the mean scale times ε across, whoever knows the tiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, frozen, positive
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.scores import log_normalisers, normalised
from oddshift.mechanisms.settings import MechanismSettings, tiers_with_scales
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers, tiers_of

_ROWS = 256  # rows whose bounds are computed together
_PIECE = 48  # ways through this number of stops are compared at once, so that they stay in a core's cache
_NEAREST = 8  # stops that are tried first, because they shorten most
_EXPONENT = 600.0  # e^−600 is still a float64


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PathExponential(Mechanism):
    """Pr[y|x] ∝ exp(−½ε·d_s(x, y)) over the space's own points.

    **Guarantee**: |log ratio| ≤ ε·d_s(a, b) ≤ ε·½(scale_a + scale_b)·d(a, b) for ALL pairs, so the claim holds
    whether tiers are public or secret. Points in no tier take the largest scale.

    >>> tiers = Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(0.4, 1.0), is_public=False)
    >>> safe = PathExponential(Space([[0.0], [1.0], [2.0], [3.0]]), tiers, epsilon=2.0)
    >>> safe.exact_epsilon <= safe.claimed_epsilon
    True
    """

    space: Space
    tiers: Tiers
    epsilon: float

    def __init__(self, space: Space, tiers: Tiers, epsilon: float) -> None:
        """Points (secrets and further outputs alike), their tiers, budget."""
        if len(tiers_of(tiers).labels) != len(space_of(space)):
            raise InvalidInput(f"tiers label {len(tiers.labels)} points, expected {len(space)}")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "tiers", tiers)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With the scales of the settings, which it needs."""
        return cls(space, tiers_with_scales(tiers, settings), epsilon)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"PathExponential({self.space}, {self.tiers}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """The largest scale times ε, over all pairs."""
        return self.epsilon * max(self.tiers.scales)

    @cached_property
    def path_distances(self) -> FloatArray:
        """The closure d_s (n, n)."""
        return frozen(path_closure(self.space.distances, self.tiers.scale_of_points))

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½ε·d_s(x, y) − ln Z_x."""
        return normalised(self._scores(index))

    @cached_property
    def exact_epsilon(self) -> float:
        """Closed form over ALL pairs, tiers public or not."""
        log_z = log_normalisers(self._scores, len(self.space), self.n_outputs)
        return exponential_epsilon(log_z, self._rows)

    def _scores(self, index: IntArray) -> FloatArray:
        return -0.5 * self.epsilon * self.path_distances[index]

    def _rows(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        return self.space.between(index), 0.5 * self.epsilon * self.path_distances[index]


def path_closure(distances: FloatArray, scales: FloatArray) -> FloatArray:
    """Shortest paths under w(u, v) = ½(scale_u + scale_v)·d(u, v), as an (n, n) metric.

    A stop m shortens the way from u to v only when scale_m < max(scale_u, scale_v): otherwise both legs cost at
    least w's own rate, and d's triangle inequality does the rest. So scales only fall and then rise along a shortest
    path, and groups of points are closed in increasing order of scale: from a group to the smaller scales by one leg
    to a smaller scale and the shortest way on from there, then inside the group in the same way.
    """
    order = np.argsort(scales, kind="stable")
    ways = distances[np.ix_(order, order)]
    ways *= 0.5 * scales[order][:, None] + 0.5 * scales[order][None, :]
    bounds = [*np.unique(scales[order], return_index=True)[1], len(scales)]
    for low, high in pairwise(bounds[1:]):
        legs, group = ways[low:high, :low].copy(), slice(low, high)
        _shorten(ways[group, :low], legs, ways[:low, :low])
        ways[:low, group] = ways[group, :low].T
        legs[ways[group, :low] < legs] = np.inf  # a stop that is reached sooner another way is not a first stop
        _shorten(ways[group, group], legs, ways[:low, group])
        np.minimum(ways[group, group], ways[group, group].T.copy(), out=ways[group, group])
    closed = np.empty_like(ways)
    closed[np.ix_(order, order)] = ways
    return closed


def _shorten(ways: FloatArray, legs: FloatArray, onward: FloatArray) -> None:
    """ways(u, v) = min(ways(u, v), min_m legs(u, m) + onward(m, v)) in place, exactly, for few of the pairs.

    A matrix product says which pairs no stop helps: Σ_m e^(−k·legs(u, m))·e^(−k·onward(m, v)) is at least its largest
    term, so where it is at most e^(−k·ways(u, v)), every way through a stop is at least ways(u, v). Exponents are
    taken above each row's nearest stop and each column's nearest one, so that k can be large and the bound sharp;
    what underflows is longer than every present way.
    """
    apart = np.where(onward > 0.0, onward, np.inf)
    last, first = apart.min(axis=0), legs.min(axis=1, keepdims=True)
    room = ways - first - last  # what a stop may cost more than the nearest ones
    if room.max() <= 0.0:
        return
    sharpness = _EXPONENT / room.max()
    parts = np.exp(sharpness * (last - apart))
    from_each = np.ascontiguousarray(onward.T)
    for start in range(0, len(ways), _ROWS):
        rows = slice(start, start + _ROWS)
        total = np.exp(sharpness * (first[rows] - legs[rows])) @ parts
        helped = total > np.exp(np.minimum(-sharpness * room[rows], _EXPONENT))
        for way, leg, columns in zip(ways[rows], legs[rows], helped, strict=True):
            _shorten_row(way, leg, onward, from_each, (columns, last))


def _shorten_row(
    way: FloatArray, leg: FloatArray, onward: FloatArray, from_each: FloatArray, hope: tuple[BoolArray, FloatArray]
) -> None:
    """One row of `_shorten`: `hope` has the columns that may be helped, and the shortest last leg to each."""
    columns, last = np.flatnonzero(hope[0]), hope[1]
    if not len(columns):
        return
    nearest = np.argpartition(leg, min(_NEAREST, len(leg)) - 1)[:_NEAREST]
    np.minimum(way, (onward[nearest] + leg[nearest, None]).min(axis=0), out=way)
    stops = np.flatnonzero(leg < (way - last)[columns].max())
    if len(stops) < len(columns):
        for few in np.array_split(stops, range(_PIECE, len(stops), _PIECE)):
            if len(few):
                np.minimum(way, (onward[few] + leg[few, None]).min(axis=0), out=way)
        return
    for few in np.array_split(columns, range(_PIECE, len(columns), _PIECE)):
        way[few] = np.minimum(way[few], (from_each[few] + leg).min(axis=1))
