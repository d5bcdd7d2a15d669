"""Claims: what an audit or an adaptation certifies, built in one place from what was asked and who found it.

Also the values that claims rest on: for each tier one value for every independent unit that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.gains import units_of
from oddshift.base.arrays import FloatArray
from oddshift.base.identity import fingerprint
from oddshift.evidence.certificates import Claim
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers

NO_DETECTOR = "none (every position was given)"
"""Who found the secrets, when nobody had to."""

NOTHING_LEARNED = "no attacker beat the single-release one in held-out log score"
"""Why a verdict is withheld: nobody tried hard enough."""


class Question(Protocol):
    """The part of the settings of an audit or an adaptation that a claim repeats."""

    @property
    def epsilon(self) -> float:
        """The budget."""

    @property
    def delta(self) -> float | None:
        """How often it may be exceeded."""

    @property
    def independent(self) -> bool:
        """Whether secrets are declared independent of each other."""


@dataclass(frozen=True)
class ClaimBuilder:
    """Claims about one data set: what was asked, who found the secrets, and what the independent unit is."""

    question: Question
    detector: str
    unit: str

    def claim(self, attacker: Attacker, tier: str, law: str, withheld: str = "") -> Claim:
        """The claim about one tier under one pair law, as estimated by one attacker."""
        declared = ("secrets are independent of each other (declared)",) if self.question.independent else ()
        return Claim(
            epsilon=self.question.epsilon,
            delta=self.question.delta,
            tier=tier,
            pair_law=law,
            attacker=attacker.name,
            attacker_hash=fingerprint(attacker),
            with_context=attacker.with_context,
            detector=self.detector,
            unit=self.unit,
            assumptions=declared,
            withheld=withheld,
        )


@dataclass(frozen=True, eq=False, repr=False)
class TierValues:
    """One value for each independent unit that has a tier; `excluded` units have no position of it."""

    tier: int
    values: FloatArray
    excluded: int


def values_by_tier(values: FloatArray, truth: Records, tiers: Tiers) -> list[TierValues]:
    """A value of every position averaged inside each unit, tier by tier; tiers without a position are left out."""
    units, labels = units_of(truth), truth.tier_of_position(tiers)
    found = []
    for tier in np.unique(labels):
        keep = labels == tier
        found.append(TierValues(int(tier), units.means(values, keep), units.total - units.count(keep)))
    return found
