"""A stream: evidence that grows as values arrive, and can be inspected at any time, saved, and continued.

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

from oddshift.base.arrays import FloatArray, finite, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum
from oddshift.bounds.betting import log_wealths, tally
from oddshift.bounds.checks import unit_values


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
_SLACK = 1e-9  # evidence asked for beyond ln(1/a): covers rounding


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
