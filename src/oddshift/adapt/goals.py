"""Goals: everything that scales must keep, a rate of violations and caps on right guesses, and how close they come.

The single release: what a result rests on where no attacker learned anything by reading positions together.

One release keeps its exact ε whatever the secrets are. Declared independence, or a bound that holds for every law of
the secrets, turns that into a verdict; otherwise it is what a proposal rests on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from oddshift.adapt.evaluation import Situation
from oddshift.adapt.result import ScaledOutcome, TierOutcome
from oddshift.adapt.settings import AdaptSettings
from oddshift.audit.claims import INDEPENDENT, TierCaps, caps_of_tiers
from oddshift.audit.proven import bound_without_law
from oddshift.audit.trials import PROVEN
from oddshift.base.errors import InvalidInput
from oddshift.leakage.mpl import exceeds_budget, nearest_distance
from oddshift.mechanisms import PathExponential, Tiered
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.named import Family
from oddshift.model.records import Split
from oddshift.model.tiers import Tiers

MARGIN = 3.0
"""Standard errors by which right guesses on select documents must stay below their cap: what a certificate needs."""


SCAN_LIMIT = 2_000
"""Points up to which an exact ε without a closed form is computed for a comparison: the scan takes n²·|Y| work."""


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


def known_epsilon(mechanism: Mechanism) -> float | None:
    """The exact ε over the pairs that count; None where it needs a scan and there are more than SCAN_LIMIT points."""
    has_closed_form = isinstance(mechanism, PathExponential) or (
        isinstance(mechanism, Tiered) and mechanism.tiers.is_public
    )
    return mechanism.exact_epsilon if has_closed_form or len(mechanism.space) <= SCAN_LIMIT else None


@dataclass(frozen=True, eq=False, repr=False)
class SingleRelease:
    """The documents, the family of mechanisms and the question that a single release is judged by."""

    split: Split
    family: Family
    settings: AdaptSettings

    def carrier(self, situation: Situation) -> str:
        """What supports a rate verdict without an attacker that learned; "" where nothing does."""
        if self.settings.independent:
            return INDEPENDENT
        try:
            bound = bound_without_law(replace(situation.known, mechanism=self._drawn(situation)), self.split)
        except InvalidInput:  # no two points to compare, or no exact epsilon: nothing is proven
            return ""
        return PROVEN if bound.value <= self.settings.epsilon else ""

    def keeps(self, situation: Situation) -> bool:
        """Whether one release stays within ε exactly, beyond rounding; remapping never adds to it."""
        exact, limit = self._drawn(situation).exact_epsilon, self.settings.epsilon
        return exact <= limit or not exceeds_budget(exact, limit, nearest_distance(situation.known.mechanism.space))

    def _drawn(self, situation: Situation) -> Mechanism:
        """The mechanism before remapping, by its own name: its exact ε often has a closed form."""
        return self.family(situation.known.tiers)
