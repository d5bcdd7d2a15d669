"""Where noise begins to pay: the least budget at which perturbed values cost less than one constant value.

Below it a mark in place of every secret serves as well, and reveals nothing. The loss falls as the budget grows, so the
place is found by doubling and halving, on a logarithmic scale.
"""

from __future__ import annotations

from collections.abc import Callable

MOST = 64.0
"""Largest multiple of a budget that is tried."""

STEPS = 4
"""Halvings of the last doubling: the multiple is known to about 4 %."""


def break_even(loss_at: Callable[[float], float], constant: float) -> float | None:
    """The least multiple of a budget, from 1 on, at which the loss is below that of a constant; None up to MOST.

    `loss_at` gives the expected loss at a multiple of the budget. The multiple is one at which the loss was computed.

    >>> round(break_even(lambda multiple: 1.0 / multiple, 0.3), 3)
    3.364
    >>> break_even(lambda multiple: 0.5, 0.3) is None
    True
    """
    if loss_at(1.0) < constant:
        return 1.0
    high = 2.0
    while high <= MOST and loss_at(high) >= constant:
        high *= 2.0
    if high > MOST:
        return None
    low = high / 2.0
    for _ in range(STEPS):
        middle = (low * high) ** 0.5
        if loss_at(middle) < constant:
            high = middle
        else:
            low = middle
    return float(high)
