"""The exact core: exact ε, sampling, memory; PyPI qif in the same run where it exists."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from benchmarks.table import Line, cpu
from oddshift import Exponential, Space, true_epsilon
from oddshift.mechanisms.remap import Remap

WORDS, AXES = 11_000, 100
DRAWS = 5_000_000


def run() -> list[Line]:
    rng = np.random.default_rng(0)
    return [
        *general_channel(rng),
        *exponential_epsilon(),
        *remapping(rng),
        *sampling(rng),
        memory(),
        triangle_check(rng),
    ]


def general_channel(rng: np.random.Generator) -> list[Line]:
    """A random channel, and one where every pair ties (geometric), which is the worst case for screening."""
    n = 1_000
    random = np.log(rng.dirichlet(np.ones(n), n))
    distances = Space(rng.normal(size=(n, 10))).distances
    line = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    ties = -0.3 * line - np.log(np.exp(-0.3 * line).sum(axis=1, keepdims=True))
    lines = []
    for name, rows, far in (("random", random, distances), ("geometric", ties, line)):
        ours, seconds = cpu(lambda rows=rows, far=far: true_epsilon(rows, far))
        theirs = with_qif(np.exp(rows), far)
        what = f"true_epsilon, {name} channel, n = m = {n}"
        if theirs is None:
            lines.append(Line(what, f"{seconds:.2f} s", "qif not installed", limit="20x"))
            continue
        value, baseline = theirs
        agrees = abs(value - ours) <= 1e-6 * ours
        ratio = baseline / seconds
        lines.append(
            Line(what, f"{seconds:.2f} s", f"qif {baseline:.1f} s", f"{ratio:.0f}x", ">= 20x", agrees and ratio >= 20)
        )
    return lines


def with_qif(matrix: np.ndarray, distances: np.ndarray) -> tuple[float, float] | None:
    try:
        import qif  # noqa: PLC0415 - optional
    except ImportError:
        return None
    metric = qif.metric.from_distance_matrix(distances)
    value, seconds = cpu(lambda: qif.measure.d_privacy.smallest_epsilon(matrix, metric))
    return float(value), seconds


def exponential_epsilon() -> list[Line]:
    megabytes, seconds = in_new_process(EPSILON)
    _, plain = in_new_process(PLAIN_EPSILON)
    what = f"exact epsilon of the exponential mechanism, n = {WORDS:,}, {AXES} axes"
    return [
        Line(what, f"{seconds:.2f} s", f"{IN_FLOAT64} {plain:.1f} s", limit="<= 3 s", holds=seconds <= 3),
        Line(f"{what}, peak memory", f"{megabytes:.0f} MB", limit="<= 500 MB", holds=megabytes <= 500),
    ]


def remapping(rng: np.random.Generator) -> list[Line]:
    """From nothing, and after the exact ε, which leaves the normalisers behind."""
    mechanism, prior = Exponential(Space(rng.normal(size=(WORDS, AXES))), 2.5), np.full(WORDS, 1.0 / WORDS)
    _, alone = cpu(lambda: Remap(mechanism, prior, "cosine"))
    _ = mechanism.exact_epsilon
    _, after = cpu(lambda: Remap(mechanism, prior, "cosine"))
    what = f"remap by cosine cost, n = {WORDS:,}"
    return [
        Line(what, f"{alone:.2f} s", limit="<= 2 s", holds=alone <= 2),
        Line(f"{what}, after its exact epsilon", f"{after:.2f} s", limit="<= 2 s", holds=after <= 2),
    ]


def sampling(rng: np.random.Generator) -> list[Line]:
    mechanism = Exponential(Space(rng.normal(size=(WORDS, AXES))), 2.5)
    sampler, built = cpu(mechanism.sampler)
    index = rng.integers(0, WORDS, DRAWS)
    _, drawn = cpu(lambda: sampler.sample(index, rng))
    zipf = np.minimum(rng.zipf(1.3, DRAWS) - 1, WORDS - 1)
    _, skewed = cpu(lambda: sampler.sample(zipf, rng))
    return [
        Line(f"rows of a sampler, {WORDS:,} candidates", f"{built:.2f} s"),
        *(
            Line(
                f"draws from {WORDS:,} candidates, {law} secrets",
                f"{DRAWS / seconds / 1e6:.2f} M/s",
                limit=">= 1 M/s",
                holds=DRAWS / seconds >= 1e6,
            )
            for law, seconds in (("uniform", drawn), ("Zipf", skewed))
        ),
    ]


MEASURED = """
import resource, time
import numpy as np
from oddshift import Exponential, Space
rng = np.random.default_rng(0)
{prepare}
start = time.process_time()
{work}
seconds = time.process_time() - start
try:  # the peak since this program began; ru_maxrss would also count the process that started it
    kilobytes = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
except OSError:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(kilobytes / 1024, seconds)
"""

LARGE = MEASURED.format(
    prepare="space, index = Space(rng.normal(size=(60_000, 100))), rng.integers(0, 60_000, 2_000)",
    work="Exponential(space, 2.5).sample(index, rng)",
)

EPSILON = MEASURED.format(
    prepare=f"space = Space(rng.normal(size=({WORDS}, {AXES})))", work="Exponential(space, 2.5).exact_epsilon"
)

IN_FLOAT64 = "numpy, all pairs in float64:"

PLAIN_EPSILON = MEASURED.format(
    prepare=f"points = rng.normal(size=({WORDS}, {AXES}))",
    work="""
squares = np.einsum("ij,ij->i", points, points)
far = np.sqrt(np.maximum(squares[:, None] + squares - 2.0 * points @ points.T, 0.0))
total = np.log(np.exp(-1.25 * far).sum(axis=1))
np.fill_diagonal(far, np.inf)
1.25 + (np.abs(total[:, None] - total) / far).max()""",
)
"""The same by its formula: ε/2 + max |ln Z_i − ln Z_j| / d_ij, where every point is an output."""


def in_new_process(program: str) -> tuple[float, float]:
    """Peak memory in megabytes and CPU seconds of a program that prints both."""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    megabytes, seconds = (float(word) for word in said.split())
    return megabytes, seconds


def memory() -> Line:
    """Peak memory of a process that samples for 2,000 secrets among 60,000 candidates."""
    megabytes, seconds = in_new_process(LARGE)
    what = f"2,000 secrets among 60,000 candidates ({seconds:.1f} s), peak memory"
    return Line(what, f"{megabytes:.0f} MB", limit="< 2048 MB", holds=megabytes < 2048)


def triangle_check(rng: np.random.Generator) -> Line:
    n = 2_000
    distances = Space(rng.normal(size=(n, 3))).distances
    _, seconds = cpu(lambda: Space.from_distances(distances))
    return Line(f"triangle check of a distance matrix, {n:,} points", f"{seconds:.1f} s")
