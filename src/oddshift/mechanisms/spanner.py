"""Few pairs of points that stand for all: a constraint of ratio along their edges adds up along a path.

If |log p(y|a) − log p(y|b)| ≤ ε·d(a, b) on the edges of a graph whose paths are at most t times longer than the
distances, then it holds with t·ε for every pair (Bordenabe, Chatzikokolakis, Palamidessi 2014).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray

_DILATIONS = (1.01, 1.015, 1.02, 1.03, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0)
_COARSEST = 1e6  # paths of any length: a tree
_COLLINEAR = 1e-12


class Spanner(NamedTuple):
    """Edges (n, n), symmetric, and the dilation that they really have: no path need be more than that times longer."""

    edges: BoolArray
    stretch: float


def sparsest_needed(distances: FloatArray, limit: int) -> Spanner:
    """All pairs that others do not imply if they are at most `limit` (directed), otherwise the finest spanner that is.

    >>> sparsest_needed(np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))), 100).edges.sum()
    np.int64(6)
    """
    everything = not_implied(distances)
    if everything.sum() <= limit:
        return Spanner(everything, 1.0)
    for dilation in _DILATIONS:
        found = greedy_spanner(distances, dilation, limit)
        if found.stretch < np.inf:
            return found
    return greedy_spanner(distances, _COARSEST)


def not_implied(distances: FloatArray) -> BoolArray:
    """Pairs with no third point on the way: the constraints of the others are sums of shorter ones."""
    wanted: BoolArray = distances > 0
    for stop in range(len(distances)):
        implied = distances[:, stop, None] + distances[None, stop, :] <= distances * (1.0 + _COLLINEAR)
        implied[stop] = implied[:, stop] = False
        wanted &= ~implied
    return wanted


def greedy_spanner(distances: FloatArray, dilation: float, limit: int | None = None) -> Spanner:
    """Pairs in increasing order of distance, each an edge when no path so far is at most `dilation` times it.

    With more than `limit` directed edges it stops where it is, and some pairs have no path: the stretch is infinite.
    """
    n = len(distances)
    left, right = np.triu_indices(n, 1)
    order = np.argsort(distances[left, right], kind="stable")
    ways = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    edges = np.zeros((n, n), dtype=bool)
    count = 0
    for a, b in zip(left[order].tolist(), right[order].tolist(), strict=True):
        length = distances[a, b]
        if ways[a, b] > dilation * length:
            count += 2
            if limit is not None and count > limit:
                return Spanner(edges, np.inf)
            edges[a, b] = edges[b, a] = True
            through = np.minimum(ways[:, a, None] + ways[None, b, :], ways[:, b, None] + ways[None, a, :])
            np.minimum(ways, through + length, out=ways)
    stretch = float((ways[left, right] / distances[left, right]).max(initial=1.0))
    return Spanner(edges, stretch)
