"""Words: numbers as people read them, and the verdict in one or two sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from oddshift.adapt.result import Adaptation, Scales
from oddshift.adapt.settings import AdaptSettings
from oddshift.audit import Audit
from oddshift.audit.release_use import DataFate
from oddshift.audit.verdict import shown_violations, worst_of_both
from oddshift.bounds import zero_failures
from oddshift.evidence.certificates import Certificate, Claim, SuccessClaim
from oddshift.model.nouns import Nouns, nouns_of

TITLES = {"certified": "Certified", "proved": "Proved", "violated": "Violated", "undecided": "Undecided"}
"""The states as headings; only the release of an adaptation is proved."""

SIGNS = {"certified": "✓", "proved": "✓", "violated": "✗", "undecided": "?"}
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


def level(alpha: float) -> str:
    """An error level with two digits, rounded up.

    >>> level(0.05), level(0.00751909)
    ('0.05', '0.0076')
    """
    unit = 10.0 ** (math.floor(math.log10(alpha)) - 1)
    return f"{math.ceil(alpha / unit - 1e-9) * unit:.2g}"


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


def worst_in_words(audit: Audit) -> str:
    """The worst bound of what attackers find without W and of what they find given W: share, tier and attacker.

    What is shown to be exceeded comes with the lower bound that shows it.
    """
    violations, has_context = shown_violations(audit.verdict), any(row.with_context for row in audit.attackers)
    said = []
    for made in worst_of_both(audit.deciding_rates):
        low = violations.get(made.claim)
        bound = f"at most {percent(made.upper)}" if low is None else f"at least {percent(low)}"
        sees = f"{claim_reads(made)}, " if has_context else ""
        said.append(f"{percent(made.mean)} in tier {made.claim.tier} by attacker {made.claim.attacker} ({sees}{bound})")
    return "; ".join(said)


def claim_reads(made: Certificate) -> str:
    """Which of the two claims a certificate is about: given the public context W, or without it."""
    return "given W" if made.claim.with_context else "without W"


def withheld_reason(audit: Audit) -> str:
    """Why the verdict on rates is withheld; empty where it is not."""
    return next((made.claim.withheld for made in audit.counting_rates if made.claim.withheld), "")


def reasons_of_doubt(audit: Audit) -> str:
    """Why an audit is undecided, as the rest of a sentence that ends in "because"."""
    asked, withheld, worst = audit.settings, withheld_reason(audit), audit.deciding_rates[0]
    if withheld:
        return withheld
    if asked.delta is None:
        return "no delta was stated: how often a reader may learn more than epsilon allows"
    least = min(audit.counting_rates, key=lambda made: made.documents)
    needs = zero_failures(asked.delta, asked.alpha, asked.method)
    if least.documents < needs:
        few = f"{least.documents} {nouns_of(audit.detector).records} with {least.claim.tier}"
        return f"{few} are too few to certify on, at least {needs} are needed"
    found = f"it was {percent(worst.mean)} for {worst.claim.tier}, and may be up to {percent(worst.upper)}"
    return f"it is not settled whether {exceeding(asked.epsilon)} in at most {percent(asked.delta)} of cases; {found}"


def exceeding(epsilon: float) -> str:
    """What a violation is, for somebody who has never heard of mPL."""
    return f"a reader learns more than your limit (epsilon = {number(epsilon)})"


def found_sentence(fate: DataFate, nouns: Nouns) -> str:
    """What was found and what became of it."""
    all_of = fate.total
    same = all_of.unchanged / all_of.perturbed if all_of.perturbed else 0.0
    drawn = f"become another one ({all_of.unchanged:,} of them, {percent(same)}, the same again by chance)"
    parts = [(all_of.perturbed, drawn), (all_of.marked, "become a mark"), (all_of.left, "are small words that stay")]
    found = f"{all_of.found:,} sensitive {nouns.values}{' that were found' * nouns.is_searched}"
    whole = next((what for count, what in parts if count and count == all_of.found), "")
    if whole:
        return f"All {found} {whole}."
    said = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    return f"Of {found}, {said or 'none is released'}."


def missed_sentence(fate: DataFate) -> str:
    """How many names may have been missed."""
    if fate.recall is None:
        return "How many names the detectors miss was not measured."
    low, high = fate.recall
    return (
        f"The detectors found {fate.recalled} of {fate.planted} names that were planted into these texts, so between "
        f"{percent(1.0 - high)} and {percent(1.0 - low)} of such names are probably missed."
    )


def verdict_sentence(audit: Audit) -> str:
    """What an audit found, the worst numbers and their attackers first."""
    asked, worst = audit.settings, worst_in_words(audit)
    pairs, withheld = pairs_in_words(asked.law, asked.epsilon), withheld_reason(audit)
    if asked.delta is None and not withheld:
        return f"No δ was stated, so nothing is certified. Of {pairs}: {worst}."
    most = percent(asked.delta or 0.0)
    if audit.state == "certified":
        return f"In every tier, at most {most} of {pairs}. The worst that an attacker finds is {worst}."
    if audit.state == "violated":
        return _violation(audit, f"more than {most} of {pairs}: {worst}")
    start = f"Undecided (counts as not certified): {reasons_of_doubt(audit)}"
    return f"{start}." if withheld else f"{start}. Of {pairs}, the worst that an attacker finds is {worst}."


def _violation(audit: Audit, said: str) -> str:
    """Rates that are too high, or right guesses beyond a cap where only those are shown."""
    beyond = [claim for claim in shown_violations(audit.verdict) if isinstance(claim, SuccessClaim)]
    if beyond and not any(isinstance(claim, Claim) for claim in shown_violations(audit.verdict)):
        first, start = beyond[0], "First guesses are right too often"
        return f"{start}: {first.quantity} > {percent(first.cap or 0.0)} in tier {first.tier} by {first.attacker}."
    return f"Read together, the releases give too much away, {said}."


def level_sentence(audit: Audit) -> str:
    """What the verdict is about, and how often the procedure errs."""
    asked = audit.settings
    records = nouns_of(audit.detector).records
    where = f"under the {asked.law} pair law, on {audit.documents[2]} {records} that no attacker learned from"
    return f"This procedure errs with probability at most {level(asked.alpha)}. {estimated_by(audit.counted, where)}"


def estimated_by(attackers: Sequence[str], where: str) -> str:
    """Whose estimates a verdict is about."""
    if len(attackers) == 1:
        return f"It measures the leakage that attacker {attackers[0]} estimates, {where}."
    names = f"{', '.join(attackers[:-1])} and {attackers[-1]}"
    return (
        f"It measures the leakage that each attacker which learned something estimates ({names}), {where}. All of them "
        "must stay within the limit to certify; one beyond it is a violation."
    )


def adaptation_sentence(found: Adaptation) -> str:
    """What an adaptation found."""
    asked = found.settings
    claim = f"at most {percent(asked.delta)} of {pairs_in_words(asked.law, asked.epsilon)}"
    if found.chosen is None:
        proposed = f" Proposed: {scales_in_words(found.tier_names, found.proposed)}." if found.proposed else ""
        return (
            f"No scales could be certified for the claim that, in every tier, {claim}.{proposed} A failed search does "
            "not show that there are none."
        )
    if found.proof:
        return f"Proved, without counting {nouns_of(found.detector).records}: {found.proof}."
    upper = next((max(t.upper) for t in found.sequence if t.scales == found.chosen and t.upper), None)
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


def pairs_in_words(law: str, epsilon: float) -> str:
    """What a rate counts, as the rest of a sentence that begins with a share."""
    budget = f"the budget ε = {number(epsilon)}"
    return {
        "anchored": f"the pairs that contain the true value exceed {budget}",
        "uniform": f"all pairs of candidates exceed {budget}",
        "worst": f"the units contain a pair that exceeds {budget}",
    }[law]


MOST_NAMED = 8
"""Tiers that are named outside the details; the others are counted."""


def named(tiers: Sequence[str]) -> str:
    """The names of tiers, one after the other."""
    more = f" and {len(tiers) - MOST_NAMED} more" if len(tiers) > MOST_NAMED else ""
    return f"{', '.join(tiers[:MOST_NAMED])}{more}"


def without_noise(found: Adaptation, nouns: Nouns) -> Iterator[str]:
    """Which tiers ignore the secret next to others that have noise, because noise would not cost clearly less there."""
    for form, said in (("mark", "marks" if nouns.are_names else "empty"), ("surrogate", "made up")):
        tiers = [tier.tier for tier in found.tiers if tier.form == form and tier.is_noise_too_dear]
        if tiers and "noise" in found.forms:
            yield (
                f"The {nouns.values} of {named(tiers)} are {said}, because noise would tell hardly more of them than "
                "one constant value."
            )
