"""`oddshift ledger`: what was released with a policy, in totals that show no record and no user."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from oddshift.app.commands.terminal import NOT_SHOWN, Json, console_for

Place = Annotated[Path, typer.Argument(metavar="POLICY", help="A policy.json, or the folder that holds one.")]

ledger = typer.Typer(help="Show or check the ledger of releases that is kept with a policy.", no_args_is_help=True)


@ledger.command()
def show(policy: Place, as_json: Json = False) -> None:
    """Print totals: releases, records, users, and the largest budgets that were spent.

    Example: oddshift ledger show mail-run/policy.json
    """
    from oddshift.protect import Ledger

    found = Ledger.beside(policy).totals()
    if as_json:
        print(json.dumps({**asdict(found), **_budgets(found.most_composed, found.user_most_spent)}))
        return
    console = console_for(False)
    states = ", ".join(f"{count:,} {state}" for state, count in found.releases.items()) or "none"
    console.print(f"releases: {states}")
    console.print(
        f"records: {found.records:,}, {found.repeated:,} of them released more than once, "
        f"{found.kept:,} with their release kept; largest metric budget of a release: {found.most_composed:g}"
    )
    if found.unnamed_rows:
        console.print(f"rows without an id: {found.unnamed_rows:,}, which are recognised only when many of them return")
    if found.users:
        console.print(
            f"users: {found.users:,}, {found.user_releases:,} releases of their records; "
            f"largest composed metric budget of a user: {found.user_most_spent:g}"
        )
    if found.releases.get("crashed"):
        console.print("a crashed release never became visible; its records can be claimed by protect --take-over")


@ledger.command()
def check(policy: Place, as_json: Json = False) -> None:
    """Check that the ledger is complete and was not replaced by an older copy; the exit code is 2 when it is damaged.

    Example: oddshift ledger check mail-run/policy.json
    """
    from oddshift.protect import Ledger

    problems = Ledger.beside(policy).check()
    if as_json:
        print(json.dumps({"holds": not problems, "problems": problems}))
    else:
        console = console_for(False)
        for line in problems:
            console.print(line, markup=False)
        if not problems:
            console.print(
                "The ledger is complete, and not older than its counter. "
                "Replacing both the ledger and its counter by older copies would not be noticed."
            )
    if problems:
        raise typer.Exit(NOT_SHOWN)


def _budgets(record: float, user: float) -> dict[str, str | float]:
    """Budgets for JSON, which cannot say infinity."""
    values = {"most_composed": record, "user_most_spent": user}
    return {name: value if value < float("inf") else "inf" for name, value in values.items()}
