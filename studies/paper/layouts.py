"""The paper's layout of triples: some candidates and some observations, and all pairs of the candidates for each.

The paper's S of 74,434,304 triples is 512 candidates by 569 observations. All pairs share those few hundred draws, so
that the spread of a rate is that of new layouts, not of independent triples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, whole
from oddshift.base.errors import InvalidInput
from oddshift.model.space import Space

CANDIDATES = 512
OBSERVATIONS = 569


def drawn_layout(
    positions: int,
    points: int,
    rng: np.random.Generator,
    *,
    candidates: int = CANDIDATES,
    observations: int = OBSERVATIONS,
) -> tuple[IntArray, IntArray]:
    """Which positions are observed and which points are candidates, without replacement; at most all of them."""
    seen = rng.permutation(positions)[: min(whole(observations, "observations", 1), positions)]
    compared = rng.permutation(points)[: min(whole(candidates, "candidates", 2), points)]
    return np.sort(seen), np.sort(compared)


@dataclass(frozen=True)
class Tails:
    """Shares of triples above some limits, and the mean of all triples."""

    beyond: tuple[float, ...]
    mean: float


@dataclass(frozen=True, eq=False, repr=False)
class LayoutShifts:
    """Shifts (observations, candidates) of one layout with the candidates' distances: |Δ shift|/d of every pair.

    In paper mode at T = 1 that is T·mPL, so that one pass over the pairs serves every temperature and every ε.
    """

    shift: FloatArray
    distances: FloatArray

    def tails(self, limits: Sequence[float]) -> Tails:
        """The share of triples above each limit and the mean of all, in one pass that keeps none of them.

        >>> LayoutShifts(np.array([[0.0, 2.0], [0.0, 0.5]]), np.array([[0.0, 1.0], [1.0, 0.0]])).tails([1.0, 3.0])
        Tails(beyond=(0.5, 0.0), mean=1.25)
        """
        counts, total = np.zeros(len(limits), dtype=np.int64), 0.0
        for values in self._pairs():
            counts += np.array([np.count_nonzero(values > limit) for limit in limits], dtype=np.int64)
            total += float(values.sum())
        return Tails(tuple(float(count / self.triples) for count in counts), total / self.triples)

    def beyond(self, limits: Sequence[float]) -> tuple[float, ...]:
        """The share of triples above each limit."""
        return self.tails(limits).beyond

    @property
    def triples(self) -> int:
        """Number of observations times pairs."""
        observed, many = self.shift.shape
        return observed * many * (many - 1) // 2

    def leakages(self) -> FloatArray:
        """All triples, flat and as 32-bit numbers."""
        return np.concatenate([values.astype(np.float32).ravel() for values in self._pairs()])

    def _pairs(self) -> Iterator[FloatArray]:
        """For each candidate its pairs with later ones, (later candidates, observations), in memory that is reused."""
        columns, closeness = np.ascontiguousarray(self.shift.T), 1.0 / (self.distances + np.eye(len(self.distances)))
        room = np.empty_like(columns)
        for k in range(len(columns) - 1):
            values = room[k + 1 :]
            np.subtract(columns[k + 1 :], columns[k], out=values)
            np.abs(values, out=values)
            np.multiply(values, closeness[k + 1 :, k, None], out=values)
            yield values


def layout_shifts(shift: FloatArray, space: Space, candidates: IntArray) -> LayoutShifts:
    """The shifts of a layout together with the distances of its candidates; `shift` is (observations, candidates)."""
    if shift.shape[1:] != candidates.shape:
        raise InvalidInput(f"shift has shape {shift.shape}, expected (observations, {len(candidates)})")
    points = space.points[candidates]
    return LayoutShifts(np.asarray(shift, dtype=np.float64), space.metric.between(points, points))
