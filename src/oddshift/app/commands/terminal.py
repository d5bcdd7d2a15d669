"""What all commands share: the --json option, and a console that is rich on a terminal and plain elsewhere."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
"""The option every command has."""


def protect_step(data: Path, policy: Path, *options: str) -> str:
    """The command that releases a file under a new name next to it."""
    there = data.with_name(f"{data.stem}-protected{data.suffix}")
    return next_step("protect", data, there, "--policy", policy, *options)


def next_step(*words: object) -> str:
    """The next command, ready to be pasted into a shell."""
    return shlex.join(["oddshift", *map(str, words)])


NOT_SHOWN = 2
"""Exit code of a command that ran, but whose answer is no."""


def console_for(as_json: bool) -> Console:
    """Where a command writes: nowhere when it prints JSON, lines of 120 characters when not on a terminal.

    Brackets are text: names of tiers, columns and folders may hold what would otherwise be read as markup.
    """
    from rich.console import Console

    return Console(record=True, quiet=as_json, markup=False, width=None if sys.stdout.isatty() else 120)


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner on a terminal's standard error while something is done; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def progress_bar(console: Console) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on a terminal, nothing elsewhere. It takes what is being done, how much is done, and the total."""
    from rich.progress import Progress

    if not console.is_terminal or console.quiet:
        yield lambda what, done, total: None
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)
