"""The head of the page: one sentence for everyone, what happened to the data, and then the certificates."""

from __future__ import annotations

from collections.abc import Sequence

from oddshift.adapt.result import Adaptation
from oddshift.app.report.markup import Html, items, table, tag
from oddshift.app.report.opening import (
    EXPLAINED,
    FATE_HEAD,
    GUESS_HEAD,
    Opening,
    opening_of_adaptation,
    opening_of_audit,
)
from oddshift.app.report.sources import Sources
from oddshift.app.report.wording import (
    SIGNS,
    TITLES,
    adaptation_sentence,
    estimated_by,
    interval,
    level_sentence,
    number,
    percent,
    verdict_sentence,
)
from oddshift.audit import Audit
from oddshift.audit.released_table import ReleasedTable, release_headline

SECRETS_SHOWN = "This page shows secrets, because the run kept examples. Treat it as you treat the data."


def verdict(sources: Sources) -> Html:
    """One card that everyone can read, what happened to the data, what attackers achieve, then the certificates."""
    first = [tag("p", {"class": "private"}, SECRETS_SHOWN)] if sources.has_secrets else []
    audit, found = sources.audit, sources.adaptation
    cards = []
    if found is not None:
        opening = opening_of_adaptation(found)
        first.append(_first_card(opening, found.state, "The release under the policy", _policy_facts(found, opening)))
        cards.append(_adaptation_card(found))
    elif audit is not None:
        opening = opening_of_audit(audit)
        first.append(_first_card(opening, audit.state, "The mechanism as audited", _opening_facts(opening)))
    if audit is not None:
        cards.append(_audit_card(audit))
    parts = (*first, *_opened(opening), *cards, _about(sources))
    return tag("section", {"class": "verdict", "aria-label": "Verdict"}, *parts)


def _first_card(opening: Opening, state: str, title: str, facts: Html) -> Html:
    return _card(state, title, opening.headline, facts)


def _opened(opening: Opening) -> list[Html]:
    """What happened to the data and what attackers achieve, each a table with the sentences that explain it."""
    blocks = []
    if opening.fate is not None:
        blocks.append(_tabled("What happened to the data", opening.happened, FATE_HEAD, opening.fate_rows))
    if opening.guessed:
        explained = [EXPLAINED, *([opening.meaning] if opening.meaning else [])]
        blocks.append(_tabled("What an attacker guesses", explained, GUESS_HEAD, opening.guess_rows))
    return blocks


