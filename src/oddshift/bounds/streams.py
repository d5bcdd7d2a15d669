"""Streams: evidence that grows as values arrive, and can be inspected at any time, saved, and continued.

A stream is a frozen value; `update` returns the next one. It speaks of one subject, named by a hash; when the
subject changes the stream starts again from E = 1, because evidence about one thing is none about another.

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
from oddshift.bounds.betting import BETS, log_wealths, tally
from oddshift.bounds.binomial import robbins_log_e, robbins_lower, robbins_upper
from oddshift.bounds.checks import unit_values


@dataclass(frozen=True)
class BettingStream:
    """Grid-mixture betting for and against "the mean is at most δ", over values in [0, 1].

    E_below = mean_j Π(1 + λ_j(δ − z_i)) is evidence that the mean is below δ, E_above = mean_j Π(1 + λ_j(z_i − δ))
    that it is above; `log_peak_*` is the largest ln E at any look so far, `log_wealths_*` are the logs of the products.

    **Guarantee**: whatever the stopping rule, `state(alpha)` is ever wrong with probability at most `alpha`
    (a mean exactly δ counts as certifiable), for independent values of one unchanged subject.

    >>> stream = BettingStream(delta=0.1, subject="model-1").update([0.0] * 59)
    >>> stream.n, stream.state(0.05)
    (59, 'certified')
    >>> stream.update([0.0], subject="model-2").n
    1
    """

    delta: float
    subject: str
    n: int = 0
    total: float = 0.0
    restarts: int = 0
    log_peak_below: float = 0.0
    log_peak_above: float = 0.0
    log_wealths_below: tuple[float, ...] = (0.0,) * len(BETS)
    log_wealths_above: tuple[float, ...] = (0.0,) * len(BETS)

    def __post_init__(self) -> None:
        """Refuse a δ outside (0, 1), a nameless subject, or stakes of another grid."""
        unit_open(self.delta, "delta")
        _check_subject(self.subject)
        for name in ("log_wealths_below", "log_wealths_above"):
            if len(getattr(self, name)) != len(BETS):
                raise InvalidInput(f"{name} has {len(getattr(self, name))} entries, expected {len(BETS)}")

    def update(self, values: npt.ArrayLike, subject: str | None = None) -> BettingStream:
        """The stream after a block of values; a changed `subject` starts it again first.

        The block is one look: E is compared with its peak at the end of it.
        """
        if subject is not None and subject != self.subject:
            fresh = BettingStream(self.delta, subject, restarts=self.restarts + 1)
            return fresh.update(values)
        array = unit_values(values)
        sample = tally(array)
        below = np.asarray(self.log_wealths_below) + log_wealths(sample, self.delta)
        above = np.asarray(self.log_wealths_above) + log_wealths(tally(1.0 - array), 1.0 - self.delta)
        return replace(
            self,
            n=self.n + len(array),
            total=self.total + float(array.sum()),
            log_peak_below=max(self.log_peak_below, _log_mean(below)),
            log_peak_above=max(self.log_peak_above, _log_mean(above)),
            log_wealths_below=tuple(below.tolist()),
            log_wealths_above=tuple(above.tolist()),
        )

    @property
    def log_e_below(self) -> float:
        """ln E now, the evidence that the mean is below δ."""
        return _log_mean(np.asarray(self.log_wealths_below))

    @property
    def log_e_above(self) -> float:
        """ln E now, the evidence that the mean is above δ."""
        return _log_mean(np.asarray(self.log_wealths_above))

    def state(self, alpha: float) -> str:
        """`certified` or `violated` once that evidence has reached 1/alpha at some look, else `undecided`."""
        return _state(self.log_peak_below, self.log_peak_above, alpha)


@dataclass(frozen=True)
class RobbinsStream:
    """Robbins' mixture over a stream of 0/1 values: k ones among n so far, and the tightest bounds seen.

    **Guarantee**: bounds at the stated `alpha` hold at all times together, each with probability 1 − alpha.

    >>> stream = RobbinsStream(alpha=0.05, subject="model-1").update([0, 0, 1] * 100)
    >>> stream.k, stream.n, round(stream.upper, 3)
    (100, 300, 0.421)
    """

    alpha: float
    subject: str
    k: int = 0
    n: int = 0
    restarts: int = 0
    lower: float = 0.0
    upper: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an alpha outside (0, 1) or a nameless subject."""
        unit_open(self.alpha, "alpha")
        _check_subject(self.subject)

    def update(self, values: npt.ArrayLike, subject: str | None = None) -> RobbinsStream:
        """The stream after a block of 0/1 values; a changed `subject` starts it again first."""
        if subject is not None and subject != self.subject:
            return RobbinsStream(self.alpha, subject, restarts=self.restarts + 1).update(values)
        array = unit_values(values)
        if not np.isin(array, (0.0, 1.0)).all():
            odd = float(array[~np.isin(array, (0.0, 1.0))][0])
            raise InvalidInput(f"values has {odd}, expected 0 or 1; BettingStream takes fractions")
        k, n = self.k + int(array.sum()), self.n + len(array)
        lower = max(self.lower, robbins_lower(k, n, self.alpha))
        upper = min(self.upper, robbins_upper(k, n, self.alpha))
        return replace(self, k=k, n=n, lower=lower, upper=upper)

    def log_e(self, delta: float) -> float:
        """ln E now, the evidence that the probability is below δ."""
        return robbins_log_e(self.k, self.n, unit_open(delta, "delta")) if self.n else 0.0

    def state(self, delta: float) -> str:
        """`certified` when the upper bound is at most δ, `violated` when the lower one is above, else `undecided`."""
        limit = unit_open(delta, "delta")
        return "certified" if self.upper <= limit else "violated" if self.lower > limit else "undecided"


def _state(log_below: float, log_above: float, alpha: float) -> str:
    needed = -math.log(unit_open(alpha, "alpha")) + 1e-9
    if log_below >= needed and log_below >= log_above:
        return "certified"
    return "violated" if log_above >= needed else "undecided"


def _log_mean(log_wealth: npt.NDArray[np.float64]) -> float:
    return float(log_sum(log_wealth)) - math.log(len(log_wealth))


def _check_subject(subject: str) -> None:
    if not isinstance(subject, str) or not subject:
        raise InvalidInput(f"subject={subject!r}, expected a name or hash of what the values speak of")


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
