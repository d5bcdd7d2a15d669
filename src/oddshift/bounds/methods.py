"""Methods: the named ways to bound a mean, each with an upper bound, a lower bound and a p-value.

Adding one is one line of `METHODS`.

Several questions over time share one error level by `spend`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting, binomial, means
from oddshift.bounds.checks import bracket, unit_values

Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Method:
    """One-sided bounds of a mean from independent values in [0, 1], and the p-value of "the mean is δ or more".

    `anytime` says that it holds at any stopping time, `ordered` that it depends on the order of the values.
    `pvalue` takes (values, delta, alpha); only the plug-in bettor uses alpha, to tune its stakes.
    """

    upper: Callable[[Values, float], float]
    lower: Callable[[Values, float], float]
    pvalue: Callable[[Values, float, float], float]
    anytime: bool = False
    ordered: bool = False


def _of_mean(bound: Callable[[float, int, float], float]) -> Callable[[Values, float], float]:
    return lambda values, alpha: bound(float(np.mean(values)), len(values), alpha)


def _of_count(bound: Callable[[int, int, float], float]) -> Callable[[Values, float], float]:
    return lambda values, alpha: bound(ones(values), len(values), alpha)


def ones(values: npt.ArrayLike) -> int:
    """Number of ones among 0/1 values; a fraction is refused.

    >>> ones([0, 1, 1])
    2
    """
    array = unit_values(values)
    fractions = (array != 0.0) & (array != 1.0)
    if fractions.any():
        where = int(np.argmax(fractions))
        raise InvalidInput(
            f"values[{where}] = {float(array[where])}, expected 0 or 1; use method 'betting' for fractions"
        )
    return int(array.sum())


METHODS: dict[str, Method] = {
    "betting": Method(
        betting.betting_upper,
        betting.betting_lower,
        lambda values, delta, _: betting.betting_pvalue(values, delta),
        anytime=True,
    ),
    "betting_plugin": Method(
        betting.betting_plugin_upper, betting.betting_plugin_lower, betting.betting_plugin_pvalue, ordered=True
    ),
    "hoeffding_bentkus": Method(
        _of_mean(means.hoeffding_bentkus_upper),
        _of_mean(means.hoeffding_bentkus_lower),
        lambda values, delta, _: means.hoeffding_bentkus_pvalue(float(np.mean(values)), len(values), delta),
    ),
    "clopper_pearson": Method(
        _of_count(binomial.clopper_pearson_upper),
        _of_count(binomial.clopper_pearson_lower),
        lambda values, delta, _: binomial.clopper_pearson_pvalue(ones(values), len(values), delta),
    ),
    "robbins": Method(
        _of_count(binomial.robbins_upper),
        _of_count(binomial.robbins_lower),
        lambda values, delta, _: binomial.robbins_pvalue(ones(values), len(values), delta),
        anytime=True,
    ),
    "hoeffding": Method(
        _of_mean(means.hoeffding_upper),
        _of_mean(means.hoeffding_lower),
        lambda values, delta, _: means.hoeffding_pvalue(float(np.mean(values)), len(values), delta),
    ),
    "maurer_pontil": Method(
        means.maurer_pontil_upper,
        means.maurer_pontil_lower,
        lambda values, delta, _: means.maurer_pontil_pvalue(values, delta),
    ),
}
"""Every method by name; `betting` is the default of a certificate."""

ONE_SHOT = "betting_plugin"
"""The default of an audit and of an adaptation, which fix the number of documents and draw their order themselves."""

STATES = ("certified", "violated", "undecided")
"""What may be said of "the mean is at most δ"; undecided is never a pass."""


def decision(lower: float, upper: float, delta: float | None) -> str:
    """Say `certified` (upper ≤ δ), `violated` (lower > δ) or `undecided`; always `undecided` without a δ.

    **Guarantee**: with bounds that are each wrong with probability at most a, the decision is wrong with
    probability at most a: whatever the truth, only one of the two answers can be wrong.

    >>> decision(0.0, 0.04, 0.05), decision(0.06, 0.2, 0.05), decision(0.0, 0.2, 0.05), decision(0.0, 0.0, None)
    ('certified', 'violated', 'undecided', 'undecided')
    """
    if delta is None:
        return "undecided"
    limit = unit_open(delta, "delta")
    bracket(lower, upper)
    return "certified" if upper <= limit else "violated" if lower > limit else "undecided"


def spend(alpha: float, round_number: int) -> float:
    """Return the level a_r = 6a / (π² r²) of round r = 1, 2, …; the levels of all rounds sum to a.

    **Guarantee**: any wrong answer in any number of rounds has probability at most `alpha`.

    >>> round(spend(0.05, 1), 6), round(spend(0.05, 2), 6)
    (0.030396, 0.007599)
    """
    return 6 * unit_open(alpha, "alpha") / (math.pi * whole(round_number, "round_number", 1)) ** 2