def _tabled(title: str, said: Sequence[str], head: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    lines = (tag("p", None, line) for line in said)
    return tag("div", {"class": "tabled"}, tag("h2", {"class": "small"}, title), table(head, rows, title), *lines)


def _opening_facts(opening: Opening, *more: tuple[str, str]) -> Html:
    """Is it protected, how sure, at what cost: the numbers behind the headline."""
    facts = []
    if opening.guessed:
        worst = max(opening.guessed, key=lambda row: row.together if row.most is None else row.most)
        most = "" if worst.most is None else f" (upper bound {percent(worst.most)})"
        facts.append((percent(worst.together), f"of {worst.tier} words are guessed at the first attempt{most}"))
    if opening.fate is not None:
        all_of = opening.fate.total
        share = all_of.unchanged / all_of.perturbed if all_of.perturbed else 0.0
        facts.append((percent(share), f"of {all_of.perturbed:,} perturbed words come out unchanged"))
        if opening.fate.recall is not None:
            low, high = opening.fate.recall
            facts.append((interval(1.0 - high, 1.0 - low), "of names are missed and stay in the clear, as estimated"))
    rows = (tag("div", None, tag("dt", None, what), tag("dd", None, value)) for value, what in (*facts, *more))
    return tag("dl", {"class": "facts"}, *rows)


def _policy_facts(found: Adaptation, opening: Opening) -> Html:
    chosen = found.choice("AmPL, remapped" if found.remapped else "AmPL")
    if chosen is None:
        return _opening_facts(opening)
    constant = f"{found.constant_name} {number(found.constant_loss)}"
    sure = (percent(1.0 - found.settings.alpha), "sure at least: what is certified was tested on records of their own")
    cost = (number(chosen.loss), f"expected loss, the cost of the policy; {constant}")
    return _opening_facts(opening, *((sure, cost) if found.chosen is not None else (cost,)))


def _card(state: str, title: str, sentence: str, *rest: str) -> Html:
    return tag("div", {"class": f"card {state}"}, _over(state, title), tag("p", {"class": "sentence"}, sentence), *rest)


def _certificate_card(state: str, title: str, sentence: str, *rest: str, words: str = "") -> Html:
    """A card below the first one: the same, in smaller print; `words` may stand for the state."""
    claim = tag("p", {"class": "certified-claim"}, sentence)
    return tag("div", {"class": f"card {state}"}, _over(state, title, words), claim, *rest)


def _over(state: str, title: str, words: str = "") -> Html:
    said = words[:1].upper() + words[1:] if words and words != state else TITLES[state]
    badge = tag("span", {"class": "badge"}, tag("span", {"aria-hidden": "true"}, SIGNS[state]), f" {said}")
    return tag("p", {"class": "over"}, badge, title)


def _audit_card(audit: Audit) -> Html:
    witness = [tag("p", {"class": "level"}, f"Witness: {audit.witness.sentence}")] if audit.witness is not None else []
    level = tag("p", {"class": "level"}, level_sentence(audit))
    rest = (*_released(audit.release), level, *witness, _facts(audit))
    title = "Certificate of the mechanism as audited, before any adaptation"
    return _certificate_card(audit.state, title, verdict_sentence(audit), *rest, words=audit.state_in_words)


def _released(release: ReleasedTable | None) -> list[Html]:
    """What goes out of a table, in one sentence."""
    return [] if release is None else [tag("p", {"class": "certified-claim"}, release_headline(release))]


def _facts(audit: Audit) -> Html:
    """Four numbers: alone, together, guessed, learned."""
    worst = audit.deciding_rates[0]
    claimed, tier, name = number(audit.claimed_epsilon), worst.claim.tier, worst.claim.attacker
    found = audit.row(name)
    guessed, alone = (next(t.top1 for t in row.tiers if t.tier == tier) for row in (found, audit.row("own")))
    single = "beyond" if audit.single_exceeds else "within"
    facts = (
        (
            number(audit.exact_epsilon),
            f"exact ε of one release on its own (claimed: {claimed}), which is {single} the budget",
        ),
        (
            percent(worst.mean),
            f"beyond ε in tier {tier} when attacker {name} reads releases together "
            f"({interval(worst.lower, worst.upper)})",
        ),
        (
            percent(guessed),
            f"of {tier} secrets are guessed at the first attempt, compared with {percent(alone)} from one release",
        ),
        (
            f"{found.joint_gain:+.2f}",
            f"nats of log score that attacker {found.name} gains by reading all releases together"
            f"{', given W' if found.with_context else ''}",
        ),
    )
    rows = (tag("div", None, tag("dt", None, what), tag("dd", None, value)) for value, what in facts)
    return tag("dl", {"class": "facts"}, *rows)


def _adaptation_card(found: Adaptation) -> Html:
    level = (
        f"The candidate scales were fixed on the select documents and tested on {found.documents[2]} certify "
        "documents. "
        f"This procedure errs with probability at most {found.settings.alpha:g}. "
        f"{estimated_by(found.counted, f'under the {found.settings.law} pair law')}"
    )
    rest = (*_released(found.release), tag("p", {"class": "level"}, level))
    title = "Certificate of the policy"
    return _certificate_card(found.state, title, adaptation_sentence(found), *rest, words=found.state_in_words)


def _about(sources: Sources) -> Html:
    """Assumptions and notes of both, without repetition."""
    found = [part for part in (sources.audit, sources.adaptation) if part is not None]
    assumed = dict.fromkeys(line for part in found for line in part.assumptions)
    noted = dict.fromkeys(line for part in found for line in part.warnings)
    blocks = [tag("div", None, tag("h2", None, "What this rests on"), items(list(assumed)))]
    if noted:
        blocks.append(tag("div", None, tag("h2", None, "Notes"), items(list(noted))))
    return tag("div", {"class": "about"}, *blocks)
