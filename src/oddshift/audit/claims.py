"""Claims: what an audit or an adaptation certifies, built in one place from what was asked and who found it.

Also the values that claims rest on: for each tier one value for every independent unit that has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.gains import units_of
from oddshift.base.arrays import FloatArray
from oddshift.base.identity import fingerprint
from oddshift.bounds import METHODS
from oddshift.evidence.certificates import Claim, SuccessClaim
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers

NO_DETECTOR = "none (every position was given)"
"""What is said where no detector was needed."""

NOTHING_LEARNED = "no attacker beat the single-release one in held-out log score"
"""Why a verdict is withheld: a stronger attacker might find more."""

CROSSED = "the lower bound lies above the upper bound in the order that was drawn, so one of them is wrong by chance"
"""Why a verdict is withheld: a method that depends on the order of documents contradicts itself."""

INDEPENDENT = "secrets are independent of each other (declared)"
"""What the user declared, in the words of a certificate."""


class Question(Protocol):
    """The part of the settings of an audit or an adaptation that a claim repeats."""

    @property
    def epsilon(self) -> float:
        """The budget."""

    @property
    def delta(self) -> float | None:
        """How often it may be exceeded."""

    @property
    def alpha(self) -> float:
        """The level at which a certificate may err."""

    @property
    def method(self) -> str:
        """The bound on a mean, by name."""

    @property
    def independent(self) -> bool:
        """Whether secrets are declared independent of each other."""

    @property
    def seed(self) -> int:
        """The seed that repeats the measurement."""


@dataclass(frozen=True)
class Barred:
    """Why an attacker certifies nothing, although it may show a violation.

    `documents` is what it learned from, where the reason is that it would find more with more of them.
    """

    reason: str
    documents: int = 0


@dataclass(frozen=True)
class ClaimBuilder:
    """Claims about one data set: what was asked, who found the secrets, and what the independent unit is."""

    question: Question
    detector: str
    unit: str

    def claim(
        self, attacker: Attacker, tier: str, law: str, *, withheld: str = "", basis: str = "", bar: Barred | None = None
    ) -> Claim:
        """The claim about one tier under one pair law, as estimated by one attacker; `basis` is assumed in addition.

        `withheld` allows no verdict, `bar` allows only a violation.
        """
        asked, barred = self.question, None if withheld else bar
        why = "; ".join(reason for reason in (withheld, "" if bar is None else bar.reason) if reason)
        return Claim(
            epsilon=asked.epsilon,
            delta=asked.delta,
            pair_law=law,
            may_violate=barred is not None,
            unsaturated=0 if barred is None else barred.documents,
            **self._about(attacker, tier, why, basis),
        )

    def success_claim(
        self, attacker: Attacker, tier: str, cap: float | None, withheld: str = "", *, over_prior: bool = False
    ) -> SuccessClaim:
        """The claim that at most a given share of first guesses about one tier is right; None asks for a bound."""
        return SuccessClaim(cap=cap, over_prior=over_prior, **self._about(attacker, tier, withheld, ""))

    def values(self, by_position: FloatArray, truth: Records, tiers: Tiers) -> list[TierValues]:
        """One value for every unit, tier by tier, in an order that a certificate may be computed in."""
        return [self.in_order(row) for row in values_by_tier(by_position, truth, tiers)]

    def in_order(self, row: TierValues) -> TierValues:
        """The values in a random order that depends on the seed alone, if the method depends on their order.

        Documents in the order of their file may be sorted by what they hold; a method that bets on the next value from
        the earlier ones would then err far more often than it says.
        """
        if not METHODS[self.question.method].ordered:
            return row
        order = np.random.default_rng([self.question.seed, 13, row.tier]).permutation(len(row.values))
        return TierValues(row.tier, row.values[order], row.excluded)

    def contradiction(self, row: TierValues) -> str:
        """CROSSED where the bounds of values in a random order cross, which chance allows (rarely); otherwise empty."""
        method, alpha = METHODS[self.question.method], self.question.alpha
        crosses = method.ordered and method.lower(row.values, alpha) > method.upper(row.values, alpha)
        return CROSSED if crosses else ""

    def _about(self, attacker: Attacker, tier: str, withheld: str, basis: str) -> dict[str, Any]:
        declared = (INDEPENDENT,) if self.question.independent else ()
        return {
            "tier": tier,
            "attacker": attacker.name,
            "attacker_hash": fingerprint(attacker),
            "with_context": attacker.with_context,
            "detector": self.detector,
            "unit": self.unit,
            "assumptions": (*declared, *([basis] if basis else [])),
            "withheld": withheld,
        }


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
