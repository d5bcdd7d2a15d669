"""Goals: everything that scales must keep, a rate of violations and caps on right guesses, and how close they come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.adaptation import ScaledOutcome, TierOutcome
from oddshift.audit.caps import TierCaps, caps_of_tiers
from oddshift.model.tiers import Tiers

MARGIN = 3.0
"""Standard errors by which right guesses on select documents must stay below their cap: what a certificate needs."""


@dataclass(frozen=True)
class Strain:
    """One goal under some scales: what was measured with its margin, the limit, and what it is called."""

    tier: str
    what: str
    value: float
    margin: float
    limit: float

    @property
    def ratio(self) -> float:
        """At most 1 where the goal is kept, margin included."""
        return (self.value + self.margin) / self.limit

    @property
    def sentence(self) -> str:
        """What was measured against what was asked."""
        return f"{self.what} in tier {self.tier}: {self.value:.4f}, asked for at most {self.limit:g}"


@dataclass(frozen=True)
class Goals:
    """δ for every tier, and the caps of each tier by name."""

    delta: float
    caps: dict[str, TierCaps]

    def strains(self, outcome: ScaledOutcome, *, share: float = 1.0, errors: float = MARGIN) -> Iterator[Strain]:
        """Every goal under some scales; rates are held to a `share` of δ, guesses to `errors` standard errors."""
        for tier in outcome.tiers:
            yield Strain(tier.tier, "pairs beyond epsilon", tier.rate, 0.0, share * self.delta)
            yield from self._guesses(tier, errors)

    def _guesses(self, tier: TierOutcome, errors: float) -> Iterator[Strain]:
        asked = self.caps.get(tier.tier, TierCaps())
        margin = errors * tier.top1_error
        if asked.success is not None:
            yield Strain(tier.tier, "right first guesses", tier.top1, margin, asked.success)
        if asked.advantage is not None:
            yield Strain(
                tier.tier,
                "right first guesses beyond those before any release",
                tier.advantage,
                margin,
                asked.advantage,
            )

    def strain(self, outcome: ScaledOutcome, *, share: float = 1.0, errors: float = MARGIN) -> float:
        """The goal that is hardest to keep: its ratio to the limit, at most 1 where all are kept."""
        return max(row.ratio for row in self.strains(outcome, share=share, errors=errors))

    def hardest(self, outcome: ScaledOutcome) -> Strain:
        """The goal that comes closest to its limit, or exceeds it most."""
        return max(self.strains(outcome), key=lambda row: row.ratio)


def goals_of(settings: AdaptSettings, tiers: Tiers) -> Goals:
    """Return the goals that settings state for some tiers; a cap for a tier that does not exist is refused."""
    return Goals(settings.delta, dict(zip(tiers.names, caps_of_tiers(settings, tiers), strict=True)))
