"""`oddshift protect`: apply a policy to files."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshift.app.commands.terminal import Json, console_for

if TYPE_CHECKING:
    from rich.console import Console

    from oddshift.protect import Protected

AGAIN = "Release this input once more; together the releases leak more than was certified."


def protect(  # noqa: PLR0913, PLR0917 (one for each option)
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="A .csv, .jsonl, .parquet, .txt or .npz file, or a folder.")
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="A new file (or folder) of the same kind.")],
    policy: Annotated[Path, typer.Option(help="A policy.json, with its vocabulary in the same folder.")],
    text: Annotated[list[str] | None, typer.Option(help="A column that holds texts (default: the policy's).")] = None,
    detector: Annotated[str, typer.Option(help="A spaCy pipeline: names it finds are masked too.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would change; write nothing.")] = False,
    again: Annotated[bool, typer.Option("--again", help=AGAIN)] = False,
    allow_uncertified: Annotated[bool, typer.Option("--allow-uncertified", help="Apply a policy that is not.")] = False,
    as_json: Json = False,
) -> None:
    """Release data the way a policy says: secrets through its mechanism, all else as it was, an input once.

    Example: oddshift protect mail.csv mail-protected.csv --policy mail-run/policy.json
    """
    from oddshift.protect import Ledger, ProtectSettings
    from oddshift.protect import protect as release
    from oddshift.protect.policies import load_policy

    chosen = load_policy(policy)
    settings = ProtectSettings(
        columns=tuple(text or ()),
        detector=_pipeline(detector) if detector else None,
        again=again,
        allow_uncertified=allow_uncertified,
        dry_run=dry_run,
    )
    with _counted(source, as_json) as count:
        done = release(source, out, chosen, Ledger.beside(policy), settings, count=count)
    if as_json:
        print(json.dumps(asdict(done)))
    else:
        _show(done, console_for(False))


def _pipeline(name: str) -> Any:
    from oddshift.data.detectors import Pipeline

    return Pipeline(name, workers=1, is_cached=False)


def _show(done: Protected, console: Console) -> None:
    for note in done.notes:
        console.print(f"[bold red]{note}[/]")
    verb = "would be" if done.is_dry_run else "were"
    tiers = ", ".join(f"{n:,} {name}" for name, n in done.positions.items())
    console.print(
        f"{done.records:,} records, {done.dropped:,} left out; secrets that {verb} put through the mechanism: {tiers} "
        "(some keep their value: that is how the noise hides the others)"
    )
    console.print(f"words that {verb} masked: {done.masked:,} ({done.unseen:,} that the policy has never seen)")
    if done.as_they_are:
        console.print(f"columns released as they are: {', '.join(done.as_they_are)}", markup=False)
    console.print(done.sentence, markup=False)
    if not done.is_dry_run:
        console.print(f"released: {done.out}", markup=False)
        console.print("This whole input is refused a second time; the same records in another file are not recognised.")


@contextmanager
def _counted(source: Path, quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar of bytes on a terminal, nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda size: None
        return
    from rich.console import Console
    from rich.progress import Progress

    files = [source] if source.is_file() else source.rglob("*.txt")
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("protecting", total=sum(path.stat().st_size for path in files))
        yield lambda size: bar.advance(task, size)
