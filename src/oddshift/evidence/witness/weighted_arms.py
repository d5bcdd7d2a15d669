"""Weighted arms: what importance draws say about an event that is too rare to be counted.

A draw Y from a law q(·|x) that favours rare outputs has the weight w = dM/dq, and E_q[w·1{Y ∈ E}] = Pr[M(x) ∈ E].
Each arm is stored as whole numbers: how many draws missed the event, and how many fell into it at each level of weight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, finite, indices, positive, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting_lower, betting_upper

STEP = 1 / 32
"""Width of a level in ln weight: level k holds the weights near e^{−k·STEP} of the largest one."""

LEVELS = 512
"""Number of levels. Weights below e^{−16} of the largest count as nothing given a, and as the last level given b."""

MOST_DRAWS = 10_000_000
"""Largest number of importance draws in an arm."""

_NUDGE = 1e-9  # share of a level by which rounding goes beyond the error of the arithmetic


def levels_below(log_shares: FloatArray) -> IntArray:
    """How many draws missed (first) and how many have each level, with weights rounded down; shares above 1 become 1.

    >>> levels_below(np.array([0.0, 0.3, -0.05, -99.0]))[:5].tolist()
    [1, 2, 0, 1, 0]
    """
    level = np.ceil(np.maximum(-log_shares, 0.0) / STEP + _NUDGE * (log_shares < 0)).astype(np.int64)
    return np.bincount(np.where(level < LEVELS, level + 1, 0), minlength=LEVELS + 1)


def levels_above(log_shares: FloatArray) -> IntArray:
    """The same with weights rounded up, for shares of at most 1.

    >>> levels_above(np.array([0.0, -0.05, -99.0]))[[0, 1, 2, -1]].tolist()
    [0, 1, 1, 1]
    """
    level = np.floor(np.maximum(-log_shares / STEP - _NUDGE, 0.0)).astype(np.int64)
    return np.bincount(np.minimum(level, LEVELS - 1) + 1, minlength=LEVELS + 1)


def weighted_arms(counts: Sequence[int], log_scales: Sequence[float], distance: float, alpha: float) -> float:
    """Return the lower bound max(0, ln(s_a·L(z_a, α/2) / (s_b·U(z_b, α/2))) / d) on sup mPL; L, U are betting bounds.

    `counts` has two equal halves, given a and given b: draws that missed the event, then draws at levels 0, 1, …; a
    draw at level k has z = e^{−k·STEP}, one that missed has z = 0. `log_scales` = (ln s_a, ln s_b).

    **Guarantee**: above sup mPL with probability at most `alpha`, for independent draws, right weights, event and
    scales fixed beforehand, and weights on the event given b that never exceed s_b. *Proof.* Given a, s_a·z_a ≤
    min(w, s_a)·1_E ≤ w·1_E, so the mean of s_a·z_a is at most Pr[M(a) ∈ E]: clipping and rounding down only lower it,
    and nothing need be known of the largest weight. Given b, w·1_E ≤ s_b·z_b with z_b in [0, 1], so the mean of s_b·z_b
    is at least Pr[M(b) ∈ E]. All z lie in [0, 1], so each betting bound errs with probability at most α/2; unless one
    does, s_a·L/(s_b·U) ≤ Pr[M(a) ∈ E]/Pr[M(b) ∈ E] ≤ e^{d·sup mPL}. The bound s_b cannot be done without: a weight that
    was never drawn may carry all of Pr[M(b) ∈ E].

    >>> round(weighted_arms([500, 500, 900, 100], (math.log(1e-6), math.log(1e-8)), 2.0, 0.05), 3)
    2.902
    """
    arms = checked_counts(counts)
    scales = finite(log_scales, "log_scales", 1)
    if len(scales) != 2:
        raise InvalidInput(f"log_scales has {len(scales)} entries, expected 2: given a and given b")
    gap, half = positive(distance, "distance"), unit_open(alpha, "alpha") / 2
    values = np.append(0.0, np.exp(-STEP * np.arange(arms.shape[1] - 1)))
    low = betting_lower(np.repeat(values, arms[0]), half)
    high = betting_upper(np.repeat(values, arms[1]), half)
    return max(0.0, float(scales[0] + math.log(low) - scales[1] - math.log(high)) / gap) if low > 0 else 0.0


def checked_counts(counts: Sequence[int]) -> IntArray:
    """The counts given a and given b, as two rows, refused where no draws could have given them.

    >>> checked_counts([5, 1, 6, 0])
    array([[5, 1],
           [6, 0]])
    """
    if len(counts) < 4 or len(counts) % 2 or len(counts) > 2 * (LEVELS + 1):
        raise InvalidInput(f"{len(counts)} counts, expected two equal halves of 2 to {LEVELS + 1}")
    arms = indices(counts, "counts", MOST_DRAWS + 1).reshape(2, -1)
    for total in arms.sum(axis=1).tolist():
        if not 0 < total <= MOST_DRAWS:
            raise InvalidInput(f"{total} draws in an arm, expected 1 to {MOST_DRAWS}")
    return arms
