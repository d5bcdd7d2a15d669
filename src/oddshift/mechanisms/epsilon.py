"""The exact ε of one release: how far a channel really shifts the odds between two points, per unit of distance.

By the paper's Proposition 2 (single-observation equivalence) this one number is both the smallest ε for which
the channel is ε-mDP and the largest mPL of a single release. It is computed, never taken from a label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import SUM_TOLERANCE, FloatArray, IntArray, blocks, finite, floats
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum

_NEVER = -1e30  # stands for log 0 inside the kernel: differences of two of them are 0, not NaN
_INFINITE = 1e29
_TILE = 131_072  # entries of one tile of differences, small enough to stay in a core's cache

Coarse = npt.NDArray[np.float32]

Rows = Callable[[IntArray], tuple[FloatArray, FloatArray]]
"""From the indices of some points, their rows of distances d and of half budgets ½δ to every point."""


@dataclass(frozen=True)
class WorstCase:
    """The exact ε with a pair of points and an output that reach it."""

    epsilon: float
    pair: tuple[int, int]
    output: int


def true_epsilon(log_matrix: npt.ArrayLike, distances: npt.ArrayLike) -> float:
    """Return the smallest ε with |log M(y|a) − log M(y|b)| ≤ ε·d(a, b) for every output y and pair of points.

    `log_matrix` is (n, m), rows are log probabilities; `distances` is (n, n). Infinite when some output is
    possible from one point and impossible from another, or when points at distance 0 have different rows.

    **Guarantee**: the maximum over all pairs and outputs, to float rounding; n²·m work in blocks.

    >>> round(true_epsilon(np.log([[0.72, 0.28], [0.28, 0.72]]), [[0, 1], [1, 0]]), 6)
    0.944462
    """
    return worst_case(log_matrix, distances).epsilon


def worst_case(log_matrix: npt.ArrayLike, distances: npt.ArrayLike) -> WorstCase:
    """Return the exact ε together with a pair of points and an output where it is reached.

    Pairs whose rows cannot be that far apart are left out, the others are screened in float32 with a margin for its
    rounding, and those that could be the worst are computed in float64, so the result is the float64 one.

    >>> worst_case(np.log([[0.5, 0.5], [0.5, 0.5], [0.9, 0.1]]), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]).pair
    (0, 2)
    """
    rows = np.maximum(check_log_matrix(log_matrix), _NEVER)
    far = check_distances(distances, len(rows))
    worst = _nearest_pairs(rows, far)
    top, bottom = rows.max(axis=1), rows.min(axis=1)
    coarse = rows.astype(np.float32)
    tile = np.empty((max(1, _TILE // rows.shape[1]), rows.shape[1]), dtype=np.float32)
    margin = 4.0 * float(np.abs(coarse[coarse > _NEVER / 2]).max(initial=1.0)) * float(np.finfo(np.float32).eps)
    for a in range(len(rows) - 1):
        if worst.epsilon == np.inf:
            break
        reach = np.maximum(top[a] - bottom[a + 1 :], top[a + 1 :] - bottom[a])  # no output can gap wider
        partners = a + 1 + np.flatnonzero(reach > worst.epsilon * far[a, a + 1 :])
        widest = _widest(coarse, a, partners, tile) + margin
        doubtful = partners[widest > worst.epsilon * far[a, partners]]
        worst = max(worst, _worst_partner(rows, a, doubtful, far[a]), key=lambda case: case.epsilon)
    return worst


def log_ratios(log_matrix: FloatArray) -> FloatArray:
    """D(a, b) = max_y log M(y|a)/M(y|b), directed, (n, n); the privacy metric that the channel really has."""
    rows = np.maximum(log_matrix, _NEVER)
    result = np.zeros((len(rows), len(rows)))
    for a in range(len(rows) - 1):
        for part in _tiles(a + 1, *rows.shape):
            gaps = rows[a] - rows[part]
            result[a, part] = gaps.max(axis=1)
            result[part, a] = -gaps.min(axis=1)
    return np.where(result > _INFINITE, np.inf, np.maximum(result, 0.0))


def per_distance(ratios: FloatArray, distances: FloatArray) -> FloatArray:
    """ratio/distance for each pair: 0/0 is 0 (points that no output tells apart), x/0 is infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = ratios / distances
    return np.where(ratios <= 0.0, 0.0, shift)


