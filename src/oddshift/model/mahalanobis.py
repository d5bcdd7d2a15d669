"""The distance of Mahalanobis: euclidean after points are turned and stretched so that they spread evenly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, finite, float_of
from oddshift.base.errors import InvalidInput
from oddshift.model.metric import Euclidean, Metric

_WORST_CONDITION = 1e12  # of a covariance whose inverse is taken


@dataclass(frozen=True, eq=False, repr=False)
class Mahalanobis(Metric):
    """d = ‖(a − b)·W‖₂ for an invertible matrix W (k, k): euclidean in the coordinates x·W."""

    whitening: FloatArray
    name: str = "mahalanobis"

    def check(self, points: FloatArray) -> None:
        """Refuse points of another width, and coordinates out of range."""
        if points.shape[1] != len(self.whitening):
            raise InvalidInput(f"points have {points.shape[1]} columns, expected {len(self.whitening)} (mahalanobis)")
        Euclidean().check(points @ self.whitening)

    def between(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Euclidean distances between x·W."""
        return Euclidean().between(left @ self.whitening, right @ self.whitening)


def mahalanobis(points: npt.ArrayLike, share: float = 0.2) -> Mahalanobis:
    """Return the metric √((a − b)ᵀ S⁻¹ (a − b)), S = share·k·C/tr C + (1 − share)·I for the covariance C of the points.

    Xu et al. (2020): noise for it follows the spread of the points; share 0 is the euclidean metric. Points must not be
    secret by themselves: W says how they spread.

    >>> metric = mahalanobis([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]], share=1.0)
    >>> metric.between(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([[0.7906, 1.5811]])
    """
    rows = finite(points, "points", 2)
    if not 0.0 <= float_of(share, "share") <= 1.0:
        raise InvalidInput(f"{share=}, expected a number between 0 and 1")
    width = rows.shape[1]
    spread = np.cov(rows, rowvar=False, bias=True).reshape(width, width) if len(rows) > 1 else np.zeros((width, width))
    total = float(np.trace(spread))
    mixed = share * width * spread / (total or 1.0) + (1.0 - share) * np.eye(width)
    if np.linalg.cond(mixed) > _WORST_CONDITION:
        raise InvalidInput(f"the points do not spread in all {width} directions, expected {share=} to be smaller")
    return Mahalanobis(np.linalg.inv(np.linalg.cholesky(mixed)).T)
