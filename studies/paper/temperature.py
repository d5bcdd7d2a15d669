"""The temperature of paper mode, fitted by log score on documents that it was not trained on (Guo et al., 2017).

The paper cites temperature scaling and states no temperature; this is the one that makes its posterior as well
calibrated as one number can.
"""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release
from studies.paper.least_squares import Paper, squared_distances

RANGE = (0.01, 1e4)
"""Temperatures that are tried; the upper end means that nothing was learned."""


def guesses(attacker: Paper, release: Release) -> FloatArray:
    """x̂ of every position."""
    found = np.empty((len(release.outputs), attacker.points.shape[1]))
    for positions, guess in attacker.reconstructions(release):
        found[positions] = guess
    return found


def fitted_temperature(attacker: Paper, release: Release, truth: Records, most: int = 400) -> float:
    """T of the largest log score of the truth on up to `most` positions, by golden section on ln T."""
    keep: IntArray = np.random.default_rng(0).permutation(len(truth.points))[:most]
    squares = squared_distances(guesses(attacker, release)[keep], attacker.points)
    squares -= squares.min(axis=1, keepdims=True)  # so that the largest term of every sum is 1, at any T
    own, room = squares[np.arange(len(keep)), truth.points[keep]], np.empty(squares.shape, dtype=np.float32)
    short = squares.astype(np.float32)

    def loss(log_t: float) -> float:
        np.multiply(short, np.float32(-np.exp(-log_t)), out=room)
        np.exp(room, out=room)
        return float((own / np.exp(log_t) + np.log(room.sum(axis=1, dtype=np.float64))).mean())

    low, high, ratio = np.log(RANGE[0]), np.log(RANGE[1]), (np.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = loss(left), loss(right)
    for _ in range(30):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = loss(right)
    return float(np.exp((low + high) / 2))
