"""Betting bounds on the mean of values in [0, 1]: a gambler who bets against "the mean is m or more".

Waudby-Smith & Ramdas, Estimating means of bounded random variables by betting (JRSS-B 2024). The wealth is a
martingale when the mean is m, so by Ville's inequality it reaches 1/a with probability at most a.

A stream: evidence that grows as values arrive, and can be inspected at any time, saved, and continued.

It is a frozen value; `update` returns the next one.

Conformal ranks: where each new value lies among all values before it; uniform as long as nothing has changed.

Vovk, Nouretdinov & Gammerman, Testing exchangeability on-line (ICML 2003).

Evidence that the mean of a stream moved at some unknown window; it may be looked at after every window.

A gambler puts a part of the wealth aside for each window at which the change may have begun, and bets from there on, so
that a long quiet time before a change costs little. Waudby-Smith & Ramdas (JRSS-B 2024) for the bets; Shiryaev (1963)
for the mixture over the beginnings.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum
from oddshift.bounds.checks import bracketed_reach, first_reach, unit_closed, unit_values

BETS = np.geomspace(0.005, 1.0, 20)
"""The stakes λ of the mixture, from 1/200 of the wealth to all of it."""
BETS.setflags(write=False)

_SLACK = 1e-9  # evidence asked for beyond ln(1/a): covers the rounding of a million summed logarithms
_GROUP = 16  # factors multiplied before a logarithm is taken
_COARSE = 1024  # cells into which very many distinct values are first gathered
_NEAR = 1e-7  # step over which the slope of ln E is taken
_MANY = 4096  # distinct values above which that pays
_SUMMED = 1_000_000  # zeros up to which the stakes of the plug-in bettor are added up one by one
_CELLS = 10_000  # cells of the integral that is used for more


@dataclass(frozen=True, eq=False)
class Tally:
    """Distinct values in [0, 1], sorted, and how often each came: all that an order-free bound needs."""

    values: FloatArray
    counts: IntArray

    @property
    def n(self) -> int:
        """How many values came."""
        return int(self.counts.sum())


def tally(values: npt.ArrayLike) -> Tally:
    """Count repeated values.

    >>> tally([0.5, 0, 0.5]).counts
    array([1, 2])
    """
    distinct, counts = np.unique(unit_values(values), return_counts=True)
    return Tally(distinct, counts.astype(np.int64))


def log_wealths(sample: Tally, m: float, bets: FloatArray = BETS) -> FloatArray:
    """ln Π_i (1 + λ_j (m − z_i)) for every stake λ_j.

    >>> np.exp(log_wealths(tally([0.0]), 0.5, np.array([1.0])))
    array([1.5])
    """
    gains = m - sample.values
    if len(gains) <= _MANY:
        return _log_powers(gains, sample.counts, bets)
    single = sample.counts == 1
    return _log_products(gains[single], bets) + _log_powers(gains[~single], sample.counts[~single], bets)


def betting_log_e(values: npt.ArrayLike, m: float) -> float:
    """Return ln E(m), E(m) = mean_j Π_i (1 + λ_j (m − z_i)): evidence against "the mean is m or more".

    **Guarantee**: if every value has conditional mean m or more given the earlier ones, E reaches 1/a at any
    time with probability at most a. E grows with m and does not depend on the order of the values.

    >>> betting_log_e([0.0] * 561, 0.01) >= math.log(20) > betting_log_e([0.0] * 560, 0.01)
    True
    """
    return _log_e(tally(values), unit_closed(m, "m"))


def betting_pvalue(values: npt.ArrayLike, delta: float) -> float:
    """Return min(1, 1/E(δ)), the p-value of "the mean is δ or more".

    **Guarantee**: at most a with probability at most a whenever the mean is δ or more, at any stopping time.

    >>> betting_pvalue([0.0] * 561, 0.01) <= 0.05 < betting_pvalue([0.0] * 560, 0.01)
    True
    """
    return math.exp(min(0.0, _SLACK - _log_e(tally(values), unit_open(delta, "delta"))))


def betting_upper(values: npt.ArrayLike, alpha: float) -> float:
    """Return inf{m : E(m) ≥ 1/a}, or 1 when no m is rejected: the default upper bound on a mean.

    **Guarantee**: the chance that it is ever below the mean is at most `alpha`, for independent values in
    [0, 1], at any stopping time. One-sided: with the lower bound at the same level the two err with at most 2a.

    >>> round(betting_upper([0.0] * 600 + [0.5] * 10, 0.05), 4)
    0.0201
    """
    return _upper(tally(values), unit_open(alpha, "alpha"))


def betting_lower(values: npt.ArrayLike, alpha: float) -> float:
    """Return 1 − betting_upper(1 − z, a).

    **Guarantee**: the chance that it is ever above the mean is at most `alpha`.

    >>> round(betting_lower([0.0] * 100 + [0.5] * 100, 0.05), 4)
    0.1954
    """
    return max(0.0, 1.0 - _upper(tally(1.0 - unit_values(values)), unit_open(alpha, "alpha")))


def betting_plugin_upper(values: npt.ArrayLike, alpha: float) -> float:
    """Return inf{m : max_t Π_{i≤t} … ≥ 1/a} with the stakes λ_t = min(1, √(2 ln(1/a) / (n σ̂²_{t−1}))).

    σ̂²_t = (¼ + Σ_{i≤t} (z_i − μ̂_i)²) / (t+1) and μ̂_t = (½ + Σ_{i≤t} z_i) / (t+1) use the past only.

    **Guarantee**: below the mean with probability at most `alpha` for independent values in the order they came.
    It depends on that order: sorting the values, or trying several orders, voids the guarantee.

    >>> betting_plugin_upper([0.0, 0.5, 0.0, 0.0] * 50, 0.05) < betting_upper([0.0, 0.5, 0.0, 0.0] * 50, 0.05)
    True
    """
    array, level = unit_values(values), unit_open(alpha, "alpha")
    stakes = plugin_bets(array, level)
    return first_reach(lambda m: _log_peak(array, stakes, m) - _SLACK, -math.log(level), 0.0, 1.0)


def betting_plugin_lower(values: npt.ArrayLike, alpha: float) -> float:
    """Return 1 − betting_plugin_upper(1 − z, a).

    **Guarantee**: above the mean with probability at most `alpha`; depends on the order, as the upper bound.

    >>> betting_plugin_lower([0.0] * 20, 0.05)
    0.0
    """
    return max(0.0, 1.0 - betting_plugin_upper(1.0 - unit_values(values), alpha))


def betting_plugin_pvalue(values: npt.ArrayLike, delta: float, alpha: float) -> float:
    """Return min(1, 1 / max_t Π_{i≤t} (1 + λ_t (δ − z_i))) with the stakes tuned for level `alpha`.

    **Guarantee**: at most a with probability at most a, for every a, whenever the mean is δ or more.

    >>> betting_plugin_pvalue([0.0] * 300, 0.05, 0.05) < 0.05
    True
    """
    array = unit_values(values)
    stakes = plugin_bets(array, unit_open(alpha, "alpha"))
    return math.exp(min(0.0, _SLACK - _log_peak(array, stakes, unit_open(delta, "delta"))))


def plugin_bets(values: FloatArray, alpha: float) -> FloatArray:
    """The predictable stakes λ_t of the plug-in bettor, each from the values before it."""
    n = len(values)
    rounds = np.arange(1, n + 1)
    means = (0.5 + np.cumsum(values)) / (rounds + 1)
    variances = (0.25 + np.cumsum((values - means) ** 2)) / (rounds + 1)
    earlier = np.concatenate(([0.25], variances[:-1]))
    return np.minimum(1.0, np.sqrt(2 * math.log(1 / alpha) / (n * earlier)))


def plugin_zeros_log_e(n: int, m: float, alpha: float) -> float:
    """ln Π_t (1 + λ_t m): what the plug-in bettor reaches on n values that are all 0.

    Above `_SUMMED` values the stakes below 1, which grow as √t, are added up by their integral.

    >>> zeros = np.zeros(100)
    >>> plugin_zeros_log_e(100, 0.1, 0.05) == float(np.log1p(0.1 * plugin_bets(zeros, 0.05)).sum())
    True
    """
    if n <= _SUMMED:
        return float(np.log1p(m * plugin_bets(np.zeros(n), alpha)).sum())
    rising = math.pi**2 / 24 / (2 * math.log(1 / alpha))  # share of values with λ_t < 1; n·σ̂²_n → ¼ Σ 1/i² = π²/24
    roots = np.sqrt((np.arange(_CELLS) + 0.5) / _CELLS)
    return n * (rising * float(np.log1p(m * roots).mean()) + max(0.0, 1.0 - rising) * math.log1p(m))


def _log_e(sample: Tally, m: float) -> float:
    return float(log_sum(log_wealths(sample, m))) - math.log(len(BETS))


def _upper(sample: Tally, alpha: float) -> float:
    threshold = -math.log(alpha) + _SLACK
    if len(sample.values) <= _MANY:
        return first_reach(lambda m: _log_e(sample, m), threshold, 0.0, 1.0)
    # a sample of cell means has almost the same E, so its cheap bound says where to look for the exact one
    coarse = _cell_means(sample)
    guess = first_reach(lambda m: _log_e(coarse, m), threshold, 0.0, 1.0)
    slope = (_log_e(coarse, guess + _NEAR) - _log_e(coarse, guess)) / _NEAR
    step = (threshold - _log_e(sample, guess)) / slope if slope > 0 else 0.0
    if not abs(step) < guess:
        step = 0.0
    width = max(1e-12 * guess, 1e-3 * abs(step))
    return bracketed_reach(lambda m: _log_e(sample, m), threshold, guess + step, width)


def _cell_means(sample: Tally) -> Tally:
    cells = np.minimum((sample.values * _COARSE).astype(np.int64), _COARSE - 1)
    counts = np.bincount(cells, weights=sample.counts)
    totals = np.bincount(cells, weights=sample.counts * sample.values)
    kept = np.flatnonzero(counts)
    return Tally(totals[kept] / counts[kept], counts[kept].astype(np.int64))


def _log_powers(gains: FloatArray, counts: IntArray, bets: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log1p(bets[:, None] * gains[None, :]) @ counts.astype(np.float64))


def _log_products(gains: FloatArray, bets: FloatArray) -> FloatArray:
    """Sums of ln(1 + λ·gain) with one logarithm for every _GROUP factors; a product that underflows errs safely."""
    whole = len(gains) - len(gains) % _GROUP
    groups = np.ascontiguousarray(gains[:whole].reshape(-1, _GROUP).T)
    rest = gains[whole:]
    totals = np.empty(len(bets))
    with np.errstate(divide="ignore", under="ignore"):
        for j, bet in enumerate(bets):
            factors = groups * bet
            factors += 1.0
            totals[j] = np.log(factors.prod(axis=0)).sum() + np.log1p(bet * rest).sum()
    return totals


def _log_peak(values: FloatArray, stakes: FloatArray, m: float) -> float:
    with np.errstate(divide="ignore"):
        return float(np.cumsum(np.log1p(stakes * (m - values))).max())


def conformal_ranks(values: npt.ArrayLike, earlier: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Return for each value, in order, the share of the values before it that are smaller; ties count at random.

    rank = (smaller + U·(equal + 1)) / (n + 1) among the n `earlier` values and the values before it.

    **Guarantee**: if all values are exchangeable, the ranks are independent and uniform on (0, 1), so their mean is
    1/2 given the past. This holds for any number of earlier values, and for values that are not bounded.

    >>> conformal_ranks([5.0, 0.0], [1.0, 2.0, 3.0], np.random.default_rng(0)).round(2)
    array([0.91, 0.05])
    """
    new, old = finite(values, "values", 1), np.sort(finite(earlier, "earlier", 1))
    smaller, equal = np.searchsorted(old, new, "left"), np.searchsorted(old, new, "right")
    counts = np.stack([smaller, equal - smaller], axis=1).astype(np.float64)
    here: list[float] = []
    for row, value in enumerate(new.tolist()):
        low = bisect_left(here, value)
        counts[row] += (low, bisect_right(here, value) - low)
        insort(here, value)
    places = rng.random(len(new)) * (counts[:, 1] + 1.0)
    return np.asarray((counts[:, 0] + places) / (len(old) + np.arange(1, len(new) + 1)))


