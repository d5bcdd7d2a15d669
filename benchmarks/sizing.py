"""What a billion rows on a hundred machines cost: unit costs measured on this machine, multiplied out.

`python -m benchmarks --write ledger sizing` measures what a record costs in every step of releasing a data set, and
computes the rest: parallel steps are divided by all cores, an embedded ledger is written by one process, and on a
PostgreSQL server the cores of one machine claim for all. It keeps one measurement in docs/benchmarks.md and in
docs/sizing.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.ledger import MILLIONS, ClaimCost, engines
from benchmarks.table import Line, cpu
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import data_folder
from oddshift.data.detectors import Pipeline
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.protect import Sanitizer
from oddshift.protect.policies import make_policy
from oddshift.protect.record_keys import WIDTH, RecordKeys

PAGE = Path(__file__).resolve().parent.parent / "docs" / "sizing.md"
START, END = "<!-- sizes -->", "<!-- /sizes -->"
ROWS, MACHINES, CORES = 10**9, 100, 16


@dataclass(frozen=True)
class UnitCosts:
    """CPU seconds of one record in each step, by engine in the claim, bytes on disk, and bytes of a text."""

    key: float
    draw: float
    names: float | None
    claims: dict[str, ClaimCost]
    ledger_bytes: dict[str, float]
    text_bytes: float


def measured(texts: int = 6000, millions: int = MILLIONS) -> UnitCosts:
    corpus = people(2000)
    policy = make_policy(corpus.codec, Exponential(corpus.space, 2.0), corpus.tiers)
    some = [f"{corpus.texts[n % 2000]} Note {n}." for n in range(texts)]
    sanitizer = Sanitizer(policy)
    sanitizer.texts(some[:2000])
    _, key = cpu(lambda: RecordKeys(bytes(32)).contents([some]))
    _, draw = cpu(lambda: sanitizer.texts(some))
    _, claims, size = engines(millions)
    return UnitCosts(key / texts, draw / texts, _names(some[:600]), claims, size, sum(map(len, some)) / texts)


def _names(texts: list[str]) -> float | None:
    """CPU seconds of one text for a pipeline that finds names; None where there is none."""
    try:
        ner = Pipeline(data_folder() / "ner" / "en_core_web_sm_ner", workers=1, is_cached=False)
        ner.detect([f"first {texts[0]}"])
    except InvalidInput:
        return None
    _, seconds = cpu(lambda: ner.detect(texts))
    return seconds / len(texts)


def hours(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:,.0f} s"
    return f"{seconds / 3600:,.1f} h" if seconds >= 3600 else f"{seconds / 60:,.1f} min"


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:,.2f} µs for each record"


def lines(costs: UnitCosts, rows: int = ROWS, machines: int = MACHINES, cores: int = CORES) -> list[Line]:
    """The time of every step, and the largest of them."""
    workers = machines * cores
    apart: dict[str, tuple[str, float]] = {}
    steps = {"keys of records, all cores": (_micro(costs.key), costs.key * rows / workers)}
    for engine, cost in costs.claims.items():
        here, there = cost.total(rows)
        if cost.server:
            unit = f"{_micro(cost.client + cost.server)}, growing like rows to the power {cost.growth:.2f}"
            steps[f"claims on {engine}: all cores, and one server of {cores}"] = unit, here / workers + there / cores
        else:
            unit = f"{_micro(cost.client)}, {cost.more * 1e12:.4f} µs more with each million"
            apart[f"instead of that: claims in an {engine} ledger, one process"] = unit, here
    steps["draws and texts, word list, all cores"] = _micro(costs.draw), costs.draw * rows / workers
    if costs.names is not None:
        both = costs.draw + costs.names
        steps["the same with a pipeline that finds names, all cores"] = (_micro(both), both * rows / workers)
    slowest = max(steps, key=lambda step: steps[step][1])
    made = [
        Line(f"{step}{' (the bottleneck)' if step == slowest else ''}", unit, hours(total))
        for step, (unit, total) in (steps | apart).items()
    ]
    gigabytes = 1e-9 * rows
    return [
        *made,
        *(
            Line(what, f"{size:,.0f} bytes for each record", f"{size * gigabytes:,.0f} GB")
            for what, size in costs.ledger_bytes.items()
        ),
        Line("keys in the hidden folder", f"{WIDTH} bytes for each record", f"{WIDTH * gigabytes:,.0f} GB"),
        Line(
            "texts read twice and written once",
            f"{costs.text_bytes:,.0f} bytes for each record",
            f"{3 * costs.text_bytes * gigabytes:,.0f} GB",
        ),
    ]


def run() -> list[Line]:
    return lines(measured())


def keep_elsewhere(found: list[Line]) -> None:
    """The same lines in the page on sizes."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(f"{before}{START}\n{table(found)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def table(found: list[Line]) -> str:
    rows = [f"| {line.what} | {line.measured} | {line.baseline} |" for line in found]
    head = f"| what | measured | {ROWS:.0e} rows, {MACHINES} machines of {CORES} cores |"
    return "\n".join([head, "|---|---|---|", *rows])
