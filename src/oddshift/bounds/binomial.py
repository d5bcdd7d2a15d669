"""Bounds on a probability from k successes in n independent 0/1 trials.

Clopper & Pearson (Biometrika 1934) at fixed n; Robbins' mixture (Ann. Math. Stat. 1970) at any stopping time.
Every bound is one-sided: the pair (lower, upper) at level a has joint error at most 2a.
"""

from __future__ import annotations

import math

from oddshift.base.arrays import unit_open
from oddshift.bounds.checks import count, first_reach, unit_closed

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
