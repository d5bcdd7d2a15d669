"""Five gigabytes in 200 Parquet files, released by a cluster whose workers are killed, and again in one process.

`python -m benchmarks.five_gigabytes HOME [SECONDS]` makes the folder in HOME and releases it twice, from copies of one
ledger. It works for at most that many seconds and then kills a release with everything that it started; the next call
continues it. At the end it compares the two releases, keeps the table in docs/benchmarks.md, and deletes HOME. A row
has an id, a short text, which is protected, and measurements, which are released as they are.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.data_set import MOST_MEGABYTES, is_each_once, released, same_claims, small_policy, with_kills
from benchmarks.table import Line, markdown
from oddshift.base.execution import SERIAL
from oddshift.data.embedded import people
from oddshift.protect import Ledger
from oddshift.protect.dataset.steps import manifest_problems
from oddshift.protect.policies import save_policy

SECTION = "five_gigabytes"
FILES, ROWS, MEASUREMENTS, EVERY = 200, 15_000, 200, 20.0
STOPPED = 3  # exit code: there is more to do


def make_folder(home: Path, files: int, rows: int) -> None:
    """The files that are not there yet; each is there completely or not at all."""
    import pyarrow as pa  # noqa: PLC0415 - only here
    from pyarrow import parquet  # noqa: PLC0415

    place, texts = home / "in", people(2000).texts
    place.mkdir(parents=True, exist_ok=True)
    for file in range(files):
        path, first = place / f"{file:05d}.parquet", file * rows
        if path.exists():
            continue
        rng = np.random.default_rng(file)
        columns: dict[str, Any] = {"id": range(first, first + rows)}
        columns["text"] = [f"{texts[row % len(texts)]} Note {row}." for row in range(first, first + rows)]
        columns |= {f"m{k:03d}": rng.normal(size=rows) for k in range(MEASUREMENTS)}
        parquet.write_table(pa.table(columns), home / "unfinished.parquet")
        (home / "unfinished.parquet").rename(path)
    if not (home / "policy").exists():
        save_policy(home / "policy", small_policy())
        Ledger.beside(home / "policy").keys()


def release(home: Path, name: str) -> None:
    """Begin or continue one of the two releases in this process, and note what it took."""
    is_continued = bool(Ledger.beside(home / f"policy-{name}").unfinished())
    if name == "cluster":
        done, _, _ = with_kills(home, EVERY, is_continued=is_continued)
    else:
        done, _ = released(home, name, SERIAL, is_continued=is_continued)
    found = {"records": done.records, "parts": done.parts, "megabytes": done.worker_megabytes}
    (home / f"{name}.json").write_text(json.dumps(found))


def piece(home: Path, name: str, seconds: float) -> bool:
    """Let another process release for at most that long, and kill it with its workers; whether it finished."""
    log, began, before = home / f"{name}.log", time.time(), _cpu_of_children()
    with log.open("a") as stream:
        command = [sys.executable, "-m", "benchmarks.five_gigabytes", str(home), "--release", name]
        child = subprocess.Popen(command, stderr=stream, start_new_session=True)
        try:
            child.wait(max(1.0, seconds))
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            print("stopped by kill -9", file=stream)
        used = _cpu_of_children() - before
        print(f"piece: {time.time() - began:.0f} s elapsed, {used:.0f} s of CPU", file=stream)
    if child.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"the release ended with {child.returncode}: see {log}")
    return child.returncode == 0


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def lines(home: Path, files: int, rows: int) -> list[Line]:
    """What the two releases show."""
    logs = {name: (home / f"{name}.log").read_text() for name in ("cluster", "serial")}
    found = {name: json.loads((home / f"{name}.json").read_text()) for name in logs}
    said = {name: [line for line in log.splitlines() if line.startswith("piece:")] for name, log in logs.items()}
    elapsed = {name: sum(float(line.split()[1]) for line in pieces) for name, pieces in said.items()}
    size = sum(path.stat().st_size for path in (home / "in").iterdir())
    total, memory = files * rows, max(one["megabytes"] for one in found.values())
    workers = sum(line.startswith("killed worker") for line in logs["cluster"].splitlines())
    leaders = {name: log.count("stopped by kill -9") for name, log in logs.items()}
    is_once = all(is_each_once(home, name, total) and found[name]["records"] == total for name in logs)
    problems = [problem for name in logs for problem in manifest_problems(home / name)]
    what = f"{size / 1e9:.1f} GB, {files} Parquet files, {total:,} rows of a text and {MEASUREMENTS} numbers"
    stops = f"{workers} workers killed, the command killed {leaders['cluster']} times and continued"
    return [
        Line(f"{what}: a cluster of 2, {stops}", f"{elapsed['cluster']:,.0f} s elapsed", "", "", "all once", is_once),
        Line("the same in one process", f"{elapsed['serial']:,.0f} s elapsed", "", "", "all once", is_once),
        Line("manifests", f"{found['cluster']['parts']:,} parts", "", "", "complete", not problems),
        Line(
            "memory of the largest worker", f"{memory:,} MB", "", "", f"{MOST_MEGABYTES:,} MB", memory <= MOST_MEGABYTES
        ),
        Line(
            "claims of both",
            f"{total:,}",
            "one process",
            "",
            "equal",
            same_claims(home, "cluster", "serial"),
        ),
    ]


def main(home: Path, seconds: float, files: int, rows: int) -> int:
    """Whatever is missing, for at most that long."""
    end = time.time() + seconds
    make_folder(home, files, rows)
    for name in ("cluster", "serial"):
        if not (home / f"{name}.json").exists() and not piece(home, name, end - time.time()):
            return STOPPED
    found = lines(home, files, rows)
    print(markdown(found))
    note = "Measured by `python -m benchmarks.five_gigabytes HOME 600`, which is not part of `make bench`."
    if files == FILES:
        page.keep({SECTION: f"{markdown(found)}\n\n{note}"})
        shutil.rmtree(home)
    return 0 if all(line.holds for line in found) else 2


if __name__ == "__main__":
    words = sys.argv[1:]
    if "--release" in words:
        release(Path(words[0]), words[2])
    else:
        numbers = [float(word) for word in words[1:]]
        sizes = [int(number) for number in numbers[1:]] or [FILES, ROWS]
        sys.exit(main(Path(words[0]), numbers[0] if numbers else 600.0, *sizes))
