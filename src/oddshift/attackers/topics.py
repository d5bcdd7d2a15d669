"""Topics: a document is a mixture of hidden topics, and the other positions tell in which shares (PLSA).

Pr[X_t = x | document] = Σ_z θ(z)·φ_z(x). For position l the shares θ are folded in from the other outputs alone, so
c_l(x) = log Σ_z θ(z)·φ_z(x) − log Σ_z θ̄(z)·φ_z(x), with θ̄ the mean shares: 0 for a document with one position.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import Terms, length_batches, likelihoods, log_floor
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.release import Release, candidates, set_numbers

TOPIC_COUNT = 32
"""Number of hidden topics; fewer where there are few points."""

ITERATIONS, FOLDS = 30, 4
STRENGTH = 2.0
"""The weight of the mean shares, in positions, when the shares of a document are folded in."""


@dataclass(frozen=True, eq=False, repr=False)
class TopicShares:
    """Mean shares (topics,) and, for every candidate set, the laws of the topics over it, (sets, topics, points)."""

    shares: FloatArray
    laws: FloatArray

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Documents of one length at a time."""
        size = len(known.log_prior)
        for positions in length_batches(release, size + len(self.shares) * int(release.lengths.max(initial=1))):
            flat = positions.ravel()
            tiers = np.zeros_like(flat) if release.position_tiers is None else release.position_tiers[flat]
            of_topic = np.empty((len(flat), len(self.shares)))
            sets = [(np.flatnonzero(tiers == g), np.flatnonzero(candidates(known.tiers, g)), g) for g in _sets(tiers)]
            for rows, points, g in sets:
                of_topic[rows] = likelihoods(known, release, flat[rows], points) @ self.laws[g][:, points].T
            shares = fold_in(of_topic.reshape(*positions.shape, -1), self.shares).reshape(of_topic.shape)
            for rows, points, g in sets:
                laws = self.laws[g][:, points]
                context = log_floor(shares[rows] @ laws) - log_floor(self.shares @ laws)
                yield Terms(flat[rows], context, known.log_prior[points], points)


def _sets(tiers: IntArray) -> list[int]:
    return [int(tier) for tier in np.unique(tiers)]


def fold_in(of_topic: FloatArray, shares: FloatArray) -> FloatArray:
    """Shares of the document as its other positions tell them, (documents, length, topics).

    `of_topic` is Pr[output | topic] up to a constant for each position, of the same shape.
    """
    length = of_topic.shape[1]
    found = np.broadcast_to(shares, of_topic.shape)
    if length == 1:
        return found
    others = 1.0 - np.eye(length)
    for _ in range(FOLDS):
        # membership of position s as seen from position l: θ_l(z)·Pr[y_s | z]
        belongs = found[:, :, None, :] * of_topic[:, None, :, :]
        belongs /= np.maximum(belongs.sum(axis=3, keepdims=True), 1e-300)
        told = np.einsum("dlsz,ls->dlz", belongs, others, optimize=True)
        found = (STRENGTH * shares + told) / (STRENGTH + length - 1)
    return np.asarray(found)


def fit_topic_shares(known: Knowledge, rng: np.random.Generator) -> TopicShares:
    """Expectation-maximisation on the counts of points in the fit documents."""
    fit, prior = known.fit, np.exp(known.log_prior)
    topics = min(TOPIC_COUNT, max(2, int(np.count_nonzero(prior)) // 4))
    code, count = np.unique(fit.document_of_position * len(prior) + fit.points, return_counts=True)
    document, point = code // len(prior), code % len(prior)
    shares = np.full((len(fit), topics), 1.0 / topics)
    laws = prior * rng.gamma(1.0, size=(topics, len(prior)))
    laws /= laws.sum(axis=1, keepdims=True)
    by_point, by_document = _adding(point, len(prior)), _adding(document, len(fit))
    for _ in range(ITERATIONS):
        belongs = shares[document] * laws.T[point]
        belongs *= (count / np.maximum(belongs.sum(axis=1), 1e-300))[:, None]
        laws = np.asarray(by_point @ belongs).T + prior
        laws /= laws.sum(axis=1, keepdims=True)
        held = np.asarray(by_document @ belongs)
        mean = held.sum(axis=0) / max(1.0, held.sum())
        shares = (held + STRENGTH * mean) / (held.sum(axis=1, keepdims=True) + STRENGTH)
    sets = set_numbers(known.tiers)
    inside = np.stack([np.where(candidates(known.tiers, g), laws, 0.0) for g in sets])
    inside /= np.maximum(inside.sum(axis=2, keepdims=True), 1e-300)
    return TopicShares(mean, inside)


def _adding(group: IntArray, groups: int) -> Any:
    """Return the sparse (groups, rows) matrix that adds up rows by group."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=(groups, len(group)))
