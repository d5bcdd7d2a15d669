"""Weights near a start: a Gaussian law of spread one around it, so that few held-out positions move weights little.

Without it the weights of relations that say next to nothing grow without bound where a handful of secrets happen to
agree with them. With n positions the score gains |w − start|²/2n; for thousands of them that is nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.attackers.term_weights import WeighedTerms
from oddshift.base.arrays import FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class NearWeights:
    """Terms whose score also counts how far the weights lie from a start; `positions` is how many there are."""

    held: WeighedTerms
    start: FloatArray
    positions: int

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """The score with the penalty, and its gradient."""
        value, gradient = self.held.loss(weights)
        away = weights - self.start
        return value + float(away @ away) / (2 * self.positions), gradient + np.asarray(away) / self.positions
