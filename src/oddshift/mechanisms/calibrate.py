"""Calibration: the largest nominal ε whose exact ε still meets a target.

The exponential mechanism leaves about a third of its nominal budget unused; calibration spends it, and what comes
back is verified by its exact ε, not by its label.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from oddshift.base.arrays import positive
from oddshift.base.errors import NoGuarantee
from oddshift.mechanisms.mechanism import Mechanism

M = TypeVar("M", bound=Mechanism)

_PRECISION = 1e-6  # relative; the search stops when the exact ε is this close below the target
_LARGEST_FACTOR = 2.0**20


def calibrate(family: Callable[[float], M], target: float) -> M:
    """Return the mechanism of `family` (nominal ε → mechanism) with the largest nominal ε whose exact ε ≤ target.

    **Guarantee**: the returned mechanism's exact ε is at most the target. That it is the largest supposes that the
    exact ε grows with the nominal one; a family that never exceeds the target gives its largest member tried.

    >>> from oddshift.mechanisms import Exponential
    >>> from oddshift.model.space import Space
    >>> em = calibrate(lambda e: Exponential(Space([[0.0], [1.0], [3.0]]), e), target=1.0)
    >>> round(em.epsilon, 3), round(em.exact_epsilon, 5)
    (1.756, 1.0)
    """
    goal = positive(target, "target")
    low, best = _feasible(family, goal)
    ceiling = low * _LARGEST_FACTOR
    high, excess = low, 0.0
    while excess <= goal and high < ceiling:
        high = 2.0 * low
        mechanism = family(high)
        excess = mechanism.exact_epsilon
        if excess <= goal:
            low, best = high, mechanism
    while excess > goal and high - low > _PRECISION * low and best.exact_epsilon < goal * (1.0 - _PRECISION):
        nominal = _between(low, best.exact_epsilon, high, excess, goal)
        mechanism = family(nominal)
        if mechanism.exact_epsilon <= goal:
            low, best = nominal, mechanism
        else:
            high, excess = nominal, mechanism.exact_epsilon
    return best


def _feasible(family: Callable[[float], M], goal: float) -> tuple[float, M]:
    nominal = goal
    while nominal > goal / _LARGEST_FACTOR:
        mechanism = family(nominal)
        if mechanism.exact_epsilon <= goal:
            return nominal, mechanism
        nominal /= 2.0
    raise NoGuarantee(f"no nominal epsilon down to {nominal:.3g} has an exact epsilon <= target={goal:g}")


def _between(low: float, at_low: float, high: float, at_high: float, goal: float) -> float:
    """False position aimed just below the goal, kept away from both ends so that the bracket always shrinks."""
    aim = goal * (1.0 - 0.25 * _PRECISION)
    share = (aim - at_low) / (at_high - at_low) if at_low < at_high < float("inf") else 0.5
    return low + min(max(share, 1e-3), 0.9) * (high - low)
