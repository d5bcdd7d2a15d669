"""`oddshift report`: one page that shows a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import Json
from oddshift.base.storage import write_atomic


def report(
    run: Annotated[Path, typer.Argument(help="A run folder, from audit or adapt.")],
    out: Annotated[Path | None, typer.Option(help="The page; by default report.html in the folder.")] = None,
    with_examples: Annotated[bool, typer.Option(help="Show the SECRETS that the run kept, if it kept any.")] = True,
    as_json: Json = False,
) -> None:
    """Make one self-contained page from a run; it needs no network and no other file.

    Example: oddshift report oddshift-run
    """
    from oddshift.app.report import page, read_sources
    from oddshift.app.runs import PRIVATE, REPORT

    sources = read_sources(run, with_examples=with_examples)
    path = run / REPORT if out is None else out
    write_atomic(path, page(sources).encode(), mode=PRIVATE if sources.has_secrets else 0o666)
    if as_json:
        print(json.dumps({"report": str(path)}))
    else:
        print(f"report: {path}" + (" (it shows secrets)" if sources.has_secrets else ""))
