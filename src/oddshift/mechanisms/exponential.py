"""The exponential mechanism: nearby outputs are likelier, by exp(−½ε·d).

Definition 6 of the paper: Pr[y|x] ∝ exp(−½ε·d(x, y)) over a finite set of candidate outputs. With weights q the
outputs that a prior makes likely are favoured: Pr[y|x] ∝ q(y)·exp(−½ε·d(x, y)), at the same claimed ε.

The truncated exponential mechanism: all outputs beyond a radius are equally unlikely.

Cutting the support at the radius would break mDP (an output possible from one point only is infinite leakage), so
the distance is cut instead: min(d, r) is still a metric, and every output keeps a probability above zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite, indices, positive, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.base.logarithms import log
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.kernel_sums import OwnNormalisers, own_epsilon, own_normalisers, own_weighted_sums
from oddshift.mechanisms.mechanism import Mechanism, log_normalisers, normalised
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Exponential(Mechanism):
    """Pr[y|x] = q(y)·exp(−½ε·d(x, y)) / Z_x over the candidates `outputs` (default: the space's own points).

    `weights` are q, one number ≥ 0 for each output, by default all equal; they must not depend on the secrets that are
    released (see `balanced_weights`).

    **Guarantee**: ε-mDP for any candidates and weights, by the triangle inequality on both score and Z. The exact ε is
    smaller: where every point is an output of positive weight it is ε/2 + max |ln Z_a − ln Z_b|/d(a, b).

    >>> import numpy as np
    >>> em = Exponential(Space([[0.0], [1.0]]), epsilon=1.0)
    >>> np.exp(em.log_matrix).round(4)
    array([[0.6225, 0.3775],
           [0.3775, 0.6225]])
    >>> np.exp(Exponential(Space([[0.0], [1.0]]), epsilon=1.0, weights=[3.0, 1.0]).log_matrix).round(4)
    array([[0.8318, 0.1682],
           [0.6453, 0.3547]])
    """

    space: Space
    epsilon: float
    candidates: Space
    log_weights: FloatArray | None

    def __init__(
        self, space: Space, epsilon: float, outputs: Space | None = None, *, weights: npt.ArrayLike | None = None
    ) -> None:
        """Points, budget, the candidate outputs and their weights."""
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "candidates", space.candidates(outputs))
        object.__setattr__(self, "log_weights", None if weights is None else _log_weights(weights, self.n_outputs))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With one scale for everyone; outputs of the same tier make it a tiered mechanism of equal scales."""
        if settings.outputs == "tier" and tiers.is_public and len(tiers) > 1:
            return Tiered(space, tiers.with_scales((1.0,) * len(tiers)), epsilon, keeps_tier=True)
        return cls(space, epsilon)

    def __repr__(self) -> str:
        """Sizes and budget."""
        weighted = "" if self.log_weights is None else ", weighted"
        return f"Exponential({self.space}, epsilon={self.epsilon:g}, n_outputs={self.n_outputs}{weighted})"

    @cached_property
    def fingerprint(self) -> str:
        """Equal weights are not part of it: a mechanism has the identity that stored policies and certificates hold."""
        if self.log_weights is None and self.space.has_named_metric:
            return content(self, without=("log_weights",))
        return super().fingerprint

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
        if self.log_weights is not None:
            scores += self.log_weights[index, None]
        return scores

    def averages(self, values: FloatArray) -> FloatArray:
        """Over the space's own points from half of the pairs: d is symmetric."""
        if not self.has_equal_outputs:
            return super().averages(values)
        return own_weighted_sums(self.space, 0.5 * self.epsilon, values) / np.exp(self.log_z)[:, None]

    def law_of_outputs(self, law: FloatArray) -> FloatArray:
        """Over the space's own points from half of the pairs: d is symmetric."""
        if not self.has_equal_outputs:
            return super().law_of_outputs(law)
        return own_weighted_sums(self.space, 0.5 * self.epsilon, (law * np.exp(-self.log_z))[:, None])[:, 0]

    @cached_property
    def log_z(self) -> FloatArray:
        """ln Z_x of every point."""
        if self.has_equal_outputs:
            return self._own.log_z
        return log_normalisers(self._scores, len(self.space), self.n_outputs)

    @property
    def known_log_z(self) -> FloatArray | None:
        """ln Z_x if it was computed before, for the exact ε or for likelihoods; None if not."""
        return self.log_z if self.__dict__.keys() & {"log_z", "_own"} else None

    @property
    def has_equal_outputs(self) -> bool:
        """Whether the outputs are the space's own points, all of one weight."""
        return self.candidates is self.space and self.log_weights is None

    @cached_property
    def _own(self) -> OwnNormalisers:
        return own_normalisers(self.space, 0.5 * self.epsilon)

    @cached_property
    def exact_epsilon(self) -> float:
        """Closed form when every point is a candidate, otherwise the scan of all outputs."""
        if self.has_equal_outputs:
            return own_epsilon(self.space, 0.5 * self.epsilon, self._own)
        is_everywhere = self.log_weights is None or bool(np.isfinite(self.log_weights).all())
        if not is_everywhere or not self.candidates.contains(self.space):
            return super().exact_epsilon
        return exponential_epsilon(self.log_z, self._rows)

    def _rows(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        distance = self.space.between(index)
        return distance, 0.5 * self.epsilon * distance

    def _scores(self, index: IntArray) -> FloatArray:
        scores = self.space.between(index, self.candidates)
        scores *= -0.5 * self.epsilon
        if self.log_weights is not None:
            scores += self.log_weights
        return scores


def balanced_weights(space: Space, epsilon: float, prior: npt.ArrayLike, rounds: int = 200) -> FloatArray:
    """Return weights q over the space's own points under which q(y) is how often y comes out: q = Σ_x π(x)·M(y|x).

    Blahut and Arimoto's iteration from q = 1/n, which lowers I(X; Y) + ½ε·E[d(X, Y)] in every round; where it has not
    got below the best constant output (which q tends to as ε → 0), that constant: E[d] is never above its cost.

    **Guarantee**: none about privacy beyond `Exponential`: q is a function of the prior, so where the prior is counted
    from private records q says what they say, and belongs with the prior.

    >>> balanced_weights(Space([[0.0], [1.0]]), 1.0, [0.9, 0.1]).round(3)
    array([1., 0.])
    >>> balanced_weights(Space([[0.0], [1.0]]), 8.0, [0.7, 0.3]).round(3)
    array([0.707, 0.293])
    """
    law = finite(prior, "prior", 1)
    if len(law) != len(space) or law.min() < 0.0 or not law.sum() > 0.0:
        raise InvalidInput(f"prior has {len(law)} entries, expected {len(space)} that are >= 0 and not all 0")
    law = law / law.sum()
    closeness = np.exp(-0.5 * positive(epsilon, "epsilon") * space.distances)
    weights = np.full(len(law), 1.0 / len(law))
    for _ in range(rounds):
        weights = weights * (closeness.T @ (law / (closeness @ weights)))
    weights /= weights.sum()
    rows = closeness * weights
    constant = law @ space.distances
    if law @ ((rows * space.distances).sum(axis=1) / rows.sum(axis=1)) > constant.min():
        return (np.arange(len(law)) == constant.argmin()).astype(np.float64)
    return weights


def _log_weights(weights: npt.ArrayLike, n_outputs: int) -> FloatArray:
    found = finite(weights, "weights", 1)
    if len(found) != n_outputs or found.min() < 0.0 or not found.sum() > 0.0:
        raise InvalidInput(f"weights has {len(found)} entries, expected {n_outputs} that are >= 0 and not all 0")
    return log(found / found.sum())


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
    return max(2.0 / positive(epsilon, "epsilon") * math.log((1.0 - beta) * others / beta), 0.0)
