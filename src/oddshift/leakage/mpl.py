"""The comparison with ε: when a pair, a mechanism or a bound exceeds the budget, everywhere in oddshift.

Definition 4 of the paper counts mPL > ε, strictly. A mechanism that spends exactly ε must not be counted for the last
bits of its logarithms, so an excess of at most ROUNDING is rounding: relative to ε·d, and absolute in nats. Nothing
larger is forgiven, and a bound from above is itself rounded up before it is compared.

Metric-normalised posterior leakage (mPL): the definition, the laws of pairs, and the violation rate.

Definition 2 of the paper: mPL(a, b, y) = |ln Pr[a|y]/Pr[b|y] − ln Pr[a]/Pr[b]| / d(a, b). Definition 4 (PBmPL) asks
how often it exceeds ε; how often depends on which pairs are drawn, so the law of pairs is always named.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args, overload

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, blocks, float_of, floats, one_of
from oddshift.base.errors import ImpossibleObservation, InvalidInput
from oddshift.mechanisms.epsilon import check_distances
from oddshift.model.space import Space

ROUNDING = 1e-12
"""Excess over ε·d (relative, and absolute in nats) that counts as rounding."""


@overload
def shift_limit(epsilon: float, distance: float) -> float: ...
@overload
def shift_limit(epsilon: float, distance: FloatArray) -> FloatArray: ...
def shift_limit(epsilon: float, distance: float | FloatArray) -> float | FloatArray:
    """The difference of two log odds beyond which a pair at this distance exceeds ε.

    >>> shift_limit(2.0, 0.5) > 1.0, shift_limit(2.0, 0.5) < 1.0 + 1e-11
    (True, True)
    """
    return epsilon * distance * (1.0 + ROUNDING) + ROUNDING


def exceeds(gap: FloatArray, distance: FloatArray | float, epsilon: float) -> BoolArray:
    """Which pairs exceed ε: `gap` is |Δ log odds|, `distance` that of each pair.

    >>> import numpy as np
    >>> exceeds(np.array([1.0, 1.0 + 1e-9]), 0.5, 2.0)
    array([False,  True])
    """
    beyond: BoolArray = gap > shift_limit(epsilon, distance)
    return beyond


def exceeds_budget(leakage: float, epsilon: float, nearest: float = 1.0) -> bool:
    """Whether a largest leakage (of a mechanism, an attacker or a bound) exceeds ε.

    `nearest` is the smallest distance that the leakage may be divided by: rounding in nats grows by 1/nearest.

    >>> exceeds_budget(1.0, 1.0), exceeds_budget(1.0 + 1e-9, 1.0), exceeds_budget(1.0 + 1e-9, 1.0, nearest=1e-4)
    (False, True, False)
    """
    return leakage * nearest > shift_limit(epsilon, nearest)


def nearest_distance(space: Space) -> float:
    """The smallest distance between two points of a space; infinite for a single point."""
    everyone, smallest = np.arange(len(space)), np.inf
    for part in blocks(len(space), len(space)):
        distance = space.between(everyone[part])
        distance[np.arange(len(distance)), everyone[part]] = np.inf
        smallest = min(smallest, float(distance.min()))
    return smallest


PairLaw = Literal["uniform", "anchored", "worst"]
"""`uniform`: two distinct candidates; `anchored`: the truth and another; `worst`: does any pair exceed ε."""

PAIR_LAWS: tuple[str, ...] = get_args(PairLaw)


def mpl(log_prior: npt.ArrayLike, log_posterior: npt.ArrayLike, distances: npt.ArrayLike) -> FloatArray:
    """Return the shift of the log odds per unit of distance for every pair of points: (n, n), 0 on the diagonal.

    A value that the observation excludes is infinitely far from one that it allows; two excluded values do
    not differ. Distinct points at distance 0 are refused.

    >>> mpl(np.log([0.5, 0.5]), np.log([0.72, 0.28]), [[0, 1], [1, 0]]).round(4)
    array([[0.    , 0.9445],
           [0.9445, 0.    ]])
    """
    before, after = floats(log_prior, "log_prior", 1), floats(log_posterior, "log_posterior", 1)
    if before.shape != after.shape:
        raise InvalidInput(
            f"log_prior has {len(before)} values and log_posterior {len(after)}, expected as many values"
        )
    if not np.isfinite(before).all():
        bad = int(np.argmin(np.isfinite(before)))
        raise InvalidInput(f"log_prior has {before[bad]} for value {bad}, expected a prior probability > 0")
    if after.max() == np.inf:
        raise InvalidInput(f"log_posterior has inf for value {int(np.argmax(after))}, expected a log probability")
    if after.max() == -np.inf:
        raise ImpossibleObservation("log_posterior is -inf for every value, expected an observation that can occur")
    spaced = separated(check_distances(distances, len(before)))
    shift = after - before
    with np.errstate(invalid="ignore"):
        gap = np.abs(shift[:, None] - shift[None, :])
    return np.nan_to_num(gap, nan=0.0, posinf=np.inf) / spaced


def violation_rate(
    log_joint: FloatArray, log_prior: FloatArray, distances: FloatArray, epsilon: float, pairs: str = "uniform"
) -> float:
    """Pr[mPL > ε] exactly, for log Pr[x, y] (n values, m observations), y from its true law.

    `uniform` averages over unordered pairs of distinct values; `anchored` takes the truth and a uniform other
    value; `worst` asks whether any pair exceeds ε. Strictly more than ε, rounding apart.
    """
    one_of(pairs, "pairs", PAIR_LAWS)
    budget = _budget(epsilon)
    n = len(log_joint)
    if n < 2:
        return 0.0
    shift = np.maximum(log_joint - log_prior[:, None], -1e300)
    weight = np.exp(log_joint)
    total, any_pair = 0.0, np.zeros(log_joint.shape[1], dtype=bool)
    for a, b in _unordered(n):
        beyond = exceeds(np.abs(shift[a] - shift[b]), float(distances[a, b]), budget)
        any_pair |= beyond
        if pairs == "uniform":
            total += float(weight[:, beyond].sum())
        elif pairs == "anchored":
            total += float(weight[a, beyond].sum() + weight[b, beyond].sum())
    count = {"uniform": n * (n - 1) / 2, "anchored": n - 1}
    rate = float(weight[:, any_pair].sum()) if pairs == "worst" else total / count[pairs]
    return min(rate, 1.0)  # the sum of all weights is 1 only up to rounding


def separated(distances: FloatArray) -> FloatArray:
    """Distances with an infinite diagonal, so that a value has leakage 0 to itself; zeros elsewhere are refused."""
    spaced = distances + np.diag(np.full(len(distances), np.inf))
    if (spaced == 0).any():
        a, b = (int(i) for i in np.argwhere(spaced == 0)[0])
        raise InvalidInput(f"points {a} and {b} are at distance 0, expected distinct points to be apart")
    return spaced


def _unordered(n: int) -> Iterator[tuple[int, int]]:
    return ((a, b) for a in range(n) for b in range(a + 1, n))


def _budget(epsilon: float) -> float:
    if not 0.0 <= float_of(epsilon, "epsilon") < np.inf:
        raise InvalidInput(f"{epsilon=}, expected a finite number >= 0")
    return float(epsilon)
