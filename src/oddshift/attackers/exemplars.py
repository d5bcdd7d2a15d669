"""Exemplars: the outputs of a document show which fit documents it resembles, and those lend it their secrets.

The law of documents is a mixture of the fit documents: φ_d are the shares of the points in fit document d, and a secret
comes from φ_d with probability λ, otherwise from π. Position l weighs fit document d by the other outputs alone,
w_d ∝ Π_{s≠l} (1 − λ + λ·Σ_b φ_d(b)·M(y_s|b)/P(y_s)), and c_l(x) = log(1 − κ + κ·Σ_d w_d·φ_d(x)/π(x)), less the same
with equal w: what is known without any output is not evidence. Unlike pairs of words, this reads all others at once:
several names of one event point to the documents about it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import BATCH_ENTRIES, Terms, law_over, likelihood_ratios
from oddshift.attackers.release_blocks import release_blocks
from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates, set_numbers

TRUST = 0.3
"""λ: how often a secret comes from the fit document that its document resembles."""

LENT = 0.5
"""κ: the share of the law of a secret that resembling documents give."""

MOST_DOCUMENTS = 20_000
"""Fit documents that are remembered, at even steps if there are more."""


@dataclass(frozen=True, eq=False, repr=False)
class Exemplars:
    """For each candidate set, the shares φ of its points in the fit documents, sparse (documents, points)."""

    shares: tuple[Any, ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        width = max(len(known.log_prior), self.shares[0].shape[0])
        for first, block in release_blocks(release.without_context(), width, BATCH_ENTRIES):
            sets = candidate_sets(block, known.tiers)
            evidence = self._evidence(known, block, sets)
            weights = _weights(evidence, block)
            is_lone = np.repeat(block.lengths == 1, block.lengths)
            for mine in sets:
                context = self._context(known, mine, weights[mine.positions])
                context[is_lone[mine.positions]] = 0.0
                yield Terms(first + mine.positions, context, known.log_prior[mine.points], mine.points)

    def _evidence(self, known: Knowledge, block: Release, sets: list[CandidateSet]) -> FloatArray:
        """log(1 − λ + λ·Σ_b φ_d(b)·M(y_s|b)/P(y_s)), (positions, fit documents)."""
        found = np.empty((len(block.outputs), self.shares[0].shape[0]))
        for mine in sets:
            shares = self.shares[mine.tier]
            seen = likelihood_ratios(known, block, mine, law_over(known, mine.points))
            ratio = (shares[:, mine.points] @ seen.T).T
            found[mine.positions] = np.log1p(TRUST * np.where(_has_any(shares), ratio - 1.0, 0.0))
        return found

    def _context(self, known: Knowledge, mine: CandidateSet, weights: FloatArray) -> FloatArray:
        equal = np.full((1, weights.shape[1]), 1.0 / weights.shape[1])
        context = self._lent(known, mine, weights)
        context -= self._lent(known, mine, equal)
        return context

    def _lent(self, known: Knowledge, mine: CandidateSet, weights: FloatArray) -> FloatArray:
        """log(1 − κ + κ·Σ_d w_d·φ_d(x)/π(x)), (rows of the weights, candidates)."""
        law, shares = law_over(known, mine.points), self.shares[mine.tier]
        silent = 1.0 - weights @ _has_any(shares)  # documents without this set lend π
        lent = weights @ shares[:, mine.points]
        lent /= np.where(law > 0, law, 1.0)
        lent += silent[:, None] - 1.0
        return np.asarray(np.log1p(LENT * lent))


def _weights(evidence: FloatArray, block: Release) -> FloatArray:
    """w of every fit document as the other positions give it, (positions, fit documents)."""
    lengths = block.lengths[block.lengths > 0]
    total = np.add.reduceat(evidence, np.cumsum(lengths) - lengths, axis=0)
    others = total[np.repeat(np.arange(len(lengths)), lengths)] - evidence
    others -= others.max(axis=1, keepdims=True)
    np.exp(others, out=others)
    return np.asarray(others / others.sum(axis=1, keepdims=True))


def _has_any(shares: Any) -> BoolArray:
    return np.diff(shares.indptr) > 0


def fit_exemplars(known: Knowledge) -> Exemplars:
    """Remember which points each fit document holds; nothing is trained."""
    from scipy.sparse import csr_array, diags_array

    full = np.flatnonzero(known.fit.lengths > 0)
    fit = known.fit.take(full[:: -(-len(full) // MOST_DOCUMENTS)])
    shares = []
    for tier in set_numbers(known.tiers):
        here = candidates(known.tiers, tier)[fit.points]
        at = fit.document_of_position[here], fit.points[here]
        counts = csr_array((np.ones(len(at[0])), at), shape=(len(fit), len(known.log_prior)))
        counts.sum_duplicates()
        shares.append((diags_array(1.0 / np.maximum(counts.sum(axis=1), 1.0)) @ counts).tocsr())
    return Exemplars(tuple(shares))
