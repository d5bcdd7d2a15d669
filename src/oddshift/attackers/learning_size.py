"""Learning by size: what an attacker finds when it is fitted on a quarter, a half and all of the fit documents.

A rate that still grows with the documents is a rate of this attacker, not of the data. If doubling the documents
multiplies the rate once more by rate(n)/rate(n/2), it reaches rate(n)²/rate(n/2): beyond δ, it is not saturated. One
doubling is a noisy measure, so the mean growth over two of them, √(rate(n)/rate(n/4)), counts where it is larger. Nor
is it saturated where half of the documents were enough to find more than δ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.paired_log_score import choosing_clusters

SHARES = (0.25, 0.5)
"""Shares of the fit documents that an attacker is fitted on again."""


@dataclass(frozen=True, eq=False, repr=False)
class Refittable:
    """A fitted attacker and how it was fitted, so that it can be fitted on fewer documents too."""

    attacker: Attacker
    fit: Callable[[Knowledge], Attacker]


@dataclass(frozen=True)
class SizeStep:
    """An attacker fitted on a number of documents: its joint gain in nats, and its rate in every tier.

    `units` are those that each rate is a mean over: less than half a violation in one of them is not told from none.
    """

    documents: int
    gain: float
    rates: tuple[float, ...]
    units: tuple[int, ...] = ()


@dataclass(frozen=True)
class LearningOfSize:
    """One attacker at growing sizes, the full fit last; `tiers` names the tiers of the rates.

    >>> grows = LearningOfSize("counts", ("all",), (SizeStep(50, 0.1, (0.01,)), SizeStep(100, 0.2, (0.02,))))
    >>> grows.expected_rates, grows.is_saturated(0.03), grows.is_saturated(0.05)
    ((0.04,), False, True)
    """

    attacker: str
    tiers: tuple[str, ...]
    steps: tuple[SizeStep, ...]

    @property
    def expected_rates(self) -> tuple[float, ...]:
        """rate(n) times its growth by a doubling in every tier, rate(n/2) where that was larger than rate(n).

        0 where nothing was ever found; where nothing was found before, the growth from half a violation in one unit,
        and infinite where their number is unknown. An attacker that finds less with more
        documents has not settled, and what it found with fewer ones is as good an estimate.
        """
        units = self.steps[-1].units or (0,) * len(self.tiers)
        by_tier = zip(units, *(step.rates for step in self.steps), strict=True)
        return tuple(_extrapolated(0.5 / count if count else 0.0, *rates) for count, *rates in by_tier)

    @property
    def growth(self) -> float:
        """The largest factor from the rates that were found to the expected ones; 1 where nothing was found."""
        pairs = zip(self.expected_rates, self.steps[-1].rates, strict=True)
        return max((expected / now if now else 1.0 for expected, now in pairs), default=1.0)

    def is_saturated(self, delta: float) -> bool:
        """Whether the rates of twice as many documents would stay within δ, as far as these sizes tell."""
        return all(rate <= delta for rate in self.expected_rates)

    @property
    def sentence(self) -> str:
        """The rates and gains against the number of documents, in one line."""
        shown = []
        for step in self.steps:
            rates = ", ".join(f"{name} {rate:.4g}" for name, rate in zip(self.tiers, step.rates, strict=True))
            shown.append(f"{step.documents} training records: gain {step.gain:+.3f}, rate {rates}")
        return f"attacker {self.attacker} by size of the fit: {'; '.join(shown)}"

    def reason(self, delta: float) -> str:
        """Why its rates are not rates of the data, with its name and sizes: what a certificate says that is not given.

        >>> steps = SizeStep(50, 0.1, (0.01, 0.0)), SizeStep(100, 0.2, (0.02, 0.0))
        >>> LearningOfSize("counts", ("PII", "PoII"), steps).reason(0.03)
        'attacker counts has not settled: PII 0.01 from 50 training records, 0.02 from 100; 200 might reach 0.04'
        """
        said = []
        for place, expected in enumerate(self.expected_rates):
            if expected > delta:
                first, *rest = (f"{step.rates[place]:.3g} from {step.documents}" for step in self.steps)
                twice = f"reach {expected:.3g}" if expected <= 1.0 else "exceed the limit"
                found = ", ".join((f"{first} training records", *rest))
                said.append(f"{self.tiers[place]} {found}; {2 * self.steps[-1].documents} might {twice}")
        return f"attacker {self.attacker} has not settled: {'; '.join(said)}"


def _extrapolated(least: float, *rates: float) -> float:
    """The rate after one more doubling, from those of two or three sizes, each twice the one before.

    A rate of 0 counts as the `least` that can be told from none.

    >>> _extrapolated(0.005, 0.0, 0.01), _extrapolated(0.0, 0.0, 0.01), _extrapolated(0.005, 0.0, 0.0)
    (0.02, inf, 0.0)
    """
    *earlier, before, now = rates
    if before == 0.0:
        before = least if now > 0.0 else 0.0
    if before == 0.0:
        return float("inf") if now > 0.0 else 0.0
    by_two = np.sqrt(now / earlier[-1]) if earlier and earlier[-1] > 0.0 else 1.0
    return float(max(before, now * max(1.0, now / before, by_two)))


def smaller_fits(
    fit: Callable[[Knowledge], Attacker], known: Knowledge, rng: np.random.Generator
) -> Iterator[tuple[int, Attacker]]:
    """Number of documents and attacker for every share."""
    return ((len(part.fit), fit(part)) for part in _shares(known, rng))


def half_of(known: Knowledge, rng: np.random.Generator) -> Knowledge:
    """What is known with the largest share alone, the same that `smaller_fits` ends with."""
    *_, half = _shares(known, rng)
    return half


def _shares(known: Knowledge, rng: np.random.Generator) -> Iterator[Knowledge]:
    """What is known with each share of the documents, each part of the next; users and sources stay whole."""
    distinct, cluster = np.unique(choosing_clusters(known.fit), return_inverse=True)
    rank = rng.permutation(len(distinct))[cluster]
    for share in SHARES:
        chosen = np.flatnonzero(rank < max(2, round(share * len(distinct))))
        yield knowledge(known.mechanism, known.tiers, known.fit.take(chosen))
