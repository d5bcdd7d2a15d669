"""A first ε for a space, from distances alone: the budget at which the nearest other value stays a real alternative.

A budget should say what is acceptable, not describe the noise that is about to be used: an audit against the noise's
own ε passes almost automatically. The final budget is the user's decision.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import positive
from oddshift.base.errors import InvalidInput
from oddshift.data.found_points import nearest_alternative
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

ODDS = 3.0
"""By how much everything released together may multiply the odds between a value and its nearest alternative."""


@dataclass(frozen=True)
class Suggestion:
    """ε, and the distance it comes from: the median from a value to the nearest other value of its tier.

    With `every_tier` that is the median in the tier where it is largest.
    """

    epsilon: float
    nearest: float
    every_tier: bool = False

    @property
    def factor(self) -> float:
        """By how much the odds between a value and its nearest alternative may change within ε."""
        return float(np.exp(min(700.0, self.epsilon * self.nearest)))


def suggest_epsilon(
    space: Space, tiers: Tiers, rng: np.random.Generator, odds: float = ODDS, *, every_tier: bool = False
) -> Suggestion:
    """ε = ln(odds)/nearest, rounded down to two digits; `nearest` is the median distance to the nearest alternative.

    With `every_tier` the odds are kept in each tier: the columns of a table have distances of their own, and a median
    over all of them would leave the two values of a category far too easy to tell apart.

    >>> from oddshift.model.release import one_tier
    >>> line = Space(np.arange(5.0)[:, None])
    >>> suggest_epsilon(line, one_tier(line), np.random.default_rng(0))
    Suggestion(epsilon=1.0, nearest=1.0, every_tier=False)
    """
    if not positive(odds, "odds") > 1.0:
        raise InvalidInput(f"{odds=}, expected more than 1")
    nearest = nearest_alternative(space, tiers, rng, every_tier=every_tier)
    return Suggestion(_two_digits(np.log(odds) / nearest), nearest, every_tier)


def _two_digits(value: float) -> float:
    """The value rounded down to two digits, so that the odds stay within what was asked."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.floor(value / unit + 1e-9) * unit:.12g}")
