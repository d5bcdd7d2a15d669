"""An audit or an adaptation in the terminal: the verdict, a table with controls or baselines, and the assumptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oddshift.adapt import Adaptation, Compared
from oddshift.app.report.first_screen import FATE_HEAD, FirstScreen, screen_of_adaptation, screen_of_audit
from oddshift.app.report.wording import claim_reads, withheld_reason, worst_in_words
from oddshift.attackers.calibration import Calibration
from oddshift.audit import AttackerResult, Audit
from oddshift.audit.released_table import release_headline
from oddshift.audit.verdict import base_name, worst_of_both
from oddshift.evidence.certificates import Certificate
from oddshift.model.nouns import nouns_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


GAINS = ("attacker", "log score", "gain over own", "by reading together")
"""The first columns of the table of attackers: the total gain, and what is gained by reading releases together."""

WIDE = 2
"""Tiers that stand next to one another in a table; more stand below one another."""


def show_audit(audit: Audit, console: Console) -> None:
    """Print an audit from its stored values alone: the first screen, then the details."""
    asked, nouns = audit.settings, nouns_of(audit.detector)
    fit, select, certify = audit.documents
    show_first_screen(screen_of_audit(audit), console)
    console.print(headline(audit), style="bold", markup=False)
    for line in worst_lines(audit):
        console.print(line, markup=False)
    if audit.release is not None:
        console.print(release_headline(audit.release), markup=False)
    console.print(
        f"One release on its own: the exact epsilon is {audit.exact_epsilon:.4f} (the mechanism promises "
        f"{audit.claimed_epsilon:.4g}); the budget is {asked.epsilon:g}."
    )
    console.print(f"{_capital(nouns.records)}: {fit} to learn from, {select} to choose with, {certify} to certify on.")
    console.print(attackers_table(audit))
    console.print(
        f"anchored: the share of pairs with the true value whose mPL exceeds {asked.epsilon:g}; log scores are in nats."
    )
    given = " (given W, for one that reads W)" if _reads_context(audit) else ""
    console.print(f"by reading together: the gain over one release under the attacker's own prior{given}.")
    if not audit.tiers_are_public:
        console.print(
            "across: the same for anchored pairs whose other value is in another tier, because tiers are secret."
        )
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


def _show_notes(found: Audit | Adaptation, console: Console) -> None:
    for note in found.warnings:
        console.print(f"note: {note}", style="yellow", markup=False)
    console.print("Assumed: " + "; ".join(found.assumptions) + ".", markup=False)


def show_first_screen(screen: FirstScreen, console: Console) -> None:
    """Print what everyone should read, and the numbers behind it, before any certificate."""
    for line in screen.lines():
        console.print(line, style="" if line.startswith(" ") else "bold", markup=False)
    for head, rows in ((FATE_HEAD, screen.fate_rows), (screen.guess_head, screen.guess_rows)):
        if rows:
            console.print(_plain_table(head, rows))
    if screen.guessed:
        console.print(screen.explained, markup=False)
    if screen.meaning:
        console.print(screen.meaning, markup=False)
    console.print("Details", style="bold")


def _plain_table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> Table:
    from rich.table import Table

    table = Table()
    for place, name in enumerate(head):
        table.add_column(name, justify="right" if place else "left")
    for row in rows:
        table.add_row(*row)
    return table


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def worst_lines(audit: Audit) -> Iterator[str]:
    """What is known about worst pairs, for readers of the verdict."""
    worst = [c for c in audit.further_rates if c.claim.pair_law == "worst"]
    if worst:
        said = ", ".join(f"{c.claim.tier} {c.mean:.1%} (at most {c.upper:.1%})" for c in worst)
        yield f"Not part of this verdict, the share of positions where some pair exceeds epsilon: {said}."


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


def headline(audit: Audit) -> str:
    """The verdict in one line, with the worst bounds and whose they are."""
    asked = audit.settings
    claim = f"Pr[mPL > {asked.epsilon:g}] <= {asked.delta:g}" if asked.delta is not None else "no delta was stated"
    words = {
        "certified": f"CERTIFIED: {claim} in every tier",
        "violated": f"VIOLATED: {claim} does not hold",
        "undecided": f"UNDECIDED (counts as not certified): {claim}",
    }
    said = words.get(audit.state_in_words, f"{_capital(audit.state_in_words)} (counts as not certified): {claim}")
    why = withheld_reason(audit) if audit.verdict is not None and audit.state == "undecided" else ""
    worst = f"{asked.law} pairs, level {asked.alpha:g}; worst: {worst_in_words(audit)}"
    return f"{said} ({worst}){f': {why}' if why else ''}"


def _calibrated(found: Calibration) -> str:
    """Whether the strongest attacker is as sure as it should be."""
    return (
        f"Calibration of {found.attacker} on {found.documents} records: how sure it is of its first guesses and how "
        f"often they are right differ by {found.calibration_error:.3f}; the best temperature is "
        f"{found.temperature:.3f}."
    )


def attackers_table(audit: Audit) -> Table:
    """Every attacker with its controls; those with a worst bound in bold. Many tiers stand below one another."""
    if len(audit.tier_names) > WIDE:
        return _stacked_attackers(audit)
    from rich.table import Table

    table = Table()
    for name in GAINS:
        table.add_column(name, justify="left" if name == "attacker" else "right")
    names = ("top-1", "anchored") if audit.tiers_are_public else ("top-1", "anchored", "across")
    for tier in audit.tier_names:
        for name in names:
            table.add_column(f"{tier} {name}", justify="right")
    for row in audit.attackers:
        table.add_row(*_cells(row, audit), style=_style(row, audit))
    return table


def _stacked_attackers(audit: Audit) -> Table:
    from rich.table import Table

    table = Table()
    names = ("top-1", "anchored") if audit.tiers_are_public else ("top-1", "anchored", "across")
    for name in (*GAINS, "tier", *names):
        table.add_column(name, justify="left" if name in {"attacker", "tier"} else "right")
    for row in audit.attackers:
        cells = _cells(row, audit)
        for place, tier in enumerate(audit.tier_names):
            begins = cells[: len(GAINS)] if not place else [""] * len(GAINS)
            at = len(GAINS) + place * len(names)
            last = place == len(audit.tier_names) - 1
            table.add_row(*begins, tier, *cells[at : at + len(names)], style=_style(row, audit), end_section=last)
    return table


def _style(row: AttackerResult, audit: Audit) -> str:
    worst = worst_of_both(audit.deciding_rates)
    return "bold" if row.name in {base_name(made.claim.attacker) for made in worst} else ""


def _reads_context(audit: Audit) -> bool:
    return any(row.with_context for row in audit.attackers)


def _cells(row: AttackerResult, audit: Audit) -> list[str]:
    gains = ((row.gain, row.gain_error), (row.joint_gain, row.joint_gain_error))
    cells = [row.name, f"{row.log_score:.3f}", *(f"{mean:+.3f} ± {error:.3f}" for mean, error in gains)]
    rates = {tier.tier: tier for tier in row.tiers}
    for tier in audit.tier_names:
        found = rates.get(tier)
        cells += [f"{found.top1:.1%}", f"{found.anchored:.2%}"] if found else ["-", "-"]
        if not audit.tiers_are_public:
            cells.append(f"{found.pair_split.anchored_across:.2%}" if found and found.pair_split else "-")
    return cells


def show_adaptation(found: Adaptation, console: Console) -> None:
    """Print an adaptation from its stored values alone: the first screen, then the details."""
    asked, nouns = found.settings, nouns_of(found.detector)
    show_first_screen(screen_of_adaptation(found), console)
    console.print(choice_line(found), style="bold", markup=False)
    if found.release is not None:
        console.print(release_headline(found.release), markup=False)
    fit, select, certify = found.documents
    console.print(f"{_capital(nouns.records)}: {fit} to learn from, {select} to choose with, {certify} to certify on.")
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
    for what, said in (("Form of the release", found.remap_reason), ("Basis", found.basis)):
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


def choice_line(found: Adaptation) -> str:
    """The chosen scales in one line."""
    asked = found.settings
    capped = [f", right first guesses <= {cap:g} ({name})" for name, cap in asked.success.items()]
    capped += [f", advantage <= {cap:g} ({name})" for name, cap in asked.advantage.items()]
    claim = f"Pr[mPL > {asked.epsilon:g}] <= {asked.delta:g} in every tier{''.join(capped)}"
    scales = ", ".join(f"{name} x{scale:g}" for name, scale in zip(found.tier_names, found.scales or (), strict=False))
    if found.chosen is None:
        proposed = f"; proposed without a certificate: {scales}" if found.proposed else ""
        if found.state_in_words != "undecided":
            return f"{_capital(found.state_in_words)} (counts as not certified): {claim}{proposed}"
        return f"UNDECIDED (counts as not certified): no scales were certified for {claim}{proposed}"
    if found.proof:
        return f"PROVED: {found.proof} ({forms_line(found)})"
    return f"CERTIFIED: {claim} at scales {scales} ({asked.law} pairs, level {asked.alpha:g})"


def forms_line(found: Adaptation) -> str:
    """What each tier is released as, in one line, the reason where it is not noise."""
    rows = ((tier.tier, tier.form, f" ({tier.why})" if tier.why else "") for tier in found.tiers)
    return ", ".join(f"{name}: {form}{why}" for name, form, why in rows)


def comparison_table(found: Adaptation) -> Table:
    """The choice next to plain noise and one scale of equal utility; the certified row is bold."""
    if len(found.tier_names) > WIDE:
        return _stacked_comparison(found)
    from rich.table import Table

    table = Table()
    for name in ("release", "scales", "exact ε", "loss", "outputs"):
        table.add_column(name, justify="left" if name == "release" else "right")
    for tier in found.tier_names:
        for name in ("rate", "top-1"):
            table.add_column(f"{tier} {name}", justify="right")
    certified = "AmPL, remapped" if found.remapped else "AmPL"
    for row in found.compared:
        table.add_row(*_compared_cells(row, found), style="bold" if row.name == certified else "")
    nothing = ["-"] * (2 * len(found.tier_names))
    outputs = str(found.constant_outputs)
    table.add_row(found.constant_name, "-", "-", f"{found.constant_loss:.4f}", outputs, *nothing)
    return table


def _stacked_comparison(found: Adaptation) -> Table:
    """The same with the tiers below one another."""
    from rich.table import Table

    table = Table()
    for name in ("release", "exact ε", "loss", "outputs", "tier", "scale", "rate", "top-1"):
        table.add_column(name, justify="left" if name in {"release", "tier"} else "right")
    certified = "AmPL, remapped" if found.remapped else "AmPL"
    for row in found.compared:
        name, _, *whole, style = *_compared_cells(row, found), "bold" if row.name == certified else ""
        begins, rest = [name, *whole[:3]], whole[3:]
        for place, tier in enumerate(found.tier_names):
            last, scale = place == len(found.tier_names) - 1, f"{row.outcome.scales[place]:.4g}"
            cells = (begins if not place else [""] * 4) + [tier, scale, *rest[2 * place : 2 * place + 2]]
            table.add_row(*cells, style=style, end_section=last)
    constant = f"{found.constant_loss:.4f}"
    table.add_row(found.constant_name, "-", constant, str(found.constant_outputs), "", "-", "-", "-")
    return table


def _compared_cells(row: Compared, found: Adaptation) -> list[str]:
    point = row.outcome
    scales = ", ".join(f"{scale:.4g}" for scale in point.scales)
    exact = "-" if row.exact_epsilon is None else f"{row.exact_epsilon:.4f}"
    cells = [row.name, scales, exact, f"{point.loss:.4f}", f"{point.effective_outputs:.0f}"]
    tiers = {tier.tier: tier for tier in point.tiers}
    for name in found.tier_names:
        tier = tiers.get(name)
        rate = f"{100 * tier.rate:.2f}±{100 * tier.rate_error:.2f}%" if tier else "-"
        cells += [rate, f"{tier.top1:.1%}" if tier else "-"]
    return cells
