"""What all commands share: the --json option, and a console that is rich on a terminal and plain elsewhere.

Progress where standard error is not a terminal: a plain line now and then, for logs of long work.

Nothing is said about work that ends within seconds. Lines hold names of steps, counts and times, never a value.
"""

from __future__ import annotations

import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshift.base.errors import visible
from oddshift.base.execution import Progress, silent

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Details = Annotated[bool, typer.Option("--details", help="Also print attackers, certificates, notes and assumptions.")]
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
    from rich.text import Text

    class PlainConsole(Console):
        """A console on which names from data are shown and never obeyed."""

        def render_str(self, text: str, **how: Any) -> Text:
            """A text without control characters."""
            return super().render_str(visible(text), **how)

    return PlainConsole(record=True, quiet=as_json, markup=False, width=None if sys.stdout.isatty() else 120)


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


FIRST, EVERY = 5.0, 10.0
"""Seconds before the first line, and between two lines about the same step."""

Clock = Callable[[], float]


def progress_line(what: str, done: int, total: int, seconds: float) -> str:
    """What is being done, which share is done, and how long the rest of this step takes at the same pace.

    >>> progress_line("scales", 3, 12, 30.0)
    'scales: 25 % done after 30 s, about 90 s left in this step'
    """
    if seconds < 1:
        return what
    if not 0 < done < total:
        return f"{what}: {seconds:.0f} s so far"
    left = seconds * (total - done) / done
    return f"{what}: {100 * done / total:.0f} % done after {seconds:.0f} s, about {left:.0f} s left in this step"


class PlainProgress:
    """A `Progress` that writes a line when a step begins and `EVERY` seconds later, but none in the `FIRST` seconds."""

    def __init__(self, what: str, write: Callable[[str], object], clock: Clock = time.monotonic) -> None:
        """`write` takes one line; `clock` gives seconds."""
        self._write, self._clock, self._lock = write, clock, threading.Lock()
        self._begun = self._step_begun = clock()
        self._last = self._begun + FIRST - EVERY
        self._step = (what, 0, 0)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Note how far the work is; a new step is said at once."""
        with self._lock:
            now = self._clock()
            is_new = what != self._step[0]
            self._step = (what, done, total)
            if is_new:
                self._step_begun = now
            self._say(now, at_once=is_new)

    def tick(self) -> None:
        """Say how far the work is if it is time to."""
        with self._lock:
            self._say(self._clock(), at_once=False)

    def _say(self, now: float, *, at_once: bool) -> None:
        if now - self._begun < FIRST or not (at_once or now - self._last >= EVERY):
            return
        self._last = now
        self._write(progress_line(*self._step, now - self._step_begun))


@contextmanager
def plain_progress(what: str) -> Iterator[Progress]:
    """Lines on standard error while something is done, also where a single step takes long."""
    told, ended = PlainProgress(what, to_standard_error), threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            told.tick()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield told
    finally:
        ended.set()
        watcher.join()


def to_standard_error(line: str) -> None:
    """Write one line at once."""
    print(visible(line), file=sys.stderr, flush=True)
