"""How many records a ledger claims in a second, by engine, size and number of writers: python -m benchmarks.ledger

Every line is of one run. Wall time counts what a caller waits for; CPU time counts this process, its children and, for
PostgreSQL, the processes of the server. The server is started for this, in a temporary folder and on a socket.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.table import Line, cpu, markdown
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import people
from oddshift.data.formats import open_data
from oddshift.data.formats.data_file import uncounted
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, ProtectSettings, protect, release_work
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import Claimed, ClaimTerms, KeyBatch
from oddshift.protect.overrides import Overrides, kept_cells
from oddshift.protect.policies import make_policy
from oddshift.protect.record_keys import WIDTH

AT_ONCE, SMALL = 1_000_000, 250_000
TERMS = ClaimTerms(policy="p", epsilon=1.0)
MILLIONS = 10
MOST = {"embedded": 0.3}
"""CPU of a record in µs, at most."""

GROWTH = 0.1
"""The largest exponent of the cost of a claim of a million in the size of the ledger."""

SERVER = {"shared_buffers": "2GB", "max_wal_size": "16GB"}
"""Settings of the server, as docs/production.md states them."""

TAKEN = {
    "tables and indexes of PostgreSQL": "pg_database_size(current_database())",
    "log that PostgreSQL writes (WAL)": "pg_current_wal_lsn() - '0/0'::pg_lsn",
}

WRITTEN = {
    ".csv": lambda texts: "text\n" + "".join(f'"{text}"\n' for text in texts),
    ".jsonl": lambda texts: "".join(json.dumps({"text": text}) + "\n" for text in texts),
}


def cost_of_a_ledger(suffix: str, rows: int = 20_000) -> Line:
    """A file protected with its ledger, against the same file read, drawn and written without one."""
    corpus = people(rows)
    policy = make_policy(corpus.codec, Exponential(corpus.space, 2.0), corpus.tiers)
    settings = ProtectSettings(allow_uncertified=True)
    nothing = np.zeros(0, dtype=np.int64)
    claimed = Claimed(0, rows, nothing, nothing.reshape(-1, 2), nothing, nothing, 2.0)
    times: dict[str, list[float]] = {"with": [], "without": []}
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        source = home / f"in{suffix}"
        source.write_text(WRITTEN[suffix](corpus.texts))
        for turn in range(9):
            (home / str(turn)).mkdir()
            ledger, out = Ledger(home / str(turn) / LEDGER), home / f"with{turn}{suffix}"
            times["with"].append(cpu(lambda o=out, w=ledger: protect(source, o, policy, w, settings))[1])  # type: ignore[misc]
            with kept_cells(home / f"cells{turn}") as cells:
                plain = Overrides(claimed, cells, lambda row: None, "")
                place = home / f"without{turn}{suffix}"

                def without(place: Path = place, plain: Overrides = plain) -> None:
                    work = release_work.ReleaseWork(policy, settings, open_data(source, "text"))
                    work.run(place, uncounted, plain)

                times["without"].append(cpu(without)[1])
    ratio = float(np.median([a / b for a, b in zip(times["with"], times["without"], strict=True)]))  # pair by pair
    what = f"{rows:,} texts of a {suffix} file protected, against the same without a ledger"
    middle = {how: f"{np.median(seconds):.2f} s" for how, seconds in times.items()}
    return Line(what, middle["with"], middle["without"], f"{ratio:.2f}", "1.3", ratio <= 1.3)


def random_batch(count: int = AT_ONCE, *, has_users: bool = False) -> KeyBatch:
    return KeyBatch(os.urandom(count * WIDTH), os.urandom(count * WIDTH) if has_users else b"")


def claimed_by(ledger: Ledger, batch: KeyBatch) -> None:
    ledger.claim([batch], TERMS, is_final=True)


def own_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def server_seconds(pid: int | None) -> float:
    """CPU time of a server: its main process, those that have ended, and those that run."""
    if pid is None:
        return 0.0
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid or place.parent.name == str(pid):
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measured(work: Callable[[], object], server: int | None = None) -> FloatArray:
    """Seconds that pass, CPU seconds here with those of children, and CPU seconds of a server."""

    def now() -> FloatArray:
        return np.array([time.perf_counter(), own_seconds(), server_seconds(server)])

    before = now()
    work()
    return now() - before


@dataclass(frozen=True)
class ClaimCost:
    """Mean CPU seconds of a key until a ledger has so many `rows`, here and on a server.

    On a server they grow by a power of the rows, as the depth of a tree does at most. In an embedded ledger a claim
    reads the first words of all keys, so that each million adds as much (`more` for each row) as the one before.
    """

    rows: float
    client: float
    server: float
    growth: float
    more: float

    def total(self, rows: float) -> tuple[float, float]:
        """CPU seconds of claiming so many rows here, and on a server, extrapolated."""
        if not self.server:
            return rows * (self.client + self.more * max(0.0, rows - self.rows) / 2.0), 0.0
        factor = rows * max(1.0, rows / self.rows) ** self.growth
        return self.client * factor, self.server * factor


def exponent(sizes: FloatArray, seconds: FloatArray) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(
    name: str, ledger: Ledger, millions: int, server: int | None = None, size: int = AT_ONCE
) -> tuple[list[Line], ClaimCost]:
    """Claims of `size` new keys each, by the million, after one that makes the tables; runs are merged on the way."""
    claimed_by(ledger, random_batch(1000))

    def million() -> FloatArray:
        batches = [random_batch(size) for _ in range(AT_ONCE // size)]
        return measured(lambda: [claimed_by(ledger, batch) for batch in batches], server)

    found = 1e6 / AT_ONCE * np.array([million() for _ in range(millions)])
    walls, cpus, sizes = found[:, 0], found[:, 1:].sum(axis=1), np.arange(1.0, millions + 1.0)
    what, most = f"{name}, claims of {size:,}", MOST.get(name, np.inf)
    lines = [
        Line(f"{what}: the ledger holds {k:,} million", f"{walls[k]:.2f} µs a record, {cpus[k]:.2f} µs of CPU")
        for k in sorted({0, millions // 2, millions - 1})
    ]
    mean = f"{walls.mean():.2f} µs a record, {cpus.mean():.2f} µs of CPU"
    limit = f"{most:g} µs of CPU" if name in MOST else ""
    lines.append(
        Line(f"{what}: mean up to {millions} million", mean, limit=limit, holds=cpus.mean() <= most if limit else None)
    )
    slopes = [exponent(sizes, one) for one in (walls, cpus)]
    said = f"rows to the power {slopes[0]:.2f} and {slopes[1]:.2f}"
    is_limited = size == AT_ONCE
    lines.append(
        Line(
            f"{what}: growth up to {millions} million, wall and CPU",
            said,
            limit=f"{GROWTH:g}" if is_limited else "",
            holds=max(slopes) <= GROWTH if is_limited else None,
        )
    )
    _, client, server_share = 1e-6 * found.mean(axis=0)
    more = max(0.0, float(np.polyfit(sizes, cpus, 1)[0])) * 1e-12
    return lines, ClaimCost(1e6 * millions, float(client), float(server_share), max(0.0, slopes[1]), more)


def at_once(name: str, ledger: Ledger, writers: int, total: int = AT_ONCE, server: int | None = None) -> Line:
    """Some writers that claim at once, each in a process of its own."""

    def work() -> None:
        children = []
        for _ in range(writers):
            child = os.fork()
            if child == 0:
                try:
                    claimed_by(Ledger(ledger.path), random_batch(total // writers))
                    os._exit(0)
                finally:
                    os._exit(1)
            children.append(child)
        assert not any(os.waitpid(child, 0)[1] for child in children)

    wall, *used = measured(work, server)
    rate = f"{total / wall:,.0f} records/s, {1e6 * sum(used) / total:.2f} µs of CPU a record"
    return Line(f"{name}: {writers} writers at once", rate)


def unlike(name: str, ledger: Ledger, count: int = 200_000, server: int | None = None) -> list[Line]:
    """Claims with more to do: records of as many users, each of whom spends; and a record that was released before."""
    again, old = replace(TERMS, may_repeat=True), random_batch(1)
    claimed_by(ledger, old)
    asked = {
        "each of another user whose budget is counted": (random_batch(count, has_users=True), TERMS),
        "one of which was released before, as is allowed": (KeyBatch(random_batch(count).keys + old.keys), again),
    }
    found = {
        what: measured(lambda b=batch, t=terms: ledger.claim([b], t, is_final=True), server) / count * 1e6  # type: ignore[misc]
        for what, (batch, terms) in asked.items()
    }
    return [
        Line(f"{name}: {count:,} records, {what}", f"{wall:.2f} µs a record, {sum(used):.2f} µs of CPU")
        for what, (wall, *used) in found.items()
    ]


def one_by_one(name: str, ledger: Ledger) -> Line:
    with ledger.kept_open() as kept:
        few = [random_batch(1) for _ in range(200)]
        wall, used, _ = measured(lambda: [claimed_by(kept, one) for one in few])
    return Line(f"{name}: one record at a time", f"{len(few) / wall:,.0f}/s, {1e6 * used / len(few):,.0f} µs of CPU")


@contextmanager
def local_server() -> Iterator[Any]:
    """A PostgreSQL server in a temporary folder, as the tests start one, with the memory of one in production."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from postgres_server import PostgresServer, program  # noqa: PLC0415 (a folder that is on the path for this alone)

    if program("initdb") is None:
        raise InvalidInput("there is no PostgreSQL server on this machine")
    server = PostgresServer(**SERVER)
    try:
        yield server
    finally:
        server.close()


