"""`oddshift report`: one page that shows a run.

`oddshift compare`: two runs side by side.

`oddshift watch`: has the data changed since the audit?

`oddshift ledger`: what was released with a policy, in totals that show no record and no user.

`oddshift doctor`: what is installed, what is missing, and the exact command that gets it.

`oddshift verify`: is this certificate real?

`oddshift sign`: sign a certificate with a key.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oddshift.app.commands.terminal import NOT_SHOWN, Json, console_for, next_step, waiting
from oddshift.base.errors import InvalidInput, visible
from oddshift.base.storage import write_atomic
from oddshift.evidence.certificates.stored import SIGNATURE, sign_file
from oddshift.evidence.certificates.stored import new_key as make_key

if TYPE_CHECKING:
    from oddshift.app.compare import ComparedRow
    from oddshift.app.doctor import Diagnosis
    from oddshift.app.watch.series import Watch
    from oddshift.protect import Ledger


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
    from oddshift.app.run_folder import PRIVATE, REPORT

    sources = read_sources(run, with_examples=with_examples)
    path = run / REPORT if out is None else out
    write_atomic(path, page(sources).encode(), mode=PRIVATE if sources.has_secrets else 0o666)
    if as_json:
        print(json.dumps({"report": str(path)}))
    else:
        print(f"report: {path}" + (" (it shows secrets)" if sources.has_secrets else ""))


def compare(
    first: Annotated[Path, typer.Argument(help="A run folder.")],
    second: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: Json = False,
) -> None:
    """Show two runs side by side: their differences with standard errors, and where their questions differ.

    Example: oddshift compare before-run after-run
    """
    from rich.table import Table

    from oddshift.app.compare import compare as compared

    if first.resolve() == second.resolve():
        raise InvalidInput(f"{first} and {second} are the same run, expected two")
    found = compared(first, second)
    if as_json:
        print(json.dumps(asdict(found)))
        return
    console = console_for(as_json)
    console.print(f"first: {first}, second: {second}; records: {found.documents}", soft_wrap=True)
    for warning in found.warnings:
        console.print(f"warning: {warning}", style="yellow")
    table = Table()
    for name in ("", "first", "second", "second - first"):
        table.add_column(name, justify="right" if name else "left", overflow="fold")
    for row in found.rows:
        table.add_row(row.name, row.first, row.second, _difference(row))
    console.print(table)
    console.print(
        "± is one standard error; with * it comes from differences record by record, otherwise it takes the runs "
        "as independent."
    )


def _difference(row: ComparedRow) -> str:
    if row.difference is None:
        return ""
    error = "" if row.error is None else f" ± {row.error:.4f}{'*' if row.paired else ''}"
    return f"{row.difference:+.4f}{error}"


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
    from oddshift.app.watch.watching import PAGE, watch_page
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
    from oddshift.app.run_folder import summary
    from oddshift.app.watch.watching import audit_again

    console = console_for(as_json)
    with waiting("fitting and running attackers on the newest windows", quiet=as_json):
        found = audit_again(run, new, folder, window=window)
    show_audit(found, console)
    if as_json:
        print(json.dumps(summary(found)))
    else:
        console.print(f"run: {folder}", soft_wrap=True)
        console.print(f"next: {next_step('report', folder)}", soft_wrap=True)
    if found.state != "certified":
        raise typer.Exit(NOT_SHOWN)


Place = Annotated[Path, typer.Argument(metavar="POLICY", help="A policy.json, or the folder that holds one.")]

ledger = typer.Typer(help="Show or check the ledger of releases that is kept with a policy.", no_args_is_help=True)


Server = Annotated[str, typer.Option("--ledger", help="The address of a PostgreSQL server that keeps the ledger.")]


def _ledger_of(policy: Path, asked: str) -> Ledger:
    """The ledger of a policy; its folder may have lost the policy, and still hold the ledger."""
    from oddshift.protect import Ledger, ledger_of
    from oddshift.protect.policies import POLICY, load_policy

    file = policy / POLICY if policy.is_dir() else policy
    if asked or not file.is_file():
        return Ledger(asked) if asked else Ledger.beside(policy)
    return ledger_of(load_policy(file), file)


@ledger.command()
def show(policy: Place, server: Server = "", as_json: Json = False) -> None:
    """Print totals: releases, records, users, and the largest budgets that were spent.

    Example: oddshift ledger show mail-run/policy.json
    """
    found = _ledger_of(policy, server).totals()
    if as_json:
        print(json.dumps({**asdict(found), **_budgets(found.most_composed, found.user_most_spent)}))
        return
    console = console_for(False)
    states = ", ".join(f"{count:,} {state}" for state, count in found.releases.items()) or "none"
    console.print(f"releases: {states}")
    console.print(
        f"records: {found.records:,}, {found.repeated:,} releases of records that were released before, "
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
def check(policy: Place, server: Server = "", as_json: Json = False) -> None:
    """Check that the ledger is complete and was not replaced by an older copy; the exit code is 2 when it is damaged.

    Example: oddshift ledger check mail-run/policy.json
    """
    problems = _ledger_of(policy, server).check()
    if as_json:
        print(json.dumps({"holds": not problems, "problems": problems}))
    else:
        console = console_for(False)
        for line in problems:
            console.print(line)
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


def doctor(as_json: Json = False) -> None:
    """Say what is installed, which extras are missing and how to get them. The exit code is 0 when the core works.

    Example: oddshift doctor
    """
    from oddshift.app.doctor import diagnose

    found = diagnose()
    if as_json:
        print(json.dumps({**asdict(found), "missing": found.missing}))
    else:
        print("\n".join(_lines(found)))
    if not found.core_works:
        raise typer.Exit(1)


def _lines(found: Diagnosis) -> Iterator[str]:
    yield f"oddshift {found.oddshift}, Python {found.python}, {found.system}"
    yield f"{found.cpus} CPUs, {found.memory_gb:g} GB of memory"
    for extra, packages in groupby(found.packages, key=lambda package: package.extra):
        held = [f"{p.name} {p.version or 'missing'}{'' if p.holds else f' (wanted {p.wanted})'}" for p in packages]
        command = found.missing.get(extra or "core")
        yield f"{'ok     ' if command is None else 'missing'} {extra or 'core'}: {', '.join(held)}"
        if command is not None:
            yield f"        get it with: {command}"
    yield f"spaCy pipelines: {', '.join(found.pipelines) or 'none installed; name a folder, or install one with'}"
    if not found.pipelines:
        yield "        python -m spacy download en_core_web_sm"
    yield f"real data: {found.data or 'not found (set ODDSHIFT_DATA); only studies and some tests need it'}"
    yield f"cache: {found.cache or 'cannot be written, so names are detected again each time (set XDG_CACHE_HOME)'}"
    yield "the core works" if found.core_works else "the core does NOT work: see above"


def verify(
    file: Annotated[Path, typer.Argument(help="Evidence of a certificate or witness (.npz or .json).")],
    expect: Annotated[str, typer.Option(help="The digest (SHA-256) published for this file.")] = "",
    require: Annotated[str, typer.Option(help="A state that must hold, such as certified.")] = "",
    key: Annotated[Path | None, typer.Option(help="The public key of the expected signer.")] = None,
    as_json: Json = False,
) -> None:
    """Compute a stored certificate or witness again from its evidence, and say yes or no.

    Yes means that the stated bounds and state follow from the stored numbers; read the state itself in the sentence.
    With --key it also means that the holder of that key signed the file.

    Example: oddshift verify mail-run/evidence/anchored-PII-counts-1a2b3c.npz
    """
    from oddshift.evidence.certificates import verify_file

    if file.is_dir():
        raise InvalidInput(
            f"{file} is a folder, expected one file of its evidence/, such as evidence/anchored-PII-counts-1a2b3c.npz"
        )
    found = verify_file(file, expect=expect, require=require, key=key)
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        print(visible(f"{'yes' if found.holds else 'no'}: {found.reason}"))
        if found.holds:
            print(
                visible(f"state: {found.state}\n{found.sentence}\nsha256: {found.sha256}\nsignature: {found.signature}")
            )
    if not found.holds:
        raise typer.Exit(NOT_SHOWN)


def sign(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE...", help="Evidence to sign, or run folders with evidence.")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="The private key to sign with.")] = None,
    new_key: Annotated[Path | None, typer.Option(help="Make this new key first: KEY and KEY.pub.")] = None,
    as_json: Json = False,
) -> None:
    """Sign stored evidence with an Ed25519 key, so that `verify --key` catches a forgery whose hashes were updated.

    The private key is a file that only its owner can read: keep it away from the evidence, and publish KEY.pub.

    Example: oddshift sign mail-run --new-key ~/audit-key
    """
    from oddshift.app.run_folder import EVIDENCE

    if (key is None) == (new_key is None):
        raise InvalidInput("sign takes either --key or --new-key")
    wanted: list[Path] = []
    for file in files or ():
        inside = sorted((file / EVIDENCE).glob("*")) if file.is_dir() else [file]
        wanted += [each for each in inside if each.suffix != SIGNATURE]
        if not inside:
            raise InvalidInput(f"{file} holds no {EVIDENCE}/, expected evidence or a run folder")
    if not wanted and new_key is None:
        raise InvalidInput("sign was given no file, expected evidence or a run folder")
    for file in wanted:
        if not file.is_file():
            raise InvalidInput(f"{file} is not a file, expected stored evidence")
    public = None if new_key is None else make_key(new_key)
    signed = [sign_file(file, key or new_key or Path()) for file in wanted]
    if as_json:
        print(json.dumps({"signatures": [str(path) for path in signed], "public_key": public and str(public)}))
        return
    if public is not None:
        print(f"made: {new_key} (private, for its owner alone) and {public} (to publish)")
    for path in signed:
        print(f"signed: {path}")
