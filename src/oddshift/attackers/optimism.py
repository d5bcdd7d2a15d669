"""Optimism: how much better fitted weights score on the positions they were fitted on than on others, on average.

tr(H⁻¹·Σ_u g_u·g_uᵀ)/n for n positions (Takeuchi, 1976): H is the summed second derivative of the score in the weights,
g_u the summed slope of an independent unit. With independent positions and the right model that is one nat for each
weight, over all positions (Akaike); the positions of one document, released several times, are worth fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.gains import Units
from oddshift.base.arrays import FloatArray, IntArray

RIDGE = 1.0
"""The curvature of the law around which weights are fitted (`NearWeights`), which also keeps H from being singular."""


@dataclass(frozen=True, eq=False, repr=False)
class Bend:
    """Slope of the score of every position in every weight, (positions, weights), and its summed second derivative."""

    slopes: FloatArray
    curvature: FloatArray

    def in_pairs(self) -> Bend:
        """The same where two weights that follow each other are one."""
        half = len(self.curvature) // 2
        return Bend(
            self.slopes.reshape(-1, half, 2).sum(axis=2), self.curvature.reshape(half, 2, half, 2).sum(axis=(1, 3))
        )


def bend_of(posterior: FloatArray, terms: Sequence[FloatArray], truth: IntArray) -> Bend:
    """Slopes and curvature at some positions from their posterior and terms, each (positions, points).

    The slope in w_k is E[c_k] − c_k(truth), the second derivative in w_j and w_k the covariance of c_j and c_k.

    >>> one = bend_of(np.array([[0.5, 0.5]]), [np.array([[0.0, 2.0]])], np.array([1]))
    >>> one.slopes, one.curvature
    (array([[-1.]]), array([[1.]]))
    """
    rows = np.arange(len(truth))
    means = np.stack([np.einsum("ij,ij->i", posterior, term) for term in terms], axis=1)
    at_truth = np.stack([term[rows, truth] for term in terms], axis=1)
    root = np.sqrt(posterior)
    spread = np.stack([(root * (term - mean[:, None])).ravel() for term, mean in zip(terms, means.T, strict=True)])
    return Bend(means - at_truth, spread @ spread.T)


def optimism(bend: Bend, units: Units) -> float:
    """Nats for each position that the fit of the weights gains on its own positions, compared with others.

    >>> flat = Bend(np.array([[1.0], [-1.0]] * 50), np.array([[99.0]]))
    >>> optimism(flat, Units(np.arange(100), 100)), optimism(flat, Units(np.arange(100) // 4, 25))
    (0.01, 0.0)
    """
    _, unit = np.unique(units.of_position, return_inverse=True)
    summed = np.zeros((int(unit.max(initial=-1)) + 1, bend.slopes.shape[1]))
    np.add.at(summed, unit, bend.slopes)
    curvature = bend.curvature + RIDGE * np.eye(len(bend.curvature))
    return float(np.trace(np.linalg.solve(curvature, summed.T @ summed))) / len(bend.slopes)
