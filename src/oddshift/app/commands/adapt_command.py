"""`oddshift adapt`: find the least noise, tier by tier, that keeps the leakage in budget."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import NOT_SHOWN, Json, console_for, next_step, progress_bar, protect_step, saying


def adapt(
    config: Annotated[Path, typer.Argument(help="A TOML file with audit.delta; docs/adapt.md explains it.")],
    out: Annotated[Path, typer.Option(help="The run folder; it may already hold the audit.")] = Path("oddshift-run"),
    as_json: Json = False,
) -> None:
    """Find the scales with the least utility loss whose leakage is certified, and write the policy.

    An interrupted run continues when the same command is run again.

    Example: oddshift adapt config.toml --out oddshift-run
    """
    from oddshift.app.configuration import parse_config, read_config
    from oddshift.app.configured_runs import run_adapt
    from oddshift.app.display import show_adaptation
    from oddshift.app.run_folder import POLICY, adaptation_summary

    console = console_for(as_json)
    asked = parse_config(read_config(config), str(config), config.parent)
    with progress_bar(console, "reading the data") as progress:
        found = run_adapt(asked, out, str(config), progress=progress, say=saying(console))
    if as_json:
        policy = str(out / POLICY) if found.scales is not None else None
        print(json.dumps({**adaptation_summary(found), "policy": policy}))
    else:
        show_adaptation(found, console)
        console.print(f"run: {out}")
        if found.scales is not None:
            console.print("confidential: policy.json and vocabulary.npz name what is sensitive; evidence/ does not.")
        console.print(f"next: {next_step('report', out)}", markup=False, soft_wrap=True)
        data = getattr(asked.data, "path", None)
        if found.scales is not None and data is not None:
            allowed = () if found.chosen is not None else ("--allow-uncertified",)
            start = "not certified, only if you accept that:" if allowed else "next:"
            console.print(f"{start} {protect_step(data, out / POLICY, *allowed)}", markup=False, soft_wrap=True)
    if found.chosen is None:
        raise typer.Exit(NOT_SHOWN)
