"""Arguments and results of a bound: values in [0, 1], counts k ≤ n, error levels, and a lower bound below the upper.

Where an increasing function first reaches a level: bisection that returns the end on the safe side.

Clusters: many trials that share one document are worth fewer independent trials than they count.

Kish (1965): the design effect is the variance of the pooled rate over the variance independent trials would give.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, finite, float_of, floats, whole
from oddshift.base.errors import InvalidInput, NoGuarantee


def unit_values(values: npt.ArrayLike, name: str = "values") -> FloatArray:
    """One axis of at least one number in [0, 1].

    >>> unit_values([0, 0.5])
    array([0. , 0.5])
    """
    array = floats(values, name, 1)
    outside = (array < 0.0) | (array > 1.0)
    if outside.any():
        where = int(np.argmax(outside))
        raise InvalidInput(f"{name}[{where}] = {float(array[where])}, expected numbers in [0, 1]")
    return array


def unit_closed(value: float, name: str) -> float:
    """A float in [0, 1]."""
    if not 0.0 <= float_of(value, name) <= 1.0:
        raise InvalidInput(f"{name}={value!r}, expected 0 <= {name} <= 1")
    return float(value)


def count(k: int, n: int, names: tuple[str, str] = ("k", "n")) -> tuple[int, int]:
    """Successes k of n trials, n ≥ 1 and 0 ≤ k ≤ n.

    >>> count(5, 3)
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: k=5, expected a whole number in [0, 3]
    """
    trials = whole(n, names[1], 1)
    return whole(k, names[0], 0, trials), trials


def error_level(alpha: float, name: str = "alpha") -> float:
    """The level at which a certificate may err: above 0 and below one half, where a bound says anything.

    >>> error_level(0.5)
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: alpha=0.5, expected 0 < alpha < 0.5
    """
    if not 0.0 < float_of(alpha, name) < 0.5:
        raise InvalidInput(f"{name}={alpha!r}, expected 0 < {name} < 0.5")
    return float(alpha)


def bracket(lower: float, upper: float) -> tuple[float, float]:
    """Both bounds, refused where the lower exceeds the upper: then one of them is wrong, and it is unknown which.

    >>> bracket(0.1, 0.2)
    (0.1, 0.2)
    """
    if lower > upper:
        raise NoGuarantee(
            f"the lower bound {lower:.6g} lies above the upper bound {upper:.6g}, expected the reverse: a method that "
            "depends on the order of documents met an order that was not random"
        )
    return lower, upper


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


@dataclass(frozen=True)
class Clustering:
    """How much clustering costs: `effective_n` = `trials` / `design_effect`."""

    clusters: int
    trials: int
    rate: float
    design_effect: float

    @property
    def effective_n(self) -> float:
        """Independent trials that would know the rate as well."""
        return self.trials / self.design_effect


def design_effect(violations: npt.ArrayLike, trials: npt.ArrayLike) -> Clustering:
    """Return the design effect of the pooled rate p̂ = Σv / Σt, from the violations v and trials t of each cluster.

    deff = [n/(n−1) Σ (v_i − p̂ t_i)² / (Σt)²] / [p̂(1−p̂) / Σt] (linearised ratio estimator). When p̂ is 0 or 1, or n
    is 1, the spread cannot be seen and the worst case Σt²/Σt (all trials of a cluster alike) is reported.

    **Guarantee**: a description of the sample, not a bound; certificates never divide by it.

    >>> design_effect([10, 0, 10, 0], [10, 10, 10, 10]).design_effect
    13.33...
    >>> design_effect([0, 0], [5, 5]).effective_n
    2.0
    """
    v, t = finite(violations, "violations", 1), finite(trials, "trials", 1)
    _check(v, t)
    n, total = len(t), float(t.sum())
    rate = float(v.sum()) / total
    if n == 1 or rate in (0.0, 1.0):
        return Clustering(n, int(total), rate, float((t**2).sum()) / total)
    spread = n / (n - 1) * float(((v - rate * t) ** 2).sum()) / total**2
    independent = rate * (1 - rate) / total
    return Clustering(n, int(total), rate, max(spread / independent, 1.0 / total))


def _check(violations: FloatArray, trials: FloatArray) -> None:
    if violations.shape != trials.shape:
        raise InvalidInput(f"violations has {len(violations)} entries, trials {len(trials)}, expected equally many")
    for name, array in (("violations", violations), ("trials", trials)):
        if (array != np.round(array)).any():
            raise InvalidInput(f"{name} has {float(array[array != np.round(array)][0])}, expected whole numbers")
    if (trials < 1).any():
        raise InvalidInput(f"trials has {int(trials.min())}, expected at least 1 in every cluster")
    bad = (violations < 0) | (violations > trials)
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidInput(f"violations[{i}] = {int(violations[i])}, expected a number in [0, {int(trials[i])}]")
