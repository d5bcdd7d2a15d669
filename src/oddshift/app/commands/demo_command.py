"""`oddshift demo`: the whole story on embedded data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import Json, console_for, next_step, progress_bar
from oddshift.base.storage import write_atomic


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the run.")] = Path("oddshift-demo"),
    as_json: Json = False,
) -> None:
    """Show the whole story on made-up data: a promise that holds for one release and breaks for several, its repair,
    and the report.

    Example: oddshift demo --out oddshift-demo
    """
    from oddshift.app import demo as told
    from oddshift.app.configured_runs import run_adapt, run_audit
    from oddshift.app.run_folder import POLICY, adaptation_summary, read_belief, summary
    from oddshift.protect.policies import load_policy

    run, console = out / "run", console_for(as_json)
    numbers = told.story()
    console.rule("two correlated secrets, each released with epsilon = 1")
    told.tell(numbers, console)
    console.rule("3,000 short texts about made-up people")
    found = run_audit(told.PEOPLE, run, keep_examples=True)
    told.tell_audit(found, console)
    belief = read_belief(run, with_secrets=True)
    if belief is not None:
        told.tell_belief(belief, console)
    console.rule("the least noise that keeps the promise together")
    with progress_bar(console, "adapting") as progress:
        adapted = run_adapt(told.PEOPLE, run, progress=progress)
    told.tell_choice(adapted, console)
    console.rule("texts released with it")
    sample = told.protected_sample(load_policy(run / POLICY)) if adapted.chosen is not None else []
    told.tell_sample(sample, console)
    page = _report(run, out / "report.html")
    if as_json:
        plain = {"toy": numbers.as_json(), "audit": summary(found), "adaptation": adaptation_summary(adapted)}
        print(json.dumps({**plain, "sample": sample, "report": str(page)}))
    else:
        console.print(f"\nreport: {page}\nrun: {run}")
        console.print(f"next: {next_step('init', 'YOUR-FILE.csv')}", markup=False)


def _report(run: Path, page: Path) -> Path:
    """The page of the run, with its examples: these people do not exist."""
    from oddshift.app.report import page as made
    from oddshift.app.report import read_sources

    write_atomic(page, made(read_sources(run)).encode())
    return page
