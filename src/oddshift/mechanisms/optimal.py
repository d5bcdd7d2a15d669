"""The optimal mechanism: of all ε-mDP channels, the one with the smallest expected cost under a given prior.

A linear program (Bordenabe, Chatzikokolakis, Palamidessi 2014): minimise Σ_x π_x Σ_y p(y|x)·c(x, y) subject to
p(y|x) ≤ exp(ε·d(x, x'))·p(y|x') for every pair and every output. Solved by HiGHS on few of its rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, finite, float_of, frozen, positive, probabilities
from oddshift.base.errors import InvalidInput, NoGuarantee, TooLarge
from oddshift.base.logarithms import log_normalise
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.cost import Cost, cost_of
from oddshift.model.space import Space, space_of

CONSTRAINT_LIMIT = 8_000_000
"""Constraints n·n·m up to which the program is set up: 200 points with as many outputs."""

_START_DILATION = 2.0  # the first rows come from a 2-spanner: on a grid, the pairs of nearest neighbours
_WORST_OF_ENTRY = 5  # rows added after the first round for each entry p(y|x), on either side of the inequality
_NEAR = 0.8  # rows used to this share are added with the violated ones: fewer rounds
_TOLERANCE = 1e-8  # absolute violation at which a row is added
_ROUNDS = 100
_COLLINEAR = 1e-12
_NEGLIGIBLE = 1e-9  # the solver drops smaller coefficients: p(y|x') ≥ 1e-9·p(y|x) is left to the repair
_FLOOR = 1e-9  # uniform share of the law that repairs, so that every output keeps a probability above zero


@dataclass(frozen=True)
class _Rows:
    """Rows factor·p(output|left) − p(output|right) ≤ 0, one for each entry of the four arrays."""

    left: IntArray
    right: IntArray
    output: IntArray
    factor: FloatArray


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Optimal(Mechanism):
    """argmin Σ_x π_x Σ_y p(y|x)·c(x, y) over the ε-mDP channels from the points to `outputs`.

    Rows are generated lazily until none is violated. What the solver returns is feasible only to its tolerance, so
    it is mixed with a channel of equal rows just enough to be feasible exactly. `spanner=t` asks only for the edges
    of a greedy t-spanner, at ε/t: fast, private for all pairs because paths are at most t times longer, and dearer.

    **Guarantee**: exact ε ≤ ε, computed on the table that is returned, or it raises. `lower_bound` is a proven
    bound on the cost of every ε-mDP channel (a Lagrangian bound of the last relaxation, computed here from its
    multipliers), so the optimum lies in [lower_bound, loss] whatever the solver did; `gap` is that width.

    >>> line = Space([[0.0], [1.0], [2.0]])
    >>> best = Optimal(line, 1.0, [0.25, 0.5, 0.25], "euclidean")
    >>> round(best.loss, 4), best.gap < 1e-6, best.exact_epsilon <= 1.0
    (0.4529, True, True)
    """

    space: Space
    epsilon: float
    candidates: Space
    table: FloatArray
    loss: float
    lower_bound: float

    def __init__(
        self,
        space: Space,
        epsilon: float,
        prior: npt.ArrayLike,
        cost: str | Cost | npt.NDArray[np.float64],
        *,
        outputs: Space | None = None,
        spanner: float | None = None,
    ) -> None:
        """Points, budget, one probability for each point, cost, candidate outputs, dilation of a spanner if any."""
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "candidates", space if outputs is None else space_of(outputs, "outputs"))
        _refuse_large(len(space), self.n_outputs)
        weights = _check_prior(prior, len(space))
        costs = finite(cost_of(cost).between(space, np.arange(len(space)), self.candidates), "cost", 2)
        objective = weights[:, None] * costs
        budget = self.epsilon * space.distances
        if spanner is None:
            channel, bound = _solve_lazily(objective, space.distances, budget)
        else:
            channel, bound = _solve_spanner(objective, space.distances, budget, _check_spanner(spanner))
        table = _repaired(channel, weights, space.distances, self.epsilon)
        loss = float((objective * np.exp(table)).sum())
        object.__setattr__(self, "table", frozen(table))
        object.__setattr__(self, "loss", loss)
        object.__setattr__(self, "lower_bound", min(bound, loss))

    def __repr__(self) -> str:
        """Sizes, budget, loss, and the optimality gap, absolute and relative."""
        share = f" ({self.relative_gap:.2g} relative)" if self.loss else ""
        return (
            f"Optimal({self.space}, epsilon={self.epsilon:g}, n_outputs={self.n_outputs}, "
            f"loss={self.loss:.6g}, gap={self.gap:.2g}{share})"
        )

    @property
    def gap(self) -> float:
        """loss − lower_bound: at most this much could be saved by any ε-mDP channel."""
        return self.loss - self.lower_bound

    @property
    def relative_gap(self) -> float:
        """gap/|loss|; 0 when there is no gap."""
        return self.gap / abs(self.loss) if self.gap else 0.0

    @property
    def claimed_epsilon(self) -> float:
        """ε, verified on the table at construction."""
        return self.epsilon

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """Rows of the table."""
        return self.table[index]


def _refuse_large(n: int, m: int) -> None:
    if n * n * m > CONSTRAINT_LIMIT:
        raise TooLarge(
            f"{n} points and {m} outputs give {n * n * m} constraints, expected at most {CONSTRAINT_LIMIT}; "
            "use fewer outputs, coarser points, or calibrate an exponential mechanism and remap it"
        )


def _check_prior(prior: npt.ArrayLike, n: int) -> FloatArray:
    weights = probabilities(prior, "prior", 1)
    if len(weights) != n:
        raise InvalidInput(f"prior has {len(weights)} entries, expected {n}, one for each point")
    if not weights.all():
        raise InvalidInput(f"prior gives point {int(np.argmin(weights))} probability 0, expected > 0 for every point")
    return weights


def _check_spanner(spanner: float) -> float:
    if not 1.0 <= float_of(spanner, "spanner") < np.inf:
        raise InvalidInput(f"{spanner=}, expected a dilation >= 1")
    return float(spanner)


def _solve_lazily(objective: FloatArray, distances: FloatArray, budget: FloatArray) -> tuple[FloatArray, float]:
    """Rows of a sparse spanner first, then the violated and nearly violated ones until none is violated."""
    n, m = objective.shape
    factor = np.exp(-budget)
    wanted = _not_implied(distances)
    active = np.zeros((n, n, m), dtype=bool)
    active[_spanner(distances, _START_DILATION)[0]] = True
    for turn in range(_ROUNDS):
        rows = _rows(active, factor)
        channel, multipliers = _solve(objective, rows)
        used = factor[:, :, None] * channel[:, None, :]
        excess = used - channel[None, :, :]
        excess[active | ~wanted[:, :, None]] = -np.inf
        if excess.max() <= _TOLERANCE:
            break
        near = used > _NEAR * np.maximum(channel[None, :, :], 10.0 * _TOLERANCE)
        active |= (near | (excess > _TOLERANCE)) & (_worst_of_entry(excess) if turn == 0 else excess > -np.inf)
    return channel, _lower_bound(objective, rows, multipliers)


def _solve_spanner(
    objective: FloatArray, distances: FloatArray, budget: FloatArray, dilation: float
) -> tuple[FloatArray, float]:
    """The spanner's edges at ε/t, t its own dilation; the same edges at ε are a relaxation, so their bound is valid."""
    edges, stretch = _spanner(distances, dilation)
    active = np.broadcast_to(edges[:, :, None], (*edges.shape, objective.shape[1]))
    channel, _ = _solve(objective, _rows(active, np.exp(-budget / stretch)))
    relaxed = _rows(active, np.exp(-budget))
    return channel, _lower_bound(objective, relaxed, _solve(objective, relaxed)[1])


