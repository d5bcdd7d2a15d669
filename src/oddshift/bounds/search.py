"""Where an increasing function first reaches a level: bisection that returns the end on the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable

_STEPS = 200
_RELATIVE = 1e-13
_ABSOLUTE = 1e-300


def first_reach(function: Callable[[float], float], level: float, low: float, high: float) -> float:
    """Smallest m in (low, high] with function(m) ≥ level, rounded up; `high` when it is never reached.

    **Guarantee**: for a non-decreasing function the returned m satisfies function(m) ≥ level, or is `high`; it
    exceeds the true crossing by at most a relative 1e-13.

    >>> round(first_reach(lambda m: m * m, 2.0, 0.0, 10.0), 9)
    1.414213562
    """
    if not function(high) >= level:
        return high
    for _ in range(_STEPS):
        middle = low + (high - low) / 2
        if middle in (low, high) or high - low <= max(_RELATIVE * high, _ABSOLUTE):
            break
        if function(middle) >= level:
            high = middle
        else:
            low = middle
    return high


def bracketed_reach(function: Callable[[float], float], level: float, guess: float, width: float) -> float:
    """`first_reach` on [0, 1] for a costly smooth function whose crossing is expected within `guess` ± `width`.

    **Guarantee**: as `first_reach`, with a relative 1e-11; a wrong guess costs evaluations, never soundness.

    >>> round(bracketed_reach(lambda m: m * m, 0.25, 0.4, 0.01), 9)
    0.5
    """
    low, high = max(0.0, guess - width), min(1.0, guess + width)
    above = function(high) - level
    while high < 1.0 and not above >= 0:
        low, high = high, min(1.0, high + (high - low) * 4)
        above = function(high) - level
    if not above >= 0:
        return 1.0
    below = function(low) - level
    while low > 0.0 and below >= 0:
        low, high, above = max(0.0, low - (high - low) * 4), low, below
        below = function(low) - level
    return low if below >= 0 else _illinois(lambda m: function(m) - level, (low, below), (high, above))


def _illinois(gap: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
    """False position in which the end that stays has its weight halved; returns the upper end."""
    (a, below), (b, above) = low, high
    for step in range(_STEPS):
        tolerance = max(1e-11 * b, _ABSOLUTE)
        if b - a <= tolerance:
            break
        usable = math.isfinite(below) and math.isfinite(above) and above > below and step % 8 < 7
        middle = a - below * (b - a) / (above - below) if usable else a + (b - a) / 2
        # keep away from the ends, so that the last step leaves a bracket within the tolerance
        middle = min(max(middle, a + tolerance / 2), b - tolerance / 2)
        value = gap(middle)
        if value >= 0:
            b, above, below = middle, value, below / 2
        else:
            a, below, above = middle, value, above / 2
    return b
