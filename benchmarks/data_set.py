"""A folder of Parquet files protected by a Dask cluster whose workers are killed, against the same folder serially.

`python -m benchmarks.data_set [FILES] [ROWS] [SECONDS]`: that many files of that many texts, and a worker killed every
few seconds. Both releases start from the same ledger, so their claims must be equal; the noise differs by design.
`benchmarks.five_gigabytes` is the same with five gigabytes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import Line, cpu, markdown
from oddshift.base.execution import SERIAL, Execution, environment_of_workers
from oddshift.base.storage import load
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, Protected, ProtectSettings, SetMeans, protect
from oddshift.protect.dataset.job import SetProgress
from oddshift.protect.dataset.steps import MANIFEST, SetManifest
from oddshift.protect.ledger import sorted_runs
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.policies import Policy, load_policy, make_policy, save_policy

FREE = ProtectSettings(allow_uncertified=True)
MOST_MEGABYTES = 1000


def write_files(home: Path, texts: Sequence[str], files: int, rows: int) -> int:
    """Parquet files of some texts, each made distinct by its number; returns their bytes."""
    import pyarrow as pa  # noqa: PLC0415 - only here
    from pyarrow import parquet  # noqa: PLC0415

    home.mkdir()
    size = 0
    for file in range(files):
        numbers = range(file * rows, (file + 1) * rows)
        some = [f"{texts[number % len(texts)]} Note {number}." for number in numbers]
        size += sum(map(len, some))
        parquet.write_table(pa.table({"id": numbers, "text": some}), home / f"{file:05d}.parquet")
    return size


def small_policy() -> Policy:
    corpus = people(2000)
    return make_policy(corpus.codec, Exponential(corpus.space, 2.0), corpus.tiers)


def released(home: Path, name: str, execution: Execution, ledger: Ledger | None = None) -> tuple[Protected, float]:
    """Release the folder with a copy of the policy and its ledger; what was done, and how long it took."""
    shutil.copytree(home / "policy", home / f"policy-{name}")
    ledger, began = ledger or Ledger.beside(home / f"policy-{name}"), time.perf_counter()

    def tell(progress: SetProgress) -> None:
        if progress.parts % max(1, progress.of // 20) == 0:
            print(name, progress.line, file=sys.stderr, flush=True)

    means = SetMeans(execution=execution, watch=tell)
    done = protect(home / "in", home / name, load_policy(home / f"policy-{name}"), ledger, FREE, means=means)
    return done, time.perf_counter() - began


def killing(cluster: Any, every: float, stop: threading.Event, killed: list[int]) -> None:
    """Kill one worker after another, as long as the release runs."""
    while not stop.wait(every):
        pids = [worker.pid for worker in cluster.workers.values() if getattr(worker, "pid", None)]
        if len(cluster.scheduler_info["workers"]) == 2 and pids:  # a worker that is just starting is left alone
            killed.append(pids[len(killed) % len(pids)])
            try:
                os.kill(killed[-1], signal.SIGKILL)
                print(f"killed worker {killed[-1]}", file=sys.stderr, flush=True)
            except ProcessLookupError:
                killed.pop()


def with_kills(home: Path, every: float, ledger: Ledger | None = None) -> tuple[Protected, float, int]:
    """Release the folder by a cluster of two workers, one of which is killed again and again."""
    from dask.distributed import LocalCluster  # noqa: PLC0415 - optional

    make: Any = LocalCluster
    stop, killed = threading.Event(), list[int]()
    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with environment_of_workers(), make(n_workers=2, **settings) as cluster:
        killer = threading.Thread(target=killing, args=(cluster, every, stop, killed))
        killer.start()
        try:
            execution = Execution("cluster", 2, cluster.scheduler_address)
            done, seconds = released(home, "cluster", execution, ledger)
        finally:
            stop.set()
            killer.join()
    return done, seconds, len(killed)


def same_claims(home: Path, one: str, other: str) -> bool:
    """Whether two releases claimed the same records under the same numbers."""
    first, second = (_claims(home / f"policy-{name}" / LEDGER) for name in (one, other))
    return len(first) > 0 and first.shape == second.shape and bool((first == second).all())


def _claims(path: Path) -> np.ndarray:
    """Every key of an embedded ledger and its row, in order, (claims, 3)."""
    with closing(sqlite3.connect(path)) as db:
        parts = list(sorted_runs.every(db))
    columns = [[part.high, part.rest["low"], part.rest["row"].astype(np.uint64)] for part in parts]
    found = np.concatenate([np.stack(each, axis=1) for each in columns])
    return found[np.lexsort(found.T[::-1])]


def manifest_problems(folder: str | Path) -> list[str]:
    """What differs between a released data set and its manifest, line by line; empty when it is complete."""
    home = Path(folder)
    manifest: SetManifest = load(home / MANIFEST, SetManifest)
    problems = []
    for part in manifest.parts:
        path = home / part.name
        if not path.is_file():
            problems.append(f"{part.name} is missing")
            continue
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != part.sha256:
                problems.append(f"{part.name} differs from what was released")
    known = {part.name for part in manifest.parts} | {MANIFEST}
    found = {path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()}
    problems += [f"{name} is not in the manifest" for name in sorted(found - known)]
    if manifest.records != sum(part.records for part in manifest.parts):
        problems.append("the parts do not have as many records as the data set")
    return problems


def is_each_once(home: Path, name: str, rows: int) -> bool:
    """Whether a release has every id from 0 on, once."""
    from pyarrow import dataset  # noqa: PLC0415 - only here

    found = dataset.dataset(home / name, format="parquet").to_table(columns=["id"])["id"].to_numpy()
    return len(found) == rows and bool((np.sort(found) == np.arange(rows)).all())


def run(files: int = 8, rows: int = 500, every: float = 3.0) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        size = write_files(home / "in", people(2000).texts, files, rows)
        save_policy(home / "policy", small_policy())
        Ledger.beside(home / "policy").keys()
        by_cluster, elapsed, killed = with_kills(home, every)
        (alone, _), seconds = cpu(lambda: released(home, "serial", SERIAL))
        is_once = is_each_once(home, "cluster", files * rows) and by_cluster.records == files * rows
        problems = manifest_problems(home / "cluster")
        same = same_claims(home, "cluster", "serial")
    what = f"{files:,} Parquet files, {files * rows:,} texts, {size / 1e6:,.0f} MB"
    memory = by_cluster.worker_megabytes
    return [
        Line(
            f"{what}: a cluster of 2, {killed} workers killed",
            f"{elapsed:.0f} s elapsed",
            limit="all once",
            holds=is_once,
        ),
        Line("its manifest", f"{by_cluster.parts:,} parts", limit="complete", holds=not problems),
        Line(
            "memory of its largest worker",
            f"{memory:,} MB",
            limit=f"{MOST_MEGABYTES:,} MB",
            holds=memory <= MOST_MEGABYTES,
        ),
        Line("its claims", f"{files * rows:,}", "one process", limit="equal", holds=same),
        Line(
            "the same folder in one process",
            f"{alone.records / seconds:,.0f} texts/s of CPU, {size / seconds / 1e6:.2f} MB/s",
            f"{alone.worker_megabytes:,} MB",
        ),
    ]


if __name__ == "__main__":
    numbers = [float(word) for word in sys.argv[1:]]
    print(markdown(run(*(int(n) for n in numbers[:2]), *numbers[2:])))
