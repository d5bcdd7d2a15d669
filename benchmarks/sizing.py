"""What a billion rows on a hundred machines cost: unit costs measured on this machine, multiplied out.

`python -m benchmarks.sizing [--write]` measures what a record costs in every step of releasing a data set, and computes
the rest: parallel steps are divided by all cores, the claim is made by one process. `--write`, here or in
`python -m benchmarks`, keeps one measurement in docs/benchmarks.md and in docs/sizing.md.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks import page
from benchmarks.table import Line, cpu, markdown
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import data_folder
from oddshift.data.detectors import Pipeline
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, Sanitizer
from oddshift.protect.ledger.terms import ClaimTerms, KeyBatch
from oddshift.protect.policies import make_policy
from oddshift.protect.record_keys import WIDTH, RecordKeys

PAGE = Path(__file__).resolve().parent.parent / "docs" / "sizing.md"
START, END = "<!-- sizes -->", "<!-- /sizes -->"
ROWS, MACHINES, CORES = 10**9, 100, 16
BATCH = 250_000
TERMS = ClaimTerms(policy="p", epsilon=1.0)


@dataclass(frozen=True)
class UnitCosts:
    """CPU seconds of one record in each step, bytes of one record in the ledger, and how claims slow down with size."""

    key: float
    claim: float
    slowdown: float
    draw: float
    names: float | None
    ledger_bytes: float
    text_bytes: float

    def claim_at(self, rows: float) -> float:
        """CPU seconds of one claim in a ledger of that many records, extrapolated by the measured power."""
        return self.claim * max(1.0, rows / BATCH) ** self.slowdown


def measured(texts: int = 6000) -> UnitCosts:
    corpus = people(2000)
    policy = make_policy(corpus.codec, Exponential(corpus.space, 2.0), corpus.tiers)
    some = [f"{corpus.texts[n % 2000]} Note {n}." for n in range(texts)]
    sanitizer = Sanitizer(policy)
    sanitizer.texts(some[:2000])
    _, key = cpu(lambda: RecordKeys(bytes(32)).contents([some]))
    _, draw = cpu(lambda: sanitizer.texts(some))
    claims, size = _claims(6)
    slowdown = math.log(claims[-1] / claims[0]) / math.log(len(claims))
    return UnitCosts(
        key=key / texts,
        claim=claims[0] / BATCH,
        slowdown=max(0.0, slowdown),
        draw=draw / texts,
        names=_names(some[:600]),
        ledger_bytes=size,
        text_bytes=sum(map(len, some)) / texts,
    )


def _claims(batches: int) -> tuple[list[float], float]:
    """CPU seconds of each of some equal claims in one ledger, and the bytes of a record in it."""
    with tempfile.TemporaryDirectory() as home:
        ledger = Ledger.beside(Path(home))
        keys = [KeyBatch(os.urandom(BATCH * WIDTH)) for _ in range(batches)]
        times = [cpu(lambda b=batch: ledger.claim([b], TERMS, is_final=True))[1] for batch in keys]  # type: ignore[misc]
        size = sum(path.stat().st_size for path in Path(home).iterdir() if path.suffix == ".db")
    return times, size / (batches * BATCH)


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
    return f"{seconds * 1e6:,.1f} µs for each record"


def lines(costs: UnitCosts, rows: int = ROWS, machines: int = MACHINES, cores: int = CORES) -> list[Line]:
    """The time of every step, and the largest of them."""
    workers = machines * cores
    last = costs.claim_at(rows)
    claim = rows * last / (1.0 + costs.slowdown)  # the mean over a ledger that grows from nothing
    growth = f", growing like rows to the power {costs.slowdown:.2f}"
    steps = {
        "keys of records, all cores": (_micro(costs.key), costs.key * rows / workers),
        "claims in the ledger, one process": (_micro(costs.claim) + growth, claim),
        "draws and texts, word list, all cores": (_micro(costs.draw), costs.draw * rows / workers),
    }
    if costs.names is not None:
        both = costs.draw + costs.names
        steps["the same with a pipeline that finds names, all cores"] = (_micro(both), both * rows / workers)
    slowest = max(steps, key=lambda step: steps[step][1])
    made = [
        Line(f"{step}{' (the bottleneck)' if step == slowest else ''}", unit, hours(total))
        for step, (unit, total) in steps.items()
    ]
    gigabytes = 1e-9 * rows
    return [
        *made,
        Line(
            "the ledger",
            f"{costs.ledger_bytes:,.0f} bytes for each record",
            f"{costs.ledger_bytes * gigabytes:,.0f} GB",
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


if __name__ == "__main__":
    made = run()
    print(table(made))
    if "--write" in sys.argv:
        page.keep({"sizing": markdown(made)})
        keep_elsewhere(made)
