"""The choice of attackers: how each stands on the select documents, and which of them a verdict rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oddshift.attackers.paired_log_score import Gain, Units, gain
from oddshift.audit.scan import Scores


@dataclass(frozen=True)
class Standing:
    """One attacker on the select documents: its mean log score, and its gain over the single release (same prior)."""

    log_score: float
    joint: Gain

    @property
    def learned(self) -> bool:
        """Whether reading positions together taught it something: its joint gain is beyond chance."""
        return self.joint.is_significant


def standing(found: Scores, units: Units) -> Standing:
    """How an attacker with these scores stands, every unit counting once."""
    return Standing(float(units.means(found.log_score).mean()), gain(found.own_score, found.log_score, units))


def strongest(standings: Sequence[Standing]) -> int:
    """The best log score: among those that learned something, if any did.

    >>> sharp, joint = Standing(1.0, Gain(0.0, 0.1)), Standing(1.2, Gain(0.5, 0.1))
    >>> strongest([sharp, joint]), strongest([sharp, sharp])
    (1, 0)
    """
    return max(range(len(standings)), key=lambda k: (standings[k].learned, -standings[k].log_score))
