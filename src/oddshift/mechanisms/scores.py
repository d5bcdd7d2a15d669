"""What the exponential family shares: rows of scores become rows of log probabilities, and their normalisers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.base.logarithms import log_sum

Scores = Callable[[IntArray], FloatArray]
"""From the indices of some points, their rows of unnormalised log probabilities."""


def normalised(scores: FloatArray) -> FloatArray:
    """Scores less ln Z of their row, in place: rows that sum to one."""
    scores -= log_sum(scores)[:, None]
    return scores


def log_normalisers(scores: Scores, n_points: int, n_outputs: int) -> FloatArray:
    """ln Z_x of every point, in blocks."""
    everyone = np.arange(n_points)
    return np.concatenate([log_sum(scores(everyone[part])) for part in blocks(n_points, n_outputs)])
