"""`oddshift watch`: has the data changed since the audit?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oddshift.app.commands.terminal import NOT_SHOWN, Json, console_for, next_step, waiting
from oddshift.base.storage import write_atomic

if TYPE_CHECKING:
    from oddshift.app.watch.watch_answer import Watch


def watch(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    new: Annotated[list[Path], typer.Argument(help="Files of new data, in order of time.")],
    window: Annotated[int, typer.Option(help="Cut each file into windows of this many rows; 0 for none.")] = 0,
    alpha: Annotated[float, typer.Option(help="The chance that an alarm is ever raised without a change.")] = 0.05,
    again: Annotated[
        Path | None, typer.Option(help="Instead, audit again on these windows, the newest to certify on, in a new run.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Audit windows of new data under the policy of a run, without fitting, until a change is certified.

    A window counts once, known by its content; after an interruption the same command continues. The exit code is 2
    once a change is certified, and the re-audit is then the next step.

    Example: oddshift watch mail-run monday.csv tuesday.csv
    """
    if again is not None:
        _audit_again(run, new, again, window, as_json)
        return
    from oddshift.app.watch.watch_page import PAGE, watch_page
    from oddshift.app.watch.watching import watch as watched

    with waiting("measuring windows; if interrupted, run the same command to continue", quiet=as_json):
        found = watched(run, new, window=window, alpha=alpha)
    write_atomic(run / PAGE, watch_page(found, run.name).encode(), mode=0o600)
    step = next_step("watch", run, *new, *(("--window", window) if window else ()), "--again", f"{run}-2")
    if as_json:
        print(json.dumps({**asdict(found), "state": found.state, "again": step if found.alarms else ""}))
    else:
        _show(found, run / PAGE, step)
    if found.alarms:
        raise typer.Exit(NOT_SHOWN)


def _show(found: Watch, page: Path, step: str) -> None:
    console = console_for(False)
    for line in (*repr(found).splitlines(), *found.notes):
        console.print(line, soft_wrap=True)
    console.print(f"windows: {found.counted} counted now, {found.known} known before; rows waiting: {found.waiting}")
    console.print(f"page: {page}", soft_wrap=True)
    if found.alarms:
        console.print(f"next: {step}", soft_wrap=True)


def _audit_again(run: Path, new: list[Path], folder: Path, window: int, as_json: bool) -> None:
    from oddshift.app.display import show_audit
    from oddshift.app.nouns import reword_for, reword_plain
    from oddshift.app.runs import summary
    from oddshift.app.watch.sliding_audit import audit_again

    console = console_for(as_json)
    with waiting("fitting and running attackers on the newest windows", quiet=as_json):
        found = audit_again(run, new, folder, window=window)
    show_audit(found, console)
    if as_json:
        print(json.dumps(reword_plain(summary(found), reword_for(found.detector))))
    else:
        console.print(f"run: {folder}", soft_wrap=True)
        console.print(f"next: {next_step('report', folder)}", soft_wrap=True)
    if found.state != "certified":
        raise typer.Exit(NOT_SHOWN)
