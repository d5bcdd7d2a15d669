"""The tier-safe mechanism: the exponential mechanism on a metric that is stretched less near sensitive points.

With w(u, v) = ½(scale_u + scale_v)·d(u, v) and d_s its shortest-path closure, the exponential mechanism on d_s is
ε·d_s-private for all pairs: scale·ε inside a tier, at most the mean scale times ε across, whoever knows the tiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from oddshift.base.arrays import FloatArray, IntArray, frozen, positive
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.closure import closed_space
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.scores import log_normalisers, normalised
from oddshift.mechanisms.settings import MechanismSettings, tiers_with_scales
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers, tiers_of


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PathExponential(Mechanism):
    """Pr[y|x] ∝ exp(−½ε·d_s(x, y)) over the space's own points.

    **Guarantee**: |log ratio| ≤ ε·d_s(a, b) ≤ ε·½(scale_a + scale_b)·d(a, b) for ALL pairs, so the claim holds
    whether tiers are public or secret. Points in no tier take the largest scale.

    >>> tiers = Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(0.4, 1.0), is_public=False)
    >>> safe = PathExponential(Space([[0.0], [1.0], [2.0], [3.0]]), tiers, epsilon=2.0)
    >>> safe.exact_epsilon <= safe.claimed_epsilon
    True
    """

    space: Space
    tiers: Tiers
    epsilon: float

    def __init__(self, space: Space, tiers: Tiers, epsilon: float) -> None:
        """Points (secrets and further outputs alike), their tiers, budget."""
        if len(tiers_of(tiers).labels) != len(space_of(space)):
            raise InvalidInput(f"tiers label {len(tiers.labels)} points, expected {len(space)}")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "tiers", tiers)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With the scales of the settings, which it needs."""
        return cls(space, tiers_with_scales(tiers, settings), epsilon)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"PathExponential({self.space}, {self.tiers}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """The largest scale times ε, over all pairs."""
        return self.epsilon * max(self.tiers.scales)

    @cached_property
    def path_distances(self) -> FloatArray:
        """The closure d_s (n, n)."""
        return frozen(closed_space(self.space, self.tiers.scale_of_points))

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½ε·d_s(x, y) − ln Z_x."""
        return normalised(self._scores(index))

    @cached_property
    def exact_epsilon(self) -> float:
        """Closed form over ALL pairs, tiers public or not."""
        log_z = log_normalisers(self._scores, len(self.space), self.n_outputs)
        return exponential_epsilon(log_z, self._rows)

    def _scores(self, index: IntArray) -> FloatArray:
        return -0.5 * self.epsilon * self.path_distances[index]

    def _rows(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        return self.space.between(index), 0.5 * self.epsilon * self.path_distances[index]