STAKES = 20
"""Stakes of the mixture, on each side."""

_SMALLEST = 0.05  # stakes per unit of the value; the best one for a small change d of a mean is d / variance
_LARGEST = 0.8  # of the stake at which a single value can lose everything


@dataclass(frozen=True)
class ShiftStream:
    """Evidence against "the mean is at most `limit`", or, with `is_two_sided`, against "the mean is `limit`".

    E_k = Σ_{s≤k} w_s mean_j Π_{i in windows s..k} (1 + λ_j(z_i − limit)) + Σ_{s>k} w_s, where w_1 = 1/2 and
    w_s = 1/(2s(s−1)) is what is put aside for a change that begins at window s; Σ_{s>k} w_s = 1/(2k).
    `log_wealths` has the logs of Σ_{s≤k} w_s Π(...), one for each stake; `log_peak` is the largest ln E so far.

    **Guarantee**: if every value has that mean (or less) given the earlier ones, E ever reaches 1/a with probability
    at most a, however many windows come (Ville's inequality).

    >>> quiet = ShiftStream(0.1).update([0.0, 0.0, 1.0] + [0.0] * 17)
    >>> quiet.reaches(0.05), quiet.update([1.0, 0.0] * 10).reaches(0.05)
    (False, True)
    """

    limit: float
    is_two_sided: bool = False
    windows: int = 0
    log_peak: float = 0.0
    log_wealths: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a limit outside (0, 1), or stakes of another grid."""
        unit_open(self.limit, "limit")
        if self.log_wealths and len(self.log_wealths) != (1 + self.is_two_sided) * STAKES:
            raise InvalidInput(f"log_wealths has {len(self.log_wealths)} entries, expected {STAKES} for each side")

    def update(self, values: npt.ArrayLike) -> ShiftStream:
        """The stream after one more window of values in [0, 1]; a window without values changes nothing."""
        array = unit_values(values) if np.size(values) else np.empty(0)
        if not len(array):
            return self
        number = self.windows + 1
        aside = math.log(0.5) if number == 1 else -math.log(2.0 * number * (number - 1.0))
        gains = self._gains(array)
        before = np.asarray(self.log_wealths) if self.log_wealths else np.full(len(gains), -np.inf)
        after = np.logaddexp(before, aside) + gains
        made = replace(self, windows=number, log_wealths=tuple(after.tolist()))
        return replace(made, log_peak=max(self.log_peak, made.log_e))

    @property
    def log_e(self) -> float:
        """ln E now."""
        if not self.windows:
            return 0.0
        bets = float(log_sum(np.asarray(self.log_wealths))) - math.log(len(self.log_wealths))
        return float(np.logaddexp(bets, -math.log(2.0 * self.windows)))

    def reaches(self, alpha: float) -> bool:
        """Whether the evidence reached 1/alpha after some window."""
        return self.log_peak >= -math.log(unit_open(alpha, "alpha")) + _SLACK

    def _gains(self, array: FloatArray) -> FloatArray:
        """ln of the factor by which each stake grew in one window; above first, then below."""
        above = log_wealths(tally(1.0 - array), 1.0 - self.limit, _stakes(self.limit))
        if not self.is_two_sided:
            return above
        return np.concatenate([above, log_wealths(tally(array), self.limit, _stakes(1.0 - self.limit))])


def _stakes(most_lost: float) -> FloatArray:
    """Stakes λ of a bet that loses at most λ·most_lost of the wealth."""
    return np.geomspace(_SMALLEST, _LARGEST / most_lost, STAKES)
