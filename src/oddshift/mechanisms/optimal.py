"""The optimal mechanism: of all ε-mDP channels, the one with the smallest expected cost under a given prior.

A linear program (Bordenabe, Chatzikokolakis, Palamidessi 2014): minimise Σ_x π_x Σ_y p(y|x)·c(x, y) subject to
p(y|x) ≤ exp(ε·d(x, x'))·p(y|x') for every pair and every output. Solved output by output, and repaired.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, finite, float_of, frozen, positive, probabilities
from oddshift.base.errors import InvalidInput, TooLarge
from oddshift.mechanisms.feasible import made_private
from oddshift.mechanisms.interior_point import Ratios, cheapest_channel, proven_bound
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.spanner import greedy_spanner, sparsest_needed
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
