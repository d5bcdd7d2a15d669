"""CPU times of the optimal mechanism on unit grids (ε = 1, uniform prior, euclidean cost), and of planar cells."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from oddshift.mechanisms.laplace import ProjectedLaplace
from oddshift.mechanisms.optimal import Optimal
from oddshift.space import Space

T = TypeVar("T")


def cpu(work: Callable[[], T]) -> tuple[T, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def grid(side: int) -> Space:
    return Space([[i, j] for i in range(side) for j in range(side)])


def solve(side: int, spanner: float | None = None) -> Optimal:
    space = grid(side)
    return Optimal(space, 1.0, np.full(len(space), 1.0 / len(space)), "euclidean", spanner=spanner)


def solve_with_qif(side: int) -> float:
    from qif import mechanism  # noqa: PLC0415 (optional)

    distances = grid(side).distances
    n = len(distances)

    def distance(a: int, b: int) -> float:
        return float(distances[a, b])

    channel = mechanism.d_privacy.min_loss_given_d(np.full(n, 1.0 / n), n, distance, distance)
    return float((np.asarray(channel) * distances).sum() / n)


def run() -> None:
    """Print every time beside its limit."""
    for side, spanner, limit in (
        (5, None, "no limit"),
        (8, None, "limit 10"),
        (10, 1.5, "limit 15"),
        (10, None, "limit 60"),
    ):
        best, seconds = cpu(lambda s=side, t=spanner: solve(s, t))
        rows = "all constraints" if spanner is None else f"{spanner}-spanner"
        print(
            f"optimal, n = {side * side}, {rows}: {seconds:.1f} CPU s ({limit}), loss {best.loss:.5f}, "
            f"gap {best.gap:.1g} ({best.relative_gap:.1g} relative), exact epsilon {best.exact_epsilon:.9f}"
        )
    try:
        loss, seconds = cpu(lambda: solve_with_qif(5))
        print(f"qif, n = 25, all constraints: {seconds:.1f} CPU s, loss {loss:.5f}; n = 64 was timed at 66 s")
    except ImportError:
        print("qif is not installed: no comparison")
    planar, seconds = cpu(lambda: ProjectedLaplace(grid(20), 1.0).exact_epsilon)
    print(f"planar Laplace projected on 400 points, exact epsilon {planar:.6f}: {seconds:.1f} CPU s")


if __name__ == "__main__":
    run()
