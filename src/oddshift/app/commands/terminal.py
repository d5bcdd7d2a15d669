"""What all commands share: the --json option, and a console that is rich on a terminal and plain elsewhere."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from oddshift.app.commands.plain_progress import plain_progress, to_standard_error
from oddshift.base.progress import silent, unsaid

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from oddshift.base.progress import Progress, Say

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


def saying(console: Console) -> Say:
    """Lines on standard error; nothing where a command prints JSON."""
    return unsaid if console.quiet else to_standard_error


@contextmanager
def waiting(what: str, *, quiet: bool = False) -> Iterator[Progress]:
    """A spinner on a terminal's standard error while something is done; elsewhere a plain line now and then."""
    if quiet:
        yield silent
        return
    if not sys.stderr.isatty():
        with plain_progress(what) as told:
            yield told
        return
    from rich.console import Console

    with Console(stderr=True).status(what) as shown:
        yield lambda step, done, total: shown.update(f"{step}{f' ({done} of {total})' if total else ''}; {what}")


@contextmanager
def progress_bar(console: Console, what: str) -> Iterator[Progress]:
    """A bar on a terminal, elsewhere plain lines on standard error; nothing where a command prints JSON."""
    from rich.progress import Progress as Bar

    if console.quiet:
        yield silent
        return
    if not console.is_terminal:
        with plain_progress(what) as told:
            yield told
        return
    with Bar(console=console, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda step, done, total: bar.update(task, description=step, completed=done, total=total or None)