def _spanner(distances: FloatArray, dilation: float) -> tuple[BoolArray, float]:
    """Edges (n, n) of the greedy spanner, and the dilation that it really has: at most the one asked for.

    Pairs in increasing order of distance; a pair becomes an edge when no path so far is at most `dilation` times it.
    """
    n = len(distances)
    left, right = np.triu_indices(n, 1)
    order = np.argsort(distances[left, right], kind="stable")
    ways = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    edges = np.zeros((n, n), dtype=bool)
    for a, b in zip(left[order].tolist(), right[order].tolist(), strict=True):
        length = distances[a, b]
        if ways[a, b] > dilation * length:
            edges[a, b] = edges[b, a] = True
            through = np.minimum(ways[:, a, None] + ways[None, b, :], ways[:, b, None] + ways[None, a, :])
            np.minimum(ways, through + length, out=ways)
    stretch = float((ways[left, right] / distances[left, right]).max(initial=1.0))
    return edges, stretch


def _not_implied(distances: FloatArray) -> BoolArray:
    """Pairs with no third point on the way: the constraints of the others are sums of shorter ones."""
    wanted: BoolArray = distances > 0
    for stop in range(len(distances)):
        implied = distances[:, stop, None] + distances[None, stop, :] <= distances * (1.0 + _COLLINEAR)
        implied[stop] = implied[:, stop] = False
        wanted &= ~implied
    return wanted


def _worst_of_entry(excess: FloatArray) -> BoolArray:
    """The rows among the largest few of their left entry or of their right entry."""
    few = min(_WORST_OF_ENTRY, len(excess))
    by_right = np.partition(excess, -few, axis=0)[-few]
    by_left = np.partition(excess, -few, axis=1)[:, -few]
    return (excess > -np.inf) & ((excess >= by_right[None]) | (excess >= by_left[:, None]))


def _rows(active: BoolArray, factor: FloatArray) -> _Rows:
    left, right, output = np.nonzero(active & (factor >= _NEGLIGIBLE)[:, :, None])
    return _Rows(left, right, output, factor[left, right])


