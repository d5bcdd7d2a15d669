"""What all commands share: the --json option, and a console that is rich on a terminal and plain elsewhere."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
"""The option every command has."""


def next_step(*words: object) -> str:
    """The command that follows, as it can be pasted into a shell."""
    return shlex.join(["oddshift", *map(str, words)])


NOT_SHOWN = 2
"""Exit code of a command that ran, but whose answer is no."""


def console_for(as_json: bool) -> Console:
    """Where a command writes: nowhere when it prints JSON, lines of 110 characters when not on a terminal."""
    from rich.console import Console

    return Console(record=True, quiet=as_json, width=None if sys.stdout.isatty() else 110)
