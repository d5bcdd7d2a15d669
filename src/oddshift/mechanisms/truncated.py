"""The truncated exponential mechanism: all outputs beyond a radius are equally unlikely.

Cutting the support at the radius would break mDP (an output possible from one point only is infinite leakage), so
the distance is cut instead: min(d, r) is still a metric, and every output keeps a probability above zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, positive, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.mechanism import Mechanism, log_normalisers, normalised
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers

TEM_FAR_MASS = 0.001
"""The probability that TEM leaves to all outputs beyond its radius together, as its published code does."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Truncated(Mechanism):
    """Pr[y|x] ∝ exp(−½ε·min(d(x, y), radius)).

    **Guarantee**: ε-mDP for all pairs, because |min(d(a, y), r) − min(d(b, y), r)| ≤ d(a, b).
    Beyond the radius a draw is uniform, so the far outputs need no distances to be sampled.
    This is TEM as it is defined (Carvalho et al., 2021): its mark for all n far outputs has the score
    −radius + (2/ε)·ln n and is then replaced by one of them, which gives each of them the weight exp(−½ε·radius).

    >>> em = Truncated(Space([[0.0], [1.0], [9.0]]), epsilon=1.0, radius=2.0)
    >>> em.exact_epsilon <= 1.0
    True
    """

    space: Space
    epsilon: float
    radius: float
    candidates: Space

    def __init__(self, space: Space, epsilon: float, radius: float, outputs: Space | None = None) -> None:
        """Points, budget, radius in units of the metric, and the candidate outputs."""
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "radius", positive(radius, "radius"))
        object.__setattr__(self, "candidates", space.candidates(outputs))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With the radius of the settings, which it needs; `tem` has the published one."""
        radius = settings.radius
        if radius is None and settings.name == "tem":
            radius = truncation_radius(len(space), epsilon, TEM_FAR_MASS)
        if radius is None:
            raise InvalidInput("mechanism.name='truncated' needs mechanism.radius, a distance")
        return cls(space, epsilon, radius)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"Truncated({self.space}, epsilon={self.epsilon:g}, radius={self.radius:g})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, by the triangle inequality of the cut metric."""
        return self.epsilon

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½ε·min(d(x, y), radius) − ln Z_x."""
        return normalised(self._scores(index))

    @cached_property
    def exact_epsilon(self) -> float:
        """Closed form when every point is a candidate, otherwise the scan of all outputs."""
        if not self.candidates.contains(self.space):
            return super().exact_epsilon
        log_z = log_normalisers(self._scores, len(self.space), self.n_outputs)
        return exponential_epsilon(log_z, self._rows)

    def _rows(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        distance = self.space.between(index)
        return distance, 0.5 * self.epsilon * np.minimum(distance, self.radius)

    def _scores(self, index: IntArray) -> FloatArray:
        scores = self.space.between(index, self.candidates)
        np.minimum(scores, self.radius, out=scores)
        scores *= -0.5 * self.epsilon
        return scores


def truncation_radius(n_outputs: int, epsilon: float, far_mass: float) -> float:
    """Radius beyond which the outputs together have probability at most `far_mass`, whatever the point.

    (2/ε)·ln((1 − β)(m − 1)/β): the point itself weighs 1 and each far output exp(−½εr).

    >>> round(truncation_radius(1001, epsilon=2.0, far_mass=0.01), 3)
    11.503
    """
    others = whole(n_outputs, "n_outputs", 2) - 1
    beta = unit_open(far_mass, "far_mass")
    return max(2.0 / positive(epsilon, "epsilon") * log((1.0 - beta) * others / beta), 0.0)