def _solve(objective: FloatArray, rows: _Rows) -> tuple[FloatArray, FloatArray]:
    """Channel and multipliers ≥ 0 of the rows, by interior point without crossover."""
    import highspy

    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    settings: dict[str, str | bool] = {"output_flag": False, "presolve": "off", "parallel": "off"}
    settings |= {"solver": "ipm", "run_crossover": "off"}
    for name, value in settings.items():
        _require(solver.setOptionValue(name, value) == highspy.HighsStatus.kOk, f"HiGHS refused {name}={value}")
    _require(solver.passModel(_model(objective, rows)) == highspy.HighsStatus.kOk, "HiGHS refused the program")
    _require(solver.run() != highspy.HighsStatus.kError, "HiGHS failed on the program")
    solution = solver.getSolution()
    channel, duals = np.array(solution.col_value), np.array(solution.row_dual)
    complete = solution.value_valid and solution.dual_valid and bool(np.isfinite(channel).all())
    _require(complete, f"HiGHS ended without a solution ({solver.modelStatusToString(solver.getModelStatus())})")
    n = len(objective)
    return np.maximum(channel, 0.0).reshape(objective.shape), np.maximum(-duals[n:], 0.0)


def _model(objective: FloatArray, rows: _Rows) -> Any:
    """Costs shifted to 0 in each row and scaled to 1, which changes no optimum, so that tolerances mean the same."""
    import highspy

    n, m = objective.shape
    count, entries = len(rows.left), n * m
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = entries, n + count
    program.col_cost_ = (_shifted(objective) / _scale(objective)).ravel()
    program.col_lower_, program.col_upper_ = np.zeros(entries), np.full(entries, highspy.kHighsInf)
    program.row_lower_ = np.concatenate((np.ones(n), np.full(count, -highspy.kHighsInf)))
    program.row_upper_ = np.concatenate((np.ones(n), np.zeros(count)))
    pairs = np.stack((rows.left * m + rows.output, rows.right * m + rows.output), axis=1)
    values = np.stack((rows.factor, np.full(count, -1.0)), axis=1)
    starts = np.concatenate((np.arange(n) * m, entries + 2 * np.arange(count + 1)))
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = starts.astype(np.int32)
    program.a_matrix_.index_ = np.concatenate((np.arange(entries), pairs.ravel())).astype(np.int32)
    program.a_matrix_.value_ = np.concatenate((np.ones(entries), values.ravel()))
    return program


def _lower_bound(objective: FloatArray, rows: _Rows, multipliers: FloatArray) -> float:
    """Σ_x min_y (πc + Aᵀλ)(x, y) ≤ every feasible cost, for any λ ≥ 0: rows are ≤ 0 and p(·|x) is a law."""
    priced = _shifted(objective) / _scale(objective)
    np.add.at(priced, (rows.left, rows.output), multipliers * rows.factor)
    np.subtract.at(priced, (rows.right, rows.output), multipliers)
    return float(priced.min(axis=1).sum() * _scale(objective) + objective.min(axis=1).sum())


def _shifted(objective: FloatArray) -> FloatArray:
    return objective - objective.min(axis=1, keepdims=True)


def _scale(objective: FloatArray) -> float:
    return float(_shifted(objective).max()) or 1.0


def _repaired(channel: FloatArray, weights: FloatArray, distances: FloatArray, epsilon: float) -> FloatArray:
    """Log table of (1 − λ)p + λq, where q is p's own law of outputs for every point, and λ is just large enough.

    p is first raised to max_x' e^{−εd(x, x')}p(y|x'), which meets every constraint, and normalised, which breaks them
    a little. A row e^{−εd}p(y|x) ≤ p(y|x') violated by v has slack (1 − e^{−εd})·q(y) under q, so λ·slack ≥ (1 − λ)·v
    will do; rounding of the logarithms is met by doubling λ until the exact ε is at most ε. At λ = 1 it is 0.
    """
    factor = np.exp(-epsilon * distances)
    raised = (factor[:, :, None] * channel[None, :, :]).max(axis=1)
    law = raised / raised.sum(axis=1, keepdims=True)
    common = (1.0 - _FLOOR) * (weights @ law) + _FLOOR / law.shape[1]
    apart = ~np.eye(len(law), dtype=bool)
    excess = (factor[:, :, None] * law[:, None, :] - law[None, :, :])[apart]
    slack = -np.expm1(-epsilon * distances[apart])[:, None] * common[None, :]
    needed = float((excess / slack).max(initial=0.0))
    share = max(needed / (1.0 + needed), 1e-15)
    while True:
        table = log_normalise(np.log((1.0 - share) * law + share * common))
        if true_epsilon(table, distances) <= epsilon:
            return table
        _require(share < 1.0, f"no mixture has an exact epsilon <= {epsilon:g}")
        share = min(2.0 * share, 1.0)


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise NoGuarantee(f"{message}, expected a solved linear program")
