"""The head of the page: the verdict in one sentence, the numbers behind it, and what it rests on."""

from __future__ import annotations

from oddshift.adapt.adaptation import Adaptation
from oddshift.app.report.markup import Html, items, tag
from oddshift.app.report.sources import Sources
from oddshift.app.report.wording import (
    SIGNS,
    TITLES,
    adaptation_sentence,
    interval,
    level_sentence,
    number,
    percent,
    verdict_sentence,
    worst_certificate,
)
from oddshift.audit import Audit
from oddshift.audit.released_table import ReleasedTable, release_headline

SECRETS_SHOWN = "This page shows secrets, because the run kept examples. Treat it as you treat the data."


def verdict(sources: Sources) -> Html:
    """One card for the audit, one for the adaptation, then assumptions and notes."""
    cards = [tag("p", {"class": "private"}, SECRETS_SHOWN)] if sources.has_secrets else []
    if sources.audit is not None:
        cards.append(_audit_card(sources.audit))
    if sources.adaptation is not None:
        cards.append(_adaptation_card(sources.adaptation))
    return tag("section", {"class": "verdict", "aria-label": "Verdict"}, *cards, _about(sources))


def _card(state: str, title: str, sentence: str, *rest: str) -> Html:
    badge = tag("span", {"class": "badge"}, tag("span", {"aria-hidden": "true"}, SIGNS[state]), f" {TITLES[state]}")
    over = tag("p", {"class": "over"}, badge, title)
    return tag("div", {"class": f"card {state}"}, over, tag("p", {"class": "sentence"}, sentence), *rest)


def _audit_card(audit: Audit) -> Html:
    witness = [tag("p", {"class": "level"}, f"Witness: {audit.witness.sentence}")] if audit.witness is not None else []
    level = tag("p", {"class": "level"}, level_sentence(audit))
    rest = (*_released(audit.release), level, *witness, _facts(audit))
    return _card(audit.state, "The mechanism as audited", verdict_sentence(audit), *rest)


def _released(release: ReleasedTable | None) -> list[Html]:
    """What goes out of a table, in one sentence."""
    return [] if release is None else [tag("p", {"class": "sentence"}, release_headline(release))]


def _facts(audit: Audit) -> Html:
    """Four numbers: alone, together, guessed, learned."""
    worst, strongest = worst_certificate(audit), audit.row(audit.strongest)
    claimed = number(audit.claimed_epsilon)
    tier = worst.claim.tier
    guessed, alone = (next(t.top1 for t in row.tiers if t.tier == tier) for row in (strongest, audit.row("own")))
    single = "beyond" if audit.single_exceeds else "within"
    facts = (
        (
            number(audit.exact_epsilon),
            f"exact ε of one release on its own (claimed: {claimed}), which is {single} the budget",
        ),
        (
            percent(worst.mean),
            f"beyond ε in tier {tier} when releases are read together ({interval(worst.lower, worst.upper)})",
        ),
        (
            percent(guessed),
            f"of {tier} secrets are guessed at the first attempt, compared with {percent(alone)} from one release",
        ),
        (
            f"{strongest.gain:+.2f}",
            f"nats of log score that attacker {audit.strongest} gains by reading all releases together",
        ),
    )
    rows = (tag("div", None, tag("dt", None, what), tag("dd", None, value)) for value, what in facts)
    return tag("dl", {"class": "facts"}, *rows)


def _adaptation_card(found: Adaptation) -> Html:
    level = (
        f"The candidate scales were fixed on the select documents and tested on {found.documents[2]} certify "
        "documents. "
        f"This procedure errs with probability at most {found.settings.alpha:g}. It measures the leakage that attacker "
        f"{found.attacker} estimates, under the {found.settings.law} pair law."
    )
    rest = (*_released(found.release), tag("p", {"class": "level"}, level))
    return _card(found.state, "After adaptation", adaptation_sentence(found), *rest)


def _about(sources: Sources) -> Html:
    """Assumptions and notes of both, without repetition."""
    found = [part for part in (sources.audit, sources.adaptation) if part is not None]
    assumed = dict.fromkeys(line for part in found for line in part.assumptions)
    noted = dict.fromkeys(line for part in found for line in part.warnings)
    blocks = [tag("div", None, tag("h2", None, "What this rests on"), items(list(assumed)))]
    if noted:
        blocks.append(tag("div", None, tag("h2", None, "Notes"), items(list(noted))))
    return tag("div", {"class": "about"}, *blocks)
