"""An audit or an adaptation in the terminal: the first screen, then tables with controls or baselines, and the basis.

What a policy and a release say of themselves: names that are probably missed, and what attackers guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING

from oddshift.adapt import Adaptation, Compared
from oddshift.app.report.first_screen import (
    FATE_HEAD,
    FirstScreen,
    screen_of_adaptation,
    screen_of_audit,
)
from oddshift.app.report.wording import (
    adaptation_sentence,
    claim_reads,
    found_sentence,
    level_sentence,
    missed_sentence,
    named,
    percent,
    verdict_sentence,
)
from oddshift.audit import AttackerResult, Audit
from oddshift.audit.calibration import Calibration
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.audit.released_table import release_headline
from oddshift.audit.verdict import base_name, worst_of_both
from oddshift.data.codecs import KindCounts
from oddshift.evidence.certificates import Certificate
from oddshift.model.nouns import NOUNS, nouns_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WORDS = frozenset({"", "attacker", "tier", "release", "kind"})
"""Heads of columns that hold words; others hold numbers, which stand to the right."""


def show_audit(audit: Audit, console: Console, *, details: bool = True) -> None:
    """Print an audit from its stored values alone: the first screen, and the details where they are asked for."""
    screen = screen_of_audit(audit)
    show_first_screen(screen, console)
    if not details:
        console.print(_more(audit, f"{len(audit.attackers)} attackers with their rates"))
        return
    show_numbers(screen, console)
    for line in (verdict_sentence(audit), level_sentence(audit)):
        console.print(line, markup=False)
    if audit.release is not None:
        console.print(release_headline(audit.release), markup=False)
    console.print(
        f"One release on its own: the exact epsilon is {audit.exact_epsilon:.4f} (the mechanism promises "
        f"{audit.claimed_epsilon:.4g}); the budget is {audit.settings.epsilon:g}."
    )
    console.print(_parts(audit))
    console.print(attackers_table(audit))
    given = " (given W, for one that reads W)" if _reads_context(audit) else ""
    across = "" if audit.tiers_are_public else " Across: pairs whose other value is in another tier."
    console.print(
        f"Log scores and gains are in nats; by reading together is the gain over one release under the attacker's own "
        f"prior{given}. Anchored: the share of pairs with the true value beyond {audit.settings.epsilon:g}.{across}"
    )
    if any(row.name.startswith(PAPER) for row in audit.attackers):
        console.print(paper_table(audit))
        console.print(PAPER_NOTE, markup=False)
    console.print(_calibrated(audit.calibration))
    for line in certificate_lines(audit):
        console.print(line, markup=False)
    if audit.upper_bound is not None:
        console.print(
            f"Proved upper bound: joint leakage <= {audit.upper_bound:.4f} ({audit.upper_basis}).", markup=False
        )
    if audit.witness is not None:
        console.print(audit.witness.sentence, markup=False)
    if audit.witness_needs:
        console.print(f"Witness {audit.witness_needs}.", markup=False)
    _show_notes(audit, console)


def show_adaptation(found: Adaptation, console: Console, *, details: bool = True) -> None:
    """Print an adaptation from its stored values alone: the first screen, and the details where they are asked for."""
    asked = found.settings
    screen = screen_of_adaptation(found)
    show_first_screen(screen, console)
    console.print(f"Released as: {forms_line(found)}.", markup=False)
    if not details:
        console.print(_more(found, f"{len(found.compared)} releases that were compared"))
        return
    show_numbers(screen, console)
    console.print(adaptation_sentence(found), markup=False)
    if found.release is not None:
        console.print(release_headline(found.release), markup=False)
    console.print(_parts(found))
    console.print(
        f"Frontier: {len(found.grid)} scales measured, {len(found.rounds)} rounds, "
        f"{len(found.sequence)} candidates tested in turn, attacker {found.attacker}."
    )
    console.print(comparison_table(found))
    console.print(
        f"rate: share of {asked.law} pairs beyond {asked.epsilon:g} on the records to certify on; loss: expected "
        f"{asked.cost} cost, {found.constant_loss:.4f} for {found.constant_name}; outputs: their effective number; "
        f"exact ε: of one release, over {'pairs of one tier' if found.tiers_are_public else 'all pairs'}."
    )
    reasons = "; ".join(f"{tier.tier}: {tier.form}, {tier.why}" for tier in found.tiers if tier.why)
    for what, said in (("Forms", reasons), ("Form of the release", found.remap_reason), ("Basis", found.basis)):
        if said:
            console.print(f"{what}: {said}.", markup=False)
    if found.exact_epsilon is not None:
        console.print(f"One release on its own: the exact epsilon is {found.exact_epsilon:.4f}.")
    for evidence in found.evidence:
        part, claim = evidence.certificate, evidence.certificate.claim
        bounds = f"[{claim.stated(part.lower):.4f}, {claim.stated(part.upper):.4f}]"
        said = f"{claim.quantity} <= {claim.stated(claim.limit or 1.0):g} in tier {claim.tier} by {claim.attacker}"
        console.print(f"  {part.state_in_words}: {said}: {claim.stated(part.mean):.4f} in {bounds}", markup=False)
    _show_notes(found, console)


def _more(found: Audit | Adaptation, what: str) -> str:
    """What the details hold, for those who did not ask for them."""
    shown = "" if what.startswith("0 ") else f"{what}, what was certified, "
    return (
        f"More with --details and in the report: {shown}{len(found.warnings)} notes, "
        f"{len(found.assumptions)} assumptions."
    )


def _parts(found: Audit | Adaptation) -> str:
    fit, select, certify = found.documents
    records = nouns_of(found.detector).records
    return f"{records[:1].upper()}{records[1:]}: {fit} to learn from, {select} to choose with, {certify} to certify on."


def _show_notes(found: Audit | Adaptation, console: Console) -> None:
    for note in found.warnings:
        console.print(f"note: {note}", style="yellow", markup=False)
    console.print("Assumed: " + "; ".join(found.assumptions) + ".", markup=False)


STYLES = {"certified": "green", "violated": "red", "undecided": "yellow"}
"""The colour of the first answer."""


def show_first_screen(screen: FirstScreen, console: Console) -> None:
    """Print what everyone should read: three questions with their answers and two bars."""
    for place, line in enumerate(screen.lines()):
        style = STYLES[screen.state] if place == 1 else "" if line.startswith(" ") else "bold"
        indent = " " * (len(line) - len(line.lstrip()))
        for part in wrap(line, console.width, subsequent_indent=indent, break_on_hyphens=False):
            console.print(part, style=style, markup=False, highlight=False)


def show_numbers(screen: FirstScreen, console: Console) -> None:
    """Print the numbers behind the answers, kind by kind."""
    console.print("\nDetails", style="bold")
    for head, rows in ((FATE_HEAD, screen.fate_rows), (screen.guess_head, screen.guess_rows)):
        if rows:
            console.print(_table(head, [rows]))
    if screen.guessed:
        console.print(screen.explained, markup=False)


def _table(head: Sequence[str], blocks: Sequence[Sequence[Sequence[str]]], bold: Sequence[bool] = ()) -> Table:
    """Rows in blocks, each with a line below it where there are several; some blocks are bold."""
    from rich.table import Table

    table = Table()
    for name in head:
        table.add_column(name, justify="left" if name in WORDS else "right")
    for place, rows in enumerate(blocks):
        for number, row in enumerate(rows):
            is_last = len(blocks) > 1 and len(rows) > 1 and number == len(rows) - 1
            table.add_row(*row, style="bold" if bold and bold[place] else "", end_section=is_last)
    return table


def _blocks(begins: Sequence[str], rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """A row for each tier, the first of them with what is said once."""
    return [[*(begins if not place else [""] * len(begins)), *row] for place, row in enumerate(rows)]


def certificate_lines(audit: Audit) -> Iterator[str]:
    """What decides, the worst bound of each claim, and apart from it what is shown for information."""
    asked = audit.settings
    yield f"What decides, of each claim the attacker with the worst bound ({asked.law} pairs, level {asked.alpha:g}):"
    has_context = _reads_context(audit)
    for made in audit.deciding_rates:
        sees = f", {claim_reads(made)}" if has_context else ""
        yield f"  {made.claim.tier}{sees}, attacker {made.claim.attacker}: {_bounds(made)}: {made.state_in_words}"
    if audit.further_rates:
        yield f"For information, not part of the verdict: other pairs, attacker {audit.strongest}:"
    for made in audit.further_rates:
        yield f"  {made.claim.tier}, {made.claim.pair_law} pairs: {_bounds(made)}"


def _bounds(made: Certificate) -> str:
    return f"{made.mean:.4f} in [{made.lower:.4f}, {made.upper:.4f}]"


def _calibrated(found: Calibration) -> str:
    """Whether the strongest attacker is as sure as it should be."""
    return (
        f"Calibration of {found.attacker} on {found.documents} records: how sure it is of its first guesses and how "
        f"often they are right differ by {found.calibration_error:.3f}; the best temperature is "
        f"{found.temperature:.3f}."
    )


def _reads_context(audit: Audit) -> bool:
    return any(row.with_context for row in audit.attackers)


def attackers_table(audit: Audit) -> Table:
    """Every attacker with its controls, a row for each tier; those with a worst bound in bold."""
    names = ("top-1", "anchored") if audit.tiers_are_public else ("top-1", "anchored", "across")
    head = ("attacker", "log score", "gain over own", "by reading together", "tier", *names)
    worst = {base_name(made.claim.attacker) for made in worst_of_both(audit.deciding_rates)}
    blocks = [_attacker_rows(row, audit) for row in audit.attackers]
    return _table(head, blocks, [row.name in worst for row in audit.attackers])


def _attacker_rows(row: AttackerResult, audit: Audit) -> list[list[str]]:
    gains = ((row.gain, row.gain_error), (row.joint_gain, row.joint_gain_error))
    begins = [row.name, f"{row.log_score:.3f}", *(f"{mean:+.3f} ± {error:.3f}" for mean, error in gains)]
    rates = {tier.tier: tier for tier in row.tiers}
    rows = []
    for tier in audit.tier_names:
        found = rates.get(tier)
        cells = [tier, *([f"{found.top1:.1%}", f"{found.anchored:.2%}"] if found else ["-", "-"])]
        if not audit.tiers_are_public:
            cells.append(f"{found.pair_split.anchored_across:.2%}" if found and found.pair_split else "-")
        rows.append(cells)
    return _blocks(begins, rows)


PAPER = "paper-"
"""How the names of attackers in paper mode begin."""

PAPER_NOTE = (
    "Uniform pairs: any two candidates, as the paper counts them. The true share of paper-null, which ignores the "
    "release, and of paper-own, which reads one release, is 0: what they show is made by the temperature."
)


def paper_table(audit: Audit) -> Table:
    """The paper's table: shares of uniform pairs beyond ε of attackers in paper mode, with controls at the same T."""
    rows = [
        [row.name if not place else "", tier.tier, f"{tier.uniform:.2%}", f"{tier.mean:.3f}"]
        for row in audit.attackers
        if row.name.startswith(PAPER)
        for place, tier in enumerate(row.tiers)
    ]
    return _table(("attacker", "tier", f"uniform pairs beyond {audit.settings.epsilon:g}", "mean mPL"), [rows])


