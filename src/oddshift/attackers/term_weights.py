"""Weights of context terms: those of the best log score on held-out positions, which is convex in them.

p(x) ∝ exp(base(x) + Σ_k w_k·c_k(x)) with w ≥ 0; the score is the mean of −log p(truth). As simple as the evidence
allows: a single term unless more of them are better beyond chance, one weight for evidence in favour and against unless
two are, and none where nothing is gained jointly. Many weights gain something on the positions they were fitted on even
where they gain nothing elsewhere, so that much is taken off first (`optimism`).

Optimism: how much better fitted weights score on the positions they were fitted on than on others, on average.

tr(H⁻¹·Σ_u g_u·g_uᵀ)/n for n positions (Takeuchi, 1976): H is the summed second derivative of the score in the weights,
g_u the summed slope of an independent unit. With independent positions and the right model that is one nat for each
weight, over all positions (Akaike); the positions of one document, released several times, are worth fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from oddshift.attackers.paired_log_score import SIGNIFICANT, Units, gain
from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.base.logarithms import log, log_normalise, log_sum, peak

_CACHED = 32_000  # entries of each part that are read together while weights are fitted


class WeighedTerms(Protocol):
    """Terms of held-out positions whose weights are sought."""

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Mean log score of the truth under these weights, and its gradient."""


class ScoredTerms(WeighedTerms, Protocol):
    """The same with the score of every position, and the number of weights."""

    @property
    def size(self) -> int:
        """Number of weights."""

    @property
    def units(self) -> Units:
        """The independent units of the positions."""

    def scores(self, weights: FloatArray) -> FloatArray:
        """−log posterior of the truth at every position."""

    def bend(self, weights: FloatArray) -> Bend:
        """Slopes and curvature of the score in the weights above 0."""


