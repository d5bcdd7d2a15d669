"""How time grows: the exponent of CPU time in documents, vocabulary, length, tiers, file size and workers.

`python -m benchmarks growth`. An exponent is the slope of log time over log size. Linear work has exponent 1; two lines
are quadratic by nature and say so.
"""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import oddshift as od
from benchmarks.adapt import Walks
from benchmarks.data_set import FREE, small_policy, write_folder
from benchmarks.table import Line, cpu
from oddshift.adapt import adapt
from oddshift.base.execution import SERIAL, Execution
from oddshift.data.embedded import people
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from oddshift.protect import Ledger, SetMeans, protect
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


def shared(workers: int, rows: int = 6000) -> float:
    """A data set of eight files: the CPU time of all processes together."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_folder(home / "in", 8, rows)
        save_policy(home / "policy", small_policy())
        execution = SERIAL if workers == 1 else Execution("processes", workers)
        ledger, policy = Ledger.beside(home / "policy"), load_policy(home / "policy")
        before = _all_seconds()
        protect(home / "in", home / "out", policy, ledger, FREE, means=SetMeans(execution=execution))
        _stop_workers()
        return _all_seconds() - before


def _all_seconds() -> float:
    """CPU seconds of this process and of all that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _stop_workers() -> None:
    """Stop the processes that joblib keeps for the next call, so that their time is counted."""
    from joblib.externals.loky import get_reusable_executor  # noqa: PLC0415 - only here

    get_reusable_executor().shutdown(wait=True)


def run() -> list[Line]:
    audited(100, 20, 4)  # what is loaded once
    return [
        grown("audit, by documents of 6 secrets", (1000, 2000, 4000, 8000), lambda n: audited(n, 100, 6)),
        grown("audit of 1,000 documents, by their length", (4, 8, 16, 32), lambda n: audited(1000, 100, n)),
        grown("audit of 1,000 documents, by points", (200, 400, 800, 1600), lambda n: audited(1000, n, 6)),
        grown("100,000 draws for 500 secrets, by candidates", (2000, 4000, 8000, 16_000), drawn),
        grown("exact ε, by points (all pairs: quadratic by nature)", (1000, 2000, 4000), exact, most=2.2),
        grown("adaptation, by tiers", (2, 4, 8), adapted),
        grown("protect a CSV file, by texts", (10_000, 20_000, 40_000), protected),
        grown("protect a data set of 48,000 texts, CPU of all processes, by workers", (1, 2, 4), shared),
    ]