def forms_line(found: Adaptation) -> str:
    """What tiers are released as: a form, the tiers that have it, and why where units are lacking or it was asked."""
    alike: dict[tuple[str, str], list[str]] = {}
    for tier in found.tiers:
        why = f" ({tier.why})" if tier.is_named or tier.is_rare or tier.is_few else ""
        alike.setdefault((tier.form, why), []).append(tier.tier)
    return "; ".join(f"{form} for {named(names)}{why}" for (form, why), names in alike.items())


def comparison_table(found: Adaptation) -> Table:
    """The choice next to plain noise and one scale of equal utility, a row for each tier; what is released is bold."""
    certified = "AmPL, remapped" if found.remapped else "AmPL"
    constant = [found.constant_name, "-", f"{found.constant_loss:.4f}", str(found.constant_outputs), "", "-", "-", "-"]
    blocks = [_compared_rows(_by_preset(row, found), found) for row in found.compared]
    head = ("release", "exact ε", "loss", "outputs", "tier", "scale", "rate", "top-1")
    return _table(head, [*blocks, [constant]], [*(row.name == certified for row in found.compared), False])


def _by_preset(row: Compared, found: Adaptation) -> Compared:
    """The choice under the name of the method that found it."""
    method = found.settings.preset
    return replace(row, name=row.name.replace("AmPL", method)) if method not in {"", "EM"} else row


