"""The single release: what a result rests on where no attacker learned anything by reading positions together.

One release keeps its exact ε whatever the secrets are. Declared independence, or a bound that holds for every law of
the secrets, turns that into a verdict; otherwise it is what a proposal rests on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.experiment import Family, Situation
from oddshift.attackers.attacker import Knowledge
from oddshift.audit.audit_verdict import PROVEN
from oddshift.audit.claims import INDEPENDENT
from oddshift.audit.proven import bound_without_law
from oddshift.base.errors import InvalidInput
from oddshift.leakage.limits import exceeds_budget, nearest_distance
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Split


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

    def proven_scale(self, known: Knowledge) -> float | None:
        """About the largest common scale at which a bound without a law is ε; None where nothing is proven.

        The bound is roughly proportional to the scale; a candidate at this scale is proven separately.
        """
        try:
            bound = bound_without_law(replace(known, mechanism=self.family(known.tiers)), self.split)
        except InvalidInput:
            return None
        scale = np.floor(100.0 * self.settings.epsilon / bound.value) / 100.0
        return min(float(scale), 1.0) if scale >= min(self.settings.grid) else None

    def keeps(self, situation: Situation) -> bool:
        """Whether one release stays within ε exactly, beyond rounding; remapping never adds to it."""
        exact, limit = self._drawn(situation).exact_epsilon, self.settings.epsilon
        return exact <= limit or not exceeds_budget(exact, limit, nearest_distance(situation.known.mechanism.space))

    def _drawn(self, situation: Situation) -> Mechanism:
        """The mechanism before remapping, by its own name: its exact ε often has a closed form."""
        return self.family(situation.known.tiers)
