"""The tier-safe mechanism: the exponential mechanism on a metric that is stretched less near sensitive points.

With w(u, v) = ½(scale_u + scale_v)·d(u, v) and d_s its shortest-path closure, the exponential mechanism on d_s is
ε·d_s-private for all pairs: scale·ε inside a tier, at most the mean scale times ε across, whoever knows the tiers.

The path closure of a scaled metric: shortest paths under w(u, v) = ½(scale_u + scale_v)·d(u, v).

A stop m shortens the way from u to v only when scale_m < max(scale_u, scale_v): otherwise both legs cost at least w's
own rate, and d's triangle inequality does the rest. So scales only fall and then rise along a shortest path, and groups
of points are closed in increasing order of scale: from a group to the smaller scales by one leg to a smaller scale and
the shortest way on from there, then inside the group in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks, dense, frozen, positive
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.mechanism import Mechanism, log_normalisers, normalised
from oddshift.mechanisms.settings import MechanismSettings, tiers_with_scales
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers, tiers_of


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
        return frozen(closed_space(self.space, self.tiers.scale_of_points))

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


_ROWS = 1_024  # rows whose bounds are computed together
_COLUMNS = 1_024  # columns whose bounds are computed together
_PIECE = 48  # ways through this number of stops are compared at once, so that they stay in a core's cache
_NEAREST = 8  # stops that are tried first, because they shorten most
_MANY = 16  # with more than one in this number of stops left, a matrix product says first which columns they could help
_EXPONENT = 600.0  # e^−600 is still a float64


def path_closure(distances: FloatArray, scales: FloatArray) -> FloatArray:
    """Shortest paths under w(u, v) = ½(scale_u + scale_v)·d(u, v), as an (n, n) metric.

    >>> far = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    >>> path_closure(far, np.array([1.0, 0.2, 1.0]))[0]
    array([0. , 0.6, 1.2])
    """
    order = np.argsort(scales, kind="stable")
    return _unsorted(_closed(distances[np.ix_(order, order)], scales[order]), order)


def closed_space(space: Space, scales: FloatArray) -> FloatArray:
    """The same for the points of a space, in the memory of one (n, n) array and a little more."""
    n = len(space)
    dense(n, n, "path distances", "use fewer points, or one scale for all of them")
    order = np.argsort(scales, kind="stable")
    points, ways = space.points[order], np.empty((n, n))
    for part in blocks(n, n):
        ways[part] = space.metric.between(points[part], points)
    return _unsorted(_closed(ways, scales[order]), order)


def _closed(ways: FloatArray, scales: FloatArray) -> FloatArray:
    """The closure, in place, of distances between points in increasing order of scale."""
    for part in blocks(len(ways), len(ways)):
        ways[part] *= 0.5 * scales[part][:, None] + 0.5 * scales[None, :]
    bounds = [*np.unique(scales, return_index=True)[1], len(scales)]
    _make_symmetric(ways[: bounds[1], : bounds[1]])
    for low, high in pairwise(bounds[1:]):
        group = slice(low, high)
        legs = ways[group, :low].copy()
        _shorten(ways[group, :low], legs, _onward(ways[:low, :low], ways[:low, :low], True))
        ways[:low, group] = ways[group, :low].T
        legs[ways[group, :low] < legs] = np.inf  # a stop that is reached sooner another way is not a first stop
        _shorten(ways[group, group], legs, _onward(ways[:low, group], ways[group, :low], False))
        _make_symmetric(ways[group, group])
    return ways


def _make_symmetric(ways: FloatArray) -> None:
    """The smaller of both directions, in place."""
    for part in blocks(len(ways), len(ways)):
        after = slice(part.start, len(ways))
        smaller = np.minimum(ways[part, after], ways[after, part].T)
        ways[part, after], ways[after, part] = smaller, smaller.T


def _unsorted(ways: FloatArray, order: IntArray) -> FloatArray:
    """Row and column order[i] from row and column i, in place: rows along the cycles of the order, then columns."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    moved = np.zeros(len(order), dtype=bool)
    for start in range(len(order)):
        held, here = ways[start].copy(), start
        while not moved[here]:
            moved[here] = True
            following = int(rank[here])
            if following == start:
                ways[here] = held
            else:
                ways[here] = ways[following]
            here = following
    for part in blocks(len(ways), len(ways)):
        ways[part] = ways[part][:, rank]
    return ways


@dataclass(frozen=True, eq=False, repr=False)
class _Onward:
    """The ways on from every stop, (stops, columns), and the shortest last leg to each column from another point.

    `to_each` is the transpose, whose rows lie together in memory. Either the columns are the stops themselves, or they
    are the points of the rows, and a pair is then asked for once, in the row of its first point.
    """

    ways: FloatArray
    to_each: FloatArray
    last: FloatArray
    ends_at_stops: bool

    def asked(self, row: int) -> _Onward:
        """The columns that are asked for in a row and in those after it."""
        if self.ends_at_stops:
            return self
        after = row + 1
        return _Onward(self.ways[:, after:], self.to_each[after:], self.last[after:], False)

    def first_stops(self, ways: FloatArray, legs: FloatArray) -> FloatArray:
        """The legs, infinite to a stop that is reached sooner another way: it is the first stop of no shortest path."""
        return np.where(ways < legs, np.inf, legs) if self.ends_at_stops else legs


