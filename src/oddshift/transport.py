"""Moving one law onto another: three numbers that bound ln Σ p·g / Σ q·g when g cannot change faster than `spread`.

`spread[x, x']` is a directed (quasi-)metric with g(x) ≤ exp(spread[x, x'])·g(x'). Each function returns a value that is
proved by the plan it found (a coupling, or a dual solution), evaluated here in float64, so a solver's tolerance can
make it larger but never too small.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oddshift.arrays import BoolArray, FloatArray
from oddshift.errors import NoGuarantee

_LEFT_OVER = 1e-12  # mass that rounding of the two laws may leave unmatched
_HUGE = 600.0  # spreads above this are left out of linear programmes: their exponential is out of range


def bottleneck(p: FloatArray, q: FloatArray, spread: FloatArray) -> float:
    """W∞: the smallest w for which some coupling of p and q never moves mass farther than w."""
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
    return float(levels[low])


def soft_coupling(p: FloatArray, q: FloatArray, spread: FloatArray) -> float:
    """ln min over couplings γ of max_{x'} Σ_x γ(x|x')·exp(spread[x, x'])."""
    rows, columns = np.flatnonzero(p), np.flatnonzero(q)
    costs = spread[np.ix_(rows, columns)]
    plan = _soft_plan(p[rows], q[columns], costs)
    if plan is None:
        return np.inf
    plan = _onto_marginals(plan, p[rows], q[columns])
    with np.errstate(over="ignore"):
        moved = (plan * np.where(plan > 0.0, np.exp(costs), 0.0)).sum(axis=0) / q[columns]
    return float(np.log(moved.max()))


def log_lipschitz_ratio(p: FloatArray, q: FloatArray, spread: FloatArray) -> float:
    """An upper bound on max ln Σ p·g / Σ q·g over g ≥ 0 with g(x) ≤ exp(spread[x, x'])·g(x'); tight up to the solver.

    p and q are non-negative weights. By duality any flow f ≥ 0 proves the bound max_{x'} (p − out + Σ_x f(x, x')·
    exp(spread[x, x']))(x') / q(x'); the best flow comes from a linear programme.
    """
    used = np.flatnonzero((p > 0) | (q > 0))
    if not len(used) or not p.any():
        return -np.inf
    if not q.any():
        return np.inf
    p, q, spread = p[used], q[used], spread[np.ix_(used, used)]
    scale_p, scale_q = float(p.sum()), float(q.sum())
    p, q = p / scale_p, q / scale_q
    growth = np.where(spread < _HUGE, np.exp(np.minimum(spread, _HUGE)), np.inf)
    np.fill_diagonal(growth, np.inf)  # a flow to itself is of no use
    flow = _best_flow(p, q, growth)
    proved = [_proved(p, q, growth, f) for f in (flow, np.zeros_like(growth), _all_to_nearest(p, q, growth))]
    return float(np.log(scale_p) - np.log(scale_q) + np.log(min(proved)))


def _proved(p: FloatArray, q: FloatArray, growth: FloatArray, flow: FloatArray) -> float:
    """The bound that a flow proves; what it leaves on x' with q(x') = 0 is sent on to the nearest x'' first."""
    flow = np.maximum(flow, 0.0)
    arriving = flow * np.where(flow > 0.0, growth, 0.0)
    left = p - flow.sum(axis=1) + arriving.sum(axis=0)
    stuck = np.flatnonzero((q == 0.0) & (left > 0.0))
    for x in stuck:
        step = np.where(q > 0.0, growth[x], np.inf)
        goal = int(np.argmin(step))
        left[goal] += left[x] * step[goal]
        left[x] = 0.0
    here = q > 0.0
    if (left[~here] > 0.0).any():
        return np.inf
    return float((left[here] / q[here]).max())


def _all_to_nearest(p: FloatArray, q: FloatArray, growth: FloatArray) -> FloatArray:
    """A flow that moves everything off points with q = 0."""
    flow = np.zeros_like(growth)
    for x in np.flatnonzero((q == 0.0) & (p > 0.0)):
        flow[x, int(np.argmin(np.where(q > 0.0, growth[x], np.inf)))] = p[x]
    return flow


def _best_flow(p: FloatArray, q: FloatArray, growth: FloatArray) -> FloatArray:
    """minimise s subject to s·q(x') + out(x') − Σ_x f(x, x')·growth(x, x') ≥ p(x'), f ≥ 0."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    size = len(p)
    source, goal = np.nonzero(np.isfinite(growth))
    edges = len(source)
    column = np.arange(edges)
    entries = np.concatenate([-np.ones(edges), growth[source, goal], -q])
    rows = np.concatenate([source, goal, np.arange(size)])
    columns = np.concatenate([column, column, np.full(size, edges)])
    matrix = coo_array((entries, (rows, columns)), shape=(size, edges + 1)).tocsr()
    objective = np.zeros(edges + 1)
    objective[-1] = 1.0
    solution = linprog(objective, A_ub=matrix, b_ub=-p, bounds=(0, None), method="highs")
    flow = np.zeros((size, size))
    if solution.x is not None:
        flow[source, goal] = solution.x[:-1]
    return flow


def _soft_plan(p: FloatArray, q: FloatArray, costs: FloatArray) -> FloatArray | None:
    """The coupling of the linear programme min s: Σ_x γ(x, x')·exp(costs) ≤ s·q(x'), marginals p and q."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array

    n, m = costs.shape
    x, y = np.nonzero(costs < _HUGE)
    edges = len(x)
    column = np.arange(edges)
    marginals = coo_array(
        (np.ones(2 * edges), (np.concatenate([x, n + y]), np.concatenate([column, column]))), shape=(n + m, edges + 1)
    ).tocsr()
    caps = coo_array(
        (
            np.concatenate([np.exp(costs[x, y]), -q]),
            (np.concatenate([y, np.arange(m)]), np.concatenate([column, np.full(m, edges)])),
        ),
        shape=(m, edges + 1),
    ).tocsr()
    objective = np.zeros(edges + 1)
    objective[-1] = 1.0
    solution = linprog(
        objective, A_ub=caps, b_ub=np.zeros(m), A_eq=marginals, b_eq=np.concatenate([p, q]), method="highs"
    )
    if solution.x is None:
        return None
    plan = np.zeros((n, m))
    plan[x, y] = np.maximum(solution.x[:-1], 0.0)
    return plan


def _onto_marginals(plan: FloatArray, p: FloatArray, q: FloatArray) -> FloatArray:
    """The nearest plan whose marginals are p and q: scale down what is too much, spread the rest as a product."""
    plan = plan * np.minimum(1.0, p / np.maximum(plan.sum(axis=1), 1e-300))[:, None]
    plan = plan * np.minimum(1.0, q / np.maximum(plan.sum(axis=0), 1e-300))[None, :]
    rest_p, rest_q = np.maximum(p - plan.sum(axis=1), 0.0), np.maximum(q - plan.sum(axis=0), 0.0)
    rest = float(rest_p.sum())
    return plan + (np.outer(rest_p, rest_q) / rest if rest > _LEFT_OVER else 0.0)


def _matches(p: FloatArray, q: FloatArray, allowed: BoolArray) -> bool:
    """Whether all of p can be matched with q along allowed pairs (maximum flow by shortest augmenting paths)."""
    supply, demand = p.copy(), q.copy()
    flow = np.zeros(allowed.shape)
    for _ in range(16 * allowed.size + 16):
        if supply.sum() <= _LEFT_OVER:
            return True
        path = _augmenting(supply, demand, allowed, flow)
        if path is None:
            return False
        _push(path, supply, demand, flow)
    raise NoGuarantee("the matching did not settle; method='diameter' or 'tv' gives a bound")


def _augmenting(supply: FloatArray, demand: FloatArray, allowed: BoolArray, flow: FloatArray) -> list[int] | None:
    """Alternating rows and columns, from a row with supply left to a column with demand left, if there is a way."""
    n, m = allowed.shape
    from_row, from_column = np.full(m, -1), np.full(n, -1)
    frontier = list(np.flatnonzero(supply > _LEFT_OVER / n))
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


def _trace(column: int, from_row: npt.NDArray[np.int64], from_column: npt.NDArray[np.int64]) -> list[int]:
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
