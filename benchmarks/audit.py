"""The audit's kernels: triples sampled from pools beside plain fancy indexing, and anchors scanned against all."""

from __future__ import annotations

import numpy as np

from benchmarks.table import Line, cpu
from oddshift import Space
from oddshift.audit.triples import sampled_rate, scanned_rate

POINTS, POSITIONS, TRIPLES, ANCHORS = 10_000, 1_000, 10_000_000, 100


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
    ]


def fancy_indexing(shift: np.ndarray, distances: np.ndarray, rng: np.random.Generator) -> float:
    """What one would write first; the distance matrix is given for free."""
    position = rng.integers(0, len(shift), TRIPLES)
    first = rng.integers(0, len(distances), TRIPLES)
    second = (first + rng.integers(1, len(distances), TRIPLES)) % len(distances)
    gap = np.abs(shift[position, first] - shift[position, second])
    return float((gap > distances[first, second]).mean())
