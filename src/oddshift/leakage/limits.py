"""The comparison with ε: when a pair, a mechanism or a bound exceeds the budget, everywhere in oddshift.

Definition 4 of the paper counts mPL > ε, strictly. A mechanism that spends exactly ε must not be counted for the last
bits of its logarithms, so an excess of at most ROUNDING is rounding: relative to ε·d, and absolute in nats. Nothing
larger is forgiven, and a bound from above is itself rounded up before it is compared.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, blocks
from oddshift.model.space import Space

ROUNDING = 1e-12
"""Excess over ε·d (relative, and absolute in nats) that counts as rounding."""


@overload
def shift_limit(epsilon: float, distance: float) -> float: ...
@overload
def shift_limit(epsilon: float, distance: FloatArray) -> FloatArray: ...
def shift_limit(epsilon: float, distance: float | FloatArray) -> float | FloatArray:
    """The difference of two log odds beyond which a pair at this distance exceeds ε.

    >>> shift_limit(2.0, 0.5) > 1.0, shift_limit(2.0, 0.5) < 1.0 + 1e-11
    (True, True)
    """
    return epsilon * distance * (1.0 + ROUNDING) + ROUNDING


def exceeds(gap: FloatArray, distance: FloatArray | float, epsilon: float) -> BoolArray:
    """Which pairs exceed ε: `gap` is |Δ log odds|, `distance` that of each pair.

    >>> import numpy as np
    >>> exceeds(np.array([1.0, 1.0 + 1e-9]), 0.5, 2.0)
    array([False,  True])
    """
    beyond: BoolArray = gap > shift_limit(epsilon, distance)
    return beyond


def exceeds_budget(leakage: float, epsilon: float, nearest: float = 1.0) -> bool:
    """Whether a largest leakage (of a mechanism, an attacker or a bound) exceeds ε.

    `nearest` is the smallest distance that the leakage may be divided by: rounding in nats grows by 1/nearest.

    >>> exceeds_budget(1.0, 1.0), exceeds_budget(1.0 + 1e-9, 1.0), exceeds_budget(1.0 + 1e-9, 1.0, nearest=1e-4)
    (False, True, False)
    """
    return leakage * nearest > shift_limit(epsilon, nearest)


def nearest_distance(space: Space) -> float:
    """The smallest distance between two points of a space; infinite for a single point."""
    everyone, smallest = np.arange(len(space)), np.inf
    for part in blocks(len(space), len(space)):
        distance = space.between(everyone[part])
        distance[np.arange(len(distance)), everyone[part]] = np.inf
        smallest = min(smallest, float(distance.min()))
    return smallest
