"""What is known of a run, part by part: pictures and tables with their sentences, for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from oddshift.adapt.result import Adaptation, Compared
from oddshift.app.report.bars import attacker_rates, belief_update, subgroup_rates
from oddshift.app.report.figures import frontier, histogram, learning_curve, loop_rounds, reliability
from oddshift.app.report.first_screen import FATE_HEAD, FirstScreen
from oddshift.app.report.markup import Figure
from oddshift.app.report.wording import SIGNS, claim_reads, interval, level, number, percent
from oddshift.audit import AttackerResult, Audit
from oddshift.audit.beliefs import Belief
from oddshift.audit.release_use import ReleaseUse
from oddshift.audit.verdict import base_name, worst_of_both
from oddshift.evidence.certificates import Certificate
from oddshift.model.nouns import units_in_words


def _table(
    title: str, said: str, head: Sequence[str], rows: Sequence[Sequence[str]], bold: Sequence[int] = ()
) -> Figure:
    return Figure(title, said, None, (), head, rows, bold)


def screen_tables(screen: FirstScreen) -> list[Figure]:
    """The numbers behind the first screen: what happened to the data, and what attackers guess."""
    fate = _table("What happened to the data", "", FATE_HEAD, screen.fate_rows)
    guesses = _table("What an attacker guesses", screen.explained, screen.guess_head, screen.guess_rows)
    return [figure for figure in (fate, guesses) if figure.rows]


def leakage_figures(audit: Audit, belief: Belief | None = None) -> list[Figure]:
    """How much leaks, for whom, and what an attacker comes to believe."""
    figures = [histogram(audit)]
    figures += [] if belief is None else [belief_update(belief, audit.settings.epsilon)]
    figures += [attacker_rates(audit), _attackers(audit)]
    figures += [_paper_mode(audit)] if any(row.name.startswith(PAPER) for row in audit.attackers) else []
    figures += [subgroup_rates(audit)] if audit.subgroups else []
    return figures if audit.use is None else [*figures, _use(audit.use)]


def _use(found: ReleaseUse) -> Figure:
    """What the release is still good for, and the loss of every subgroup."""
    said = "; ".join(found.sentences())
    rows = [[row.tier, row.subgroup, f"{row.loss:.4f}", str(row.documents), str(row.positions)] for row in found.losses]
    head = ("tier", "subgroup", "expected loss", "records", "positions")
    return _table("What the release is good for", f"{said[:1].upper()}{said[1:]}.", head, rows)


def _attackers(audit: Audit) -> Figure:
    """Every attacker with its controls, a row for each tier; those with a worst bound in bold."""
    names = ("top-1", "anchored") if audit.tiers_are_public else ("top-1", "anchored", "across")
    head = ("attacker", "log score", "gain over own", "by reading together", "tier", *names)
    worst = {base_name(made.claim.attacker) for made in worst_of_both(audit.deciding_rates)}
    rows = [row for each in audit.attackers for row in _attacker_rows(each, audit)]
    bold = [place for place, row in enumerate(rows) if row[0] in worst]
    given = " (given W, for one that reads W)" if any(row.with_context for row in audit.attackers) else ""
    across = "" if audit.tiers_are_public else " Across: pairs whose other value is in another tier."
    said = (
        f"Log scores and gains are in nats; by reading together is the gain over one release under the attacker's own "
        f"prior{given}. Anchored: the share of pairs with the true value beyond {audit.settings.epsilon:g}.{across}"
    )
    return _table("What each attacker learned", said, head, rows, bold)


def _attacker_rows(row: AttackerResult, audit: Audit) -> list[list[str]]:
    gains = ((row.gain, row.gain_error), (row.joint_gain, row.joint_gain_error))
    begins = [row.name, f"{row.log_score:.3f}", *(f"{mean:+.3f} ± {error:.3f}" for mean, error in gains)]
    rates, rows = {tier.tier: tier for tier in row.tiers}, []
    for tier in audit.tier_names:
        found = rates.get(tier)
        cells = [tier, *([f"{found.top1:.1%}", f"{found.anchored:.2%}"] if found else ["-", "-"])]
        if not audit.tiers_are_public:
            cells.append(f"{found.pair_split.anchored_across:.2%}" if found and found.pair_split else "-")
        rows.append([*begins, *cells])
    return rows


PAPER = "paper-"
"""How the names of attackers in paper mode begin."""


def _paper_mode(audit: Audit) -> Figure:
    """The paper's table: shares of uniform pairs beyond ε of attackers in paper mode, with controls at the same T."""
    said = (
        "Uniform pairs: any two candidates, as the paper counts them. The true share of paper-null, which ignores the "
        "release, and of paper-own, which reads one release, is 0: what they show is made by the temperature."
    )
    rows = [
        [row.name, tier.tier, f"{tier.uniform:.2%}", f"{tier.mean:.3f}"]
        for row in audit.attackers
        if row.name.startswith(PAPER)
        for tier in row.tiers
    ]
    head = ("attacker", "tier", f"uniform pairs beyond {audit.settings.epsilon:g}", "mean mPL")
    return _table("The paper's table", said, head, rows)


def certainty_figures(audit: Audit) -> list[Figure]:
    """What is witnessed, certified and proven, and whether the attacker is calibrated."""
    curves = [learning_curve(row) for row in audit.attackers if row.curve.validation]
    further = [_further(audit)] if audit.further_rates else []
    return [_largest(audit), _decisive(audit), *further, reliability(audit.calibration), *curves]


