"""Words: numbers as people read them, and the verdict in one sentence."""

from __future__ import annotations

import math

from oddshift.adapt.adaptation import Adaptation, Scales
from oddshift.audit import Audit
from oddshift.evidence.certificates import Certificate

TITLES = {"certified": "Certified", "violated": "Violated", "undecided": "Undecided"}
"""The three states as headings."""

SIGNS = {"certified": "✓", "violated": "✗", "undecided": "?"}
"""A sign for each state, so that colour is not alone."""


def number(value: float, digits: int = 3) -> str:
    """A number with so many significant digits; zeros at its end are dropped only where it is that number exactly.

    >>> number(0.95703), number(1.5), number(0.25003), number(134.3), number(float("inf"))
    ('0.957', '1.5', '0.250', '134', '∞')
    """
    if math.isinf(value):
        return "∞"
    short = f"{value:.{digits}g}"
    return short if float(short) == value else f"{value:#.{digits}g}".removesuffix(".")


def percent(share: float) -> str:
    """A share in percent, with enough digits to tell it from nothing; 5% is exactly that, 5.0% is rounded.

    >>> percent(0.0763), percent(0.0005), percent(0.66), percent(0.05), percent(0.05003), percent(0.9994)
    ('7.6%', '0.05%', '66%', '5%', '5.0%', '99.9%')
    """
    value = 100.0 * share
    if 0.0 < value < 0.01:
        return "<0.01%"
    if 99.95 <= value < 100.0:
        return ">99.9%"
    digits = 2 if value < 1 else 1 if value < 9.95 or value > 99.0 else 0
    rounded = round(value, digits)
    return f"{rounded:g}%" if math.isclose(value, rounded, rel_tol=1e-12) else f"{value:.{digits}f}%"


def interval(low: float, high: float) -> str:
    """Two bounds on a share."""
    return f"{percent(low)} to {percent(high)}"


def scales_in_words(names: tuple[str, ...], scales: Scales) -> str:
    """Scales with their tiers.

    >>> scales_in_words(("PII", "PoII"), (0.4, 0.9))
    'PII 0.4, PoII 0.9'
    """
    return ", ".join(f"{name} {number(scale)}" for name, scale in zip(names, scales, strict=True))


def of_verdict(audit: Audit) -> list[Certificate]:
    """The certificates under the pair law of the verdict, one a tier."""
    return [c for c in audit.certificates if c.claim.pair_law == audit.settings.law]


def worst_certificate(audit: Audit) -> Certificate:
    """The certificate of the tier with the largest rate."""
    return max(of_verdict(audit), key=lambda c: c.mean)


def verdict_sentence(audit: Audit) -> str:
    """What an audit found, in one sentence."""
    asked, worst = audit.settings, worst_certificate(audit)
    pairs = _pairs(asked.law, asked.epsilon)
    where, seen = f"in tier {worst.claim.tier}", f"{percent(worst.mean)} measured"
    withheld = next((c.claim.withheld for c in of_verdict(audit) if c.claim.withheld), "")
    if withheld:
        return f"No verdict may be given, which is not a pass: {withheld}."
    if asked.delta is None:
        return f"No δ was stated, so nothing is certified: {where}, {seen}, at most {percent(worst.upper)} of {pairs}."
    most = percent(asked.delta)
    if audit.state == "certified":
        return (
            f"In every tier at most {most} of {pairs}; the largest is {seen} {where}, at most {percent(worst.upper)}."
        )
    if audit.state == "violated":
        return f"Read together, the releases give too much away: more than {most} of {pairs} {where} ({seen})."
    return (
        f"Whether at most {most} of {pairs} is not settled, which is not a pass: "
        f"{seen} {where}, bounds {interval(worst.lower, worst.upper)}."
    )


def level_sentence(audit: Audit) -> str:
    """What the verdict speaks of, and how often the procedure errs."""
    asked = audit.settings
    return (
        f"This procedure errs with probability at most {asked.alpha:g}, for the leakage as estimated by attacker "
        f"{audit.strongest} under the {asked.law} pair law, on {audit.documents[2]} documents that nobody learned from."
    )


def adaptation_sentence(found: Adaptation) -> str:
    """What an adaptation found, in one sentence."""
    asked = found.settings
    claim = f"at most {percent(asked.delta)} of {_pairs(asked.law, asked.epsilon)}"
    if found.chosen is None:
        return f"No scales were certified to keep {claim} in every tier; a failed search does not show that none exist."
    upper = next((max(t.upper) for t in found.sequence if t.scales == found.chosen), None)
    bound = "" if upper is None else f" (upper bound {percent(upper)})"
    return f"With scales {scales_in_words(found.tier_names, found.chosen)}, {claim} in every tier{bound}."


def _pairs(law: str, epsilon: float) -> str:
    """The pairs a rate is over, as the object of a sentence that ends with the budget."""
    budget = f"the budget ε = {number(epsilon)}"
    return {
        "anchored": f"the pairs that hold the truth exceed {budget}",
        "uniform": f"all pairs of candidates exceed {budget}",
        "worst": f"the documents have a pair that exceeds {budget}",
    }[law]
