"""`oddshift protect`: apply a policy to files.

`oddshift estimate`: counts, shares and means of the original, from a release and the public half of its policy.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oddshift.app.commands.service import measured
from oddshift.app.commands.terminal import Json, console_for, waiting
from oddshift.base.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from oddshift.base.execution import Execution
    from oddshift.protect import Ledger, Protected, ProtectSettings
    from oddshift.protect.dataset.job import Watch
    from oddshift.protect.policies import Policy


CLEAR = "A column to release as it is: unknown to the policy, or of users or trips."
LEDGER = "The address of a PostgreSQL server, postgresql://... or service=..., instead of a file next to the policy."
METRICS = "Write counts of this release into a file, in the text format of Prometheus."
IN = "A .csv, .jsonl, .parquet, .txt or .npz file, a folder, or a pattern."
STREAM = "Answer JSON lines from standard input by released ones on standard output, instead of IN and OUT."
PAST = "What to do with records beyond that: refuse, mask, drop or noise."
REPEAT = "Release records again. Together the releases leak more than was certified."
ID_ONLY = "Know records by their id alone: equal texts under new ids are other records."
KEEP = "Keep what is released; a record that was released before gets its earlier release again."
NEW_KEYS = "Also release JSON keys that first appear in later lines."
UNCERTIFIED = "Apply a policy that is not certified."
CONTINUE = "Finish the release of a data set that stopped before its end; parts that are done stay as they are."
TAKE_OVER = "Claim the records of a release whose process died before its output became visible."


def protect(  # noqa: PLR0913, PLR0917 (one for each option)
    context: typer.Context,
    policy: Annotated[Path, typer.Option(help="A policy.json, with its vocabulary in the same folder.")],
    source: Annotated[Path | None, typer.Argument(metavar="IN", help=IN)] = None,
    out: Annotated[Path | None, typer.Argument(metavar="OUT", help="A new file (or folder) of the same kind.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="A column that holds texts (default: the policy's).")] = None,
    clear: Annotated[list[str] | None, typer.Option(help=CLEAR)] = None,
    detector: Annotated[str, typer.Option(help="One more spaCy pipeline that finds names.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count what would change; write nothing.")] = False,
    identity: Annotated[str, typer.Option("--id", help="The column that names a record (default: its content).")] = "",
    id_only: Annotated[bool, typer.Option("--id-only", help=ID_ONLY)] = False,
    user: Annotated[str, typer.Option(help="The column that names a user, whose releases are counted.")] = "",
    user_budget: Annotated[float | None, typer.Option(help="The most that the releases of a user may spend.")] = None,
    past_budget: Annotated[str, typer.Option(help=PAST)] = "refuse",
    keep_releases: Annotated[bool, typer.Option("--keep-releases", help=KEEP)] = False,
    allow_repeat: Annotated[bool, typer.Option("--allow-repeat", help=REPEAT)] = False,
    take_over: Annotated[bool, typer.Option("--take-over", help=TAKE_OVER)] = False,
    allow_new_keys: Annotated[bool, typer.Option("--allow-new-keys", help=NEW_KEYS)] = False,
    allow_uncertified: Annotated[bool, typer.Option("--allow-uncertified", help=UNCERTIFIED)] = False,
    workers: Annotated[int, typer.Option(help="How many processes release the parts of a data set.")] = 1,
    cluster: Annotated[str, typer.Option(help="The address of a Dask scheduler, or local to start one here.")] = "",
    ledger: Annotated[str, typer.Option(help=LEDGER)] = "",
    metrics: Annotated[Path | None, typer.Option(help=METRICS)] = None,
    is_stream: Annotated[bool, typer.Option("--stream", help=STREAM)] = False,
    is_continued: Annotated[bool, typer.Option("--continue", help=CONTINUE)] = False,
    as_json: Json = False,
) -> None:
    """Release data under a policy: secrets go through its mechanism, everything else is unchanged, each record once.

    Example: oddshift protect mail.csv mail-protected.csv --policy mail-run/policy.json
    """
    from oddshift.protect import ledger_of
    from oddshift.protect.policies import load_policy

    settings, chosen = _settings(context.params), load_policy(policy)
    with measured(metrics, ledger_of(chosen, policy, ledger)) as counted:
        if is_stream:
            _serve(source, chosen, settings, counted.ledger)
        else:
            how = (_execution(workers, cluster), is_continued)
            counted.done = _run((source, out), chosen, settings, how, kept=counted.ledger, as_json=as_json)


def _settings(asked: dict[str, Any]) -> ProtectSettings:
    """What the options ask for."""
    from oddshift.protect import ProtectSettings, UserLimit

    budget = asked["user_budget"]
    return ProtectSettings(
        columns=tuple(asked["text"] or ()),
        clear=tuple(asked["clear"] or ()),
        detector=_pipeline(asked["detector"]) if asked["detector"] else None,
        id=asked["identity"],
        limit=None if budget is None else UserLimit(budget=budget, past=asked["past_budget"]),
        **{name: asked[name] for name in _AS_ASKED},
    )


_AS_ASKED = (
    *("id_only", "user", "keep_releases", "allow_repeat", "take_over"),
    *("allow_new_keys", "allow_uncertified", "dry_run"),
)


def _serve(source: Path | None, policy: Policy, settings: ProtectSettings, kept: Ledger) -> None:
    """Answer a stream on standard output, each line at once."""
    from oddshift.app.commands.service import serve
    from oddshift.protect.stream import ReleaseStream

    if source is not None:
        raise InvalidInput(f"{source} was named for a stream, expected neither IN nor OUT with --stream")

    def send(line: str) -> None:
        sys.stdout.write(line)
        sys.stdout.flush()

    with kept.kept_open() as ledger:
        serve(ReleaseStream(policy, ledger, settings), sys.stdin.fileno(), send)


def _execution(workers: int, cluster: str) -> Execution:
    """How parts are mapped: by a cluster if one is named, otherwise by as many processes as were asked for."""
    from oddshift.base.execution import Execution

    if cluster:
        return Execution("cluster", workers, cluster)
    return Execution("serial" if workers == 1 else "processes", workers)


def _run(
    paths: tuple[Path | None, Path | None],
    policy: Policy,
    settings: ProtectSettings,
    how: tuple[Execution, bool],
    *,
    kept: Ledger,
    as_json: bool,
) -> Protected:
    from oddshift.protect import SetMeans
    from oddshift.protect import protect as release

    source, out = paths
    if source is None or out is None:
        raise InvalidInput("IN or OUT is missing, expected both, or --stream")
    execution, is_continued = how
    console = console_for(as_json)
    means = SetMeans(execution=execution, is_continued=is_continued, watch=_watched(as_json))
    with _counted(source, as_json) as count:
        done = release(
            source,
            out,
            policy,
            kept,
            settings,
            count=count,
            tell=lambda names: _tell(names, console),
            means=means,
        )
    if as_json:
        print(json.dumps({**asdict(done), "composed_epsilon": _finite(done.composed_epsilon)}))
    else:
        _show(done, policy, console)
    return done


def _finite(value: float) -> float | str:
    """A number for JSON, which cannot say infinity."""
    return value if math.isfinite(value) else str(value)


_WHAT_IS_REFUSED = {
    "id": "If these records come again, in any file, they are recognised by their id and refused.",
    "content": "If these records come again, in any file, they are recognised by their content and refused.",
    "row": "Rows without an id may be equal by chance, so only an input that repeats many of them is refused later; "
    "--id names a column of ids, by which each row is recognised.",
}

_NAMES_SHOWN = 50


def _tell(names: tuple[str, ...], console: Console) -> None:
    """Name the columns that are released unchanged, before anything is written."""
    if names:
        more = f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else ""
        console.print(f"released as they are: {', '.join(names[:_NAMES_SHOWN])}{more}")


def _pipeline(name: str) -> Any:
    from oddshift.data.detectors import Pipeline

    return Pipeline(name, workers=1, is_cached=False)


def _show(done: Protected, policy: Policy, console: Console) -> None:
    from oddshift.app.display import released_line
    from oddshift.audit.released_table import release_headline, release_sentences
    from oddshift.data.codecs.coverage import kind_lines
    from oddshift.protect.report import in_short

    kind, mechanism = policy.kind, policy.terms.mechanism
    if done.table is not None:
        console.print(release_headline(done.table), style="bold")
        for line in release_sentences(done.table):
            console.print(line)
    if done.kinds:
        console.print(released_line(done.kinds, kind), style="bold")
    for line in (*kind_lines(done.kinds), *policy.terms.sentences):
        console.print(line)
    for note in done.notes:
        console.print(note, style="bold red")
    verb = "would be" if done.is_dry_run else "were"
    tiers = ", ".join(f"{n:,} {name}" for name, n in done.positions.items())
    are_marks = mechanism.name == "mask" or {*policy.terms.forms} == {"mark"}
    chance = "" if are_marks else " (some keep their value by chance, which hides the others)"
    console.print(f"{done.records:,} records, {done.dropped:,} left out; secrets that {verb} replaced: {tiers}{chance}")
    if kind == "text":
        console.print(f"words that {verb} marked: {done.masked:,} ({done.unseen:,} that the policy has never seen)")
    elif kind == "table":
        console.print(
            f"cells that {verb} left empty: {done.masked:,}; values outside the domain of a column: {done.unseen:,} "
            "(a number is taken for the nearest, a category is left empty)"
        )
    console.print(in_short(done.sentence))
    if done.worker_megabytes:
        console.print(f"{done.parts:,} parts; the largest worker had {done.worker_megabytes:,} MB of memory")
    if not done.is_dry_run:
        console.print(f"released: {done.out}")
        console.print(_WHAT_IS_REFUSED[done.known_by])


_EVERY = 5.0  # seconds between two lines


def _watched(quiet: bool) -> Watch:
    """Say on standard error how far a data set is: now and then, and after the last part."""
    from oddshift.protect.dataset.job import SetProgress

    last = [-_EVERY]

    def watch(progress: SetProgress) -> None:
        is_last = progress.parts == progress.of
        if not quiet and (is_last or progress.seconds - last[0] >= _EVERY):
            last[0] = -_EVERY if is_last else progress.seconds
            print(progress.line, file=sys.stderr, flush=True)

    return watch


@contextmanager
def _counted(source: Path, quiet: bool) -> Iterator[Callable[[int], None]]:
    """How many bytes of a file are released: a bar on a terminal, elsewhere plain lines."""
    files = [source] if source.is_file() else [*source.rglob("*.txt")]
    if quiet or not files:  # a data set says how far it is in lines of its own
        yield lambda size: None
        return
    total, done = sum(path.stat().st_size for path in files), 0
    with waiting(f"protecting {source.name}") as progress:

        def count(size: int) -> None:
            nonlocal done
            done += size
            progress(f"protecting {source.name}", done, total)

        yield count


def estimate(
    released: Annotated[Path, typer.Argument(help="The released table: CSV, JSON lines or Parquet.")],
    key: Annotated[Path, typer.Option(help="The key.json that was written next to the policy.")],
    by: Annotated[str, typer.Option(help="Columns, separated by commas; several give a cross table.")],
    unit: Annotated[str, typer.Option(help="The column of the group, where rows share draws within groups.")] = "",
    as_json: Json = False,
) -> None:
    """Estimate what the original table held, with 95 % intervals: counts and shares by columns, means of numbers.

    Example: oddshift estimate released.csv --key policy/key.json --by region,age
    """
    from oddshift.data.formats import open_data
    from oddshift.protect.channel_inversion import estimate as estimated

    names = [name.strip() for name in by.split(",") if name.strip()]
    file = open_data(released, "table", header=None)
    wanted = [*names, *([unit] if unit else [])]
    missing = [name for name in wanted if name not in file.names]
    if missing:
        raise typer.BadParameter(f"the release has no column {missing[0]!r}")
    columns: dict[str, list[object]] = {name: [] for name in wanted}
    for block in file.blocks(lambda size: None):
        for name in wanted:
            columns[name] += block.cells(name)
    found = estimated(columns, key, names, unit=unit)
    print(json.dumps(asdict(found)) if as_json else repr(found))
