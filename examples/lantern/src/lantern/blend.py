"""A mechanism that sometimes releases a uniform output."""

from dataclasses import dataclass

import numpy as np

import oddshift as od
from oddshift.base.arrays import FloatArray, IntArray, unit_open
from oddshift.mechanisms import MechanismSettings


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Blend(od.Mechanism):
    """With probability `share` a uniform output, otherwise what the inner mechanism says.

    **Guarantee**: the inner ε. For p ≤ e^ε·q and w ≥ 0, p + w ≤ e^ε·(q + w): adding the same mass to two
    probabilities brings their ratio nearer to 1.
    """

    inner: od.Mechanism
    share: float

    def __init__(self, inner: od.Mechanism, share: float) -> None:
        """The inner mechanism and the share of uniform outputs, strictly between 0 and 1."""
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "share", unit_open(share, "share"))

    @classmethod
    def configured(cls, space: od.Space, tiers: od.Tiers, epsilon: float, settings: MechanismSettings) -> od.Mechanism:
        """What `mechanism.name = "blend"` asks for: one output in ten is uniform."""
        return cls(od.Exponential(space, epsilon), 0.1)

    def __repr__(self) -> str:
        """The parts."""
        return f"Blend({self.inner!r}, share={self.share:g})"

    @property
    def space(self) -> od.Space:
        """The inner points."""
        return self.inner.space

    @property
    def epsilon(self) -> float:
        """The inner nominal ε, which a policy stores."""
        return self.inner.epsilon

    @property
    def claimed_epsilon(self) -> float:
        """The inner claim."""
        return self.inner.claimed_epsilon

    @property
    def is_estimate(self) -> bool:
        """Blended counts are still counts."""
        return self.inner.is_estimate

    @property
    def groups(self) -> list[IntArray]:
        """The pairs that count for the inner mechanism (public tiers split them)."""
        return self.inner.groups

    @property
    def n_outputs(self) -> int:
        """As many as the inner mechanism has."""
        return self.inner.n_outputs

    @property
    def outputs(self) -> od.Space | None:
        """The inner outputs."""
        return self.inner.outputs

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """ln((1 − share)·M(y|x) + share/m)."""
        rows = self.inner.log_likelihood(index) + np.log1p(-self.share)
        return np.logaddexp(rows, np.log(self.share / self.n_outputs))
