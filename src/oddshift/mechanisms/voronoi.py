"""Planar Laplace noise and nearest outputs: the probability of each Voronoi cell, by quadrature along its edges.

With r the radius of the noise, Pr[εr > z] = G(z) = (1 + z)·e^{−z}. A ray from x crosses the edges of a cell, so
Pr[cell] = [x in cell] − Σ_edges ±(1/2π)∫ G(ε·r(φ)) dφ, plus where x is on the cell's side of the edge. On an edge
whose line is at distance h from x, r = h·cosh t and dφ = dt/cosh t: smooth in t, however small or large h is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import NoGuarantee, TooLarge

VORONOI_LIMIT = 400
"""Outputs up to which the edges are found (every pair against every third output)."""

_NODES = 20
_PANEL = 2.0  # longest panel in t: 1/cosh t has poles at distance π/2, so 20 nodes keep 16 digits
_DECAY = 6.0  # how far the exponent z may grow in one panel, about
_DEEP = 64.0  # e^{−64} is negligible against 1 in float64
_ON_LINE = 1e-30  # distance, relative to the scene, that stands for a point on an edge's line: the limit h → 0
_SIZE = 1.0  # cells, or distances to cells, up to this many 1/ε are computed from differences of G

Weight = Callable[[IntArray, FloatArray], FloatArray]
"""From the numbers of some edges (n,) and excesses of z over their nearest points (n, nodes), the integrand."""


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges of a Voronoi diagram: pieces [low, high] of the lines middle + s·along, between cells `left` and `right`.

    `across` points from left to right, whose points are at that `distance`. Ends of unbounded edges are infinite.
    """

    left: IntArray
    right: IntArray
    middle: FloatArray
    along: FloatArray
    across: FloatArray
    distance: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, eq=False)
class _View:
    """Edges seen from points: side (+1: the left cell's), ε·h, ends in t, and z = ε·r of the nearest point."""

    side: FloatArray
    height: FloatArray
    start: FloatArray
    end: FloatArray
    z: FloatArray


def voronoi_edges(points: FloatArray) -> Edges:
    """The edges between the cells of distinct points (m, 2): each bisector, cut by every third point.

    >>> edges = voronoi_edges(np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]))
    >>> edges.left.tolist(), edges.right.tolist(), edges.low.tolist(), edges.high.tolist()
    ([0, 0, 1], [1, 2, 2], [-inf, -1.0, -inf], [1.0, inf, 0.0])
    """
    m = len(points)
    if m > VORONOI_LIMIT:
        raise TooLarge(
            f"{m} outputs in the plane, expected at most {VORONOI_LIMIT} for a log_matrix; sample works at any size"
        )
    found = [_edges_of(points, first) for first in range(m)]
    left = np.repeat(np.arange(m), [len(right) for right, _, _ in found])
    right, low, high = (np.concatenate([part[k] for part in found]) for k in range(3))
    across = points[right] - points[left]
    distance = np.hypot(across[:, 0], across[:, 1])
    across = across / distance[:, None]
    middle = (points[left] + points[right]) / 2.0
    return Edges(left, right, middle, _turned(across), across, distance, low, high)


