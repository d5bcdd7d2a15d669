"""The typical nearest alternative of a value: how far it is, which says in words what a budget ε means."""

from __future__ import annotations

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

_POINTS = 1000  # points examined; more of them would hardly change the median


def nearest_alternative(space: Space, tiers: Tiers, rng: np.random.Generator, *, every_tier: bool = False) -> float:
    """The median distance from a value to the nearest other value of its tier.

    With `every_tier` it is the largest of the medians of the tiers.

    >>> from oddshift.model.release import one_tier
    >>> line = Space(2.0 * np.arange(5.0)[:, None])
    >>> nearest_alternative(line, one_tier(line), np.random.default_rng(0))
    2.0
    """
    index = np.sort(rng.permutation(len(space))[:_POINTS])
    sizes = np.bincount(tiers.labels[tiers.labels >= 0], minlength=len(tiers))
    index = index[(tiers.labels[index] >= 0) & (sizes[tiers.labels[index]] > 1)]
    if not len(index):
        raise InvalidInput("no tier has two distinct values, expected at least two in some tier")
    between = space.between(index)
    between[np.arange(len(index)), index] = np.inf
    between[tiers.labels[index][:, None] != tiers.labels[None, :]] = np.inf
    closest, tier = between.min(axis=1), tiers.labels[index]
    medians = [float(np.median(closest[tier == t])) for t in np.unique(tier)] if every_tier else []
    return max(medians, default=float(np.median(closest)))
