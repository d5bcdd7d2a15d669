"""How many records a ledger claims in a second, by engine, size and number of writers: python -m benchmarks.ledger

Every line is of one run. Wall time counts what a caller waits for; CPU time counts this process, its children and, for
PostgreSQL, the processes of the server. The server is started for this, in a temporary folder and on a socket.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.table import Line, cpu, markdown
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

AT_ONCE = 1_000_000
TERMS = ClaimTerms(policy="p", epsilon=1.0)
GROWTH = 0.1
"""The largest exponent of the cost of a claim in the size of the ledger."""

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


def random_batch(count: int = AT_ONCE) -> KeyBatch:
    return KeyBatch(os.urandom(count * WIDTH))


def claimed_by(ledger: Ledger, batch: KeyBatch) -> None:
    ledger.claim([batch], TERMS, is_final=True)


def own_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    return sum(os.times()[:4])


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


def measured(work: Callable[[], None], server: int | None = None) -> tuple[float, float]:
    """Wall and CPU seconds, those of children and of a server included."""
    began, before = time.perf_counter(), own_seconds() + server_seconds(server)
    work()
    return time.perf_counter() - began, own_seconds() + server_seconds(server) - before


def exponent(sizes: list[float], seconds: list[float]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(name: str, ledger: Ledger, millions: int, server: int | None = None) -> tuple[list[Line], float, float]:
    """Claims of a million new keys each; lines, CPU seconds of a key in the last of them, and the exponent."""
    found = [measured(lambda: claimed_by(ledger, random_batch()), server) for _ in range(millions)]
    walls, cpus = ([one[k] for one in found] for k in (0, 1))
    sizes = [k + 1.0 for k in range(millions)]
    lines = []
    for k in sorted({0, millions // 2, millions - 1}):
        what = f"{name}: 1,000,000 records claimed by a ledger that holds {k:,} million"
        lines.append(Line(what, f"{walls[k]:.2f} µs a record, {cpus[k]:.2f} µs of CPU"))
    slopes = [exponent(sizes, one) for one in (walls, cpus)]
    mean = [sum(one) / millions for one in (walls, cpus)]
    what = f"{name}: {millions} claims of a million, mean"
    lines.append(Line(what, f"{mean[0]:.2f} µs a record, {mean[1]:.2f} µs of CPU"))
    lines.append(
        Line(
            f"{name}: growth of a claim up to {millions} million records, wall and CPU",
            f"rows to the power {slopes[0]:.2f} and {slopes[1]:.2f}",
            "",
            "",
            f"{GROWTH:g}",
            max(slopes) <= GROWTH,
        )
    )
    return lines, cpus[-1] / AT_ONCE, slopes[1]


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

    wall, used = measured(work, server)
    rate = f"{total / wall:,.0f} records/s, {1e6 * used / total:.2f} µs of CPU a record"
    return Line(f"{name}: {writers} writers at once", rate)


def one_by_one(name: str, ledger: Ledger) -> Line:
    with ledger.kept_open() as kept:
        few = [random_batch(1) for _ in range(200)]
        wall, used = measured(lambda: [claimed_by(kept, one) for one in few])  # type: ignore[misc]
    return Line(f"{name}: one record at a time", f"{len(few) / wall:,.0f}/s, {1e6 * used / len(few):,.0f} µs of CPU")


def engines(millions: int) -> tuple[list[Line], dict[str, tuple[float, float]]]:
    """Both engines, and for each the CPU seconds of a key in a ledger of that size and the exponent of its growth."""
    lines, costs = [], {}
    with tempfile.TemporaryDirectory() as name:
        ledger = Ledger(Path(name) / LEDGER)
        more, *costs["embedded"] = growth("embedded", ledger, millions)
        lines += [*more, *(at_once("embedded", ledger, n) for n in (2, 4)), one_by_one("embedded", ledger)]
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
    from postgres_server import PostgresServer, program  # noqa: PLC0415 (a folder that is on the path for this alone)

    if program("initdb") is None:
        return [*lines, Line("PostgreSQL", "no server on this machine")], costs
    server = PostgresServer()
    try:
        ledger, pid = Ledger(server.address), server.process.pid
        more, *costs["PostgreSQL"] = growth("PostgreSQL", ledger, millions, pid)
        lines += [*more, *(at_once("PostgreSQL", ledger, n, server=pid) for n in (1, 2, 4, 8))]
        lines.append(one_by_one("PostgreSQL", ledger))
    finally:
        server.close()
    return lines, costs


def run(millions: int = 10) -> list[Line]:
    texts = [f"record number {n} of some length, as texts have it" for n in range(100_000)]
    with tempfile.TemporaryDirectory() as name:
        keys = Ledger(Path(name) / LEDGER).keys()
        _, seconds = cpu(lambda: keys.contents([texts]))
    before = [cost_of_a_ledger(suffix) for suffix in WRITTEN]
    return [*before, Line("keys of 100,000 short texts", f"{len(texts) / seconds:,.0f}/s"), *engines(millions)[0]]


if __name__ == "__main__":
    made, _ = engines(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
    print(markdown(made))
