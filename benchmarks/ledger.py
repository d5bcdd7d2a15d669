"""How many records a ledger claims in a second: python -m benchmarks.ledger [MILLIONS]

The rate falls with the size of the ledger, because keys are random and the tree outgrows the caches. What a ledger adds
to a release is a median over nine pairs of runs: on a busy machine single measurements of it scatter by 15 percent.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
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

AT_ONCE = 500_000
TERMS = ClaimTerms(policy="p", epsilon=1.0)


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


def run(millions: float = 2.0) -> list[Line]:
    lines = [cost_of_a_ledger(suffix) for suffix in WRITTEN]
    with tempfile.TemporaryDirectory() as name:
        ledger = Ledger(Path(name) / LEDGER)
        texts = [f"record number {n} of some length, as texts have it" for n in range(100_000)]
        _, seconds = cpu(lambda: ledger.keys().contents([texts]))
        lines.append(Line("keys of 100,000 short texts", f"{len(texts) / seconds:,.0f}/s"))
        for held in range(0, int(millions * 1e6), AT_ONCE):
            batch = KeyBatch(os.urandom(AT_ONCE * WIDTH))
            _, seconds = cpu(lambda b=batch: ledger.claim([b], TERMS, is_final=True))  # type: ignore[misc]
            rate = AT_ONCE / seconds
            what = f"{AT_ONCE:,} records claimed by a ledger that holds {held:,}"
            lines.append(Line(what, f"{rate:,.0f}/s", "", "", "200,000/s", rate >= 200_000))
        few = [KeyBatch(os.urandom(WIDTH)) for _ in range(200)]
        _, seconds = cpu(lambda: [ledger.claim([one], TERMS, is_final=True) for one in few])
        lines.append(Line("one record at a time", f"{len(few) / seconds:,.0f}/s"))
    return lines


if __name__ == "__main__":
    print(markdown(run(float(sys.argv[1]) if len(sys.argv) > 1 else 2.0)))
