"""Sections of the page: what leaks, how it reads, how sure that is, and how it was repaired."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oddshift.adapt.result import Adaptation, ScaledOutcome
from oddshift.app.report.bars import attacker_rates, belief_update, subgroup_rates
from oddshift.app.report.figures import frontier, histogram, learning_curve, loop_rounds, reliability
from oddshift.app.report.markup import NOTHING, Html, join, pairs, table, tag
from oddshift.app.report.sources import Sources, origin
from oddshift.app.report.wording import SIGNS, claim_reads, interval, number, percent, scales_in_words
from oddshift.audit import Audit
from oddshift.audit.release_use import ReleaseUse
from oddshift.data.codecs.text.passages import Passage, Piece
from oddshift.evidence.certificates import Certificate
from oddshift.model.nouns import units_in_words

TIER_MARKS = 6
"""Number of different tier marks in a text; further tiers share them."""


def leaks(sources: Sources) -> Html:
    """How much leaks, for whom, and what an attacker comes to believe."""
    audit = sources.audit
    if audit is None:
        return NOTHING
    figures = [histogram(audit)]
    if sources.belief is not None:
        figures.append(belief_update(sources.belief, audit.settings.epsilon))
    figures.append(attacker_rates(audit))
    if audit.subgroups:
        figures.append(subgroup_rates(audit))
    used = [] if audit.use is None else [_use(audit.use)]
    return join([*(figure.html for figure in figures), *used])


def _use(found: ReleaseUse) -> Html:
    """What the release is still good for, and the loss of every subgroup."""
    said = "; ".join(found.sentences())
    rows = [[row.tier, row.subgroup, f"{row.loss:.4f}", str(row.documents), str(row.positions)] for row in found.losses]
    title = "What the release is good for"
    losses = table(("tier", "subgroup", "expected loss", "records", "positions"), rows, title) if rows else NOTHING
    return _table(title, f"{said[:1].upper()}{said[1:]}.", losses)


def texts(sources: Sources) -> Html:
    """Further documents as they were and as released; only where examples were kept."""
    if len(sources.passages) < 2:
        return NOTHING
    return _shown(sources, sources.passages[1:])


def first_text(sources: Sources) -> Html:
    """One document before and after, its replaced words coloured by kind."""
    return _shown(sources, sources.passages[:1])


def _shown(sources: Sources, passages: Sequence[Passage]) -> Html:
    everything = [piece for p in sources.passages for piece in (*p.before, *p.after)]
    shown = dict.fromkeys(piece.tier for piece in everything if piece.tier)
    found = sources.adaptation or sources.audit
    tiers = list(dict.fromkeys((*(() if found is None else found.tier_names), *shown)))  # a tier keeps its colour
    legend = [tag("mark", {"class": f"tier{k % TIER_MARKS}"}, tier) for k, tier in enumerate(tiers) if tier in shown]
    rows = [
        tag(
            "div",
            {"class": "passage"},
            *(
                tag("div", None, tag("h3", None, title), _marked(pieces, tiers))
                for title, pieces in (("Before", p.before), ("Released", p.after))
            ),
        )
        for p in passages
    ]
    said = tag("p", None, sources.passages_are) if sources.passages_are else NOTHING
    return join([said, tag("p", {"class": "legend"}, "Coloured by kind: ", join(legend, " ")), *rows])


def _marked(pieces: Sequence[Piece], tiers: list[str]) -> Html:
    marked = [
        tag("mark", {"class": f"tier{tiers.index(piece.tier) % TIER_MARKS}", "title": piece.tier}, piece.text)
        if piece.tier
        else piece.text
        for piece in pieces
    ]
    return tag("blockquote", None, *marked)


def sure(sources: Sources) -> Html:
    """What is witnessed, certified and proven, and whether the attacker is calibrated."""
    audit = sources.audit
    if audit is None:
        return NOTHING
    curves = [learning_curve(row).html for row in audit.attackers if row.curve.validation]
    return join([_largest(audit), _certificates(audit), reliability(audit.calibration).html, *curves])


def _largest(audit: Audit) -> Html:
    """Witnessed ≤ true ≤ proven, with the largest estimate of an attacker that counts and one release between them."""
    title = "Between what was witnessed and what is proven"
    said = (
        f"About the largest mPL of any pair, not about how often ε = {number(audit.settings.epsilon)} is exceeded. "
        "What was witnessed is reached, what is proven is out of reach, and estimates lie between them."
    )
    return _table(title, said, pairs(largest_known(audit)))


def largest_known(audit: Audit) -> list[tuple[str, str]]:
    """What is known of the largest mPL, each with how it is known, or why nothing is."""
    witness, most = audit.witness, max((audit.row(name) for name in audit.counted), key=lambda row: row.largest)
    witnessed = f"none: {audit.witness_needs or 'no pair of values occurs often enough'}"
    if witness is not None:
        witnessed = f"at least {number(witness.lower_bound, 4)}, counted on fresh releases"
    proven = "none: a proof needs a model of how the secrets depend on each other"
    if audit.upper_bound is not None:
        proven = f"at most {number(audit.upper_bound, 4)}, {audit.upper_basis}"
    return [
        ("one release alone", f"{number(audit.exact_epsilon, 4)}, computed"),
        ("witnessed", witnessed),
        ("estimated", f"{number(most.largest, 4)}, by attacker {most.name}"),
        ("proven", proven),
    ]


def _certificates(audit: Audit) -> Html:
    """What decides, apart from what is shown for information."""
    asked, parts = audit.settings, [_decisive(audit)]
    if audit.further_rates:
        rows = [[f"{c.claim.tier}, {c.claim.pair_law} pairs", *_shares(c)] for c in audit.further_rates]
        head = ("claim", "beyond ε", f"bounds at level {asked.alpha:g}", _units(audit))
        title = "For information: other pairs"
        said = f"Attacker {audit.strongest}, the strongest by log score. These bounds are not part of the verdict."
        parts.append(_table(title, said, table(head, rows, title)))
    return join(parts)


def _decisive(audit: Audit) -> Html:
    asked, title = audit.settings, "What decides"
    rows = [
        [c.claim.tier, claim_reads(c), c.claim.attacker, f"{SIGNS[c.state]} {c.state_in_words}", *_shares(c)]
        for c in audit.deciding_rates
    ]
    head = ("tier", "claim", "attacker", "state", "beyond ε", f"bounds at level {asked.alpha:g}", _units(audit))
    said = (
        f"The verdict is about {asked.law} pairs. Each row has the worst bound among the attackers that count "
        f"({', '.join(audit.counted)}), by {asked.method}; the worst of all comes first."
    )
    return _table(title, said, table(head, rows, title, [0]))


def _shares(made: Certificate) -> tuple[str, str, str]:
    return percent(made.mean), interval(made.lower, made.upper), str(made.documents)


def _units(audit: Audit) -> str:
    return units_in_words(audit.certificates[0].claim.unit, audit.detector)


def repair(sources: Sources) -> Html:
    """The frontier, what was chosen, what it costs, and how the loop got there."""
    found = sources.adaptation
    if found is None or not (found.grid or found.compared):
        return NOTHING
    loop = [loop_rounds(found).html] if found.rounds else []
    return join([frontier(found).html, _compared(found), *loop])


def _compared(found: Adaptation) -> Html:
    """Tiers against one scale of equal loss."""
    per_tier = [f"{name} {what}" for name in found.tier_names for what in ("beyond ε", "first guess right")]
    rows = [
        [
            row.name,
            scales_in_words(found.tier_names, row.outcome.scales),
            number(row.outcome.loss),
            *_cells(found, row.outcome),
        ]
        for row in found.compared
    ]
    bold = [k for k, row in enumerate(found.compared) if row.name.startswith("AmPL")]
    said = (
        "Tiers decide who is protected more. Compare AmPL with uniform, which uses one scale for all tiers and has the "
        "same loss. Measured on the records to certify on, ± one standard error."
    )
    made = table(("choice", "scales", "loss", *per_tier), rows, "Tiers against one scale", bold)
    return _table("Tiers against one scale", said, made)


def _cells(found: Adaptation, point: ScaledOutcome) -> list[str]:
    tiers = {tier.tier: tier for tier in point.tiers}
    cells = []
    for name in found.tier_names:
        if (tier := tiers.get(name)) is None:
            cells += ["-", "-"]
        else:
            shares = (tier.rate, tier.rate_error), (tier.top1, tier.top1_error)
            cells += [f"{percent(value)} ± {percent(error)}" for value, error in shares]
    return cells


def _table(title: str, said: str, made: Html) -> Html:
    return tag("div", {"class": "tabled"}, tag("h3", None, title), tag("p", None, said), made)


SECTIONS: tuple[tuple[str, str, Callable[[Sources], Html]], ...] = (
    ("leaks", "What leaks", leaks),
    ("texts", "Further texts before and after", texts),
    ("sure", "How sure is that?", sure),
    ("repair", "Repair", repair),
    ("origin", "Check it yourself", origin),
)
"""Key, title and content of every section; one without content is left out."""
