"""Two processes against one: a data set released serially and by two workers, by elapsed time and by CPU time.

`python -m benchmarks processes`, on a machine with two free cores: elapsed time is what was asked for. CPU time shows
what limits it even on a busy machine: the work that two processes do in addition, and the work of the leading process,
during which the workers wait. One and two processes run in turn, and the fastest of several runs of each counts: on
shared machines single ones scatter by a tenth. Every run reads texts that nothing has read: no cache outlives it.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data_set import FREE, small_policy, write_files
from benchmarks.protect import ag_policy
from benchmarks.table import Line, forget
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution
from oddshift.data.codecs import read_published
from oddshift.data.embedded import people
from oddshift.protect import Ledger, SetMeans, protect
from oddshift.protect.policies import Policy, load_policy, save_policy

FILES, ROWS = 32, 25_000
NEWS_FILES, NEWS_ROWS = 8, 750
WANTED, WANTED_WITH_NAMES = 1.7, 1.8
TURNS = 3


@dataclass(frozen=True)
class Spent:
    """Seconds of a release: elapsed, CPU of the leading process, CPU of its workers."""

    elapsed: float
    leading: float
    workers: float

    @property
    def total(self) -> float:
        return self.leading + self.workers


@dataclass(frozen=True)
class Folder:
    """A data set to be made, and the policy that releases it."""

    policy: Policy
    texts: Sequence[str]
    files: int
    rows: int
    what: str


def released(workers: int, asked: Folder) -> Spent:
    """Release a data set of short texts by some processes; what it took, starting and stopping them included."""
    forget()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        os.environ["XDG_CACHE_HOME"] = str(home / "cache")
        write_files(home / "in", asked.texts, asked.files, asked.rows)
        save_policy(home / "policy", asked.policy)
        execution = SERIAL if workers == 1 else Execution("processes", workers)
        ledger, policy = Ledger.beside(home / "policy"), load_policy(home / "policy")
        start, own, others = time.perf_counter(), _seconds(resource.RUSAGE_SELF), _seconds(resource.RUSAGE_CHILDREN)
        protect(home / "in", home / "out", policy, ledger, FREE, means=SetMeans(execution=execution))
        elapsed = time.perf_counter() - start
        if workers > 1:
            stop_workers()
    return Spent(elapsed, _seconds(resource.RUSAGE_SELF) - own, _seconds(resource.RUSAGE_CHILDREN) - others)


def _seconds(who: int) -> float:
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def stop_workers() -> None:
    """Stop the processes that joblib keeps for the next call, so that their time is counted."""
    from joblib.externals.loky import get_reusable_executor  # noqa: PLC0415 - only here

    get_reusable_executor().shutdown(wait=True)


def compared(asked: Folder, wanted: float) -> list[Line]:
    """One and two processes in turn."""
    turns = [(released(1, asked), released(2, asked)) for _ in range(TURNS)]
    one, two = (min(each, key=lambda spent: spent.elapsed) for each in zip(*turns, strict=True))
    count, free = asked.files * asked.rows, (os.cpu_count() or 1) - os.getloadavg()[0]
    ratio = one.elapsed / two.elapsed
    least = [min(spent.total for spent in each) for each in zip(*turns, strict=True)]
    leading = min(spent.leading for _, spent in turns)
    possible = least[0] / (leading + (least[1] - leading) / 2.0)
    return [
        Line(
            f"{count:,} {asked.what} in {asked.files} files: two processes against one, elapsed",
            f"{two.elapsed:.1f} s, {count / two.elapsed:,.0f}/s",
            f"one: {one.elapsed:.1f} s, {count / one.elapsed:,.0f}/s",
            f"{ratio:.2f}x",
            f">= {wanted}x",
            ratio >= wanted if ratio >= wanted or free >= 0.0 else None,
        ),
        Line(
            "the same by CPU time, if both cores are free",
            f"{leading:.1f} s leading, {least[1] - leading:.1f} s in workers",
            f"one: {least[0]:.1f} s",
            f"{possible:.2f}x",
            f">= {wanted}x",
            possible >= wanted,
        ),
    ]


def run(files: int = FILES, rows: int = ROWS, news_rows: int = NEWS_ROWS) -> list[Line]:
    plain = Folder(small_policy(), people(2000).texts, files, rows, "texts")
    lines = compared(plain, WANTED)
    try:
        texts, policy = read_published("ag_news").texts, ag_policy(("text",))
    except InvalidInput:
        return [*lines, Line("AG News", "left out: no real data here")]
    some = texts[-NEWS_FILES * news_rows :]
    named = Folder(policy, some, NEWS_FILES, news_rows, "new texts of AG News, names found by NER,")
    return [*lines, *compared(named, WANTED_WITH_NAMES)]
