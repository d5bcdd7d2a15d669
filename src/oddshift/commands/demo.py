"""`oddshift demo`: the whole story on embedded data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from oddshift.commands.audit import audited
from oddshift.commands.terminal import Json, console_for


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the run.")] = Path("oddshift-demo"),
    as_json: Json = False,
) -> None:
    """Tell the story: kept alone, broken together, bounded from both sides; then audit a corpus of made-up people.

    Example: oddshift demo --out oddshift-demo
    """
    from oddshift.demo import PEOPLE, story, tell
    from oddshift.files import write_atomic

    numbers = story()
    console = console_for(as_json)
    tell(numbers, console)
    console.rule("an audit of 3,000 short texts about made-up people")
    found = audited(PEOPLE, out / "run", console)
    if as_json:
        print(json.dumps({"toy": numbers.as_json(), "audit": found}))
    else:
        write_atomic(out / "report.html", console.export_html().encode())
        console.print(f"\nreport: {out / 'report.html'}, run: {out / 'run'}")
