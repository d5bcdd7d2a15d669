"""How time grows: the exponent of CPU time in documents, vocabulary, length, tiers, file size and workers.

`python -m benchmarks growth`. An exponent is the slope of log time over log size. Linear work has exponent 1; a line
that is quadratic by nature says so.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import oddshift as od
from benchmarks.adapt import Walks
from benchmarks.data_set import FREE, small_policy
from benchmarks.processes import Folder, released
from benchmarks.table import Line, cpu
from oddshift.adapt import adapt
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Ledger, protect
from oddshift.protect.policies import load_policy, save_policy

MOST = 1.1
"""The largest exponent of work that can be linear."""


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """The slope of log time over log size.

    >>> round(exponent([1, 2, 4], [1.0, 4.0, 16.0]), 3)
    2.0
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def grown(what: str, sizes: Sequence[int], work: Callable[[int], float], most: float = MOST) -> Line:
    """Measure every size once; `work` returns CPU seconds."""
    seconds = [work(size) for size in sizes]
    slope, shown = exponent(sizes, seconds), ", ".join(f"{s:.2f}" for s in seconds)
    several = ", ".join(f"{size:,}" for size in sizes)
    return Line(f"{what}: {several}", f"{shown} s", "", f"{slope:.2f}", f"exponent <= {most:g}", slope <= most)


def circles(documents: int, points: int, length: int) -> od.Dataset:
    """Documents whose secrets walk round a circle of points, and jump now and then."""
    rng = np.random.default_rng(0)
    walk = [rng.integers(points, size=documents)]
    for _ in range(length - 1):
        goes_on = rng.random(documents) < 0.8
        walk.append(np.where(goes_on, (walk[-1] + 1) % points, rng.integers(points, size=documents)))
    angle = 2.0 * np.pi * np.stack(walk, axis=1).ravel() / points
    where = np.stack([np.cos(angle), np.sin(angle)], axis=1).round(9)
    return od.embeddings(3.0 * where, groups=np.repeat(np.arange(documents), length), settings={"points": "fit"})


def audited(documents: int, points: int, length: int) -> float:
    data = circles(documents, points, length)
    return cpu(lambda: od.audit(data, epsilon=1.0, delta=0.1, attackers=["plugin"], seed=0))[1]


def drawn(points: int) -> float:
    """100,000 draws for 500 secrets."""
    rng = np.random.default_rng(0)
    mechanism = Exponential(Space(rng.normal(size=(points, 20))), 1.0)
    secrets = rng.integers(0, 500, 100_000)
    return cpu(lambda: mechanism.sample(secrets, rng))[1]


def exact(points: int) -> float:
    mechanism = Exponential(Space(np.random.default_rng(0).normal(size=(points, 20))), 1.0)
    return cpu(lambda: mechanism.exact_epsilon)[1]


def adapted(tiers: int) -> float:
    task = Walks(tiers).task()
    return cpu(lambda: adapt(task))[1]


def protected(texts: int) -> float:
    """A file of short texts."""
    with tempfile.TemporaryDirectory() as folder:
        home, some = Path(folder), people(2000).texts
        save_policy(home, small_policy())
        rows = "".join(f'"{some[n % 2000]} Note {n}."\n' for n in range(texts))
        (home / "in.csv").write_text(f"text\n{rows}")
        return cpu(lambda: protect(home / "in.csv", home / "out.csv", load_policy(home), Ledger.beside(home), FREE))[1]


def by_workers(workers: int) -> float:
    """A data set of eight files, released by some processes: the CPU time of all of them."""
    return released(workers, Folder(small_policy(), people(2000).texts, 8, 6000, "texts")).total


LINES: tuple[Callable[[], Line], ...] = (
    lambda: grown("audit, by documents of 6 secrets", (1000, 2000, 4000, 8000), lambda n: audited(n, 100, 6)),
    lambda: grown("audit of 1,000 documents, by their length", (4, 8, 16, 32), lambda n: audited(1000, 100, n)),
    lambda: grown("audit of 1,000 documents, by points", (200, 400, 800, 1600), lambda n: audited(1000, n, 6)),
    lambda: grown("100,000 draws for 500 secrets, by candidates", (2000, 4000, 8000, 16_000), drawn),
    lambda: grown("exact ε, by points (all pairs: quadratic by nature)", (2000, 4000, 8000), exact, most=2.2),
    lambda: grown("adaptation, by tiers", (2, 4, 8), adapted),
    lambda: grown("protect a CSV file, by texts", (10_000, 20_000, 40_000), protected),
    lambda: grown("protect 48,000 texts, CPU of all processes, by workers", (1, 2, 4), by_workers),
)
"""Every line, in the order of the table."""


def run() -> list[Line]:
    audited(100, 20, 4)  # what is loaded once
    drawn(600)
    return [make() for make in LINES]