def _largest(audit: Audit) -> Figure:
    """Witnessed ≤ true ≤ proven, with the largest estimate of an attacker that counts and one release between them."""
    said = (
        f"About the largest mPL of any pair, not about how often ε = {number(audit.settings.epsilon)} is exceeded. "
        "What was witnessed is reached, what is proven is out of reach, and estimates lie between them."
    )
    return _table("Between what was witnessed and what is proven", said, ("how", "largest mPL"), largest_known(audit))


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


def _decisive(audit: Audit) -> Figure:
    asked = audit.settings
    rows = [
        [c.claim.tier, claim_reads(c), c.claim.attacker, f"{SIGNS[c.state]} {c.state_in_words}", *_shares(c)]
        for c in audit.deciding_rates
    ]
    head = ("tier", "claim", "attacker", "state", "beyond ε", f"bounds at level {level(asked.alpha)}", _units(audit))
    said = (
        f"The verdict is about {asked.law} pairs. Each row has the worst bound among the attackers that count "
        f"({', '.join(audit.counted)}), by {asked.method}; the worst of all comes first."
    )
    return _table("What decides", said, head, rows, [0])


def _further(audit: Audit) -> Figure:
    rows = [[f"{c.claim.tier}, {c.claim.pair_law} pairs", *_shares(c)] for c in audit.further_rates]
    head = ("claim", "beyond ε", f"bounds at level {level(audit.settings.alpha)}", _units(audit))
    said = f"Attacker {audit.strongest}, the strongest by log score. These bounds are not part of the verdict."
    return _table("For information: other pairs", said, head, rows)


def _shares(made: Certificate) -> tuple[str, str, str]:
    return percent(made.mean), interval(made.lower, made.upper), str(made.documents)


def _units(audit: Audit) -> str:
    return units_in_words(audit.certificates[0].claim.unit, audit.detector)


def repair_figures(found: Adaptation) -> list[Figure]:
    """The frontier, what was chosen, what it costs, what was tested, and how the loop got there."""
    figures = [frontier(found), _compared(found)] if found.grid or found.compared else []
    figures += [_tested(found)] if found.evidence else []
    return [*figures, *([loop_rounds(found)] if found.rounds else [])]


def _compared(found: Adaptation) -> Figure:
    """The choice next to plain noise and one scale of equal utility, a row for each tier; what is released is bold."""
    certified, asked = "AmPL, remapped" if found.remapped else "AmPL", found.settings
    constant = [found.constant_name, "-", f"{found.constant_loss:.4f}", str(found.constant_outputs), "", "-", "-", "-"]
    rows: list[list[str]] = []
    bold: list[int] = []
    for each in found.compared:
        more = _compared_rows(_by_preset(each, found), found)
        bold += range(len(rows), len(rows) + len(more)) if each.name == certified else ()
        rows += more
    said = (
        f"Tiers decide who is protected more: compare AmPL with uniform, one scale of equal loss. Rate: share of "
        f"{asked.law} pairs beyond {asked.epsilon:g} on the records to certify on, ± one standard error; loss: "
        f"expected {asked.cost} cost, {found.constant_loss:.4f} for {found.constant_name}; outputs: their effective "
        f"number; exact ε: of one release, over {'pairs of one tier' if found.tiers_are_public else 'all pairs'}."
    )
    head = ("release", "exact ε", "loss", "outputs", "tier", "scale", "rate", "top-1")
    return _table("Tiers against one scale", said, head, [*rows, constant], bold)


def _by_preset(row: Compared, found: Adaptation) -> Compared:
    """The choice under the name of the method that found it."""
    method = found.settings.preset
    return replace(row, name=row.name.replace("AmPL", method)) if method not in {"", "EM"} else row


def _compared_rows(row: Compared, found: Adaptation) -> list[list[str]]:
    point = row.outcome
    exact = "-" if row.exact_epsilon is None else f"{row.exact_epsilon:.4f}"
    begins = [row.name, exact, f"{point.loss:.4f}", f"{point.effective_outputs:.0f}"]
    tiers, rows = {tier.tier: tier for tier in point.tiers}, []
    for name, scale in zip(found.tier_names, point.scales, strict=True):
        tier = tiers.get(name)
        rate = f"{100 * tier.rate:.2f}±{100 * tier.rate_error:.2f}%" if tier else "-"
        rows.append([*begins, name, f"{scale:.4g}", rate, f"{tier.top1:.1%}" if tier else "-"])
    return rows


def _tested(found: Adaptation) -> Figure:
    """The certificates behind a policy."""
    rows = []
    for part, claim in ((each.certificate, each.certificate.claim) for each in found.evidence):
        limit = f"{claim.quantity} <= {claim.stated(claim.limit or 1.0):g}"
        low, mean, high = (f"{claim.stated(value):.4f}" for value in (part.lower, part.mean, part.upper))
        rows.append([limit, claim.tier, claim.attacker, part.state_in_words, mean, f"{low} to {high}"])
    said = f"{len(found.sequence)} candidates were tested in turn, attacker {found.attacker}."
    return _table("What was tested", said, ("claim", "tier", "attacker", "state", "found", "bounds"), rows)
