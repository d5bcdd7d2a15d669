"""How many records a ledger claims in a second: python -m benchmarks.ledger [MILLIONS]

The rate falls with the size of the ledger, because keys are random and the tree outgrows the caches.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from benchmarks.table import Line, cpu, markdown
from oddshift.protect import Ledger
from oddshift.protect.claim_terms import ClaimTerms, KeyBatch
from oddshift.protect.ledger_store import LEDGER
from oddshift.protect.record_keys import WIDTH

AT_ONCE = 500_000
TERMS = ClaimTerms(policy="p", epsilon=1.0)


def run(millions: float = 2.0) -> list[Line]:
    lines = []
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
