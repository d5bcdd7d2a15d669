"""What decides: of all rates that a verdict rests on, the worst one of each claim, and the worst of all first.

A claim is about one tier, without the public context W or given W; of the attackers that count, each bounds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oddshift.evidence.certificates import AnyClaim, Certificate, Claim, JointCertificate

RECALIBRATED = ", recalibrated"
"""How the name of a recalibrated attacker ends."""


def base_name(attacker: str) -> str:
    """The attacker that a recalibrated one is made from, any other by its own name.

    >>> base_name("counts, recalibrated"), base_name("counts")
    ('counts', 'counts')
    """
    return attacker.removesuffix(RECALIBRATED)


def shown_violations(verdict: JointCertificate | None) -> dict[AnyClaim, float]:
    """The claims that are shown not to hold, with the lower bounds that show it: at the level that they share."""
    if verdict is None:
        return {}
    rows = zip(verdict.parts, verdict.lowers, strict=True)
    beyond = [(part.claim, low) for part, low in rows if part.claim.limit is not None and low > part.claim.limit]
    return {claim: low for claim, low in beyond if not claim.withheld or claim.may_violate}


def worst_of_each(certificates: Iterable[Certificate], violations: dict[AnyClaim, float]) -> tuple[Certificate, ...]:
    """The worst certificate of each claim, in the order of their bounds: a shown violation before any upper bound."""

    def severity(made: Certificate) -> tuple[float, float, float]:
        return violations.get(made.claim, -1.0), made.upper, made.mean

    worst: dict[tuple[str, bool], Certificate] = {}
    for made in certificates:
        key = (made.claim.tier, made.claim.with_context)
        if key not in worst or severity(made) > severity(worst[key]):
            worst[key] = made
    return tuple(sorted(worst.values(), key=severity, reverse=True))


def worst_of_both(worst: Sequence[Certificate]) -> tuple[Certificate, ...]:
    """The first of those without W and the first of those given W, in their order."""
    first = {made.claim.with_context: made for made in reversed(worst)}
    return tuple(made for made in worst if made is first[made.claim.with_context])


def counted_attackers(certificates: Iterable[Certificate]) -> tuple[str, ...]:
    """The names of the attackers whose rates these are, each once and without its recalibrated self."""
    named = (base_name(made.claim.attacker) for made in certificates if isinstance(made.claim, Claim))
    return tuple(dict.fromkeys(named))
