"""Any finite mechanism, given by its matrix of log probabilities.

The common ground of every method here: what a mechanism is to an attacker is its channel.

Two classical channels on simple spaces: the geometric mechanism on a line, and randomized response.

Both reach their ε exactly, so they are yardsticks for everything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import CACHED_ENTRIES, FloatArray, IntArray, frozen, indices, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log, log_sum
from oddshift.mechanisms.epsilon import check_log_matrix
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Channel(Mechanism):
    """Rows log Pr[y|x], one for each point; `outputs` names the outputs as points when they are points.

    A channel that was counted rather than computed has `is_estimate` and no exact ε.

    >>> space = Space([[0.0], [1.0]])
    >>> round(Channel(space, np.log([[0.72, 0.28], [0.28, 0.72]])).exact_epsilon, 4)
    0.9445
    """

    row_entries: ClassVar[int] = CACHED_ENTRIES  # rows are at hand, and read several times in a core's cache

    space: Space
    table: FloatArray
    outputs_as_points: Space | None
    is_estimate: bool
    kinds: IntArray | None = None

    def __init__(
        self, space: Space, log_matrix: npt.ArrayLike, outputs: Space | None = None, *, is_estimate: bool = False
    ) -> None:
        """Rows must be log probabilities that sum to one."""
        table = check_log_matrix(log_matrix)
        if len(table) != len(space_of(space)):
            raise InvalidInput(f"log_matrix has {len(table)} rows, expected {len(space)}, one for each point")
        if outputs is not None and len(space_of(outputs, "outputs")) != table.shape[1]:
            raise InvalidInput(f"log_matrix has {table.shape[1]} columns, expected {len(outputs)}, one for each output")
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "table", frozen(table))
        object.__setattr__(self, "outputs_as_points", outputs)
        object.__setattr__(self, "is_estimate", is_estimate)
        object.__setattr__(self, "kinds", None)

    @classmethod
    def of(cls, mechanism: Mechanism) -> Channel:
        """The rows of a mechanism, computed once to be read many times; they are not checked again."""
        channel = object.__new__(cls)
        object.__setattr__(channel, "space", mechanism.space)
        object.__setattr__(channel, "table", mechanism.log_matrix)
        object.__setattr__(channel, "outputs_as_points", mechanism.outputs)
        object.__setattr__(channel, "is_estimate", mechanism.is_estimate)
        object.__setattr__(channel, "kinds", mechanism.output_kinds)
        return channel

    def __repr__(self) -> str:
        """Sizes, and whether it is only an estimate."""
        estimate = ", estimate" if self.is_estimate else ""
        return f"Channel({self.space}, n_outputs={self.n_outputs}{estimate})"

    @property
    def claimed_epsilon(self) -> float:
        """None: a matrix proves nothing by its construction."""
        return inf

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return self.table.shape[1]

    @property
    def outputs(self) -> Space | None:
        """The outputs as points, when they were given."""
        return self.outputs_as_points

    @property
    def output_kinds(self) -> IntArray | None:
        """Those of the mechanism whose rows these are."""
        return self.kinds

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """Rows of the matrix; successive ones are not copied."""
        if len(index) and index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all():
            return self.table[index[0] : index[-1] + 1]
        return self.table[index]

    def candidate_columns(self, outputs: npt.ArrayLike, points: IntArray) -> FloatArray:
        """Columns of the matrix for some points; no more of it is copied."""
        return self._transposed[np.ix_(indices(outputs, "outputs", self.n_outputs), points)]

    @property
    def log_matrix(self) -> FloatArray:
        """The matrix itself."""
        return self.table


def estimate_channel(mechanism: Mechanism, draws: int, rng: np.random.Generator) -> Channel:
    """The frequencies of `draws` samples for each point, labelled an estimate.

    For mechanisms whose log_matrix does not exist; unseen outputs have log 0, so no ε may be read from it.
    """
    whole(draws, "draws", 1)
    n = len(mechanism.space)
    counts = np.zeros((n, mechanism.n_outputs))
    for point in range(n):
        outputs = mechanism.sample(np.full(draws, point), rng)
        counts[point] = np.bincount(outputs, minlength=mechanism.n_outputs)
    return Channel(mechanism.space, log(counts / draws), mechanism.outputs, is_estimate=True)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Geometric(Mechanism):
    """Two-sided geometric noise on equally spaced points of a line, with the tails gathered at the two ends.

    With a = exp(−ε·step): Pr[y|x] = a^|x−y|·(1 − a)/(1 + a) inside and a^|x−y|/(1 + a) at an end.

    **Guarantee**: ε-mDP, and exactly ε between neighbours.

    >>> round(Geometric(Space([[0.0], [1.0], [2.0]]), epsilon=0.7).exact_epsilon, 9)
    0.7
    """

    space: Space
    epsilon: float
    step: float

    def __init__(self, space: Space, epsilon: float) -> None:
        """Points must lie in one column, in order, at equal steps."""
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        if space.points.shape[1] != 1 or space.metric.name not in {"euclidean", "manhattan"} or len(space) < 2:
            raise InvalidInput(f"{space}, expected at least 2 points in one column (euclidean) for the geometric")
        steps = np.diff(space.points[:, 0])
        if steps[0] <= 0 or not np.allclose(steps, steps[0], rtol=1e-9, atol=0.0):
            raise InvalidInput("the points are not in order at equal steps, expected that for the geometric")
        object.__setattr__(self, "step", float(steps[0]))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """Nothing but ε is needed."""
        return cls(space, epsilon)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"Geometric({self.space}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, reached between neighbours."""
        return self.epsilon

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−ε·step·|x − y| + ln(1 − a) inside; ends keep the whole tail."""
        places = np.arange(len(self.space))
        log_a = -self.epsilon * self.step
        rows = log_a * np.abs(index[:, None] - places[None, :]).astype(np.float64)
        rows[:, 1:-1] += np.log(-np.expm1(log_a))
        return rows - np.log1p(np.exp(log_a))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class RandomizedResponse(Mechanism):
    """Keep the point with odds exp(ε·d_min), otherwise say any other one.

    **Guarantee**: ε-mDP: every log ratio is at most ε·d_min. On the discrete metric (all distances 1) it is the
    usual randomized response at ε, equal to the exponential mechanism at 2ε.

    >>> import numpy as np
    >>> k3 = Space.from_distances(np.ones((3, 3)) - np.eye(3))
    >>> RandomizedResponse(k3, epsilon=np.log(2)).log_matrix.round(4)[0]
    array([-0.6931, -1.3863, -1.3863])
    """

    space: Space
    epsilon: float
    nearest: float

    def __init__(self, space: Space, epsilon: float) -> None:
        """At least two points; the smallest distance sets the odds."""
        if len(space_of(space)) < 2:
            raise InvalidInput(f"{space}, expected at least 2 points for randomized response")
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        apart = space.distances[~np.eye(len(space), dtype=bool)]
        object.__setattr__(self, "nearest", float(apart.min()))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """Nothing but ε is needed."""
        return cls(space, epsilon)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"RandomizedResponse({self.space}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, reached at the smallest distance."""
        return self.epsilon

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """ε·d_min for the point itself, 0 for the others, normalised."""
        rows = np.zeros((len(index), len(self.space)))
        rows[np.arange(len(index)), index] = self.epsilon * self.nearest
        return rows - log_sum(rows)[:, None]
