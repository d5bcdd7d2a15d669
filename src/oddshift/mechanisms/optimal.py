"""The optimal mechanism: of all ε-mDP channels, the one with the smallest expected cost under a given prior.

A linear program (Bordenabe, Chatzikokolakis, Palamidessi 2014): minimise Σ_x π_x Σ_y p(y|x)·c(x, y) subject to
p(y|x) ≤ exp(ε·d(x, x'))·p(y|x') for every pair and every output. Solved output by output, and repaired.

Few pairs of points that stand for all: a constraint of ratio along their edges adds up along a path.

If |log p(y|a) − log p(y|b)| ≤ ε·d(a, b) on the edges of a graph whose paths are at most t times longer than the
distances, then it holds with t·ε for every pair (Bordenabe, Chatzikokolakis, Palamidessi 2014).

A channel that is nearly ε-mDP made ε-mDP exactly, for as little cost as its largest error.

What a solver returns meets its constraints to a tolerance, and a probability of 1e-9 where 1e-8 was needed is a log
ratio off by 2.3. So nothing of it is trusted: it is raised, filled up, and its exact ε is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, finite, float_of, frozen, positive, probabilities
from oddshift.base.errors import InvalidInput, NoGuarantee, TooLarge
from oddshift.base.logarithms import log_normalise
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.interior_point import Ratios, cheapest_channel, proven_bound
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.cost import Cost, cost_of
from oddshift.model.space import Space, space_of

CONSTRAINT_LIMIT = 64_000_000
"""Constraints n·n·m up to which the program is set up: 400 points with as many outputs."""

_ROWS = (
    6_000_000  # constraints that are solved together; with more, those of a spanner are, and the repair does the rest
)
_TOLERANCE = 1e-9  # gap at which the solver stops, in units of the cost of the uniform channel


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Optimal(Mechanism):
    """argmin Σ_x π_x Σ_y p(y|x)·c(x, y) over the ε-mDP channels from the points to `outputs`.

    Solved by an interior-point method on the constraints that no others imply, or where those are too many on the
    constraints of a fine spanner. What the solver returns is feasible only to its tolerance or on the spanner, so it is
    repaired to be feasible exactly. `spanner=t` asks only for the edges of a greedy t-spanner: fast, private for all
    pairs all the same, and dearer.

    **Guarantee**: exact ε ≤ ε, computed on the table that is returned, or it raises. `lower_bound` is a proven
    bound on the cost of every ε-mDP channel (a Lagrangian bound computed from multipliers ≥ 0, rounded down), so the
    optimum lies in [lower_bound, loss] whatever the solver did; `gap` is that width.

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
        program = _Program(weights[:, None] * costs, weights, space.distances, self.epsilon)
        dilation = None if spanner is None else _check_spanner(spanner)
        table, bound = program.solved() if dilation is None else program.solved_on_spanner(dilation)
        loss = program.cost_of(table)
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


