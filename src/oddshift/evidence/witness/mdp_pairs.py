"""Pairs of points between which a violation of ε-mDP is looked for: those hinted at, near ones, those of a channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, indices
from oddshift.evidence.witness.mdp_events import log_countable
from oddshift.model.space import Space

ANCHORS = 64
"""Number of points whose neighbours become candidate pairs."""

_REACH = (0.5, 1.0, 2.0, 4.0)  # candidate pairs lie near these values of ε·d, after the nearest pairs


@dataclass(frozen=True, eq=False)
class PairTerms:
    """The claimed ε, how many pairs are wanted, how many draws will be counted, and the channel's logs if known."""

    epsilon: float
    wanted: int
    confirm: int
    channel: FloatArray | None = None


def candidate_pairs(
    space: Space, hints: Sequence[tuple[int, int]], terms: PairTerms, rng: np.random.Generator
) -> dict[tuple[int, int], float]:
    """Hints, then nearest neighbours, nearest first, and pairs at a few values of ε·d, around random points.

    With a channel every pair is looked at, and those are kept of which counted draws can show most.

    >>> terms = PairTerms(epsilon=1.0, wanted=1, confirm=100)
    >>> candidate_pairs(Space([[0.0], [1.0], [9.0]]), [(0, 2)], terms, np.random.default_rng(0))[(0, 2)]
    9.0
    """
    chosen: dict[tuple[int, int], float] = {}
    for hint in hints:
        a, b = indices(hint, "hints", len(space)).tolist()
        chosen[(a, b)] = float(space.metric.between(space.points[[a]], space.points[[b]])[0, 0])
    anchors = rng.permutation(len(space))[: len(space) if terms.channel is not None else ANCHORS]
    rows = space.between(anchors)
    rows[np.arange(len(anchors)), anchors] = np.inf
    if terms.channel is not None:
        pairs = _by_channel(anchors, terms.channel, rows, terms.confirm)
    else:
        pairs = _by_distance(anchors, rows, terms.epsilon, terms.wanted, rng)
    row_of = {int(anchor): row for row, anchor in enumerate(anchors)}
    for a, b in pairs:
        if len(chosen) < terms.wanted + len(hints) and (b, a) not in chosen:
            chosen[(a, b)] = float(rows[row_of[a], b])
    return chosen


def _by_distance(
    anchors: IntArray, rows: FloatArray, epsilon: float, wanted: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    near = np.argmin(rows, axis=1)
    order = np.argsort(rows[np.arange(len(anchors)), near], kind="stable")
    nearest = [(int(anchors[i]), int(near[i])) for i in order]
    ladders = []
    for reach in _REACH:
        match = np.argmin(np.abs(epsilon * rows - reach), axis=1)
        ladders.append([(int(anchors[i]), int(match[i])) for i in rng.permutation(len(anchors))])
    first = nearest[: max(1, wanted // 3)]
    return [*first, *(pair for rung in zip(*ladders, strict=True) for pair in rung), *nearest[len(first) :]]


def _by_channel(anchors: IntArray, channel: FloatArray, distances: FloatArray, confirm: int) -> list[tuple[int, int]]:
    """Pairs in the order of the log ratio per distance of one output that `confirm` draws can be expected to show."""
    low, high = log_countable(channel, confirm)
    worth = np.stack([(low[a] - high).max(axis=1) / distances[i] for i, a in enumerate(anchors.tolist())])
    worth[np.isinf(distances)] = -np.inf  # a point and itself
    order = np.argsort(-worth, axis=None, kind="stable")[: min(4 * len(channel), np.isfinite(distances).sum())]
    return [(int(anchors[i]), int(j)) for i, j in zip(*np.unravel_index(order, worth.shape), strict=True)]