def _onward(ways: FloatArray, to_each: FloatArray, ends_at_stops: bool) -> _Onward:
    last = np.empty(len(to_each))
    for part in blocks(*to_each.shape):
        last[part] = np.where(to_each[part] > 0.0, to_each[part], np.inf).min(axis=1)
    return _Onward(ways, to_each, last, ends_at_stops)


def _shorten(ways: FloatArray, legs: FloatArray, onward: _Onward) -> None:
    """ways(u, v) = min(ways(u, v), min_m legs(u, m) + onward(m, v)) in place, exactly, from few of the stops m.

    The nearest stops are tried first. A later one m is tried only if legs(u, m) plus the shortest last leg to some v is
    below ways(u, v), and, where stops are columns too, only if ways(u, m) is still legs(u, m): onward is closed, so
    through a stop that is reached sooner another way nothing is reached sooner than along that other way.
    """
    asked = ways.shape[1]
    hard = []
    for row, leg in enumerate(legs):
        here = onward.asked(row)
        if not _through_near_stops(ways[row, asked - len(here.last) :], leg, here):
            hard.append(row)
    for start in range(0, len(hard), _ROWS):
        rows = hard[start : start + _ROWS]
        block = onward.asked(rows[0])
        skipped = asked - len(block.last)
        first_stops = block.first_stops(ways[rows, skipped:], legs[rows])
        helped = _may_be_helped(ways[rows, skipped:], first_stops, block)
        for row, columns, leg in zip(rows, helped, first_stops, strict=True):
            here = onward.asked(row)
            part = slice(asked - len(here.last), None)
            _through_all_stops(ways[row, part], leg, here, np.flatnonzero(columns[part.start - skipped :]))


def _through_near_stops(way: FloatArray, leg: FloatArray, onward: _Onward) -> bool:
    """One row of `_shorten`, nearest stops first; False if too many stops are left to try them one by one."""
    if not len(way):
        return True
    untried = leg.copy()
    few = np.argpartition(untried, min(_NEAREST, len(leg)) - 1)[:_NEAREST]
    while len(few):
        np.minimum(way, (onward.ways[few] + leg[few, None]).min(axis=0), out=way)
        untried[few] = np.inf
        untried = onward.first_stops(way, untried)
        stops = np.flatnonzero(untried < (way - onward.last).max())
        if _MANY * len(stops) > len(leg):
            return False
        few = stops[np.argsort(untried[stops], kind="stable")[:_PIECE]]
    return True


def _may_be_helped(ways: FloatArray, legs: FloatArray, onward: _Onward) -> BoolArray:
    """Which entries of some rows a stop could shorten; a matrix product rules out the others.

    Σ_m e^(−k·legs(u, m))·e^(−k·onward(m, v)) is at least its largest term, so where it is at most e^(−k·ways(u, v)),
    every way through a stop is at least ways(u, v). Exponents are taken above each row's nearest stop and each column's
    nearest one, so that k can be large and the bound sharp; what underflows is longer than every present way.
    """
    first, last = legs.min(axis=1, keepdims=True), onward.last
    helped = np.zeros(ways.shape, dtype=bool)
    for start in range(0, len(last), _COLUMNS):
        part = slice(start, start + _COLUMNS)
        room = ways[:, part] - first - last[part]  # what a stop may cost more than the nearest ones
        if room.max() <= 0.0:
            continue
        sharpness = _EXPONENT / room.max()
        apart = np.where(onward.to_each[part] > 0.0, onward.to_each[part], np.inf)
        parts = np.exp(sharpness * (last[part][:, None] - apart))
        total = np.exp(sharpness * (first - legs)) @ parts.T
        helped[:, part] = total > np.exp(np.minimum(-sharpness * room, _EXPONENT))
    return helped


def _through_all_stops(way: FloatArray, leg: FloatArray, onward: _Onward, columns: IntArray) -> None:
    """One row of `_shorten` through every stop that is not ruled out, for some of its columns, whichever are fewer."""
    if not len(columns):
        return
    stops = np.flatnonzero(leg < (way - onward.last)[columns].max())
    if len(stops) * len(way) < len(columns) * len(leg):
        for few in _pieces(stops):
            np.minimum(way, (onward.ways[few] + leg[few, None]).min(axis=0), out=way)
        return
    for few in _pieces(columns):
        way[few] = np.minimum(way[few], (onward.to_each[few] + leg).min(axis=1))


def _pieces(index: IntArray) -> list[IntArray]:
    return [index[start : start + _PIECE] for start in range(0, len(index), _PIECE)]
