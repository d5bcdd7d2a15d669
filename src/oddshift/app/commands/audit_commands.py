"""`oddshift audit`: measure what a joint attacker learns.

`oddshift adapt`: find the least noise, tier by tier, that keeps the leakage in budget.

`oddshift sweep`: ask at every point of a grid, for research.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshift.app.commands.terminal import (
    NOT_SHOWN,
    Details,
    Json,
    console_for,
    next_step,
    progress_bar,
    protect_step,
    waiting,
)
from oddshift.base.errors import InvalidInput
from oddshift.bounds import zero_failures
from oddshift.mechanisms.named import SCALED

if TYPE_CHECKING:
    from oddshift.app.configuration import Configuration


def audit(
    config: Annotated[Path | None, typer.Argument(help="A TOML file; docs/audit.md explains it.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Audit the embedded corpus instead of a file.")] = False,
    out: Annotated[Path, typer.Option(help="The run folder.")] = Path("oddshift-run"),
    max_cpu: Annotated[float | None, typer.Option(help="Limit the work to this many CPU seconds.")] = None,
    keep_examples: Annotated[
        bool, typer.Option(help="Also keep the SECRETS of a few documents, in a separate folder.")
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Keep prepared SECRETS for `adapt`, in a private folder.")
    ] = True,
    details: Details = False,
    as_json: Json = False,
) -> None:
    """Measure what a joint attacker learns from releases, with certificates.

    An interrupted run continues when the same command is run again.

    Example: oddshift audit mail.toml --out mail-run
    """
    from oddshift.app.configuration import parse_config, read_config
    from oddshift.app.configured_runs import KEPT, run_audit
    from oddshift.app.demo import PEOPLE
    from oddshift.app.display import show_audit
    from oddshift.app.run_folder import summary

    if demo == (config is not None):
        raise InvalidInput("audit takes either a configuration file or --demo")
    console = console_for(as_json)
    if config is None:
        asked = parse_config(PEOPLE, "demo")
    else:
        asked = parse_config(read_config(config), str(config), config.parent)
    with waiting("if interrupted, run the same command to continue", quiet=console.quiet) as progress:
        done = run_audit(asked, out, max_cpu=max_cpu, keep_examples=keep_examples, keep=keep, progress=progress)
    show_audit(done, console, details=details)
    found = summary(done)
    if as_json:
        print(json.dumps(found))
    else:
        console.print(f"run: {out}", soft_wrap=True)
        if (out / KEPT).is_dir():
            console.print(f"confidential: {KEPT}/ in it holds secrets in coded form, until `adapt` is done with them.")
        for line in _following(found, asked, config, out):
            console.print(line, soft_wrap=True)
    if found["state"] != "certified":
        raise typer.Exit(NOT_SHOWN)


def _following(found: dict[str, Any], parsed: Configuration, config: Path | None, out: Path) -> list[str]:
    """What can be done next: check a certificate, make the report, and release or adapt where that is possible."""
    from oddshift.app.run_folder import EVIDENCE, POLICY

    asked, evidence = found["settings"], out / EVIDENCE / found["certificates"][0]["file"]
    lines = [f"check: {next_step('verify', evidence)}", f"next: {next_step('report', out)}"]
    if config is None or asked["delta"] is None:
        return lines
    data = getattr(parsed.data, "path", None)
    if (out / POLICY).is_file():
        return lines if data is None else [*lines, f"next: {protect_step(data, out / POLICY)}"]
    least = min((c for c in found["certificates"] if c["claim"]["pair_law"] == asked["law"]), key=_documents)
    needs = zero_failures(asked["delta"], asked["alpha"], asked["method"])
    if _documents(least) < needs:
        has = f"{least['claim']['tier']} has {_documents(least)}"
        lines.append(
            f"delta = {asked['delta']:g} needs {needs} to certify on, {has}: adapt proves what it cannot count"
        )
    if (name := parsed.mechanism.name) not in (*SCALED, "mask"):
        return [*lines, f'{name} has no scales to adapt: [mechanism] name = "exponential" has']
    return [*lines, f"next: {next_step('adapt', config, '--out', out)}"]


def _documents(certificate: dict[str, Any]) -> int:
    return int(certificate["documents"])


def adapt(
    config: Annotated[Path, typer.Argument(help="A TOML file with audit.delta; docs/adapt.md explains it.")],
    out: Annotated[Path, typer.Option(help="The run folder; it may already hold the audit.")] = Path("oddshift-run"),
    details: Details = False,
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
        found = run_adapt(asked, out, str(config), progress=progress)
    if as_json:
        policy = str(out / POLICY) if found.scales is not None else None
        print(json.dumps({**adaptation_summary(found), "policy": policy}))
    else:
        show_adaptation(found, console, details=details)
        console.print(f"run: {out}")
        if found.scales is not None:
            console.print("confidential: policy.json and vocabulary.npz name what is sensitive; evidence/ does not.")
        console.print(f"next: {next_step('report', out)}", soft_wrap=True)
        data = getattr(asked.data, "path", None)
        if found.scales is not None and data is not None:
            allowed = () if found.chosen is not None else ("--allow-uncertified",)
            start = "not certified, only if you accept that:" if allowed else "next:"
            console.print(f"{start} {protect_step(data, out / POLICY, *allowed)}", soft_wrap=True)
    if found.chosen is None:
        raise typer.Exit(NOT_SHOWN)


def sweep(
    config: Annotated[Path, typer.Argument(help="A TOML file with a table [sweep]; docs/sweep.md explains it.")],
    out: Annotated[Path, typer.Option(help="The folder of cells, rows and picture.")] = Path("oddshift-sweep"),
    workers: Annotated[int, typer.Option(help="Number of cells computed at the same time.")] = 1,
    as_json: Json = False,
) -> None:
    """Ask at every point of a grid, for research: one row for each cell, paired tests, and the front as a picture.

    A sweep is exploratory: it certifies nothing and spends no level. Finished cells are kept, so that the same command
    continues after an interruption or with further values.

    Example: oddshift sweep config.toml --out sweep
    """
    from oddshift.app.configuration import parse_config, read_config
    from oddshift.app.sweep import EXPLORATORY, front, paired_tests
    from oddshift.app.sweep import sweep as swept
    from oddshift.app.sweep_page import TEST_HEAD, test_row, write_sweep
    from oddshift.base.execution import Execution

    asked, console = parse_config(read_config(config), str(config), config.parent), console_for(as_json)
    with progress_bar(console, "computing cells") as progress:
        rows = swept(asked, out, Execution("processes", workers) if workers > 1 else None, progress)
    assert asked.sweep is not None
    written, tests = write_sweep(out, rows, asked.sweep), paired_tests(rows, asked.sweep)
    if as_json:
        files, compared = [str(path) for path in written], [asdict(test) for test in tests]
        print(json.dumps({"rows": rows, "front": front(rows), "tests": compared, "files": files}))
        return
    if tests:
        console.print(", ".join(TEST_HEAD), markup=False)
    for test in tests:
        console.print("  " + ", ".join(test_row(test)), markup=False, soft_wrap=True)
    console.print(f"{len(rows)} cells: {', '.join(str(path) for path in written)}", markup=False, soft_wrap=True)
    console.print(EXPLORATORY, markup=False)
