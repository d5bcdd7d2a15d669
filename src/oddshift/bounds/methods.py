"""Methods: the named ways to bound a mean, each with an upper bound, a lower bound and a p-value.

Adding one is one line of `METHODS`.

Several questions over time share one error level by `spend`.

Planners: how many independent values a method needs before it can say yes.

A plan speaks of the method it was made for: what is enough for one is not enough for another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, float_of, one_of, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum
from oddshift.bounds import betting, means
from oddshift.bounds.betting import BETS, plugin_zeros_log_e
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
        _of_count(means.clopper_pearson_upper),
        _of_count(means.clopper_pearson_lower),
        lambda values, delta, _: means.clopper_pearson_pvalue(ones(values), len(values), delta),
    ),
    "robbins": Method(
        _of_count(means.robbins_upper),
        _of_count(means.robbins_lower),
        lambda values, delta, _: means.robbins_pvalue(ones(values), len(values), delta),
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


PLAN_LIMIT = 5_000_000
"""Largest n that a planner searches."""

NUMBER_LIMIT = 10**15
"""Largest n that is given as an answer where a formula needs no search."""

_BY_FORMULA = ("betting", "betting_plugin", "clopper_pearson")  # methods whose answer to zeros needs no values

_BLOCK = 16_384  # values of n examined at once


def zero_failures(delta: float, alpha: float, method: str = "betting") -> int:
    """Return the fewest values, all of them 0, that certify "mean ≤ δ".

    ⌈ln a / ln(1−δ)⌉ for Clopper-Pearson, the smallest n with mean_j (1 + λ_j δ)ⁿ ≥ 1/a for betting, by search else.

    **Guarantee**: exact, except that the plug-in bettor's answers above a million values are rounded by less than one
    in 100,000; with fewer values, all of them 0, the method does not certify δ.

    >>> zero_failures(0.01, 0.05, "clopper_pearson"), zero_failures(0.01, 0.05), zero_failures(0.1, 0.05)
    (299, 561, 59)
    >>> zero_failures(0.01, 0.05, "betting_plugin")
    308
    """
    limit, level = unit_open(delta, "delta"), unit_open(alpha, "alpha")
    one_of(method, "method", list(METHODS))
    high = 1
    while not _passes_zeros(high, limit, level, method):
        high *= 2
        most = NUMBER_LIMIT if method in _BY_FORMULA else PLAN_LIMIT
        if high > most:
            raise InvalidInput(f"{delta=} and {alpha=} need more than {most} values, expected a larger delta")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _passes_zeros(middle, limit, level, method) else (middle, high)
    return high


def plan_clopper_pearson(delta: float, p: float, alpha: float, power: float, stable: bool = False) -> int:
    """Return the smallest n at which Clopper-Pearson certifies δ with at least `power` when the true rate is p.

    Power is exact: Pr[Bin(n, p) ≤ k*], k* the largest k with Pr[Bin(n, δ) ≤ k] ≤ a. It is a saw-tooth in n; with
    `stable` the answer is the smallest n beyond which the power never falls below it again.

    **Guarantee**: exact for independent 0/1 values; the last n searched is one beyond which Chernoff's bound
    proves the power.

    >>> plan_clopper_pearson(0.1, 0.05, 0.05, 0.9), plan_clopper_pearson(0.1, 0.05, 0.05, 0.9, stable=True)
    (239, 263)
    """
    limit, rate = unit_open(delta, "delta"), float_of(p, "p")
    level, wanted = unit_open(alpha, "alpha"), unit_open(power, "power")
    if not 0.0 <= rate < limit:
        raise InvalidInput(f"{p=}, expected 0 <= p < delta={delta}")
    last = _certain_from(limit, rate, level, wanted)
    if last > PLAN_LIMIT:
        raise InvalidInput(f"p={p} and delta={delta} need up to {last} values, expected at most {PLAN_LIMIT}")
    answer = 1
    for start in range(1, last + 1, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, last + 1))
        enough = _clopper_pearson_power(numbers, limit, rate, level) >= wanted
        if not stable and enough.any():
            return int(numbers[int(np.argmax(enough))])
        short = numbers[~enough]
        answer = int(short[-1]) + 1 if len(short) else answer
    return answer


def _passes_zeros(n: int, delta: float, alpha: float, method: str) -> bool:
    if method == "clopper_pearson":
        return n * math.log1p(-delta) <= math.log(alpha)
    if method == "betting":
        wealth = n * np.log1p(BETS * delta)
        return float(log_sum(wealth)) - math.log(len(BETS)) >= -math.log(alpha) + 1e-9
    if method == "betting_plugin":
        return plugin_zeros_log_e(n, delta, alpha) >= -math.log(alpha) + 1e-9
    if method == "maurer_pontil" and n < 2:
        return False
    return METHODS[method].upper(np.zeros(n), alpha) <= delta


def _certain_from(delta: float, rate: float, alpha: float, power: float) -> int:
    """An n beyond which Chernoff's bound proves the power: a threshold t between rate and δ serves both errors."""
    shares = np.linspace(0.02, 0.98, 97)
    t = rate + (delta - rate) * shares
    needed = np.maximum(-math.log(alpha) / _kl(t, delta), -math.log1p(-power) / _kl(t, rate))
    return math.ceil(float(needed.min()))


def _kl(t: FloatArray, q: float) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(t * (np.log(t) - np.log(q)) + (1 - t) * (np.log1p(-t) - np.log1p(-q)))


def _clopper_pearson_power(n: IntArray, delta: float, rate: float, alpha: float) -> FloatArray:
    k = _largest_passing(n, delta, alpha)
    if rate == 0.0:
        return (k >= 0).astype(np.float64)
    return np.where(k >= 0, _below(np.maximum(k, 0), n, rate), 0.0)


def _largest_passing(n: IntArray, delta: float, alpha: float) -> IntArray:
    """Largest k with Pr[Bin(n, δ) ≤ k] ≤ a for every n; −1 when there is none."""
    from scipy import special

    z, spread = float(special.ndtri(alpha)), np.sqrt(n * delta * (1 - delta))
    start = np.floor(n * delta + z * spread + (z * z - 1) * (1 - 2 * delta) / 6 - 0.5)
    k = np.clip(start, -1, n - 1).astype(np.int64)  # nearly right; then exact, one step at a time
    active = np.arange(len(n))
    while len(active):  # down to a passing k
        active = active[(k[active] >= 0) & (_below(k[active], n[active], delta) > alpha)]
        k[active] -= 1
    active = np.arange(len(n))
    while len(active):  # up while the next one passes too
        active = active[_below(k[active] + 1, n[active], delta) <= alpha]
        k[active] += 1
    return k


def _below(k: IntArray, n: IntArray, probability: float) -> FloatArray:
    from scipy import special

    inside = (k >= 0) & (k < n)
    tail = special.betaincc(np.where(inside, k, 0) + 1.0, np.where(inside, n - k, 1.0), probability)
    return np.where(inside, tail, k >= n)
