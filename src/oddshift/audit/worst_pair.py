"""The worst pair: whether any two candidates of a position exceed ε, without comparing all of them."""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.leakage.limits import shift_limit
from oddshift.model.space import Space

_AT_ONCE = 400_000  # entries of shifts or distances that are compared together


def worst_exceeds(shift: FloatArray, space: Space, index: IntArray, epsilon: float) -> BoolArray:
    """Whether any pair of candidates exceeds ε, for each row of `shift` (positions, candidates).

    The higher end of such a pair lies above the row's lowest shift by more than ε times the distance to its nearest
    neighbour; only those ends are compared with all others, the most extreme first, so the answer is exact.
    """
    found = np.zeros(len(shift), dtype=bool)
    lowest, part = shift.min(axis=1), space.part(index)
    everyone = [np.arange(some.start, some.stop) for some in blocks(len(index), max(len(index), len(shift)), _AT_ONCE)]
    nearest = np.concatenate([_limits(part, anchors, epsilon).min(axis=1) for anchors in everyone])
    reach = np.concatenate([(shift[:, anchors] - lowest[:, None]).max(axis=0) for anchors in everyone])
    order = np.argsort(nearest - reach, kind="stable")
    for anchors in (order[some] for some in everyone):
        left = np.flatnonzero(~found)
        high = shift[np.ix_(left, anchors)] - lowest[left, None] > nearest[anchors]
        rows = np.flatnonzero(high.any(axis=1))
        if not len(rows):
            continue
        limit = _limits(part, anchors, epsilon)
        for row in rows:
            ends, mine = np.flatnonzero(high[row]), shift[left[row]]
            found[left[row]] = bool((mine[anchors[ends], None] - mine > limit[ends]).any())
    return found


def _limits(part: Space, anchors: IntArray, epsilon: float) -> FloatArray:
    """The difference of shifts beyond which each anchor and each candidate exceed ε; infinite with itself."""
    distance = part.between(anchors)
    distance[np.arange(len(anchors)), anchors] = np.inf
    return shift_limit(epsilon, distance)
