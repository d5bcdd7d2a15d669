"""Bounds at fixed n on the mean of independent values in [0, 1].

Hoeffding (JASA 1963); Maurer & Pontil, empirical Bernstein (COLT 2009); Hoeffding-Bentkus (Bates et al., JACM 2021).
Every bound is one-sided; the pair (lower, upper) at level a has joint error at most 2a.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds.binomial import binomial_below
from oddshift.bounds.checks import first_reach, unit_closed, unit_values


def hoeffding_upper(mean: float, n: int, alpha: float, sides: int = 1) -> float:
    """Return p̂ + √(ln(c/a) / 2n), c the number of sides, at most 1.

    **Guarantee**: below the true mean with probability at most `alpha` for n independent values fixed in advance
    (with `sides` = 2, the interval p̂ ± the same width misses it with probability at most `alpha`).

    >>> round(hoeffding_upper(0.08, 1000, 0.05, sides=2), 9)
    0.122946941
    """
    return min(1.0, unit_closed(mean, "mean") + _hoeffding_width(n, alpha, sides))


def hoeffding_lower(mean: float, n: int, alpha: float, sides: int = 1) -> float:
    """Return p̂ − √(ln(c/a) / 2n), at least 0.

    **Guarantee**: above the true mean with probability at most `alpha`, as for the upper bound.

    >>> hoeffding_lower(0.02, 100, 0.05)
    0.0
    """
    return max(0.0, unit_closed(mean, "mean") - _hoeffding_width(n, alpha, sides))


def hoeffding_pvalue(mean: float, n: int, delta: float) -> float:
    """Return exp(−2n(δ − p̂)²) when p̂ < δ, otherwise 1: the p-value of "the mean is δ or more".

    **Guarantee**: at most a with probability at most a, whenever the mean is δ or more.

    >>> round(hoeffding_pvalue(0.0, 100, 0.1), 6)
    0.135335
    """
    gap = unit_open(delta, "delta") - unit_closed(mean, "mean")
    return math.exp(-2 * whole(n, "n", 1) * max(gap, 0.0) ** 2)


def failure_exponent(n: int, delta: float, xi: float) -> float:
    """Return k = −log₁₀(2 exp(−2n(1−ξ)²δ²)) = (2n(1−ξ)²δ² − ln 2) / ln 10, for tables of the paper only.

    **Guarantee**: none for a δ chosen after seeing the rate ξδ, nor for values that are not independent.

    >>> round(failure_exponent(74434304, 0.0924, 1 / 1.05), 6)
    1251.377468
    """
    gap = (1 - unit_closed(xi, "xi")) * unit_open(delta, "delta")
    return (2 * whole(n, "n", 1) * gap**2 - math.log(2)) / math.log(10)


def hoeffding_bentkus_pvalue(mean: float, n: int, delta: float) -> float:
    """Return min(e^{−n·kl(z̄, δ)}, e·Pr[Bin(n, δ) ≤ ⌈n z̄⌉]), at most 1, for "the mean is δ or more".

    **Guarantee**: at most a with probability at most a, for independent values in [0, 1], n fixed in advance.

    >>> round(hoeffding_bentkus_pvalue(0.0315, 200, 0.08), 9)
    0.016916683
    """
    average, trials = unit_closed(mean, "mean"), whole(n, "n", 1)
    return _hoeffding_bentkus(average, trials, unit_open(delta, "delta"))


def hoeffding_bentkus_upper(mean: float, n: int, alpha: float) -> float:
    """Return the smallest δ whose Hoeffding-Bentkus p-value is at most a.

    **Guarantee**: below the true mean with probability at most `alpha`; the p-value falls as δ grows.

    >>> 0.06 < hoeffding_bentkus_upper(0.0315, 200, 0.05) < 0.08
    True
    """
    average, trials = unit_closed(mean, "mean"), whole(n, "n", 1)
    level = unit_open(alpha, "alpha") * (1 - 1e-9)
    if average >= 1.0:
        return 1.0
    return first_reach(lambda m: -_hoeffding_bentkus(average, trials, m), -level, average, 1.0)


def hoeffding_bentkus_lower(mean: float, n: int, alpha: float) -> float:
    """Return the lower bound by symmetry: 1 − hoeffding_bentkus_upper(1 − z̄, n, a).

    **Guarantee**: above the true mean with probability at most `alpha`.

    >>> hoeffding_bentkus_lower(0.0, 10, 0.05)
    0.0
    """
    return max(0.0, 1.0 - hoeffding_bentkus_upper(1.0 - unit_closed(mean, "mean"), n, alpha))


def maurer_pontil_upper(values: npt.ArrayLike, alpha: float) -> float:
    """Return z̄ + √(2V ln(2/a)/n) + 7 ln(2/a) / (3(n−1)), V the sample variance, at most 1.

    **Guarantee**: below the true mean with probability at most `alpha` for n ≥ 2 independent values, n fixed.

    >>> round(maurer_pontil_upper([0.0] * 100, 0.05), 6)
    0.086943
    """
    average, width = _maurer_pontil(values, alpha)
    return min(1.0, average + width)


def maurer_pontil_lower(values: npt.ArrayLike, alpha: float) -> float:
    """Return z̄ − √(2V ln(2/a)/n) − 7 ln(2/a) / (3(n−1)), at least 0.

    **Guarantee**: above the true mean with probability at most `alpha`.

    >>> maurer_pontil_lower([0.0] * 100, 0.05)
    0.0
    """
    average, width = _maurer_pontil(values, alpha)
    return max(0.0, average - width)


def maurer_pontil_pvalue(values: npt.ArrayLike, delta: float) -> float:
    """Return the smallest level at which the Maurer-Pontil upper bound is at most δ; 1 when there is none.

    **Guarantee**: at most a with probability at most a, whenever the mean is δ or more.

    >>> 0.02 < maurer_pontil_pvalue([0.0] * 100, 0.1) < 0.05
    True
    """
    array = unit_values(values)
    gap = unit_open(delta, "delta") - float(array.mean())
    if gap <= 0 or len(array) < 2:
        return 1.0
    # width(x) = x √(2V/n) + 7x² / (3(n−1)) with x = √ln(2/a): solve width(x) = gap
    slope, curve = math.sqrt(2 * float(array.var(ddof=1)) / len(array)), 7 / (3 * (len(array) - 1))
    x = (-slope + math.sqrt(slope**2 + 4 * curve * gap)) / (2 * curve)
    return min(1.0, 2 * math.exp(-(x**2)) * (1 + 1e-9))


def _maurer_pontil(values: npt.ArrayLike, alpha: float) -> tuple[float, float]:
    array = unit_values(values)
    n, log_term = len(array), math.log(2 / unit_open(alpha, "alpha"))
    if n < 2:
        raise InvalidInput(f"values has {n} entry, expected at least 2 for a sample variance")
    spread = math.sqrt(2 * float(np.var(array, ddof=1)) * log_term / n)
    return float(array.mean()), spread + 7 * log_term / (3 * (n - 1))


def _hoeffding_width(n: int, alpha: float, sides: int) -> float:
    return math.sqrt(math.log(whole(sides, "sides", 1, 2) / unit_open(alpha, "alpha")) / (2 * whole(n, "n", 1)))


def _hoeffding_bentkus(mean: float, n: int, delta: float) -> float:
    if mean >= delta:
        return 1.0
    if delta >= 1.0:
        return 0.0
    first = mean * math.log(mean / delta) if mean > 0 else 0.0
    divergence = first + (1 - mean) * math.log((1 - mean) / (1 - delta))
    bentkus = math.e * binomial_below(math.ceil(n * mean), n, delta)
    return min(1.0, math.exp(-n * max(divergence, 0.0)), bentkus)
