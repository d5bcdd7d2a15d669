"""The linear attacker: where a secret lies follows, linearly, from where the other secrets of its document seem to lie.

v(X_l) = B·φ + noise, φ = (E[v(X_{l−1}) | y_{l−1}], E[v(X_{l+1}) | y_{l+1}], n^{-1/2}·Σ_{s≠l} E[v(X_s) | y_s]), v the
coordinates of a point less the mean of its candidate set. c_l(x) = log N(v(x); B·φ, Σ) − log N(v(x); 0, Σ₀), both laws
by least squares on clean records. Points that were never seen together differ by where they lie, so this speaks about
rare words, where counts are silent. The term is meant to be scaled by a fitted weight (`combination`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge, release_blocks
from oddshift.attackers.law_attacker import BATCH_ENTRIES, Terms, likelihoods
from oddshift.attackers.spatial import is_spatial
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
    """For one candidate set: the mean of its points, B, and the inverses of Σ (given the others) and of Σ₀ (alone)."""

    mean: FloatArray
    slope: FloatArray  # (3·coordinates, coordinates)
    precision: FloatArray
    precision_alone: FloatArray

    def log_ratio(self, features: FloatArray, places: FloatArray) -> FloatArray:
        """c(x) for every row of features and every place, up to a constant for each row."""
        v, told = places - self.mean, features @ self.slope @ self.precision
        return np.asarray(
            told @ v.T - 0.5 * np.einsum("xk,kj,xj->x", v, self.precision - self.precision_alone, v, optimize=True)
        )


@dataclass(frozen=True, eq=False, repr=False)
class LinearContext:
    """One Gaussian law for each candidate set."""

    laws: tuple[GaussianLaw, ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        places = known.fit.space.points
        for first, block in release_blocks(release.without_context(), len(known.log_prior), BATCH_ENTRIES):
            sets = candidate_sets(block, known.tiers)
            expected = np.empty((len(block.outputs), places.shape[1]))
            for mine in sets:
                expected[mine.positions] = self._expected(known, block, mine)
            features, is_lone = neighbourhood(expected, block.lengths), np.repeat(block.lengths == 1, block.lengths)
            for mine in sets:
                context = self.laws[mine.tier].log_ratio(features[mine.positions], places[mine.points])
                context[is_lone[mine.positions]] = 0.0
                yield Terms(first + mine.positions, context, known.log_prior[mine.points], mine.points)

    def _expected(self, known: Knowledge, release: Release, mine: CandidateSet) -> FloatArray:
        """E[v(X_s) | y_s] under the prior; 0, the mean, for an output that no candidate gives."""
        mass = likelihoods(known, release, mine.positions, mine.points) * np.exp(known.log_prior[mine.points])
        total = mass.sum(axis=1, keepdims=True)
        v = known.fit.space.points[mine.points] - self.laws[mine.tier].mean
        return np.asarray((mass / np.where(total > 0, total, 1.0)) @ v)


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
    fit, places = known.fit, known.fit.space.points
    allowed = [candidates(known.tiers, g) for g in set_numbers(known.tiers)]
    means = [places[fit.points[inside[fit.points]]].mean(axis=0) if inside[fit.points].any() else places.mean(axis=0)
             for inside in allowed]  # fmt: skip
    v = np.zeros((len(fit.points), places.shape[1]))
    for inside, mean in zip(allowed, means, strict=True):
        here = inside[fit.points]
        v[here] = places[fit.points[here]] - mean
    features, is_joint = neighbourhood(v, fit.lengths), np.repeat(fit.lengths > 1, fit.lengths)
    chosen = [inside[fit.points] & is_joint for inside in allowed]
    return LinearContext(tuple(_law(mean, features[rows], v[rows]) for mean, rows in zip(means, chosen, strict=True)))


def _law(mean: FloatArray, features: FloatArray, v: FloatArray) -> GaussianLaw:
    """One regression; without any row, laws under which the context says nothing."""
    if not len(v):
        return GaussianLaw(mean, np.zeros((features.shape[1], v.shape[1])), np.eye(v.shape[1]), np.eye(v.shape[1]))
    slope = np.asarray(np.linalg.solve(_ridged(features.T @ features), features.T @ v), dtype=np.float64)
    left = v - features @ slope
    return GaussianLaw(mean, slope, _precision(left), _precision(v))


def _precision(rows: FloatArray) -> FloatArray:
    """The inverse of the covariance of rows with mean 0."""
    return np.asarray(np.linalg.inv(_ridged(rows.T @ rows / len(rows))), dtype=np.float64)


def _ridged(matrix: FloatArray) -> FloatArray:
    return np.asarray(matrix + (RIDGE * np.trace(matrix) / len(matrix) + 1e-12) * np.eye(len(matrix)))