def exponential_epsilon(log_z: FloatArray, rows: Rows) -> float:
    """Exact ε of M(y|x) ∝ exp(−½δ(x, y)) when every point is an output and δ is a metric.

    sup_y log M(y|a)/M(y|b) = ½δ(a, b) + log Z_b − log Z_a, reached at y = a, so the maximum over outputs needs
    no scan. `rows` gives, for some points, their rows of d and of ½δ; pairs that do not count have d = ∞.
    O(n²) in blocks.
    """
    everyone = np.arange(len(log_z))
    largest = 0.0
    for part in blocks(len(log_z), len(log_z)):
        index = everyone[part]
        distance, half_budget = rows(index)
        distance[np.arange(len(index)), index] = np.inf
        if distance.min() == 0.0:
            a, b = (int(i) for i in np.argwhere(distance == 0.0)[0])
            raise InvalidInput(f"points {index[a]} and {b} are at distance 0 after rounding, expected a distance > 0")
        shift = log_z[None, :] - log_z[index, None]
        np.abs(shift, out=shift)
        shift += half_budget
        shift /= distance
        largest = max(largest, float(shift.max()))
    return largest


def check_log_matrix(value: npt.ArrayLike, name: str = "log_matrix") -> FloatArray:
    """A (n, m) array of log probabilities whose rows sum to one."""
    matrix = floats(value, name, 2)
    if matrix.max() == np.inf:
        raise InvalidInput(f"{name} row {int(np.argmax(matrix.max(axis=1)))} has inf, expected log probabilities <= 0")
    totals = log_sum(matrix)
    if matrix.max() > SUM_TOLERANCE or np.abs(np.expm1(totals)).max() > SUM_TOLERANCE:
        row = int(np.argmax(np.abs(np.expm1(np.clip(totals, -700, 700)))))
        raise InvalidInput(f"{name} row {row} sums to {np.exp(min(totals[row], 700.0)):.12g}, expected 1")
    return matrix


def check_distances(value: npt.ArrayLike, n: int) -> FloatArray:
    """An (n, n) array of symmetric, non-negative distances with a zero diagonal; the triangle is not needed here."""
    matrix = finite(value, "distances", 2)
    if matrix.shape != (n, n):
        raise InvalidInput(f"distances has shape {matrix.shape}, expected {(n, n)}")
    if matrix.min() < 0:
        raise InvalidInput(f"distances has {matrix.min()}, expected distances >= 0")
    if np.diag(matrix).any():
        a = int(np.argmax(np.diag(matrix)))
        raise InvalidInput(f"distances[{a}, {a}] = {matrix[a, a]}, expected 0 on the diagonal")
    uneven = ~np.isclose(matrix, matrix.T, rtol=1e-9, atol=0.0)
    if uneven.any():
        a, b = (int(i) for i in np.argwhere(uneven)[0])
        raise InvalidInput(f"distances[{a}, {b}] = {matrix[a, b]} and [{b}, {a}] = {matrix[b, a]}, expected symmetry")
    return matrix


def _nearest_pairs(rows: FloatArray, far: FloatArray) -> WorstCase:
    """The worst pair of a point and its nearest other point: a good start, so that most pairs need no scan."""
    apart = far + np.diag(np.full(len(far), np.inf))
    nearest = np.argmin(apart, axis=1)
    gaps = np.array([np.abs(rows[a] - rows[b]).max() for a, b in enumerate(nearest)])
    a = int(np.argmax(per_distance(np.where(gaps > _INFINITE, np.inf, gaps), far[np.arange(len(far)), nearest])))
    first, second = sorted((a, int(nearest[a])))
    return _worst_partner(rows, first, np.array([second]), far[first])


def _widest(coarse: Coarse, a: int, partners: IntArray, tile: Coarse) -> FloatArray:
    """max_y |row a − row b| in float32 for every partner b, in a tile that stays in a core's cache."""
    widest = np.empty(len(partners))
    everyone = len(partners) == len(coarse) - a - 1
    for part in _tiles(0, len(partners), coarse.shape[1]):
        gaps = tile[: part.stop - part.start]
        if everyone:
            np.subtract(coarse[a + 1 + part.start : a + 1 + part.stop], coarse[a], out=gaps)
        else:
            np.subtract(np.take(coarse, partners[part], axis=0, out=gaps, mode="clip"), coarse[a], out=gaps)
        widest[part] = np.abs(gaps, out=gaps).max(axis=1)
    return widest


def _worst_partner(rows: FloatArray, a: int, partners: IntArray, far: FloatArray) -> WorstCase:
    """The worst of the pairs (a, b) for some partners b, in float64."""
    worst = WorstCase(0.0, (a, a), 0)
    for part in _tiles(0, len(partners), rows.shape[1]):
        few = partners[part]
        gaps = np.abs(rows[a] - rows[few])
        ratios = gaps.max(axis=1)
        epsilons = per_distance(np.where(ratios > _INFINITE, np.inf, ratios), far[few])
        k = int(np.argmax(epsilons))
        case = WorstCase(float(epsilons[k]), (a, int(few[k])), int(np.argmax(gaps[k])))
        worst = max(worst, case, key=lambda case: case.epsilon)
    return worst


def _tiles(start: int, n: int, m: int) -> Iterator[slice]:
    step = max(1, _TILE // m)
    return (slice(low, min(low + step, n)) for low in range(start, n, step))