@dataclass(frozen=True, eq=False, repr=False)
class _Program:
    """Costs π_x·c(x, y) (n, m), prior, distances (n, n), budget."""

    objective: FloatArray
    weights: FloatArray
    distances: FloatArray
    epsilon: float

    def solved(self) -> tuple[FloatArray, float]:
        """A private table and a bound, from all constraints or from those of the finest spanner within _ROWS."""
        edges = sparsest_needed(self.distances, _ROWS // self.objective.shape[1]).edges
        channel, bound = self._relaxed(edges, self.epsilon)
        return self._private(channel), bound

    def solved_on_spanner(self, dilation: float) -> tuple[FloatArray, float]:
        """The cheaper of two tables: the edges' constraints at ε and repaired, or at ε/t, which all pairs then meet."""
        edges, stretch = greedy_spanner(self.distances, dilation)
        channel, bound = self._relaxed(edges, self.epsilon)
        inside, _ = self._relaxed(edges, self.epsilon / stretch)
        return min((self._private(channel), self._private(inside)), key=self.cost_of), bound

    def cost_of(self, table: FloatArray) -> float:
        """Σ π·c·p of a table of log probabilities."""
        return float((self.objective * np.exp(table)).sum())

    def _private(self, channel: FloatArray) -> FloatArray:
        return made_private(channel, self.weights, self.distances, self.epsilon)

    def _relaxed(self, edges: BoolArray, epsilon: float) -> tuple[FloatArray, float]:
        """Channel and proven bound of the constraints of `edges` alone, at `epsilon`.

        Costs are shifted to 0 in each row and scaled to 1, which changes no optimum, so that tolerances mean the same.
        """
        left, right = np.nonzero(edges)
        ratios = Ratios(len(edges), left, right, np.exp(-epsilon * self.distances[left, right]))
        least = self.objective.min(axis=1)
        costs = self.objective - least[:, None]
        scale = float(costs.max()) or 1.0
        costs /= scale
        solution = cheapest_channel(costs, ratios, _TOLERANCE)
        bound = float(least.sum()) + scale * proven_bound(costs, ratios, solution.multipliers)
        size = float(np.abs(self.objective).sum()) + abs(bound)
        return solution.channel, bound - 4.0 * len(costs) * float(np.finfo(np.float64).eps) * size


_DILATIONS = (1.01, 1.015, 1.02, 1.03, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0)
_COARSEST = 1e6  # paths of any length: a tree
_COLLINEAR = 1e-12


class Spanner(NamedTuple):
    """Edges (n, n), symmetric, and the dilation that they really have: no path need be more than that times longer."""

    edges: BoolArray
    stretch: float


def sparsest_needed(distances: FloatArray, limit: int) -> Spanner:
    """All pairs that others do not imply if they are at most `limit` (directed), otherwise the finest spanner that is.

    >>> sparsest_needed(np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))), 100).edges.sum()
    np.int64(6)
    """
    everything = not_implied(distances)
    if everything.sum() <= limit:
        return Spanner(everything, 1.0)
    for dilation in _DILATIONS:
        found = greedy_spanner(distances, dilation, limit)
        if found.stretch < np.inf:
            return found
    return greedy_spanner(distances, _COARSEST)


def not_implied(distances: FloatArray) -> BoolArray:
    """Pairs with no third point on the way: the constraints of the others are sums of shorter ones."""
    wanted: BoolArray = distances > 0
    for stop in range(len(distances)):
        implied = distances[:, stop, None] + distances[None, stop, :] <= distances * (1.0 + _COLLINEAR)
        implied[stop] = implied[:, stop] = False
        wanted &= ~implied
    return wanted


def greedy_spanner(distances: FloatArray, dilation: float, limit: int | None = None) -> Spanner:
    """Pairs in increasing order of distance, each an edge when no path so far is at most `dilation` times it.

    With more than `limit` directed edges it stops where it is, and some pairs have no path: the stretch is infinite.
    """
    n = len(distances)
    left, right = np.triu_indices(n, 1)
    order = np.argsort(distances[left, right], kind="stable")
    ways = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    edges = np.zeros((n, n), dtype=bool)
    count = 0
    for a, b in zip(left[order].tolist(), right[order].tolist(), strict=True):
        length = distances[a, b]
        if ways[a, b] > dilation * length:
            count += 2
            if limit is not None and count > limit:
                return Spanner(edges, np.inf)
            edges[a, b] = edges[b, a] = True
            through = np.minimum(ways[:, a, None] + ways[None, b, :], ways[:, b, None] + ways[None, a, :])
            np.minimum(ways, through + length, out=ways)
    stretch = float((ways[left, right] / distances[left, right]).max(initial=1.0))
    return Spanner(edges, stretch)


_FLOOR = 1e-9  # uniform share of the law that fills up, so that every output keeps a probability above zero
_LEAST = 1e-12  # the least share that is filled up, for the same reason
_INSIDE = 1e-12  # share of ε that is left to the rounding of the logarithms
_MOST = 1e6  # filled up beyond this, all rows are equal


def made_private(channel: FloatArray, weights: FloatArray, distances: FloatArray, epsilon: float) -> FloatArray:
    """Log table (n, m) near `channel` whose exact ε is at most ε; `weights` is the prior of the points.

    p is raised to r(y|x) = max_x' e^{−εd(x, x')}·p(y|x'), which meets every constraint by the triangle inequality, with
    row sums t_x. The table is (r(y|x) + (s − t_x)·q(y))/s, where q is the law of outputs and s is one number: rows sum
    to 1, and both parts meet every constraint, the second one when s − t_b ≥ e^{−εd(a, b)}·(s − t_a) for all a and b,
    that is s ≥ t_a + (t_b − t_a)/(1 − e^{−εd(a, b)}). So no more is moved than the sums differ. Rounding of logarithms
    is met by filling up twice as much until the exact ε is at most ε; in the limit all rows are q, with ε = 0.

    **Guarantee**: `true_epsilon` of the table ≤ ε in float64, or it raises.

    >>> table = made_private(np.eye(2), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0)
    >>> np.exp(table).round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """
    budget = epsilon * (1.0 - _INSIDE) * distances
    factor = np.exp(-budget)
    raised = np.stack([(factor * column).max(axis=1) for column in np.maximum(channel, 0.0).T], axis=1)
    totals = raised.sum(axis=1)
    common = (1.0 - _FLOOR) * (weights @ (raised / totals[:, None])) + _FLOOR / raised.shape[1]
    needed, least = _filled(totals, budget), float(totals.max())
    extra = max(needed - least, _LEAST * least)
    while extra <= _MOST * least:
        size = least + extra
        table = log_normalise(np.log(raised + (size - totals)[:, None] * common))
        if true_epsilon(table, distances) <= epsilon:
            return table
        extra *= 2.0
    table = log_normalise(np.repeat(np.log(common)[None], len(channel), axis=0))
    if not true_epsilon(table, distances) <= epsilon:
        raise NoGuarantee(f"equal rows have an exact epsilon > {epsilon:g}, expected 0")
    return table


def _filled(totals: FloatArray, budget: FloatArray) -> float:
    """The least s ≥ t_a + (t_b − t_a)/(1 − e^{−εd(a, b)}) over all pairs."""
    apart = -np.expm1(-budget)
    np.fill_diagonal(apart, np.inf)
    return float((totals[:, None] + (totals[None, :] - totals[:, None]) / apart).max())
