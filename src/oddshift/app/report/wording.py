"""Words: numbers as people read them, and the verdict in one or two sentences."""

from __future__ import annotations

import math

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.adaptation import Adaptation, Scales
from oddshift.audit import Audit
from oddshift.evidence.certificates import Certificate

TITLES = {"certified": "Certified", "violated": "Violated", "undecided": "Undecided"}
"""The three states as headings."""

SIGNS = {"certified": "✓", "violated": "✗", "undecided": "?"}
"""A sign for each state, so that states do not differ by colour alone."""


def number(value: float, digits: int = 3) -> str:
    """A number with `digits` significant digits; trailing zeros are dropped only where the short form is exact.

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
    """The certificates under the pair law of the verdict, one for each tier."""
    return [c for c in audit.certificates if c.claim.pair_law == audit.settings.law]


def worst_certificate(audit: Audit) -> Certificate:
    """The certificate of the tier with the largest rate."""
    return max(of_verdict(audit), key=lambda c: c.mean)


def verdict_sentence(audit: Audit) -> str:
    """What an audit found."""
    asked, worst = audit.settings, worst_certificate(audit)
    pairs = _pairs(asked.law, asked.epsilon)
    where, seen = f"in tier {worst.claim.tier}", percent(worst.mean)
    withheld = next((c.claim.withheld for c in of_verdict(audit) if c.claim.withheld), "")
    if withheld and audit.state == "undecided":
        return f"No verdict can be given, and that is not a pass: {withheld}."
    if asked.delta is None:
        return (
            f"No δ was stated, so nothing is certified. {where.capitalize()}, {seen} of {pairs}; the share is at most "
            f"{percent(worst.upper)}."
        )
    most = percent(asked.delta)
    if audit.state == "certified":
        return (
            f"In every tier, at most {most} of {pairs}. The largest measured share is {seen} {where}; it is certified "
            f"to be at most {percent(worst.upper)}."
        )
    if audit.state == "violated":
        return (
            f"Read together, the releases give too much away: {where}, more than {most} of {pairs} ({seen} measured)."
        )
    return (
        f"It is not settled whether at most {most} of {pairs}, and that is not a pass. The measured share is {seen} "
        f"{where}; the true one lies between {percent(worst.lower)} and {percent(worst.upper)}."
    )


def level_sentence(audit: Audit) -> str:
    """What the verdict is about, and how often the procedure errs."""
    asked = audit.settings
    return (
        f"This procedure errs with probability at most {asked.alpha:g}. It measures the leakage that attacker "
        f"{audit.strongest} estimates, under the {asked.law} pair law, on {audit.documents[2]} documents that no "
        "attacker learned from."
    )


def adaptation_sentence(found: Adaptation) -> str:
    """What an adaptation found."""
    asked = found.settings
    claim = f"at most {percent(asked.delta)} of {_pairs(asked.law, asked.epsilon)}"
    if found.chosen is None:
        return (
            f"No scales could be certified for the claim that, in every tier, {claim}. A failed search does not show "
            "that there are none."
        )
    upper = next((max(t.upper) for t in found.sequence if t.scales == found.chosen), None)
    bound = "" if upper is None else f" (upper bound {percent(upper)})"
    scales = scales_in_words(found.tier_names, found.chosen)
    return f"With the scales {scales}, {claim} in every tier{bound}.{_caps(asked)}"


def _caps(asked: AdaptSettings) -> str:
    """The caps on first guesses, in a sentence of their own; nothing where none was asked."""
    said = [f"at most {percent(cap)} of {_tiers(name)}" for name, cap in asked.success.items()]
    said += [f"at most {percent(cap)} more of {_tiers(name)} than before" for name, cap in asked.advantage.items()]
    return f" First guesses are right for {', '.join(said)}." if said else ""


def _tiers(name: str) -> str:
    return "every tier" if name == "*" else name


def _pairs(law: str, epsilon: float) -> str:
    """What a rate counts, as the rest of a sentence that begins with a share."""
    budget = f"the budget ε = {number(epsilon)}"
    return {
        "anchored": f"the pairs that contain the true value exceed {budget}",
        "uniform": f"all pairs of candidates exceed {budget}",
        "worst": f"the documents contain a pair that exceeds {budget}",
    }[law]
