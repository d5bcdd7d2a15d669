"""Bounds at fixed n on the mean of independent values in [0, 1].

Hoeffding (JASA 1963); Maurer & Pontil, empirical Bernstein (COLT 2009); Hoeffding-Bentkus (Bates et al., JACM 2021).
Every bound is one-sided; the pair (lower, upper) at level a has joint error at most 2a.

Bounds on a probability from k successes in n independent 0/1 trials.

Clopper & Pearson (Biometrika 1934) at fixed n; Robbins' mixture (Ann. Math. Stat. 1970) at any stopping time.
Every bound is one-sided: the pair (lower, upper) at level a has joint error at most 2a.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds.checks import count, first_reach, unit_closed, unit_values

_OUT = 1e-12  # relative step outwards, above the error of the incomplete beta function's inverse


def clopper_pearson_upper(k: int, n: int, alpha: float) -> float:
    """Return the exact upper bound I⁻¹(1 − a; k+1, n−k) on a success probability.

    **Guarantee**: below the truth with probability at most `alpha`, for n fixed in advance and independent
    trials. Not valid under peeking, nor for clustered trials (one document, many pairs).

    >>> round(clopper_pearson_upper(0, 100, 0.05), 9)
    0.02951305
    """
    k, n = count(k, n)
    level = unit_open(alpha, "alpha")
    if k == n:
        return 1.0
    from scipy import special

    return min(1.0, float(special.betainccinv(k + 1, n - k, level)) * (1 + _OUT))


def clopper_pearson_lower(k: int, n: int, alpha: float) -> float:
    """Return the exact lower bound I⁻¹(a; k, n−k+1) on a success probability.

    **Guarantee**: above the truth with probability at most `alpha`, under the conditions of the upper bound.

    >>> round(clopper_pearson_lower(100, 100, 0.05), 9)
    0.97048695
    """
    k, n = count(k, n)
    level = unit_open(alpha, "alpha")
    if k == 0:
        return 0.0
    from scipy import special

    return max(0.0, float(special.betaincinv(k, n - k + 1, level)) * (1 - _OUT))


def clopper_pearson_pvalue(k: int, n: int, delta: float) -> float:
    """Return Pr[Bin(n, δ) ≤ k], the exact p-value of "the probability is δ or more".

    **Guarantee**: at most a with probability at most a, whenever the probability is δ or more.

    >>> round(clopper_pearson_pvalue(0, 299, 0.01), 6)
    0.049536
    """
    k, n = count(k, n)
    return binomial_below(k, n, unit_open(delta, "delta"))


def binomial_below(k: int, n: int, probability: float) -> float:
    """Pr[Bin(n, probability) ≤ k] for 0 ≤ probability ≤ 1 and any whole k.

    >>> binomial_below(1, 2, 0.5)
    0.75
    """
    if k >= n:
        return 1.0
    if k < 0:
        return 0.0
    from scipy import special

    return float(special.betaincc(k + 1, n - k, probability))


def robbins_log_e(k: int, n: int, m: float) -> float:
    """Return ln E(m), E = ∫₀^m t^k (1−t)^{n−k} dt / (m^{k+1} (1−m)^{n−k}), against "probability ≥ m".

    The uniform mixture over t < m of the likelihood ratio of t against m. Non-decreasing in m.

    **Guarantee**: if the probability is m or more, E reaches 1/a at any time with probability at most a.

    >>> round(robbins_log_e(0, 1, 0.5), 6) == round(math.log(1.5), 6)
    True
    """
    (k, n), m = count(k, n), unit_closed(m, "m")
    if m <= 0.0 or k == n:
        return -math.log(k + 1)
    if m >= 1.0:
        return math.inf
    from scipy import special

    mass = float(special.betainc(k + 1, n - k + 1, m))
    if mass == 0.0:  # only far below k/n, where E ≤ 1: no evidence
        return -math.inf
    density = (k + 1) * math.log(m) + (n - k) * math.log1p(-m)
    return math.log(mass) + float(special.betaln(k + 1, n - k + 1)) - density


def robbins_pvalue(k: int, n: int, delta: float) -> float:
    """Return min(1, 1/E(δ)), the p-value of "the probability is δ or more".

    **Guarantee**: at most a with probability at most a whenever the probability is δ or more, at any time.

    >>> robbins_pvalue(0, 100, 0.05) < 0.05
    True
    """
    return math.exp(min(0.0, 1e-9 - robbins_log_e(k, n, unit_open(delta, "delta"))))


def robbins_upper(k: int, n: int, alpha: float) -> float:
    """Return the upper bound inf{m : E(m) ≥ 1/a} of Robbins' mixture, valid at any stopping time.

    **Guarantee**: the chance that it is ever below the truth, however often one looks, is at most `alpha`.

    >>> clopper_pearson_upper(2, 100, 0.05) < robbins_upper(2, 100, 0.05) < 0.11
    True
    """
    k, n = count(k, n)
    threshold = -math.log(unit_open(alpha, "alpha"))
    return first_reach(lambda m: robbins_log_e(k, n, m) - 1e-9, threshold, 0.0, 1.0)


def robbins_lower(k: int, n: int, alpha: float) -> float:
    """Return the lower bound by symmetry: 1 − robbins_upper(n − k, n, a).

    **Guarantee**: the chance that it is ever above the truth is at most `alpha`.

    >>> robbins_lower(0, 50, 0.05)
    0.0
    """
    k, n = count(k, n)
    return max(0.0, 1.0 - robbins_upper(n - k, n, alpha))


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