def log_cell_probabilities(x: FloatArray, points: FloatArray, edges: Edges, epsilon: float) -> FloatArray:
    """log Pr[y is the nearest of `points` to x + noise] for every row of x, (n, m).

    Far from x the sum of the formula is taken as it is, scaled by the largest term. Near x, and for cells that are
    small compared with 1/ε, it would cancel. There G is replaced by G − G(z₀), where z₀ is the cell's nearest z (0 near
    x), because constants integrate to zero around a cell, except for the directions in which it is unbounded.

    **Guarantee**: quadrature in float64, relative accuracy about 1e-13 however far a cell is; 1e-15/(ε·width) for far
    cells that are long and thin. Never a silent zero: a cell whose digits are lost raises NoGuarantee.
    """
    m = len(points)
    view = _view(x, edges, epsilon)
    reference = _nearest(view.z, edges, m)
    inside = np.argmin(((x[:, None, :] - points[None]) ** 2).sum(axis=2), axis=1)
    reference[np.arange(len(x)), inside] = 0.0
    small = epsilon * _size(edges, m) <= _SIZE
    near = reference < _SIZE
    reference[near & ~small] = 0.0
    value = np.where(near & ~small, _unbounded(edges, m)[None, :], 0.0)
    for cells, side in ((edges.left, view.side), (edges.right, -view.side)):
        centred = (near | small)[:, cells]
        shares = np.empty(centred.shape)
        shares[centred] = (side * _OVER_CIRCLE)[centred] * _from_differences(view, reference[:, cells], centred)
        shares[~centred] = (-side * _OVER_CIRCLE)[~centred] * _from_tails(view, reference[:, cells], ~centred)
        np.add.at(value.T, cells, shares.T)
    if not value.min() > 0.0:
        cell = int(np.argmin(value.min(axis=0)))
        raise NoGuarantee(f"the cell of output {cell} is too thin to be integrated in float64, expected wider cells")
    return np.log(value) - reference


_OVER_CIRCLE = 1.0 / (2.0 * np.pi)


def _turned(vectors: FloatArray) -> FloatArray:
    return np.stack((-vectors[:, 1], vectors[:, 0]), axis=1)


