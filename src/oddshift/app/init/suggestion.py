"""A first ε for a space: in units of its distance, from what one release of the exponential mechanism would keep.

A starting point that is neither all noise nor none; what the budget should be is the user's decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

KEPT = 0.25
"""How often a typical value is released as itself, beyond what guessing among its tier would give."""

_POINTS = 1000  # points looked at; more change a median little


@dataclass(frozen=True)
class Suggestion:
    """ε, the median distance from a value to the nearest other one of its tier, and the odds factor exp(ε·distance)."""

    epsilon: float
    nearest: float

    @property
    def factor(self) -> float:
        """By how much one release may multiply the odds between a value and its nearest other one, at most."""
        return float(np.exp(min(700.0, self.epsilon * self.nearest)))


def suggest_epsilon(space: Space, tiers: Tiers, rng: np.random.Generator) -> Suggestion:
    """The ε at which the median over points of (kept − 1/n)/(1 − 1/n) is KEPT, rounded to two digits.

    kept = 1/Σ_y exp(−½ε·d(x, y)) is how often the exponential mechanism releases x as itself, n the size of x's tier.
    """
    index = np.sort(rng.permutation(len(space))[:_POINTS])
    sizes = np.bincount(tiers.labels[tiers.labels >= 0], minlength=len(tiers))
    index = index[(tiers.labels[index] >= 0) & (sizes[tiers.labels[index]] > 1)]
    if not len(index):
        raise InvalidInput("no tier has two distinct values, expected something to confuse a value with")
    apart = space.between(index)
    chance = 1.0 / sizes[tiers.labels[index]]
    low, high = 1e-6, 1e6
    for _ in range(60):
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if _kept(apart, middle, chance) > KEPT else (middle, high)
    same = tiers.labels[index][:, None] == tiers.labels[None, :]
    nearest = np.where(same & (apart > 0), apart, np.inf).min(axis=1)
    return Suggestion(float(f"{high:.2g}"), float(np.median(nearest)))


def _kept(apart: FloatArray, epsilon: float, chance: FloatArray) -> float:
    kept = 1.0 / np.exp(-0.5 * epsilon * apart).sum(axis=1)
    return float(np.median((kept - chance) / (1.0 - chance)))
