"""The linear attacker: where a secret lies follows, linearly, from where the other secrets of its document seem to lie.

v(X_l) = B·φ + noise, φ = (E[v(X_{l−1}) | y_{l−1}], E[v(X_{l+1}) | y_{l+1}], n^{-1/2}·Σ_{s≠l} E[v(X_s) | y_s]), v the
coordinates of a point less the mean of its candidate set under π. c_l(x) = log N(v(x); B·φ, Σ_l) − log N(v(x); 0, Σ₀),
Σ (given the others in the clear) and Σ₀ (alone) by least squares on clean records. Σ_l = Σ + s_l·(Σ₀ − Σ), where s_l is
the share of the variance of φ that the outputs leave open: 0 in the clear and 1 where they say nothing, so that c is 0
there. Points that were never seen together differ by where they lie, so this speaks about rare words, where counts are
silent. The term is meant to be scaled by a fitted weight (`combination`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge, release_blocks
from oddshift.attackers.backoff import is_spatial
from oddshift.attackers.law_attacker import BATCH_ENTRIES, Terms, law_over, likelihood_ratios
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.metric import Precomputed
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates, set_numbers
from oddshift.model.space import Space

MOST_COORDINATES = 400
"""Coordinates up to which the regression is solved: its matrix has three times as many rows."""

RIDGE = 1e-3
"""What is added to the diagonal of every matrix that is inverted, in units of its mean diagonal entry."""


@dataclass(frozen=True, eq=False, repr=False)
class GaussianLaw:
    """For one candidate set: U and λ with Σ₀ = U·Uᵀ and Σ = U·diag(λ)·Uᵀ, and U⁻¹·B for each of the three parts of φ.

    `shares` says how much of what the others tell comes from each part.
    """

    inverse: FloatArray  # U⁻¹, (coordinates, coordinates)
    spread: FloatArray  # λ, (coordinates,)
    slope: FloatArray  # (3·coordinates, coordinates)
    shares: FloatArray  # (3,), with sum one

    def log_ratio(self, features: FloatArray, open_share: FloatArray, v: FloatArray) -> FloatArray:
        """c(x) for every row of features and every place, up to a constant for each row; `open_share` is s_l."""
        z, left = v @ self.inverse.T, self.spread + open_share[:, None] * (1.0 - self.spread)
        told = (features @ self.slope) / left @ z.T
        told += 0.5 * (1.0 - 1.0 / left) @ (z * z).T
        return np.asarray(told)


@dataclass(frozen=True, eq=False, repr=False)
class LinearContext:
    """One Gaussian law for each candidate set."""

    laws: tuple[GaussianLaw, ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        width = known.fit.space.points.shape[1]
        for first, block in release_blocks(release.without_context(), len(known.log_prior), BATCH_ENTRIES):
            sets = candidate_sets(block, known.tiers)
            expected, doubt = np.empty((len(block.outputs), width)), np.empty(len(block.outputs))
            for mine in sets:
                expected[mine.positions], doubt[mine.positions] = _expected(known, block, mine)
            features, is_lone = neighbourhood(expected, block.lengths), np.repeat(block.lengths == 1, block.lengths)
            doubts = doubts_around(doubt, block.lengths)
            for mine in sets:
                law, at = self.laws[mine.tier], mine.positions
                context = law.log_ratio(features[at], doubts[at] @ law.shares, centred(known, mine.points))
                context[is_lone[at]] = 0.0
                yield Terms(first + at, context, known.log_prior[mine.points], mine.points)


def centred(known: Knowledge, points: IntArray) -> FloatArray:
    """v of some points: their coordinates less the mean under π."""
    places = known.fit.space.points[points]
    return np.asarray(places - law_over(known, points) @ places)


def _expected(known: Knowledge, release: Release, mine: CandidateSet) -> tuple[FloatArray, FloatArray]:
    """E[v(X_s) | y_s] under π, and the share of its variance that is left; nothing is known of an impossible output."""
    law, v = law_over(known, mine.points), centred(known, mine.points)
    mass = likelihood_ratios(known, release, mine, law) * law
    expected, squares = mass @ v, (v * v).sum(axis=1)
    before = float(law @ squares)
    left = mass @ squares - (expected * expected).sum(axis=1)
    return expected, np.clip(left / before, 0.0, 1.0) if before > 0 else np.ones(len(mass))


def doubts_around(doubt: FloatArray, lengths: IntArray) -> FloatArray:
    """How much is open of each part of φ, (positions, 3): the one before, the one after, all others; 1 for none.

    >>> doubts_around(np.array([0.2, 0.4, 0.9]), np.array([2, 1]))
    array([[1. , 0.4, 0.4],
           [0.2, 1. , 0.2],
           [1. , 1. , 1. ]])
    """
    known = neighbourhood(1.0 - doubt[:, None], lengths)
    count = np.repeat(np.maximum(lengths - 1, 1), lengths)
    known[:, 2] /= np.sqrt(count)
    return np.asarray(1.0 - known)


def neighbourhood(v: FloatArray, lengths: IntArray) -> FloatArray:
    """φ of every position from the vectors of all: the one before, the one after, all others; 0 where there is none.

    >>> neighbourhood(np.array([[1.0], [2.0], [5.0]]), np.array([2, 1]))
    array([[0., 2., 2.],
           [1., 0., 1.],
           [0., 0., 0.]])
    """
    document = np.repeat(np.arange(len(lengths)), lengths)
    same = (document[1:] == document[:-1])[:, None]
    before, after = np.zeros_like(v), np.zeros_like(v)
    before[1:], after[:-1] = v[:-1] * same, v[1:] * same
    total = np.zeros((len(lengths), v.shape[1]))
    np.add.at(total, document, v)
    others = (total[document] - v) / np.sqrt(np.maximum(lengths[document] - 1, 1))[:, None]
    return np.hstack([before, after, others])


def suits_linear(space: Space) -> bool:
    """Whether points have coordinates that mean something together: more than places have, and not too many."""
    few = space.points.shape[1] <= MOST_COORDINATES
    return few and not isinstance(space.metric, Precomputed) and not is_spatial(space)


def fit_linear_context(known: Knowledge) -> LinearContext:
    """Least squares on the clean fit records, one regression for each candidate set."""
    fit = known.fit
    v = np.zeros((len(fit.points), fit.space.points.shape[1]))
    allowed = [candidates(known.tiers, g) for g in set_numbers(known.tiers)]
    for inside in allowed:
        here, points = inside[fit.points], np.flatnonzero(inside)
        v[here] = centred(known, points)[np.searchsorted(points, fit.points[here])]
    features, is_joint = neighbourhood(v, fit.lengths), np.repeat(fit.lengths > 1, fit.lengths)
    chosen = [inside[fit.points] & is_joint for inside in allowed]
    return LinearContext(tuple(_law(features[rows], v[rows]) for rows in chosen))


def _law(features: FloatArray, v: FloatArray) -> GaussianLaw:
    """One regression; without any row, laws under which the context says nothing."""
    from scipy.linalg import eigh

    width = v.shape[1]
    if not len(v):
        return GaussianLaw(np.eye(width), np.ones(width), np.zeros((3 * width, width)), np.full(3, 1 / 3))
    slope = np.asarray(np.linalg.solve(_ridged(features.T @ features), features.T @ v), dtype=np.float64)
    spread, vectors = eigh(_covariance(v - features @ slope), _covariance(v))  # vectorsᵀ·Σ₀·vectors = 1
    slope = slope @ vectors
    parts = zip(np.split(features, 3, axis=1), np.split(slope, 3), strict=True)
    shares = np.array([((told @ each) ** 2).sum() for told, each in parts]) + 1e-300
    return GaussianLaw(vectors.T, np.minimum(spread, 1.0), slope, shares / shares.sum())


def _covariance(rows: FloatArray) -> FloatArray:
    """The covariance of rows with mean 0."""
    return _ridged(rows.T @ rows / len(rows))


def _ridged(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix + (RIDGE * np.trace(matrix) / len(matrix) + 1e-12) * np.eye(len(matrix)))
