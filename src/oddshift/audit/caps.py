"""Caps: the largest share of secrets that an attacker may guess, for some tiers or for all.

`{"PERSON": 0.2}` names a tier, `{"PII": 0.2}` the most sensitive level where no tier has that name, `{"*": 0.2}` all
tiers. The most specific name decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from oddshift.base.arrays import float_of
from oddshift.base.errors import InvalidInput
from oddshift.model.tiers import Tiers

EVERY_TIER = "*"
"""Stands for all tiers that are not named."""

LEVEL_NAMES = ("PII", "PoII")
"""Names of the first two levels of sensitivity, after the paper."""


class Capped(Protocol):
    """The part of the settings of an audit or an adaptation that says what may be guessed."""

    @property
    def success(self) -> Mapping[str, float]:
        """The largest share of right first guesses, by tier."""

    @property
    def advantage(self) -> Mapping[str, float]:
        """The largest gain of that share over the guess before any release, by tier."""


@dataclass(frozen=True)
class TierCaps:
    """The caps of one tier; None where nothing is asked."""

    success: float | None = None
    advantage: float | None = None


def caps_of_tiers(asked: Capped, tiers: Tiers) -> tuple[TierCaps, ...]:
    """The caps of every tier; a name that no tier or level has is refused.

    >>> from types import SimpleNamespace
    >>> kinds = Tiers([0, 1], names=("PERSON", "DATE"), scales=(1.0, 1.0), is_public=True)
    >>> caps_of_tiers(SimpleNamespace(success={"*": 0.3, "PERSON": 0.2}, advantage={}), kinds)
    (TierCaps(success=0.2, advantage=None), TierCaps(success=0.3, advantage=None))
    """
    found = (_by_tier(caps, tiers, name) for name, caps in (("success", asked.success), ("advantage", asked.advantage)))
    return tuple(TierCaps(*pair) for pair in zip(*found, strict=True))


def check_caps(caps: Mapping[str, float], name: str) -> None:
    """Refuse caps that are not shares; whether the names exist is checked once the tiers are known."""
    if not isinstance(caps, Mapping) or not all(isinstance(key, str) and key for key in caps):
        raise InvalidInput(f"{name}={caps!r}, expected a share for each tier by name, such as {{'PII': 0.2}}")
    for key, cap in caps.items():
        if not 0.0 < float_of(cap, f"{name}[{key!r}]") < 1.0:
            raise InvalidInput(f"{name}[{key!r}]={cap!r}, expected a share above 0 and below 1")


def _by_tier(caps: Mapping[str, float], tiers: Tiers, name: str) -> list[float | None]:
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