@cache
def engines(millions: int) -> tuple[list[Line], dict[str, ClaimCost], dict[str, float]]:
    """Both engines, what a key costs in a ledger of that size, and the bytes that a key takes on disk."""
    with tempfile.TemporaryDirectory() as name:
        for folder in ("first", "small", "1", "2", "4"):
            (Path(name) / folder).mkdir()
        claimed_by(Ledger(Path(name) / "first" / LEDGER), random_batch())
        ledger = Ledger(Path(name) / LEDGER)
        lines, cost = growth("embedded", ledger, millions)
        size = {"an embedded ledger": Path(ledger.path).stat().st_size / (1e6 * millions)}
        small = Ledger(Path(name) / "small" / LEDGER)
        lines += [*growth("embedded", small, millions, size=SMALL)[0]]
        lines += [*unlike("embedded", small), one_by_one("embedded", ledger)]
        for writers in (1, 2, 4):
            lines.append(at_once("embedded", Ledger(Path(name) / str(writers) / LEDGER), writers))
    costs = {"embedded": cost}
    try:
        with local_server() as server:
            ledger, pid = Ledger(server.address), server.process.pid
            more, costs["PostgreSQL"] = growth("PostgreSQL", ledger, millions, pid)
            for what, asked in TAKEN.items():
                size[what] = float(server.run(f"SELECT {asked}")[0][0]) / (1e6 * millions)
            lines += [*more, *(at_once("PostgreSQL", ledger, n, server=pid) for n in (1, 2, 4, 8))]
            lines += [*unlike("PostgreSQL", ledger, server=pid), one_by_one("PostgreSQL", ledger)]
    except InvalidInput as error:
        lines.append(Line("PostgreSQL", str(error)))
    return lines, costs, size


def run(millions: int = MILLIONS) -> list[Line]:
    texts = [f"record number {n} of some length, as texts have it" for n in range(100_000)]
    with tempfile.TemporaryDirectory() as name:
        keys = Ledger(Path(name) / LEDGER).keys()
        _, seconds = cpu(lambda: keys.contents([texts]))
    before = [cost_of_a_ledger(suffix) for suffix in WRITTEN]
    return [*before, Line("keys of 100,000 short texts", f"{len(texts) / seconds:,.0f}/s"), *engines(millions)[0]]


if __name__ == "__main__":
    print(markdown(engines(int(sys.argv[1]) if len(sys.argv) > 1 else MILLIONS)[0]))
