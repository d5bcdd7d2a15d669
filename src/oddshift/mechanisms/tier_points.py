"""The exponential mechanism among the points of one tier: a part of a tiered mechanism whose outputs keep the tier.

Its exact ε has a closed form, and its scores are those of the tier alone: the work is that of the tiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, indices
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.own_points import OwnNormalisers, own_epsilon, own_normalisers
from oddshift.model.space import Space


@dataclass(frozen=True, eq=False, repr=False)
class TierPoints(Mechanism):
    """Pr[y|x] = exp(−½ε·d(x, y)) / Z_x over the points of a tier, with the ε of that tier.

    **Guarantee**: ε-mDP between the points of the tier.

    >>> TierPoints(Space([[0.0], [1.0]]), 1.0).exact_epsilon
    0.5
    """

    space: Space
    epsilon: float

    def __repr__(self) -> str:
        """Size and budget."""
        return f"TierPoints({self.space}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, by the triangle inequality."""
        return self.epsilon

    @cached_property
    def exact_epsilon(self) -> float:
        """In closed form; 0 for a single point."""
        return own_epsilon(self.space, 0.5 * self.epsilon, self.normalisers)

    @cached_property
    def normalisers(self) -> OwnNormalisers:
        """ln Z_x of every point."""
        return own_normalisers(self.space, 0.5 * self.epsilon)

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½ε·d(x, y) − ln Z_x."""
        return self._scores(index) - self.normalisers.log_z[index, None]

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """−½ε·d(x, y) − ln Z_x for given y and every x; d is symmetric."""
        index = indices(outputs, "outputs", len(self.space))
        return self._scores(index) - self.normalisers.log_z[None, :]

    def _scores(self, index: IntArray) -> FloatArray:
        scores = self.space.between(index)
        return np.multiply(scores, -0.5 * self.epsilon, out=scores)
