"""Made-up people in short texts: a mechanism that keeps its promise for every word and breaks it for whole texts.

Everything here is told from stored results. The people are made up, so their texts may be shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oddshift.adapt import Adaptation
from oddshift.app.display import attackers_table, choice_line, comparison_table, headline, show_opening
from oddshift.app.nouns import Speaking
from oddshift.app.report.opening import opening_of_adaptation, opening_of_audit
from oddshift.audit import Audit
from oddshift.audit.belief import Belief
from oddshift.data.embedded import people
from oddshift.protect import Sanitizer
from oddshift.protect.policies import Policy

if TYPE_CHECKING:
    from rich.console import Console

PEOPLE = """\
[data]
kind = "people"

[mechanism]
name = "exponential"
epsilon = 1.5

[audit]
delta = 0.05
attackers = ["plugin", "exact"]
upper = "diameter"

[adapt]
success = {PII = 0.2, PoII = 0.3}
"""
"""The run of the demo: the exponential mechanism on the embedded corpus, whose true attacker is known.

Names, employers and cities may be guessed first in at most one case of five, professions and habits in three of ten.
"""

FRESH = 20262
"""Seed of the texts that the sample protects: people that no part of the run has seen."""

SAMPLE = 3
SHOWN = 4


def tell_audit(audit: Audit, console: Console) -> None:
    """The promise about one release, and what becomes of it when releases are read together."""
    asked = audit.settings
    console.print(
        f"The exponential mechanism claims epsilon {audit.claimed_epsilon:g} for every word. The exact value is "
        f"{audit.exact_epsilon:.4f}, so it keeps its promise."
    )
    console.print(
        "Then attackers read whole texts. The control null ignores the release; own reads each word on its own:"
    )
    show_opening(opening_of_audit(audit), Speaking(console, str))
    console.print(attackers_table(audit))
    console.print(
        f"anchored: the share of pairs with the true value whose mPL exceeds {asked.epsilon:g}; log scores are in nats."
    )
    console.print(headline(audit), style="bold", markup=False)
    for made in audit.deciding_rates:
        bounds = f"[{made.lower:.4f}, {made.upper:.4f}]"
        console.print(f"  {made.claim.tier}, {made.claim.attacker}: {made.mean:.4f} in {bounds}", markup=False)
    if audit.witness is not None:
        console.print(audit.witness.sentence, markup=False)
        console.print(f"  {audit.witness_needs}" if audit.witness_needs else "", markup=False)
    if audit.upper_bound is not None:
        console.print(f"Proved upper bound: mPL <= {audit.upper_bound:.4f} ({audit.upper_basis}).", markup=False)


def tell_belief(belief: Belief, console: Console) -> None:
    """What the attacker believes about one secret before any release, after its own, and after the whole text."""
    from rich.table import Table

    table = Table(title=f"one {belief.tier} word of a text, as {belief.attacker} sees it", title_justify="left")
    table.add_column("candidate")
    for name in ("before", "its own release", "the whole text"):
        table.add_column(name, justify="right")
    for row, candidate in enumerate(belief.candidates[:SHOWN]):
        name = f"{candidate.name} (the truth)" if row == belief.truth else candidate.name
        odds = (candidate.prior, candidate.alone, candidate.together)
        table.add_row(name, *(f"{p:.1%}" for p in odds), style="bold" if row == belief.truth else "")
    console.print(table)
    console.print(
        f"The odds of the true value against another candidate moved by {belief.leakage:.2f} per unit of "
        "distance (mPL)."
    )


def tell_choice(found: Adaptation, console: Console) -> None:
    """What the policy achieves and costs, and its scales next to plain noise and one scale of equal utility."""
    console.print(
        f"{len(found.grid)} scales tried, {len(found.rounds)} rounds of the loop, {len(found.sequence)} candidates "
        "tested in turn on documents that nothing had been chosen on."
    )
    show_opening(opening_of_adaptation(found), Speaking(console, str))
    console.print(choice_line(found), style="bold", markup=False)
    console.print(comparison_table(found))


def protected_sample(policy: Policy) -> list[tuple[str, str]]:
    """A few new texts before and after the policy; the noise is seeded, so that the demo repeats."""
    texts = list(people(SAMPLE, seed=FRESH).texts)
    return list(zip(texts, Sanitizer.seeded_for_experiments(policy, FRESH).texts(texts), strict=True))


def tell_sample(sample: list[tuple[str, str]], console: Console) -> None:
    """Before and after, one below the other."""
    for before, after in sample:
        console.print(f"before: {before}", markup=False)
        console.print(f"after:  {after}", style="bold", markup=False)
    console.print(
        "(The noise here is seeded, so that the demo repeats; oddshift protect draws it from the operating system.)"
    )
