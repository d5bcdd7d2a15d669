"""CPU times of the optimal mechanism on unit grids (ε = 1, uniform prior, euclidean cost), and of planar cells."""

from __future__ import annotations

import numpy as np

from benchmarks.table import Line, cpu
from oddshift.mechanisms.epsilon import true_epsilon
from oddshift.mechanisms.laplace import ProjectedLaplace
from oddshift.mechanisms.optimal import Optimal
from oddshift.model.space import Space


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


def solve_with_highs(side: int) -> float:
    """The loss of the whole linear programme, by the interior point method of HiGHS."""
    from scipy.optimize import linprog  # noqa: PLC0415 (a second at import)
    from scipy.sparse import coo_array, eye_array, kron  # noqa: PLC0415

    far = grid(side).distances
    n = len(far)
    first, second = np.nonzero(~np.eye(n, dtype=bool))
    rows, ones = np.arange(len(first)), np.ones(len(first))
    pairs = coo_array((ones, (rows, first))) - coo_array((np.exp(far[first, second]), (rows, second)))
    caps, sums = kron(pairs, eye_array(n)), kron(eye_array(n), np.ones((1, n)))
    solved = linprog(far.ravel() / n, caps, np.zeros(caps.shape[0]), sums, np.ones(n), method="highs-ipm")
    return float(solved.fun)


def optimal(side: int, limit: float, gap: float, spanner: float | None = None, *, beside: bool = False) -> Line:
    """CPU seconds and proven relative gap, each with its limit; ε is computed again from the table."""
    best, seconds = cpu(lambda: solve(side, spanner))
    before, ratio = "", ""
    if beside:
        loss, theirs = cpu(lambda: solve_with_highs(side))
        before, ratio = f"HiGHS {theirs:.1f} s (loss {loss:.5f})", f"{theirs / seconds:.0f}x"
    rows = "" if spanner is None else f", {spanner}-spanner"
    what = f"optimal, n = {side * side}{rows}: loss {best.loss:.5f}, relative gap {best.relative_gap:.1g}"
    holds = seconds <= limit and best.relative_gap <= gap and true_epsilon(best.table, best.space.distances) <= 1.0
    return Line(what, f"{seconds:.1f} s", before, ratio, f"<= {limit:g} s, gap <= {gap:g}", holds)


def small() -> Line:
    """Beside qif at a size that it finishes quickly."""
    best, seconds = cpu(lambda: solve(5))
    what = f"optimal, n = 25, all constraints: loss {best.loss:.5f}"
    try:
        loss, theirs = cpu(lambda: solve_with_qif(5))
    except ImportError:
        return Line(what, f"{seconds:.2f} s", baseline="qif is not installed")
    return Line(
        what, f"{seconds:.2f} s", baseline=f"qif {theirs:.1f} s (loss {loss:.5f})", ratio=f"{theirs / seconds:.0f}x"
    )


def planar() -> Line:
    epsilon, seconds = cpu(lambda: ProjectedLaplace(grid(20), 1.0).exact_epsilon)
    return Line(f"planar Laplace projected on 400 points, exact epsilon {epsilon:.6f}", f"{seconds:.1f} s")


def run() -> list[Line]:
    """Every time beside its limit."""
    return [
        small(),
        optimal(8, 10.0, 1e-6, beside=True),
        optimal(10, 15.0, 0.3, 1.5),
        optimal(10, 60.0, 1e-6),
        optimal(12, 60.0, 0.02),
        optimal(20, 600.0, 0.05),
        planar(),
    ]
