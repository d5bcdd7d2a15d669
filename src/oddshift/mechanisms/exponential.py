"""The exponential mechanism: nearby outputs are likelier, by exp(−½ε·d).

Definition 6 of the paper: Pr[y|x] ∝ exp(−½ε·d(x, y)) over a finite set of candidate outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, indices, positive
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.own_points import OwnNormalisers, own_epsilon, own_normalisers, own_weighted_sums
from oddshift.mechanisms.scores import log_normalisers, normalised
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Exponential(Mechanism):
    """Pr[y|x] = exp(−½ε·d(x, y)) / Z_x over the candidates `outputs` (default: the space's own points).

    **Guarantee**: ε-mDP for any candidates, by the triangle inequality on both score and Z. The exact ε is
    smaller: with the candidates among the points it is ε/2 + max |ln Z_a − ln Z_b|/d(a, b).

    >>> import numpy as np
    >>> em = Exponential(Space([[0.0], [1.0]]), epsilon=1.0)
    >>> np.exp(em.log_matrix).round(4)
    array([[0.6225, 0.3775],
           [0.3775, 0.6225]])
    """

    space: Space
    epsilon: float
    candidates: Space

    def __init__(self, space: Space, epsilon: float, outputs: Space | None = None) -> None:
        """Points, budget, and the candidate outputs."""
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "candidates", space.candidates(outputs))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With one scale for everyone; outputs of the same tier make it a tiered mechanism of equal scales."""
        if settings.outputs == "tier" and tiers.is_public and len(tiers) > 1:
            return Tiered(space, tiers.with_scales((1.0,) * len(tiers)), epsilon, keeps_tier=True)
        return cls(space, epsilon)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"Exponential({self.space}, epsilon={self.epsilon:g}, n_outputs={self.n_outputs})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, by the triangle inequality."""
        return self.epsilon

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½ε·d(x, y) − ln Z_x."""
        return normalised(self._scores(index))

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """−½ε·d(x, y) − ln Z_x for given y and every x, without the whole matrix."""
        index = indices(outputs, "outputs", self.n_outputs)
        scores = self.candidates.between(index, self.space)
        scores *= -0.5 * self.epsilon
        scores -= self.log_z[None, :]
        return scores

    def averages(self, values: FloatArray) -> FloatArray:
        """Over the space's own points from half of the pairs: d is symmetric."""
        if self.candidates is not self.space:
            return super().averages(values)
        return own_weighted_sums(self.space, 0.5 * self.epsilon, values) / np.exp(self.log_z)[:, None]

    def law_of_outputs(self, law: FloatArray) -> FloatArray:
        """Over the space's own points from half of the pairs: d is symmetric."""
        if self.candidates is not self.space:
            return super().law_of_outputs(law)
        return own_weighted_sums(self.space, 0.5 * self.epsilon, (law * np.exp(-self.log_z))[:, None])[:, 0]

    @cached_property
    def log_z(self) -> FloatArray:
        """ln Z_x of every point."""
        if self.candidates is self.space:
            return self._own.log_z
        return log_normalisers(self._scores, len(self.space), self.n_outputs)

    @property
    def known_log_z(self) -> FloatArray | None:
        """ln Z_x if it was computed before, for the exact ε or for likelihoods; None if not."""
        return self.log_z if self.__dict__.keys() & {"log_z", "_own"} else None

    @cached_property
    def _own(self) -> OwnNormalisers:
        return own_normalisers(self.space, 0.5 * self.epsilon)

    @cached_property
    def exact_epsilon(self) -> float:
        """Closed form when every point is a candidate, otherwise the scan of all outputs."""
        if self.candidates is self.space:
            return own_epsilon(self.space, 0.5 * self.epsilon, self._own)
        if not self.candidates.contains(self.space):
            return super().exact_epsilon
        return exponential_epsilon(self.log_z, self._rows)

    def _rows(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        distance = self.space.between(index)
        return distance, 0.5 * self.epsilon * distance

    def _scores(self, index: IntArray) -> FloatArray:
        scores = self.space.between(index, self.candidates)
        scores *= -0.5 * self.epsilon
        return scores
