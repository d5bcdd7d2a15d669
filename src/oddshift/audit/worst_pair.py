"""The worst pair: whether any two candidates of a position exceed ε, without comparing all of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.leakage.limits import shift_limit
from oddshift.model.space import Space


def worst_exceeds(shift: FloatArray, space: Space, index: IntArray, epsilon: float) -> BoolArray:
    """Whether any pair of candidates exceeds ε, for each row of `shift` (positions, candidates).

    The higher end of such a pair lies above the row's lowest shift by more than ε times the distance to its nearest
    neighbour; only those ends are compared with all others, the most extreme first, so the answer is exact.
    """
    found = np.zeros(len(shift), dtype=bool)
    lowest, part = shift.min(axis=1), space.part(index)
    nearest = np.concatenate([_limits(part, anchors, epsilon).min(axis=1) for anchors in _anchors(index)])
    order = np.argsort(-(shift - lowest[:, None] - nearest).max(axis=0), kind="stable")
    for anchors in (order[some] for some in _anchors(index)):
        limit = _limits(part, anchors, epsilon)
        for row in np.flatnonzero(~found):
            high = np.flatnonzero(shift[row, anchors] - lowest[row] > nearest[anchors])
            if len(high):
                found[row] = bool((shift[row, anchors[high], None] - shift[row] > limit[high]).any())
    return found


def _anchors(index: IntArray) -> Iterator[IntArray]:
    """Numbers of the candidates, a block at a time."""
    return (np.arange(some.start, some.stop) for some in blocks(len(index), len(index)))


def _limits(part: Space, anchors: IntArray, epsilon: float) -> FloatArray:
    """The difference of shifts beyond which each anchor and each candidate exceed ε; infinite with itself."""
    distance = part.between(anchors)
    distance[np.arange(len(anchors)), anchors] = np.inf
    return shift_limit(epsilon, distance)
