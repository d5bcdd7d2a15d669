"""Five gigabytes in 200 Parquet files, released by two workers against PostgreSQL while one or the other is killed.

`python -m benchmarks.five_gigabytes HOME [FILES] [ROWS] [SECONDS] [--write]` makes the folder in HOME and releases it:
a worker is killed every so many seconds, and the server of the ledger is stopped as by a crash and started again once.
Every record must come out once and be claimed once. A row has an id, a short text, which is protected, and
measurements, which are released as they are. With `--write` the table is kept in docs/benchmarks.md.
"""

from __future__ import annotations

import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.data_set import (
    FREE,
    MOST_MEGABYTES,
    is_each_once,
    manifest_problems,
    small_policy,
    with_kills,
)
from benchmarks.ledger import local_server
from benchmarks.table import Line, markdown, spent
from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import people
from oddshift.protect import Ledger, protect
from oddshift.protect.policies import load_policy, save_policy

SECTION = "five_gigabytes"
FILES, ROWS, MEASUREMENTS, EVERY = 200, 15_000, 200, 20.0


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
        parquet.write_table(pa.table(columns), home / "unfinished.parquet", use_dictionary=["text"])
        (home / "unfinished.parquet").rename(path)
    if not (home / "policy").exists():
        save_policy(home / "policy", small_policy())


def restarting(server: Any, claimed: Ledger, stop: threading.Event, times: list[float]) -> None:
    """Stop the server as a crash does when the first parts are claimed, and start it again two seconds later."""
    while not times and not stop.wait(0.2):
        if claimed.exists and claimed.totals().records:
            server.stop(signal.SIGQUIT)
            time.sleep(2.0)
            server.start()
            times.append(time.time())


def lines(home: Path, files: int, rows: int, every: float) -> list[Line]:
    """The release, and what came of it."""
    size = sum(path.stat().st_size for path in (home / "in").iterdir())
    total, restarts, stop = files * rows, list[float](), threading.Event()
    with local_server() as server:
        ledger, began = Ledger(server.address), spent()
        crash = threading.Thread(target=restarting, args=(server, ledger, stop, restarts))
        crash.start()
        try:
            done, elapsed, killed = with_kills(home, every, ledger=ledger)
        finally:
            stop.set()
            crash.join()
        used, claims = spent() - began, ledger.totals().records
        try:
            protect(home / "in", home / "again", load_policy(home / "policy"), ledger, FREE)
            again = "released"
        except InvalidInput as error:
            again = "refused" if "released before" in str(error) else "failed"
    problems, memory = manifest_problems(home / "cluster"), max(done.worker_megabytes, 1)
    is_once = is_each_once(home, "cluster", total) and done.records == total
    what = f"{size / 1e9:.1f} GB, {files} Parquet files, {total:,} rows of a text and {MEASUREMENTS} numbers"
    how = f"two workers against PostgreSQL, {killed} workers killed, the server restarted {len(restarts)} times"
    return [
        Line(
            f"{what}: {how}",
            f"{elapsed:,.0f} s elapsed, {used:,.0f} s of CPU",
            limit="all once",
            holds=is_once and len(restarts) == 1,
        ),
        Line("records that the ledger holds", f"{claims:,}", limit=f"{total:,}", holds=claims == total),
        Line("the same folder once more", again, limit="refused", holds=again == "refused"),
        Line("manifest", f"{done.parts:,} parts", limit="complete", holds=not problems),
        Line(
            "memory of the largest worker",
            f"{memory:,} MB",
            limit=f"{MOST_MEGABYTES:,} MB",
            holds=memory <= MOST_MEGABYTES,
        ),
    ]


def main(words: list[str]) -> int:
    """Make the folder, release it, say what came of it, and delete it."""
    place, *sizes = (word for word in words if word != "--write")
    numbers = [float(size) for size in sizes]
    files, rows, every = (*numbers, *(FILES, ROWS, EVERY)[len(numbers) :])
    home = Path(place)
    make_folder(home, int(files), int(rows))
    found = lines(home, int(files), int(rows), every)
    print(markdown(found))
    if "--write" in words:
        asked = " ".join(["python -m benchmarks.five_gigabytes HOME", *sizes])
        page.keep({SECTION: f"{markdown(found)}\n\nMeasured by `{asked}`, which is not part of `make bench`."})
    shutil.rmtree(home)
    return 0 if all(line.holds is not False for line in found) else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
