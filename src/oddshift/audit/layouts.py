"""The paper's layout of triples: some candidates and some observations, and all pairs of the candidates for each.

The paper's S of 74,434,304 triples is 512 candidates by 569 observations. All pairs share those few hundred draws, so
that the spread of a rate is that of new layouts, not of independent triples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, whole
from oddshift.base.errors import InvalidInput
from oddshift.leakage.limits import shift_limit
from oddshift.model.space import Space

CANDIDATES = 512
OBSERVATIONS = 569


@dataclass(frozen=True)
class LayoutRate:
    """The mean rate of some layouts and the standard deviation between them."""

    mean: float
    sd: float
    draws: int


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


def layout_leakages(shift: FloatArray, space: Space, candidates: IntArray) -> FloatArray:
    """|Δ shift|/d for every observation and pair of candidates, flat; `shift` is (observations, candidates).

    In paper mode at T = 1 this is T·mPL, so that one array serves every temperature and every ε.
    """
    if shift.shape[1:] != candidates.shape:
        raise InvalidInput(f"shift has shape {shift.shape}, expected (observations, {len(candidates)})")
    parts = []
    for k in range(len(candidates) - 1):
        distance = space.metric.between(space.points[candidates[[k]]], space.points[candidates[k + 1 :]])[0]
        parts.append((np.abs(shift[:, k + 1 :] - shift[:, [k]]) / distance).astype(np.float32).ravel())
    return np.concatenate(parts)


def layout_rate(shift: FloatArray, space: Space, epsilon: float, draws: int, rng: np.random.Generator) -> LayoutRate:
    """The rate of `draws` layouts of the paper's size, for shifts (positions, points), and how much it varies.

    >>> space = Space([[0.0], [1.0]])
    >>> layout_rate(np.array([[0.0, 2.0], [0.0, 0.5]]), space, 1.0, 3, np.random.default_rng(0))
    LayoutRate(mean=0.5, sd=0.0, draws=3)
    """
    rates = []
    for _ in range(whole(draws, "draws", 2)):
        seen, compared = drawn_layout(len(shift), len(space), rng)
        chosen, beyond = shift[np.ix_(seen, compared)], 0
        for k in range(len(compared) - 1):
            others = space.points[compared[k + 1 :]]
            limit = shift_limit(epsilon, space.metric.between(space.points[compared[[k]]], others)[0])
            beyond += int(np.count_nonzero(np.abs(chosen[:, k + 1 :] - chosen[:, [k]]) > limit))
        rates.append(beyond / (len(seen) * len(compared) * (len(compared) - 1) / 2))
    return LayoutRate(float(np.mean(rates)), float(np.std(rates, ddof=1)), len(rates))
