"""A claim: what a certificate is about, in full, before any number is known.

Pr[mPL > ε] ≤ δ means nothing without the pair law, the attacker, the tier and what the attacker sees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oddshift.base.arrays import one_of, positive, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import ADDED_LATER
from oddshift.leakage.mpl import PAIR_LAWS


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Pr[mPL > ε] ≤ δ for one tier (or across two), pair law and attacker; without a δ only a bound is asked for.

    `other_tier` makes it a claim on pairs across the two tiers. `withheld` is a reason why no verdict may be given
    (for example: no attacker beat the single-release one in held-out log score); it forces `undecided`, except that
    with `may_violate` a violation may still be shown. `unsaturated` is the number of documents that an attacker learned
    from which would find more with more of them; 0 where it would not, or where that is not the reason.

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
    may_violate: bool = field(default=False, metadata={ADDED_LATER: True})
    unsaturated: int = field(default=0, metadata={ADDED_LATER: True})

    def __post_init__(self) -> None:
        """Refuse a claim that does not say what it is about."""
        positive(self.epsilon, "epsilon")
        if self.delta is not None:
            unit_open(self.delta, "delta")
        one_of(self.pair_law, "pair_law", PAIR_LAWS)
        _check_names(self, ("tier", "attacker", "attacker_hash", "detector", "unit"))

    @property
    def limit(self) -> float | None:
        """What the mean of the values must not exceed: δ."""
        return self.delta

    @property
    def quantity(self) -> str:
        """What is bounded."""
        return f"Pr[mPL > {self.epsilon:g}]"

    @property
    def basis(self) -> str:
        """Whose estimate the values are."""
        return f"for the leakage as estimated by attacker {self.attacker} under the {self.pair_law} pair law"

    def stated(self, value: float) -> float:
        """A mean of the values in the units of the quantity."""
        return value

    @property
    def subject(self) -> str:
        """What the numbers are about, in one line."""
        tier = f"tiers {self.tier} x {self.other_tier}" if self.other_tier else f"tier {self.tier}"
        sees = "with context W" if self.with_context else "sensitive positions only"
        attacker = f"attacker {self.attacker} (hash {self.attacker_hash[:12]})"
        return f"{tier}, {self.pair_law} pair law, {attacker}, {sees}, detector {self.detector}"


@dataclass(frozen=True, kw_only=True)
class SuccessClaim:
    """The attacker's first guess is right for at most a share `cap` of the secrets of one tier; None asks for a bound.

    With `over_prior` the claim is on the advantage: the share after the release less the share of first guesses that
    were right before any release. Values are then (after − before + 1)/2, which lies in [0, 1].

    >>> claim = SuccessClaim(cap=0.2, tier="PII", attacker="counts", attacker_hash="ab12", with_context=False,
    ...                      detector="gazetteer")
    >>> claim.quantity, claim.limit
    ('Pr[first guess right]', 0.2)
    """

    cap: float | None
    tier: str
    attacker: str
    attacker_hash: str
    with_context: bool
    detector: str
    over_prior: bool = False
    unit: str = "document"
    assumptions: tuple[str, ...] = ()
    withheld: str = ""

    def __post_init__(self) -> None:
        """Refuse a claim that does not say what it is about."""
        if self.cap is not None:
            unit_open(self.cap, "cap")
        _check_names(self, ("tier", "attacker", "attacker_hash", "detector", "unit"))

    @property
    def pair_law(self) -> str:
        """The name that tables and files use where a rate has its pair law."""
        return "advantage" if self.over_prior else "success"

    @property
    def epsilon(self) -> None:
        """There is no budget: a guess is right or wrong."""

    @property
    def may_violate(self) -> bool:
        """A guess needs no calibration and no learning; a withheld claim is withheld for both verdicts."""
        return False

    @property
    def unsaturated(self) -> int:
        """Nothing is extrapolated from guesses."""
        return 0

    @property
    def delta(self) -> float | None:
        """The cap, where a rate has its δ."""
        return self.cap

    @property
    def limit(self) -> float | None:
        """What the mean of the values must not exceed."""
        if self.cap is None:
            return None
        return (self.cap + 1.0) / 2.0 if self.over_prior else self.cap

    @property
    def quantity(self) -> str:
        """What is bounded."""
        return "Pr[first guess right] - Pr[right before any release]" if self.over_prior else "Pr[first guess right]"

    @property
    def basis(self) -> str:
        """Whose guesses the values are."""
        return f"for the first guesses of attacker {self.attacker}"

    def stated(self, value: float) -> float:
        """A mean of the values in the units of the quantity."""
        return 2.0 * value - 1.0 if self.over_prior else value

    @property
    def subject(self) -> str:
        """What the numbers are about, in one line."""
        sees = "with context W" if self.with_context else "sensitive positions only"
        attacker = f"attacker {self.attacker} (hash {self.attacker_hash[:12]})"
        return f"tier {self.tier}, {attacker}, {sees}, detector {self.detector}"


def _check_names(claim: Claim | SuccessClaim, names: tuple[str, ...]) -> None:
    for name in names:
        if not isinstance(getattr(claim, name), str) or not getattr(claim, name):
            raise InvalidInput(f"{name}={getattr(claim, name)!r}, expected a name")
    if not isinstance(claim.with_context, bool):
        raise InvalidInput(f"with_context={claim.with_context!r}, expected True or False")


AnyClaim = Claim | SuccessClaim
"""What a certificate may be about: the rate of violations, or the success of first guesses."""
