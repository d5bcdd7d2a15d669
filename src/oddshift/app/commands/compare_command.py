"""`oddshift compare`: two runs side by side."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oddshift.app.commands.terminal import Json, console_for
from oddshift.base.errors import InvalidInput

if TYPE_CHECKING:
    from oddshift.app.compare import ComparedRow


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: Json = False,
) -> None:
    """Show two runs side by side: their differences with standard errors, and where their questions differ.

    Example: oddshift compare before-run after-run
    """
    from rich.table import Table

    from oddshift.app.compare import compare as compared
    from oddshift.app.nouns import Speaking, reword_for, reword_plain

    if first.resolve() == second.resolve():
        raise InvalidInput(f"{first} and {second} are the same run, expected two")
    found = compared(first, second)
    if as_json:
        print(json.dumps(reword_plain(asdict(found), reword_for(found.detector))))
        return
    screen = console_for(as_json)
    console = Speaking(screen, reword_for(found.detector))
    console.print(f"first: {first}, second: {second}; documents: {found.documents}", markup=False, soft_wrap=True)
    for warning in found.warnings:
        console.print(f"warning: {warning}", style="yellow", markup=False)
    table = Table()
    for name in ("", "first", "second", "second - first"):
        table.add_column(name, justify="right" if name else "left", overflow="fold")
    for row in found.rows:
        cells = (console.reword(said) for said in (row.name, row.first, row.second))
        table.add_row(*cells, _difference(row))
    console.print(table)
    console.print(
        "± is one standard error; with * it comes from differences document by document, otherwise it takes the runs "
        "as independent."
    )


def _difference(row: ComparedRow) -> str:
    if row.difference is None:
        return ""
    error = "" if row.error is None else f" ± {row.error:.4f}{'*' if row.paired else ''}"
    return f"{row.difference:+.4f}{error}"
