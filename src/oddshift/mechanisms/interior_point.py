"""An interior-point method for channels: the cheapest columns under one set of ratio constraints.

minimise Σ_y c_y·p_y subject to factor·p_y(left) ≤ p_y(right) for every output y and Σ_y p_y(x) = 1 for every point x.
The constraints are the same for every output, and outputs meet only in the n sums. So a Newton step factors one n × n
matrix for each output and one more for the sums (Mehrotra 1992, with the block structure of the program).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray

_STEPS = 150
_PATIENCE = 25  # steps without a better bound, after which rounding has the last word
_BOUNDARY = 0.995  # the share of the way to the boundary that a step goes
_RIDGE = 1e-15  # added to the diagonal, relative to it, where rounding made a matrix indefinite
_HARDEST = 1e-6  # the largest such share that is tried


@dataclass(frozen=True, eq=False, repr=False)
class Ratios:
    """factor·p(left) ≤ p(right), one constraint for each entry of the arrays, between `n` points."""

    n: int
    left: IntArray
    right: IntArray
    factor: FloatArray

    @cached_property
    def rows(self) -> Any:
        """The sparse matrix G with G·p ≤ 0."""
        return self._columns(self.factor, -np.ones(len(self.factor))).T.tocsr()

    @cached_property
    def columns(self) -> Any:
        """Gᵀ."""
        return self._columns(self.factor, -np.ones(len(self.factor)))

    @cached_property
    def squares(self) -> Any:
        """The squares of the entries of Gᵀ, which give the diagonal of Gᵀ·diag(w)·G."""
        return self._columns(self.factor**2, np.ones(len(self.factor)))

    def _columns(self, at_left: FloatArray, at_right: FloatArray) -> Any:
        from scipy.sparse import csr_array

        row = np.arange(len(self.factor))
        where = (np.concatenate((self.left, self.right)), np.concatenate((row, row)))
        return csr_array((np.concatenate((at_left, at_right)), where), shape=(self.n, len(row)))


class Solution(NamedTuple):
    """A channel (n, m) that meets the constraints up to rounding, and multipliers ≥ 0 (constraints, m)."""

    channel: FloatArray
    multipliers: FloatArray


class _State(NamedTuple):
    """p, its slack −G·p > 0, the multipliers λ > 0 of the constraints, and those of the sums."""

    channel: FloatArray
    slack: FloatArray
    multipliers: FloatArray
    prices: FloatArray


def cheapest_channel(costs: FloatArray, ratios: Ratios, tolerance: float) -> Solution:
    """The channel of least Σ costs·p, to a gap of `tolerance` times the cost of the uniform channel if rounding lets.

    `costs` is (n, m) with a least cost of 0 in every row. Every iterate meets the constraints up to rounding, and every
    multiplier is ≥ 0, so whatever comes back can be repaired and priced; only the width of the gap rests on this code.

    >>> two = Ratios(2, np.array([0, 1]), np.array([1, 0]), np.full(2, np.exp(-1.0)))
    >>> cheapest_channel(np.array([[0.0, 1.0], [1.0, 0.0]]), two, 1e-9).channel.round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """
    if not len(ratios.factor):
        return Solution(np.eye(costs.shape[1])[costs.argmin(axis=1)], np.zeros((0, costs.shape[1])))
    state = _start(costs, ratios)
    enough = tolerance * float(costs.mean(axis=1).sum())
    room = np.empty((costs.shape[1], ratios.n, ratios.n))  # for the factors of every step: taken once
    best, bound, since = np.zeros_like(state.multipliers), 0.0, 0  # λ = 0 proves that no cost is negative
    for _ in range(_STEPS):
        priced = costs + ratios.columns @ state.multipliers
        reached = float(priced.min(axis=1).sum())
        since += 1
        if reached > bound:
            best, bound, since = state.multipliers, reached, 0
        if (costs * state.channel).sum() - bound <= enough or since > _PATIENCE:
            break
        following = _step(state, ratios, priced - state.prices[:, None], room)
        if following is None:
            break
        state = following
    return Solution(state.channel, best)


def proven_bound(costs: FloatArray, ratios: Ratios, multipliers: FloatArray) -> float:
    """Σ_x min_y (costs + Gᵀλ)(x, y) ≤ every feasible cost, for any λ ≥ 0: G·p ≤ 0, and p(·|x) sums to 1 with p ≥ 0.

    **Guarantee**: rounded down. An entry has at most `terms` terms, and a factor e^{−εd} errs by at most 1 + εd units
    of rounding, so an entry errs by at most terms + 1 + εd units of costs + |G|ᵀλ, and the sum by n more.
    """
    priced = costs + ratios.columns @ multipliers
    sizes = np.abs(costs) + abs(ratios.columns) @ multipliers
    terms = int(np.bincount(np.concatenate((ratios.left, ratios.right)), minlength=1).max())
    exponent = float((-np.log(ratios.factor[ratios.factor > 0.0])).max(initial=0.0))
    unit = 4.0 * float(np.finfo(np.float64).eps) * (terms + len(costs) + 1.0 + exponent)
    lowest = (priced - unit * sizes).min(axis=1)
    return float(lowest.sum() - unit * np.abs(lowest).sum())


def _start(costs: FloatArray, ratios: Ratios) -> _State:
    """The uniform channel, which meets every constraint with room, and multipliers as large as its cost."""
    n, m = costs.shape
    channel = np.full((n, m), 1.0 / m)
    slack = np.repeat((1.0 - ratios.factor)[:, None] / m, m, axis=1)
    total = float(costs.mean(axis=1).sum()) or 1.0
    multipliers = total / slack.size / slack
    prices = (costs + ratios.columns @ multipliers).mean(axis=1)
    return _State(channel, slack, multipliers, prices)


def _step(state: _State, ratios: Ratios, residual: FloatArray, room: FloatArray) -> _State | None:
    """A predictor and a corrector; None where rounding leaves no direction."""
    weights = state.multipliers / state.slack
    factors = _Factors.of(weights, ratios, room)
    if factors is None:
        return None
    products = state.multipliers * state.slack
    gap = float(products.sum())
    change = _direction(state, ratios, factors, residual, -products)
    ahead = (state.slack + _reach(state.slack, change.slack) * change.slack) * (
        state.multipliers + _reach(state.multipliers, change.multipliers) * change.multipliers
    )
    centre = (float(ahead.sum()) / gap) ** 3 * gap / products.size
    change = _direction(state, ratios, factors, residual, centre - products - change.slack * change.multipliers)
    primal = min(1.0, _BOUNDARY * _reach(state.slack, change.slack))
    dual = min(1.0, _BOUNDARY * _reach(state.multipliers, change.multipliers))
    following = _State(
        state.channel + primal * change.channel,
        state.slack + primal * change.slack,
        state.multipliers + dual * change.multipliers,
        state.prices + dual * change.prices,
    )
    return following if all(np.isfinite(part).all() for part in following) else None


def _reach(values: FloatArray, change: FloatArray) -> float:
    """The largest step ≤ 1 along `change` at which no value is negative."""
    return 1.0 / max(1.0, float((-change / values).max(initial=0.0)))


def _direction(state: _State, ratios: Ratios, factors: _Factors, residual: FloatArray, target: FloatArray) -> _State:
    """Newton's direction for λ·slack → λ·slack + target, prices that match, and sums of 1.

    With D_y = Gᵀ·diag(λ/slack)·G: dp_y = D_y⁻¹(dprices − h_y) and (Σ_y D_y⁻¹)·dprices = 1 − Σ_y p_y + Σ_y D_y⁻¹h_y.
    """
    pulled = target / state.slack
    wanted = residual + ratios.columns @ pulled
    missing = 1.0 - state.channel.sum(axis=1)
    prices = factors.solve_sums(missing + factors.solve(wanted).sum(axis=1))
    channel = factors.solve(prices[:, None] - wanted)
    slack = -(ratios.rows @ channel)
    return _State(channel, slack, pulled - state.multipliers / state.slack * slack, prices)


@dataclass(frozen=True, eq=False, repr=False)
class _Factors:
    """Cholesky factors of D_y for every output, (m, n, n) as upper triangles in C order, and of Σ_y D_y⁻¹."""

    outputs: FloatArray
    sums: FloatArray

    @staticmethod
    def of(weights: FloatArray, ratios: Ratios, outputs: FloatArray) -> _Factors | None:
        """D_y = Gᵀ·diag(w_y)·G, factored in `outputs`: off the diagonal one entry for each direction of a pair."""
        n = ratios.n
        diagonal, across = ratios.squares @ weights, -ratios.factor[:, None] * weights
        place, step = ratios.left * n + ratios.right, np.arange(n)
        inverses = np.zeros((n, n))
        for y, matrix in enumerate(outputs):
            matrix.fill(0.0)
            matrix.reshape(-1)[place] = across[:, y]
            np.add(matrix, matrix.T, out=matrix)
            matrix[step, step] = diagonal[:, y]
            inverse = _factored(matrix)
            if inverse is None:
                return None
            inverses += inverse
        upper = np.triu(inverses)
        whole = upper + np.triu(upper, 1).T
        return None if _factored(whole) is None else _Factors(outputs, whole)

    def solve(self, right: FloatArray) -> FloatArray:
        """D_y⁻¹·right_y for every column y."""
        from scipy.linalg.lapack import dpotrs

        result = np.empty_like(right)
        for y, factor in enumerate(self.outputs):
            result[:, y] = dpotrs(factor.T, right[:, y], lower=1)[0]
        return result

    def solve_sums(self, right: FloatArray) -> FloatArray:
        """(Σ_y D_y⁻¹)⁻¹·right."""
        from scipy.linalg.lapack import dpotrs

        return np.asarray(dpotrs(self.sums.T, right, lower=1)[0])


def _factored(matrix: FloatArray) -> FloatArray | None:
    """Put the Cholesky factor in place of a symmetric matrix (the upper triangle in C order); return the inverse's.

    Where rounding made the matrix indefinite, a small share of the diagonal is added; None if that does not help.
    """
    from scipy.linalg.lapack import dpotrf, dpotri

    ridge = 0.0
    diagonal = matrix.diagonal().copy()
    while True:
        factor, failed = dpotrf(matrix.T, lower=1, overwrite_a=0, clean=0)
        if not failed:
            break
        ridge = max(100.0 * ridge, _RIDGE)
        if ridge > _HARDEST or not np.isfinite(diagonal).all():
            return None
        np.fill_diagonal(matrix, diagonal * (1.0 + ridge))
    matrix[:] = factor.T
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    return np.asarray(inverse.T)