def _edges_of(points: FloatArray, first: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Edges between `first` and later points: on their bisector, a point at q allows 2s·(along·q) ≤ |q|² − w·q."""
    others = points - points[first]
    ways = others[first + 1 :]
    along = _turned(ways) / np.hypot(ways[:, 0], ways[:, 1])[:, None]
    slope = 2.0 * along @ others.T
    room = (others**2).sum(axis=1)[None, :] - ways @ others.T
    rows = np.arange(len(ways))
    for own in (np.full(len(ways), first), first + 1 + rows):  # the two points of the bisector do not cut it
        slope[rows, own], room[rows, own] = 0.0, 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = room / slope
    high = np.where(slope > 0, bound, np.inf).min(axis=1)
    low = np.where(slope < 0, bound, -np.inf).max(axis=1)
    real = (low < high) & ~((slope == 0) & (room < 0)).any(axis=1)
    return first + 1 + np.flatnonzero(real), low[real], high[real]


def _view(x: FloatArray, edges: Edges, epsilon: float) -> _View:
    offset = x[:, None, :] - edges.middle[None]
    across = (offset * edges.across).sum(axis=2)
    place = (offset * edges.along).sum(axis=2)
    height = np.maximum(np.abs(across), _ON_LINE * np.abs(offset).max(initial=1.0))
    low, high = edges.low - place, edges.high - place
    beyond = np.maximum(np.maximum(low, -high), 0.0)
    z = epsilon * np.hypot(height, beyond)
    side = np.where(across <= 0.0, 1.0, -1.0)
    return _View(side, epsilon * height, np.arcsinh(low / height), np.arcsinh(high / height), z)


def _nearest(z: FloatArray, edges: Edges, m: int) -> FloatArray:
    nearest = np.full((m, len(z)), np.inf)
    np.minimum.at(nearest, edges.left, z.T)
    np.minimum.at(nearest, edges.right, z.T)
    return np.ascontiguousarray(nearest.T)


def _size(edges: Edges, m: int) -> FloatArray:
    """Diameter of each cell at most: twice the way from its point to its farthest corner."""
    reach = np.hypot(edges.distance, 2.0 * np.maximum(np.abs(edges.low), np.abs(edges.high)))
    size = np.zeros(m)
    np.maximum.at(size, edges.left, reach)
    np.maximum.at(size, edges.right, reach)
    return np.where(size > 0.0, size, np.inf)


def _unbounded(edges: Edges, m: int) -> FloatArray:
    """Share of the directions that never leave each cell: what its edges leave of the circle around its point."""
    seen = np.arctan(2.0 * edges.high / edges.distance) - np.arctan(2.0 * edges.low / edges.distance)
    angles = np.zeros(m)
    np.add.at(angles, edges.left, seen)
    np.add.at(angles, edges.right, seen)
    return np.where(np.isinf(_size(edges, m)), np.maximum(1.0 - angles * _OVER_CIRCLE, 0.0), 0.0)


def _from_tails(view: _View, reference: FloatArray, chosen: BoolArray) -> FloatArray:
    """e^{z₀}·∫ G(z) dφ along the chosen edges."""
    z = view.z[chosen]
    total = _integral(view, chosen, lambda edge, excess: (1.0 + z[edge, None] + excess) * np.exp(-excess))
    return total * np.exp(reference[chosen] - z)


def _from_differences(view: _View, reference: FloatArray, chosen: BoolArray) -> FloatArray:
    """e^{z₀}·∫ (G(z₀) − G(z)) dφ along the chosen edges; with δ = z − z₀ the integrand is z₀(1 − e^{−δ}) + 1 − G(δ)."""
    from scipy.special import gammainc

    base = reference[chosen]
    rise = np.maximum(view.z[chosen] - base, 0.0)

    def weight(edge: IntArray, excess: FloatArray) -> FloatArray:
        delta = rise[edge, None] + excess
        return base[edge, None] * -np.expm1(-delta) + gammainc(2.0, delta)

    return _integral(view, chosen, weight, beyond=1.0 + base)


def _integral(view: _View, chosen: BoolArray, weight: Weight, beyond: FloatArray | None = None) -> FloatArray:
    """∫ weight dt/cosh t over the chosen edges, folded at t = 0; `beyond` is the weight where it no longer changes."""
    height, start, end = view.height[chosen], view.start[chosen], view.end[chosen]
    total = np.zeros(len(height))
    for near, far in ((np.maximum(start, 0.0), end), (np.maximum(-end, 0.0), -start)):
        _march(total, height, near, far, (weight, beyond))
    return total


def _march(
    total: FloatArray, height: FloatArray, near: FloatArray, far: FloatArray, rule: tuple[Weight, FloatArray | None]
) -> None:
    """Add ∫_near^far weight dt/cosh t, panel by panel, until the end or until e^{−z} is nothing."""
    weight, beyond = rule
    nodes, shares = np.polynomial.legendre.leggauss(_NODES)
    nodes, shares = (nodes + 1.0) / 2.0, shares / 2.0
    edge = np.flatnonzero(near < far)
    t, excess = near[edge], np.zeros(len(edge))
    while len(edge):
        h = height[edge]
        rate = h * np.sinh(t)
        panel = 2.0 * _DECAY / (rate + np.sqrt(rate**2 + 2.0 * _DECAY * h * np.cosh(t)))
        panel = np.minimum(np.minimum(panel, _PANEL), far[edge] - t)
        step = panel[:, None] * nodes
        grown = 2.0 * h[:, None] * np.sinh(t[:, None] + step / 2.0) * np.sinh(step / 2.0)
        values = weight(edge, excess[:, None] + grown) / np.cosh(t[:, None] + step)
        total[edge] += panel * (values @ shares)
        excess = excess + 2.0 * h * np.sinh(t + panel / 2.0) * np.sinh(panel / 2.0)
        t = t + panel
        done = (excess > _DEEP) | (t >= far[edge])
        if beyond is None:
            done |= t > near[edge] + _DEEP
        else:
            rest = np.arctan(np.exp(-t)) - np.arctan(np.exp(-np.maximum(far[edge], t)))
            total[edge] += np.where(done, 2.0 * rest * beyond[edge], 0.0)
        edge, t, excess = edge[~done], t[~done], excess[~done]
