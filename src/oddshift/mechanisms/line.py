"""Two classical channels on simple spaces: the geometric mechanism on a line, and randomized response.

Both reach their ε exactly, so they are yardsticks for everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, positive
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers


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
