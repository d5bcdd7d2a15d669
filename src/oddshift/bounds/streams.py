"""Streams: evidence that grows as values arrive, and can be inspected at any time, saved, and continued.

A stream is a frozen value; `update` returns the next one. It speaks of one subject, named by a hash; when the
subject changes the stream starts again from E = 1, because evidence about one thing is none about another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import unit_open
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
