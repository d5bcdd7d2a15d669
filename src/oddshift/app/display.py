"""An audit or an adaptation in the terminal: the first screen, then the sentences and tables of the report.

What a policy and a release say of themselves: names that are probably missed, and what attackers guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from textwrap import wrap
from typing import TYPE_CHECKING

from oddshift.adapt import Adaptation
from oddshift.app.report.first_screen import FirstScreen, screen_of_adaptation, screen_of_audit
from oddshift.app.report.markup import Figure
from oddshift.app.report.numbers import certainty_figures, leakage_figures, repair_figures, screen_tables
from oddshift.app.report.wording import (
    adaptation_sentence,
    found_sentence,
    level_sentence,
    missed_sentence,
    named,
    percent,
    verdict_sentence,
)
from oddshift.audit import Audit
from oddshift.audit.release_use import DataFate, KindFate
from oddshift.audit.released_table import ReleasedTable, release_headline
from oddshift.data.codecs import KindCounts
from oddshift.model.nouns import NOUNS, nouns_of

if TYPE_CHECKING:
    from rich.console import Console

NUMBERS = frozenset("0123456789.+-±%")
"""What a cell that holds a number consists of: such columns stand to the right."""


def show_audit(audit: Audit, console: Console, *, details: bool = True) -> None:
    """Print an audit from its stored values alone: the first screen, and the details where they are asked for."""
    screen = screen_of_audit(audit)
    show_first_screen(screen, console)
    if not details:
        console.print(_more(audit, f"{len(audit.attackers)} attackers with their rates"))
        return
    single = (
        f"One release on its own: the exact epsilon is {audit.exact_epsilon:.4f} (the mechanism promises "
        f"{audit.claimed_epsilon:.4g}); the budget is {audit.settings.epsilon:g}."
    )
    _show_lines(
        (verdict_sentence(audit), level_sentence(audit), *_released(audit.release), single, _parts(audit)), console
    )
    _show_figures([*screen_tables(screen), *leakage_figures(audit), *certainty_figures(audit)], console)
    if audit.witness is not None:
        console.print(audit.witness.sentence, markup=False)
    _show_notes(audit, console)


def show_adaptation(found: Adaptation, console: Console, *, details: bool = True) -> None:
    """Print an adaptation from its stored values alone: the first screen, and the details where they are asked for."""
    screen = screen_of_adaptation(found)
    show_first_screen(screen, console)
    console.print(f"Released as: {forms_line(found)}.", markup=False)
    if not details:
        console.print(_more(found, f"{len(found.compared)} releases that were compared"))
        return
    reasons = "; ".join(f"{tier.tier}: {tier.form}, {tier.why}" for tier in found.tiers if tier.why)
    asked = (("Forms", reasons), ("Form of the release", found.remap_reason), ("Basis", found.basis))
    said = [f"{what}: {why}." for what, why in asked if why]
    if found.exact_epsilon is not None:
        said.append(f"One release on its own: the exact epsilon is {found.exact_epsilon:.4f}.")
    _show_lines((adaptation_sentence(found), *_released(found.release), _parts(found), *said), console)
    _show_figures([*screen_tables(screen), *repair_figures(found)], console)
    _show_notes(found, console)


def _released(release: ReleasedTable | None) -> tuple[str, ...]:
    """What goes out of a table, in one sentence."""
    return () if release is None else (release_headline(release),)


def _show_lines(lines: Iterable[str], console: Console) -> None:
    for line in lines:
        console.print(line, markup=False)


def _show_figures(figures: Iterable[Figure], console: Console) -> None:
    """Every table in full, and of every picture what it shows; its numbers are in the report."""
    from rich.table import Table
    from rich.text import Text

    for figure in figures:
        console.print(f"\n{figure.title}", style="bold", markup=False)
        if figure.says:
            console.print(figure.says, markup=False)
        if figure.draw is not None or not figure.rows:
            continue
        shown = Table()
        for place, name in enumerate(figure.head):
            is_number = all(set(row[place]) <= NUMBERS | {" "} for row in figure.rows)
            shown.add_column(Text(name), justify="right" if is_number else "left")
        for number, row in enumerate(figure.rows):
            shown.add_row(*map(Text, row), style="bold" if number in figure.bold else "")
        console.print(shown)


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


def forms_line(found: Adaptation) -> str:
    """What tiers are released as: a form, the tiers that have it, and why where units are lacking or it was asked."""
    alike: dict[tuple[str, str], list[str]] = {}
    for tier in found.tiers:
        why = f" ({tier.why})" if tier.is_named or tier.is_rare or tier.is_few else ""
        alike.setdefault((tier.form, why), []).append(tier.tier)
    return "; ".join(f"{form} for {named(names)}{why}" for (form, why), names in alike.items())


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
