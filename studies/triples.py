"""The paper's estimate: the share of sampled triples (x_i, x_j, y) whose leakage exceeds ε, and the share of all.

Triples share documents and pairs, so they are not independent and nothing is certified from them; the share itself is
unbiased. Pairs are drawn into pools whose distances are computed once, and every position reads a run of its pool.
"""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, blocks, whole
from oddshift.base.errors import InvalidInput
from oddshift.leakage.mpl import shift_limit
from oddshift.model.space import Space

POOL = 32_768
"""Pairs of one pool; new pools are drawn for every BLOCK of positions, as many as its triples need."""

BLOCK = 1_024


def sampled_rate(shift: FloatArray, space: Space, epsilon: float, triples: int, rng: np.random.Generator) -> float:
    """Share of at least `triples` uniform triples beyond ε, for shifts (positions, points); unbiased.

    Every position gets the same number of pairs (i, j), i ≠ j, both uniform: the smallest that makes enough triples.

    >>> space = Space([[0.0], [1.0]])
    >>> sampled_rate(np.array([[0.0, 2.0], [0.0, 0.5]]), space, 1.0, 1000, np.random.default_rng(0))
    0.5
    """
    _check(shift, space)
    each = -(-whole(triples, "triples", 1) // len(shift))
    beyond = 0
    for start in range(0, len(shift), BLOCK):
        rows = shift[start : start + BLOCK]
        for taken in range(0, each, POOL):
            beyond += _beyond(rows, _pool(space, epsilon, rng), min(POOL, each - taken), rng)
    return beyond / (each * len(shift))


def _beyond(rows: FloatArray, pool: tuple[IntArray, IntArray, FloatArray], each: int, rng: np.random.Generator) -> int:
    """How many of `each` pairs of a pool exceed ε, over all rows; every row reads a run of its own."""
    first, second, limit = pool
    found = 0
    for row, offset in zip(rows, rng.integers(0, POOL - each + 1, len(rows)), strict=True):
        run = slice(offset, offset + each)
        gap = row.take(first[run])
        gap -= row.take(second[run])
        np.abs(gap, out=gap)
        found += int(np.count_nonzero(gap > limit[run]))
    return found


def _pool(space: Space, epsilon: float, rng: np.random.Generator) -> tuple[IntArray, IntArray, FloatArray]:
    """Uniform pairs of distinct points and the shift beyond which each exceeds ε."""
    first = rng.integers(0, len(space), POOL)
    second = (first + rng.integers(1, len(space), POOL)) % len(space)
    distance = np.concatenate(
        [_pairwise(space, first[part], second[part]) for part in blocks(POOL, 64 * space.points.shape[1])]
    )
    return first, second, shift_limit(epsilon, distance)


def _pairwise(space: Space, first: IntArray, second: IntArray) -> FloatArray:
    """d of each pair, a few anchors at a time so that no square block is larger than needed."""
    few = 32
    parts = [
        np.diagonal(space.metric.between(space.points[first[k : k + few]], space.points[second[k : k + few]]))
        for k in range(0, len(first), few)
    ]
    return np.concatenate(parts)


def _check(shift: FloatArray, space: Space) -> None:
    if shift.ndim != 2 or shift.shape[1] != len(space) or not len(shift) or len(space) < 2:
        raise InvalidInput(f"shift has shape {shift.shape}, expected (positions, {len(space)}) and at least 2 points")
