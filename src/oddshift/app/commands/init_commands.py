"""`oddshift init`: a commented configuration for somebody's own file.

`oddshift demo`: the whole story on embedded data.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oddshift.app.commands.terminal import Json, console_for, next_step, progress_bar, waiting
from oddshift.base.errors import InvalidInput, visible
from oddshift.base.storage import write_atomic
from oddshift.model.nouns import NOUNS

if TYPE_CHECKING:
    from oddshift.app.init import Started


def init(
    file: Annotated[Path, typer.Argument(help="A .csv, .jsonl, .parquet or .npz file, or a folder of .txt files.")],
    out: Annotated[
        Path, typer.Option(help="The configuration to write; an existing file is never overwritten.")
    ] = Path("oddshift.toml"),
    vectors: Annotated[
        Path | None, typer.Option(help="Word vectors for text (GloVe, fastText, word2vec, .npz).")
    ] = None,
    pipeline: Annotated[str, typer.Option(help="A spaCy pipeline that finds names, by name or folder.")] = "",
    words: Annotated[Path | None, typer.Option(help="A text file of sensitive names, one on each line.")] = None,
    as_json: Json = False,
) -> None:
    """Look at the columns of a file and write a configuration for it, with a reason on each line.

    Example: oddshift init mail.csv --out mail.toml
    """
    from oddshift.app.init import start
    from oddshift.app.init.sections import OwnFiles

    if out.exists():
        raise InvalidInput(f"{out} already exists and is not overwritten, expected a new file: name one with --out")
    with waiting(f"looking at {file.name}", quiet=as_json):
        found = start(file, out, OwnFiles(vectors=vectors, pipeline=pipeline, words=words))
    write_atomic(out, found.config.encode())
    first = "adapt" if found.certify_units < found.needed_units else "audit"
    following = next_step(first, out, "--out", out.with_suffix("").name + "-run")
    if as_json:
        print(json.dumps(_plain(found, out, following)))
        return
    for line in _lines(found, file):
        print(visible(line))
    print(f"wrote {out}: every line says why; change what is wrong\nnext: {following}")


_MOST_NAMED = 12

NO_PIPELINE = (
    "no spaCy pipeline is installed, so names are guessed by their capital letters: of the marked people in "
    "docs/studies/pii_recall.md 271 of 1,411 are then left, instead of 137. Get one: python -m spacy download "
    "en_core_web_sm"
)
"""What the absence of a name model costs, and how to get one: none comes with a package that could be a dependency."""


def _lines(found: Started, file: Path) -> list[str]:
    roles = found.roles
    fit, select, certify = found.documents
    records = NOUNS["grouped table" if roles.kind == "table" and roles.user else roles.kind].records
    named = {
        "text": roles.text, "user": roles.user, "numbers": roles.numeric, "categories": roles.categorical,
        "dates": roles.dates,
        "places": (roles.lat, roles.lon), "time": roles.timestamp, "trip": roles.trip,
    }  # fmt: skip
    columns = "; ".join(f"{role}: {', '.join([n] if isinstance(n, str) else n)}" for role, n in named.items() if any(n))
    lines = [
        f"{file.name}: {roles.kind}{f' ({columns})' if columns else ''}",
        f"{found.secrets:,} secrets with {found.values:,} values in {_where(found.tiers)}; "
        f"{records}: {fit:,} to learn from, {select:,} to choose with, {certify:,} to certify on",
    ]
    if roles.kind == "text":
        lines.append(f"found by {found.detector}; what they miss is released in the clear")
        if "spaCy pipeline" not in found.detector:
            lines.append(NO_PIPELINE)
    if found.use:
        lines.append(found.use)
    lines += [f"left empty on release: {name!r} ({why})" for name, why in roles.masked]
    if roles.kind == "table":
        lines += [f"note: {note}" for note in found.notes]
    if roles.kind in {"table", "text"} and roles.user:
        lines.append(f"rows are read together by {roles.user}: {roles.user_why}")
    if roles.kind in {"location", "text"} and (named_ones := [name for name in (roles.user, roles.trip) if name]):
        lines.append(f"released under pseudonyms: {', '.join(named_ones)}")
    if roles.remark:
        lines.append(f"note: {roles.remark}")
    groups = (roles.timestamp,) if roles.kind in {"location", "vectors"} else ()
    if untouched := [*(name for name, _ in roles.left_out), *filter(None, groups)]:
        lines.append(f"not protected, so released as they are: {', '.join(untouched)}")
    if found.certify_units < found.needed_units:
        units = records if found.unit == "document" else f"{found.unit}s"
        lines.append(
            f"too few to certify delta = 0.05: that needs at least {found.needed_units} {units} to certify on, "
            f"this file has {found.certify_units}. No audit can pass then, and none is needed: adapt ends in a release "
            "that is proved, with a mark or a surrogate for every value that noise cannot be proved for"
        )
    return lines


def _where(tiers: tuple[str, ...]) -> str:
    """The tiers by name; the columns of a wide table are named above."""
    return f"tiers {', '.join(tiers)}" if len(tiers) <= _MOST_NAMED else f"{len(tiers)} tiers"


def _plain(found: Started, out: Path, following: str) -> dict[str, object]:
    plain = asdict(found)
    return {**plain, "config": str(out), "next": following}


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
    console.rule("3,000 short texts about made-up people")
    with waiting("reading whole texts", quiet=console.quiet) as progress:
        found = run_audit(told.PEOPLE, run, keep_examples=True, progress=progress)
    told.tell_audit(found, console)
    belief = read_belief(run, with_secrets=True)
    if belief is not None:
        told.tell_belief(belief, console)
    console.rule("the least noise that keeps the limit for whole texts")
    with progress_bar(console, "adapting") as progress:
        adapted = run_adapt(told.PEOPLE, run, progress=progress)
    told.tell_choice(adapted, console)
    sample = told.protected_sample(load_policy(run / POLICY)) if adapted.chosen is not None else ()
    told.tell_sample(sample, console)
    numbers = told.story()
    console.rule("why: two secrets that depend on each other, each released with epsilon = 1")
    told.tell(numbers, console)
    page = _report(run, out / "report.html")
    if as_json:
        plain = {"toy": numbers.as_json(), "audit": summary(found), "adaptation": adaptation_summary(adapted)}
        print(json.dumps({**plain, "sample": [passage.texts for passage in sample], "report": str(page)}))
    else:
        console.print(f"\nreport: {page}\nrun: {run}")
        console.print(f"next: {next_step('init', 'YOUR-FILE.csv')}")


def _report(run: Path, page: Path) -> Path:
    """The page of the run, with its examples: these people do not exist."""
    from oddshift.app.report import page as made
    from oddshift.app.report import read_sources

    write_atomic(page, made(read_sources(run)).encode())
    return page
