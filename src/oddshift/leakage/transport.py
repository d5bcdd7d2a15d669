"""Moving one law onto another: three numbers that bound ln Σ p·g / Σ q·g when g cannot change faster than `spread`.

`spread[x, x']` is a directed (quasi-)metric with g(x) ≤ exp(spread[x, x'])·g(x'). Any plan γ ≥ 0 with row sums p proves
Σ p·g ≤ s·Σ q·g for s = max_x' Σ_x γ(x, x')·exp(spread[x, x'])/q(x'). A plan from a solver is rescaled to these row sums
and then evaluated here, a sum of positive terms; so a solver's tolerance can make a bound larger, never too small.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import NoGuarantee
from oddshift.base.logarithms import log_sum

_SLACK = 1e-12  # share of each single mass that a matching may leave or add; costs at most 3·_SLACK in the bound
_HUGE = 600.0  # spreads above this are left out of linear programmes: their exponential is out of range
_SOLVER = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
_COLUMN_SLACK = 1e-9  # how far a coupling's column sums may be off; row sums alone make the bound true
_ROUNDS = 4  # linear programmes solved at most, each in units of the last answer


def bottleneck(p: FloatArray, q: FloatArray, spread: FloatArray) -> float:
    """W∞: the smallest w for which some coupling of p and q never moves mass farther than w.

    Tolerances are shares of each single mass, so a tiny mass that has to travel far still counts.
    """
    rows, columns = np.flatnonzero(p), np.flatnonzero(q)
    costs = spread[np.ix_(rows, columns)]
    levels = np.unique(costs)
    low, high = 0, len(levels) - 1
    while low < high:
        middle = (low + high) // 2
        if _matches(p[rows], q[columns], costs <= levels[middle]):
            high = middle
        else:
            low = middle + 1
    return float(levels[low]) + 3.0 * _SLACK


def soft_coupling(p: FloatArray, q: FloatArray, spread: FloatArray) -> float:
    """ln min over couplings γ of max_{x'} Σ_x γ(x|x')·exp(spread[x, x'])."""
    return _least_burden(p, q, spread, is_coupling=True)


def log_lipschitz_ratio(p: FloatArray, q: FloatArray, spread: FloatArray) -> float:
    """An upper bound on max ln Σ p·g / Σ q·g over g ≥ 0 with g(x) ≤ exp(spread[x, x'])·g(x'); tight up to the solver.

    p and q are non-negative weights. The dual is the best plan whose column sums are free.
    """
    if not p.any():
        return -np.inf
    if not q.any():
        return np.inf
    return float(np.log(p.sum()) - np.log(q.sum())) + _least_burden(p / p.sum(), q / q.sum(), spread, is_coupling=False)


def _least_burden(p: FloatArray, q: FloatArray, spread: FloatArray, *, is_coupling: bool) -> float:
    """ln of the smallest s that a plan was found to prove; solved again in units of the answer until that settles."""
    rows, columns = np.flatnonzero(p), np.flatnonzero(q)
    p, q, costs = p[rows], q[columns], spread[np.ix_(rows, columns)]
    unit = _burden(_all_to_cheapest(p, q, costs), p, q, costs)
    best = np.inf if is_coupling else unit
    for _ in range(_ROUNDS):
        plan = _best_plan(p, q, costs - unit, is_coupling) if np.isfinite(unit) else None
        if plan is None:
            break
        proved = _burden(plan, p, q, costs)
        best, settled = min(best, proved), abs(proved - unit) < 1.0
        if settled:
            break
        unit = proved
    return best


def _burden(plan: FloatArray, p: FloatArray, q: FloatArray, costs: FloatArray) -> float:
    """ln max_x' Σ_x γ(x, x')·exp(costs)/q(x') for the plan rescaled to row sums p."""
    totals = plan.sum(axis=1)
    if (totals <= 0.0).any():
        return np.inf
    used = np.any(plan > 0.0, axis=0)
    exact = plan[:, used] * (p / totals)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0 + inf belongs to pairs that carry nothing
        terms = np.where(exact > 0.0, np.log(exact) + costs[:, used], -np.inf) - np.log(q[used])
    return np.inf if np.isposinf(terms).any() else float(log_sum(terms, axis=0).max())


def _all_to_cheapest(p: FloatArray, q: FloatArray, costs: FloatArray) -> FloatArray:
    """The plan that sends every x to the one x' where it weighs least."""
    plan = np.zeros(costs.shape)
    plan[np.arange(len(p)), np.argmin(costs - np.log(q), axis=1)] = p
    return plan


def _best_plan(p: FloatArray, q: FloatArray, costs: FloatArray, is_coupling: bool) -> FloatArray | None:
    """minimise S: Σ_x ψ(x, x') ≤ S, row sums p (and column sums q), for ψ = γ·exp(costs)/q(x').

    In these units every cap is 1 and every row and column sum is 1, so that small masses are as exact as large ones.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    n, m = costs.shape
    x, y = np.nonzero(np.abs(costs) < _HUGE)
    edges = len(x)
    column = np.arange(edges)

    def rows(place: IntArray, variable: IntArray, entries: FloatArray, count: int) -> Any:
        return coo_array((entries, (place, variable)), shape=(count, edges + 1))

    caps = rows(np.append(y, np.arange(m)), np.append(column, np.full(m, edges)), np.repeat([1.0, -1.0], [edges, m]), m)
    conditional = np.exp(-costs[x, y])  # γ(x|x') for one unit of ψ
    blocks_of_rows = [caps, rows(x, column, -conditional * (q[y] / p[x]), n)]
    limits = [np.zeros(m), np.full(n, -1.0)]
    if is_coupling:
        blocks_of_rows.append(rows(y, column, conditional, m))
        limits.append(np.full(m, 1.0 + _COLUMN_SLACK))
    solution = linprog(
        np.append(np.zeros(edges), 1.0),
        A_ub=vstack(blocks_of_rows).tocsr(),
        b_ub=np.concatenate(limits),
        method="highs",
        options=_SOLVER,
    )
    if solution.x is None:
        return None
    plan = np.zeros((n, m))
    plan[x, y] = np.maximum(solution.x[:-1], 0.0) * conditional * q[y]
    return plan


def _matches(p: FloatArray, q: FloatArray, allowed: BoolArray) -> bool:
    """Whether all of p can be matched with q along allowed pairs (maximum flow by shortest augmenting paths)."""
    supply, demand = p.copy(), q * (1.0 + _SLACK)
    flow = np.zeros(allowed.shape)
    for _ in range(16 * allowed.size + 16):
        waiting = np.flatnonzero(supply > _SLACK * p)
        if not len(waiting):
            return True
        path = _augmenting(waiting, demand, allowed, flow)
        if path is None:
            return False
        _push(path, supply, demand, flow)
    raise NoGuarantee("the matching did not settle; method='diameter' or 'tv' gives a bound")


def _augmenting(waiting: IntArray, demand: FloatArray, allowed: BoolArray, flow: FloatArray) -> list[int] | None:
    """Alternating rows and columns, from a row with supply left to a column with demand left, if there is a way."""
    n, m = allowed.shape
    from_row, from_column = np.full(m, -1), np.full(n, -1)
    frontier = list(waiting)
    seen_rows = np.zeros(n, dtype=bool)
    seen_rows[frontier] = True
    while frontier:
        row = frontier.pop(0)
        for column in np.flatnonzero(allowed[row] & (from_row < 0)):
            from_row[column] = row
            if demand[column] > 0.0:
                return _trace(int(column), from_row, from_column)
            for back in np.flatnonzero((flow[:, column] > 0.0) & ~seen_rows):
                seen_rows[back], from_column[back] = True, column
                frontier.append(back)
    return None


def _trace(column: int, from_row: IntArray, from_column: IntArray) -> list[int]:
    path = [column]
    while True:
        row = int(from_row[path[-1]])
        path.append(row)
        if from_column[row] < 0:
            return path[::-1]
        path.append(int(from_column[row]))


def _push(path: list[int], supply: FloatArray, demand: FloatArray, flow: FloatArray) -> None:
    """Send as much as the path takes: forward on row→column, back on column→row."""
    forward = list(zip(path[0::2], path[1::2], strict=True))
    back = list(zip(path[2::2], path[1:-1:2], strict=True))
    amount = min([supply[path[0]], demand[path[-1]], *(flow[r, c] for r, c in back)])
    for r, c in forward:
        flow[r, c] += amount
    for r, c in back:
        flow[r, c] -= amount
    supply[path[0]] -= amount
    demand[path[-1]] -= amount
