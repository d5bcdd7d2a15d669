"""Several questions, one error level: which of them may be answered yes.

Each rule takes p-values of "the bad case holds" and says which bad cases are rejected.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import unit_open, whole
from oddshift.bounds.checks import unit_values


def bonferroni(pvalues: npt.ArrayLike, alpha: float) -> tuple[bool, ...]:
    """Reject where p ≤ a / K.

    **Guarantee**: any wrong rejection among the K has probability at most `alpha`, under any dependence.

    >>> bonferroni([0.01, 0.03, 0.2], 0.05)
    (True, False, False)
    """
    p = unit_values(pvalues, "pvalues")
    return tuple((p <= unit_open(alpha, "alpha") / len(p)).tolist())


def holm(pvalues: npt.ArrayLike, alpha: float) -> tuple[bool, ...]:
    """Reject in increasing order of p while p₍ᵢ₎ ≤ a / (K − i + 1); never less than Bonferroni.

    **Guarantee**: any wrong rejection has probability at most `alpha`, under any dependence.

    >>> holm([0.01, 0.02, 0.2], 0.05)
    (True, True, False)
    """
    p, level = unit_values(pvalues, "pvalues"), unit_open(alpha, "alpha")
    order = np.argsort(p, kind="stable")
    passes = p[order] <= level / np.arange(len(p), 0, -1)
    rejected = np.zeros(len(p), dtype=bool)
    rejected[order] = np.logical_and.accumulate(passes)
    return tuple(rejected.tolist())


def fixed_sequence(pvalues: npt.ArrayLike, alpha: float) -> tuple[bool, ...]:
    """Reject in the given order, each at full a, up to the first p > a.

    **Guarantee**: any wrong rejection has probability at most `alpha`, if the order was frozen on other data.

    >>> fixed_sequence([0.01, 0.04, 0.2, 0.001], 0.05)
    (True, True, False, False)
    """
    passes = unit_values(pvalues, "pvalues") <= unit_open(alpha, "alpha")
    return tuple(np.logical_and.accumulate(passes).tolist())


def intersection_union(pvalues: npt.ArrayLike, alpha: float) -> bool:
    """Tell whether every p ≤ a: one joint yes, each part at full a.

    **Guarantee**: a wrong joint yes has probability at most `alpha`, under any dependence.

    >>> intersection_union([0.04, 0.03], 0.05), intersection_union([0.04, 0.06], 0.05)
    (True, False)
    """
    return bool((unit_values(pvalues, "pvalues") <= unit_open(alpha, "alpha")).all())


def spend(alpha: float, round_number: int) -> float:
    """Return the level a_r = 6a / (π² r²) of round r = 1, 2, …; the levels of all rounds sum to a.

    **Guarantee**: any wrong answer in any number of rounds has probability at most `alpha`.

    >>> round(spend(0.05, 1), 6), round(spend(0.05, 2), 6)
    (0.030396, 0.007599)
    """
    return 6 * unit_open(alpha, "alpha") / (math.pi * whole(round_number, "round_number", 1)) ** 2