@dataclass(frozen=True, eq=False, repr=False)
class ContextTerms:
    """Held-out positions with their truth: log prior plus own release, and the context term of every part."""

    base: FloatArray  # (positions, points), −inf outside the candidates
    terms: tuple[FloatArray, ...]
    truth: IntArray
    units: Units
    without_outputs: tuple[int, ...] = ()  # terms that do not depend on any output

    @property
    def size(self) -> int:
        """Number of terms."""
        return len(self.terms)

    def taken(self, rows: IntArray) -> ContextTerms:
        """Some of the positions."""
        units = replace(self.units, of_position=self.units.of_position[rows])
        terms = tuple(term[rows] for term in self.terms)
        return replace(self, base=self.base[rows], terms=terms, truth=self.truth[rows], units=units)

    def scores(self, weights: FloatArray) -> FloatArray:
        """−log posterior of the truth at every position."""
        found = np.empty(len(self.truth))
        for part in blocks(len(self.base), self.base.shape[1], _CACHED):
            total = self._total(weights, part)
            found[part] = log_sum(total) - total[np.arange(len(total)), self.truth[part]]
        return found

    def log_posterior(self, weights: FloatArray) -> FloatArray:
        """log posterior of every column at every position."""
        return log_normalise(self._total(weights, slice(None)))

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Mean of the scores, and its gradient: E[c_k] under the posterior minus c_k at the truth."""
        value, gradient = 0.0, np.zeros(len(self.terms))
        for part in blocks(
            len(self.base), self.base.shape[1], _CACHED
        ):  # few rows at a time: they stay in a core's cache
            total, truth = self._total(weights, part), self.truth[part]
            rows = np.arange(len(truth))
            at_truth, top = total[rows, truth], peak(total, axis=1)
            total -= top
            mass = np.exp(total, out=total).sum(axis=1, keepdims=True)
            value += float((log(mass[:, 0]) + top[:, 0] - at_truth).sum())
            total /= mass  # the posterior
            terms = (term[part] for term in self.terms)
            gradient += [np.vdot(total, term) - term[rows, truth].sum(dtype=np.float64) for term in terms]
        return value / len(self.truth), gradient / len(self.truth)

    def bend(self, weights: FloatArray) -> Bend:
        """Slopes and curvature of the score in the weights above 0."""
        used = [self.terms[k] for k in np.flatnonzero(weights)]
        found = []
        for part in blocks(len(self.base), self.base.shape[1], _CACHED):
            total = self._total(weights, part)
            total -= log_sum(total)[:, None]
            found.append(bend_of(np.exp(total, out=total), [term[part] for term in used], self.truth[part]))
        return Bend(np.concatenate([each.slopes for each in found]), np.sum([each.curvature for each in found], axis=0))

    def _total(self, weights: FloatArray, part: slice) -> FloatArray:
        total = self.base[part].copy()
        scaled = np.empty_like(total)
        for weight, term in zip(weights, self.terms, strict=True):
            if weight:
                total += np.multiply(term[part], weight, out=scaled)
        return total


@dataclass(frozen=True, eq=False, repr=False)
class NearWeights:
    """Terms whose score also counts how far the weights lie from a start; `positions` is how many there are.

    A Gaussian law of spread one around the start: without it the weights of terms that say next to nothing grow without
    bound where a handful of secrets happen to agree with them. The score gains |w − start|²/2n for n positions, which
    is nothing for thousands of them.
    """

    held: WeighedTerms
    start: FloatArray
    positions: int

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """The score with the penalty, and its gradient."""
        value, gradient = self.held.loss(weights)
        away = weights - self.start
        return value + float(away @ away) / (2 * self.positions), gradient + np.asarray(away) / self.positions


def likeliest_weights(held: WeighedTerms, start: FloatArray) -> FloatArray:
    """Weights ≥ 0 of the best log score, however little evidence there is for them, sought from `start` on."""
    from scipy.optimize import minimize

    return np.asarray(minimize(held.loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start)).x)


def best_weights(held: ContextTerms) -> FloatArray:
    """Weights ≥ 0 of the best log score, as simple as the evidence allows.

    The best part alone stays unless the optimum beats it by a standard error, and all weights are 0 when the gain over
    `own`, or over what terms gain that depend on no output, is within SIGNIFICANT standard errors: nothing is joint.
    """
    return _if_joint(held, _simplest(held))


def best_weights_of_sides(held: ContextTerms) -> FloatArray:
    """The same for terms in pairs, what a part says in favour and what it says against: (parts, 2).

    Both sides of a part have one weight unless two are better by more than SIGNIFICANT standard errors.
    """
    one = _Common(held)
    weights = _simplest(one)
    common = np.repeat(weights, 2)
    apart = likeliest_weights(NearWeights(held, common, len(held.truth)), common)
    best = apart if _outdoes(held, apart, common, SIGNIFICANT, lambda: _optimism(one, weights)) else common
    return _if_joint(held, best).reshape(-1, 2)


@dataclass(frozen=True, eq=False, repr=False)
class _Common:
    """Terms in pairs, each pair with one weight."""

    held: ContextTerms

    @property
    def size(self) -> int:
        return self.held.size // 2

    @property
    def units(self) -> Units:
        return self.held.units

    def scores(self, weights: FloatArray) -> FloatArray:
        return self.held.scores(np.repeat(weights, 2))

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.held.loss(np.repeat(weights, 2))
        return value, gradient.reshape(-1, 2).sum(axis=1)

    def bend(self, weights: FloatArray) -> Bend:
        return self.held.bend(np.repeat(weights, 2)).in_pairs()


def _simplest(held: ScoredTerms) -> FloatArray:
    """The best term alone, or the optimum where that is better by a standard error."""
    corner = min(np.eye(held.size), key=lambda w: held.loss(w)[0])
    start = min(corner, np.zeros(held.size), key=lambda w: held.loss(w)[0])
    none = np.zeros(held.size)
    found = likeliest_weights(NearWeights(held, none, len(held.units.of_position)), start)
    return found if _outdoes(held, found, corner, 1.0) else corner


def _if_joint(held: ContextTerms, weights: FloatArray) -> FloatArray:
    """The weights, or none where nothing is gained jointly."""
    return weights if _is_better(held, weights, _weights_without_outputs(held), SIGNIFICANT) else np.zeros(held.size)


def _weights_without_outputs(held: ContextTerms) -> FloatArray:
    """The best weights of the terms that depend on no output; 0 for the others."""
    weights = np.zeros(held.size)
    if held.without_outputs:
        alone = replace(held, terms=tuple(held.terms[k] for k in held.without_outputs))
        weights[list(held.without_outputs)] = likeliest_weights(alone, np.zeros(len(held.without_outputs)))
    return weights


def _is_better(held: ScoredTerms, weights: FloatArray, than: FloatArray, errors: float) -> bool:
    """Whether the log score gains more than this number of standard errors."""
    found = gain(held.scores(than), held.scores(weights), held.units)
    return found.mean > errors * found.error


def _outdoes(
    held: ScoredTerms, weights: FloatArray, than: FloatArray, errors: float, before: Callable[[], float] = float
) -> bool:
    """The same for weights that were fitted on these positions; `before` is what fitting the others gained there.

    What is expected takes about as long as five scores, so it is computed only where it can matter.
    """
    found = gain(held.scores(than), held.scores(weights), held.units)
    spare = found.mean - errors * found.error
    return spare > 0 and spare > _optimism(held, weights) - before()


def _optimism(held: ScoredTerms, weights: FloatArray) -> float:
    """What the fit of these weights gained on its own positions; weights of 0 are not fitted."""
    return optimism(held.bend(weights), held.units) if weights.any() else 0.0


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
