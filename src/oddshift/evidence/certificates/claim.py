"""A claim: what a rate certificate speaks of, in full, before any number is known.

Pr[mPL > ε] ≤ δ means nothing without the pair law, the attacker, the tier and what the attacker sees.
"""

from __future__ import annotations

from dataclasses import dataclass

from oddshift.base.arrays import one_of, positive, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.leakage.mpl import PAIR_LAWS


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Pr[mPL > ε] ≤ δ for one tier (or across two), pair law and attacker; without a δ only a bound is asked for.

    `other_tier` makes it a claim on pairs across the two tiers. `withheld` is a reason why no verdict may be given
    (for example: no attacker beat the single-release one in held-out log score); it forces `undecided`.

    >>> claim = Claim(epsilon=1.0, delta=0.1, tier="PII", pair_law="anchored", attacker="plugin",
    ...               attacker_hash="ab12", with_context=True, detector="gazetteer")
    >>> claim.subject
    'tier PII, anchored pair law, attacker plugin (hash ab12), with context W, detector gazetteer'
    """

    epsilon: float
    delta: float | None
    tier: str
    pair_law: str
    attacker: str
    attacker_hash: str
    with_context: bool
    detector: str
    other_tier: str = ""
    unit: str = "document"
    assumptions: tuple[str, ...] = ()
    withheld: str = ""

    def __post_init__(self) -> None:
        """Refuse a claim that leaves out what it speaks of."""
        positive(self.epsilon, "epsilon")
        if self.delta is not None:
            unit_open(self.delta, "delta")
        one_of(self.pair_law, "pair_law", PAIR_LAWS)
        for name in ("tier", "attacker", "attacker_hash", "detector", "unit"):
            if not isinstance(getattr(self, name), str) or not getattr(self, name):
                raise InvalidInput(f"{name}={getattr(self, name)!r}, expected a name")
        if not isinstance(self.with_context, bool):
            raise InvalidInput(f"with_context={self.with_context!r}, expected True or False")

    @property
    def subject(self) -> str:
        """What the numbers are about, in one line."""
        tier = f"tiers {self.tier} x {self.other_tier}" if self.other_tier else f"tier {self.tier}"
        sees = "with context W" if self.with_context else "sensitive positions only"
        attacker = f"attacker {self.attacker} (hash {self.attacker_hash[:12]})"
        return f"{tier}, {self.pair_law} pair law, {attacker}, {sees}, detector {self.detector}"
