"""Two processes against one: a data set released serially and by two workers, by elapsed time and by CPU time.

`python -m benchmarks processes`, on a machine with two free cores: elapsed time is what was asked for. CPU time shows
what limits it even on a busy machine: the work that two processes do in addition, and the work of the leading process,
during which the workers wait. One and two processes run in turn, and the fastest of several runs of each counts: on
shared machines single ones scatter by a tenth.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.data_set import FREE, small_policy, write_folder
from benchmarks.table import Line
from oddshift.base.execution import SERIAL, Execution
from oddshift.protect import Ledger, SetMeans, protect
from oddshift.protect.policies import load_policy, save_policy

FILES, ROWS = 32, 25_000
WANTED = 1.7
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


def released(workers: int, files: int = FILES, rows: int = ROWS) -> Spent:
    """Release a data set of short texts by some processes; what it took, starting and stopping them included."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_folder(home / "in", files, rows)
        save_policy(home / "policy", small_policy())
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


def run(files: int = FILES, rows: int = ROWS) -> list[Line]:
    turns = [(released(1, files, rows), released(2, files, rows)) for _ in range(TURNS)]
    one, two = (min(each, key=lambda spent: spent.elapsed) for each in zip(*turns, strict=True))
    what, free = f"{files * rows:,} texts in {files} files", (os.cpu_count() or 1) - os.getloadavg()[0]
    ratio = one.elapsed / two.elapsed
    possible = one.total / (two.leading + two.workers / 2.0)
    return [
        Line(
            f"{what}: two processes against one, elapsed",
            f"{two.elapsed:.0f} s",
            f"one: {one.elapsed:.0f} s",
            f"{ratio:.2f}x",
            f">= {WANTED}x",
            ratio >= WANTED if ratio >= WANTED or free >= 0.0 else None,
        ),
        Line(
            "the same by CPU time, if both cores are free",
            f"{two.leading:.1f} s leading, {two.workers:.1f} s in workers",
            f"one: {one.total:.1f} s",
            f"{possible:.2f}x",
            f">= {WANTED}x",
            possible >= WANTED,
        ),
    ]
