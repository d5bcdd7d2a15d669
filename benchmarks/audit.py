"""The audit's kernels: triples sampled from pools beside plain fancy indexing, anchors scanned against all, memory."""

from __future__ import annotations

import numpy as np

from benchmarks.core import MEASURED, in_new_process
from benchmarks.table import Line, cpu
from oddshift import Space
from oddshift.audit.triples import sampled_rate, scanned_rate

POINTS, POSITIONS, TRIPLES, ANCHORS = 10_000, 1_000, 10_000_000, 100
FEW = 200


def run() -> list[Line]:
    rng = np.random.default_rng(0)
    space = Space(rng.normal(size=(POINTS, 100)))
    shift = 8.0 * rng.normal(size=(POSITIONS, POINTS))
    sampled_rate(shift[:8], space, 1.0, 1_000, rng)  # first call: load what is loaded once
    ours, seconds = cpu(lambda: sampled_rate(shift, space, 1.0, TRIPLES, rng))
    scanned, scan_seconds = cpu(lambda: scanned_rate(shift, space, 1.0, ANCHORS, rng))
    distances = space.distances
    plain, baseline = cpu(lambda: fancy_indexing(shift, distances, rng))
    ratio, speed = baseline / seconds, ANCHORS * (POINTS - 1) * POSITIONS / scan_seconds
    agrees = abs(ours - plain) < 0.005 and abs(scanned - plain) < 0.02
    what = f"{TRIPLES:.0e} random triples, {POINTS} points"
    return [
        Line(what, f"{seconds:.2f} s", "", "", "<= 1.5 s", agrees and seconds <= 1.5),
        Line(what, f"{seconds:.2f} s", f"numpy {baseline:.2f} s", f"{ratio:.1f}x", ">= 5x", agrees and ratio >= 5),
        Line("pair scan", f"{speed:.1e} triples/s", "", "", ">= 3e8", agrees and speed >= 3e8),
        memory(),
    ]


AUDIT = """
import numpy as np
from oddshift import Exponential, Space
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import knowledge
from oddshift.audit import AuditSettings, audit
from oddshift.model.records import Records, Split
from oddshift.model.tiers import Tiers
rng = np.random.default_rng(0)
space, order = Space(rng.normal(size=({points}, 20))), rng.permutation({points})
def records(documents):
    walks = [rng.integers({points}, size=documents)]
    for _ in range(9):
        walks.append(np.where(rng.random(documents) < 0.8, order[walks[-1]], rng.integers({points}, size=documents)))
    return Records.from_documents(space, np.stack(walks, axis=1).tolist())
fit = records(500)
tiers = Tiers(np.zeros({points}, dtype=int), names=("all",), scales=(1.0,), is_public=True)
known = knowledge(Exponential(space, 2.0), tiers, fit)
split = Split(fit=fit, select=records({documents}), certify=records({documents}), by="document")
attacker = ATTACKERS["plugin"](known, rng)
"""


def memory() -> Line:
    """Peak memory of an audit by plug-in, on a number of documents and on four times as many."""
    peaks = []
    for documents in (FEW, 4 * FEW):
        prepare = AUDIT.format(points=2_000, documents=documents)
        work = "audit(split, known, [attacker], AuditSettings(epsilon=2.0, delta=0.05))"
        peaks.append(in_new_process(MEASURED.format(prepare=prepare, work=work))[0])
    few, many = peaks
    what = f"audit by plug-in, 2,000 points, {4 * FEW} documents against {FEW}, peak memory"
    return Line(what, f"{many:.0f} MB", f"{few:.0f} MB", f"{many / few:.2f}x", "<= 1.25x", many <= 1.25 * few)


def fancy_indexing(shift: np.ndarray, distances: np.ndarray, rng: np.random.Generator) -> float:
    """What one would write first; the distance matrix is given for free."""
    position = rng.integers(0, len(shift), TRIPLES)
    first = rng.integers(0, len(distances), TRIPLES)
    second = (first + rng.integers(1, len(distances), TRIPLES)) % len(distances)
    gap = np.abs(shift[position, first] - shift[position, second])
    return float((gap > distances[first, second]).mean())
