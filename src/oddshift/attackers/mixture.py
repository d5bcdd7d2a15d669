"""A mixture of hidden kinds of documents, by expectation-maximisation on clean records.

A document is a bag of features in groups (a place and its value; a value and the next one); kind m gives every group a
law of its own. How many kinds there are is decided by how well held-out documents are predicted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.training import split
from oddshift.base.arrays import FloatArray, IntArray

KINDS = (2, 4, 6, 8, 12, 16)
STRENGTHS = (1.0, 3.0, 8.0)
"""Weights of the law of all documents in the law of each group of a kind, in observations."""

USUAL = 3.0
"""The strength at which numbers of kinds are compared."""

HELD_OUT = 0.15
STARTS, WARM, LONG = 4, 30, 60
COLDEST = 0.4
"""Memberships are raised to a power that rises from this one to 1 during a run's first three quarters."""

ENOUGH = 1e-4
"""A run has converged when it gains fewer nats for each document than this."""


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Shares (kinds,) and laws (kinds, groups, values)."""

    shares: FloatArray
    laws: FloatArray

    def log_likelihood(self, features: Any) -> FloatArray:
        """log Pr[document] of every row of a sparse matrix of feature counts."""
        return self.belongs(features)[1]

    def belongs(self, features: Any) -> tuple[FloatArray, FloatArray]:
        """Pr[kind | document], (documents, kinds), and log Pr[document]."""
        scores = self._log_joint(features)
        top, total = _normalise(scores)
        return scores, (np.log(total) + top)[:, 0]

    def vaguely_belongs(self, features: Any, power: float) -> FloatArray:
        """Pr[kind | document] raised to a power, and divided by its sum."""
        scores = self._log_joint(features)
        scores *= power
        _normalise(scores)
        return scores

    def _log_joint(self, features: Any) -> FloatArray:
        """log Pr[kind, document], (documents, kinds)."""
        flat = np.log(np.maximum(self.laws.reshape(len(self.shares), -1), 1e-300))
        scores = np.asarray(features @ flat.T)
        scores += np.log(self.shares)
        return scores


def _normalise(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Exponentials of every row, divided by their sum, in place; returns the largest logarithms and the sums."""
    top = scores.max(axis=1, keepdims=True)
    scores -= top
    np.exp(scores, out=scores)
    total = scores.sum(axis=1, keepdims=True)
    scores /= total
    return top, total


def one_kind(base: FloatArray) -> Mixture:
    """The mixture of one kind: the law of all documents."""
    return Mixture(np.ones(1), base[None])


def fit_mixture(
    features: Any, base: FloatArray, kinds: int, strength: float, rng: np.random.Generator, *, starts: int = STARTS
) -> Mixture:
    """Several runs from random memberships, vague at first, the best one continued; `base` is the law of each group."""
    across = features.T.tocsr()
    made: list[tuple[float, int, FloatArray]] = []
    for _ in range(starts):
        belongs = rng.dirichlet(np.full(kinds, 0.3), size=features.shape[0])
        for step in range(WARM - 1):
            found = _maximise(across, belongs, base, strength)
            belongs = found.vaguely_belongs(features, min(1.0, COLDEST + (1.0 - COLDEST) * step / (0.75 * WARM)))
        belongs, score = _maximise(across, belongs, base, strength).belongs(features)
        made.append((float(score.mean()), len(made), belongs))
    before, _, belongs = max(made, key=lambda run: run[:2])
    for _ in range(LONG):
        found = _maximise(across, belongs, base, strength)
        belongs, score = found.belongs(features)
        if score.mean() - before < ENOUGH:
            break
        before = float(score.mean())
    return found


def _maximise(across: Any, belongs: FloatArray, base: FloatArray, strength: float) -> Mixture:
    """Laws and shares from memberships; `across` holds the features as rows."""
    counts = np.asarray((across @ belongs).T).reshape(belongs.shape[1], *base.shape)
    laws = (counts + strength * base) / (counts.sum(axis=2, keepdims=True) + strength)
    shares = (belongs.sum(axis=0) + 1.0) / (len(belongs) + belongs.shape[1])
    return Mixture(shares, laws)


def choose_mixture(features: Any, base: FloatArray, clusters: IntArray, rng: np.random.Generator) -> Mixture:
    """The mixture whose number of kinds and strength predict held-out documents best; one kind if none is better."""
    if len(np.unique(clusters)) < 10:
        return one_kind(base)
    learn, held = split(clusters, HELD_OUT, int(rng.integers(1 << 31)))
    known, fresh = features[learn], features[held]

    def score(kinds: int, strength: float) -> float:
        return float(fit_mixture(known, base, kinds, strength, rng, starts=2).log_likelihood(fresh).mean())

    best, kinds = float(one_kind(base).log_likelihood(fresh).mean()), 1
    for more in KINDS:
        found = score(more, USUAL)
        if found > best:
            best, kinds = found, more
        elif more > 2 * kinds:
            break  # more kinds than that do not help
    if kinds == 1:
        return one_kind(base)
    strength = max(STRENGTHS, key=lambda s: best if s == USUAL else score(kinds, s))
    return fit_mixture(features, base, kinds, strength, rng)