def _compared_rows(row: Compared, found: Adaptation) -> list[list[str]]:
    point = row.outcome
    exact = "-" if row.exact_epsilon is None else f"{row.exact_epsilon:.4f}"
    tiers, rows = {tier.tier: tier for tier in point.tiers}, []
    for name, scale in zip(found.tier_names, point.scales, strict=True):
        tier = tiers.get(name)
        rate = f"{100 * tier.rate:.2f}±{100 * tier.rate_error:.2f}%" if tier else "-"
        rows.append([name, f"{scale:.4g}", rate, f"{tier.top1:.1%}" if tier else "-"])
    return _blocks([row.name, exact, f"{point.loss:.4f}", f"{point.effective_outputs:.0f}"], rows)


def released_line(kinds: Mapping[str, KindCounts], kind: str) -> str:
    """What happened to all secrets of a release of data of one kind together."""
    rows = (
        KindFate(
            name=name,
            found=count.found,
            perturbed=count.perturbed,
            marked=count.marked,
            left=count.left,
            unchanged=count.unchanged,
        )
        for name, count in kinds.items()
    )
    return found_sentence(DataFate(kinds=tuple(rows)), NOUNS.get(kind, NOUNS["records"]))


def expected_lines(found: Adaptation) -> Iterator[str]:
    """Names that are probably missed, and what attackers guessed under the policy of an adaptation."""
    screen = screen_of_adaptation(found)
    if found.fate is not None and screen.nouns.is_searched:
        yield f"When the policy was made: {missed_sentence(found.fate)}"
    for row in screen.guessed:
        before, alone, together = (percent(share) for share in (row.before, row.alone, row.together))
        bound = "" if row.most is None else f" (upper bound {percent(row.most)})"
        yield f"  {row.tier} guessed first: {before} before any release, {alone} from one, {together} together{bound}"
