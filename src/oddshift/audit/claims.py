"""Claims: what an audit or an adaptation certifies, built in one place from what was asked and who found it.

Also the values that claims rest on: for each tier one value for every independent unit that has it.

Caps: the largest share of secrets that an attacker may guess, for some tiers or for all.

`{"PERSON": 0.2}` names a tier, `{"PII": 0.2}` the most sensitive level where no tier has that name, `{"*": 0.2}` all
tiers. The most specific name decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.paired_log_score import units_of
from oddshift.audit.settings import Question
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
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


Named = TypeVar("Named")
"""What is asked by tier: a cap, a form."""

EVERY_TIER = "*"
"""Stands for all tiers that are not named."""

LEVEL_NAMES = ("PII", "PoII")
"""Names of the first two levels of sensitivity, after the paper."""


@dataclass(frozen=True)
class TierCaps:
    """The caps of one tier; None where nothing is asked."""

    success: float | None = None
    advantage: float | None = None


def caps_of_tiers(asked: Question, tiers: Tiers) -> tuple[TierCaps, ...]:
    """The caps of every tier; a name that no tier or level has is refused.

    >>> from types import SimpleNamespace
    >>> kinds = Tiers([0, 1], names=("PERSON", "DATE"), scales=(1.0, 1.0), is_public=True)
    >>> caps_of_tiers(SimpleNamespace(success={"*": 0.3, "PERSON": 0.2}, advantage={}), kinds)
    (TierCaps(success=0.2, advantage=None), TierCaps(success=0.3, advantage=None))
    """
    found = (by_tier(caps, tiers, name) for name, caps in (("success", asked.success), ("advantage", asked.advantage)))
    return tuple(TierCaps(*pair) for pair in zip(*found, strict=True))


def by_tier(caps: Mapping[str, Named], tiers: Tiers, name: str) -> list[Named | None]:
    """What is asked of every tier, by its name, that of its level, or `*`; a name that none has is refused."""
    levels = [LEVEL_NAMES[k] if k < len(LEVEL_NAMES) else f"level {k + 1}" for k in range(tiers.n_levels)]
    levels = ["" if level in tiers.names else level for level in levels]
    expected = (*tiers.names, *(level for level in levels if level), EVERY_TIER)
    for key in caps:
        if key not in expected:
            raise InvalidInput(f"{name} names {key!r}, expected some of {', '.join(expected)}")
    return [
        next((caps[key] for key in (tier, levels[level], EVERY_TIER) if key in caps), None)
        for tier, level in zip(tiers.names, tiers.levels, strict=True)
    ]
