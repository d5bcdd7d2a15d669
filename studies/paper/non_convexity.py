"""Is the utility loss convex in the scale? The commented-out example, what is wrong in it, and one that is valid.

Commented out in the source: g(α) = 1/(1 + e^{1/α}) under weights exp(−d/(2αε)). Under the paper's own exponential
mechanism, weights exp(−½αεd), that example is convex; two outputs equally far from the secret are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from studies.paper.paper_numbers import paper_text

STEP = 1e-4


def commented_example(scale: float) -> float:
    """g of the commented-out text: two outputs, β = (0, 1), costs (0, 1), weights e^{−β/α}."""
    return float(1.0 / (1.0 + np.exp(1.0 / scale)))


def printed_second_derivative(scale: float) -> float:
    """g'' as it is printed there."""
    e = np.exp(1.0 / scale)
    return float(e * (1 - 2 * scale - scale * e) / (4 * scale**4 * (1 + e) ** 3))


def under_the_mechanism(scale: float) -> float:
    """The same two outputs under weights e^{−αβ}, the paper's own mechanism: 1/(1 + e^α)."""
    return float(1.0 / (1.0 + np.exp(scale)))


def equally_far(scale: float) -> float:
    """The secret itself (cost 0) and two outputs at distance 1 (cost 1 each): 2/(2 + e^α)."""
    return float(2.0 / (2.0 + np.exp(scale)))


def second_derivative(g: Callable[[float], float], scale: float) -> float:
    """g'' by central differences."""
    return (g(scale + STEP) - 2 * g(scale) + g(scale - STEP)) / STEP**2


def inflection(g: Callable[[float], float], low: float, high: float) -> float:
    """Where g'' changes its sign, by bisection; the ends must differ in sign."""
    sign = np.sign(second_derivative(g, low))
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if np.sign(second_derivative(g, middle)) == sign else (low, middle)
    return (low + high) / 2


def non_convexity() -> dict[str, Any]:
    """g'' of all three examples, printed and numeric, and the inflection of the valid one."""
    grid = np.linspace(0.05, 4.0, 80)
    return {
        "claimed": dict(paper_text("nonconvexity_commented")["claims"]),
        "commented": {str(a): second_derivative(commented_example, a) for a in (0.1, 0.5)},
        "printed_formula": {str(a): printed_second_derivative(a) for a in (0.1, 0.5)},
        "mechanism_is_convex": bool(min(second_derivative(under_the_mechanism, a) for a in grid) > -1e-6),
        "equally_far": {str(a): second_derivative(equally_far, a) for a in (0.2, 1.5)},
        "inflection": inflection(equally_far, 0.2, 1.5),
        "ln_2": float(np.log(2)),
        "curve": [[float(a), equally_far(float(a))] for a in grid],
    }
