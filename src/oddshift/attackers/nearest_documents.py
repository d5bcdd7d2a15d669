"""Documents alike: fit documents with the same rare public words lend a document their secrets.

S(x) = Σ_d cos(W, W_d)³·n_d(x) over the fit documents d whose words resemble those of this one, n_d(x) how often x
occurs in d, and the cosine is that of words weighed by how few documents hold them. log(1 + S(x)/(k·π(x))) is what they
say about x: two reports of one event share names even where no single word of the one gives them away.

Exemplars: the outputs of a document show which fit documents it resembles, and those lend it their secrets.

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

from oddshift.attackers.attacker import Knowledge, release_blocks
from oddshift.attackers.law_attacker import BATCH_ENTRIES, Terms, law_over, likelihood_ratios
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates, set_numbers

COMMON = 0.1
"""A word that a larger share of the documents holds does not count."""

SIMILAR, POWER = 0.08, 3.0
"""The smallest cosine that counts, and the power to which it is raised."""

STRENGTH = 3.0
"""k: the weight of π, in documents with the very same words."""

MOST_DOCUMENTS = 20_000
"""Fit documents that are remembered, at even steps if there are more."""


@dataclass(frozen=True, eq=False, repr=False)
class AlikeDocuments:
    """Weight of every word, the words of the fit documents with length one, and how often each holds every point."""

    rarity: FloatArray  # (words,)
    words: Any  # sparse (fit documents, words)
    counts: Any  # sparse (fit documents, points)

    def log_ratio(self, words: Any, points: IntArray, law: FloatArray) -> Any:
        """log(1 + S/(k·π)) for documents with these words, sparse (documents, points); `law` is π of the points."""
        similar = (scaled(words, self.rarity) @ self.words.T).tocsr()
        similar.data[similar.data < SIMILAR] = 0.0
        similar.eliminate_zeros()
        similar.data **= POWER
        lent = (similar @ self.counts[:, points]).tocsr()
        lent.data = np.log1p(lent.data / np.maximum(STRENGTH * law[lent.indices], 1e-300))
        return lent


def scaled(words: Any, rarity: FloatArray) -> Any:
    """Rows of words (documents, words) weighed by rarity, each with length one, or 0 where no word counts."""
    from scipy.sparse import diags_array

    weighed = (words @ diags_array(rarity)).tocsr()
    length = np.sqrt(np.asarray(weighed.multiply(weighed).sum(axis=1)).ravel())
    return (diags_array(1.0 / np.where(length > 0, length, 1.0)) @ weighed).tocsr()


def fit_alike_documents(fit: Records, words: Any) -> AlikeDocuments:
    """Remember words and secrets of the fit documents; `words` is sparse 0-1, (fit documents, words)."""
    from scipy.sparse import csr_array

    held_by = np.asarray(words.sum(axis=0)).ravel()
    counts_it = (held_by > 0) & (held_by <= COMMON * len(fit))
    rarity = np.where(counts_it, np.log(max(len(fit), 1) / np.maximum(held_by, 1.0)), 0.0)
    at = fit.document_of_position, fit.points
    counts = csr_array((np.ones(len(fit.points)), at), shape=(len(fit), len(fit.space)))
    counts.sum_duplicates()
    kept = np.arange(0, len(fit), -(-max(len(fit), 1) // MOST_DOCUMENTS))
    return AlikeDocuments(rarity, scaled(words[kept], rarity), counts[kept])


TRUST = 0.3
"""λ: how often a secret comes from the fit document that its document resembles."""

LENT = 0.5
"""κ: the share of the law of a secret that resembling documents give."""

MOST_EXEMPLARS = 20_000
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
    fit = known.fit.take(full[:: -(-len(full) // MOST_EXEMPLARS)])
    shares = []
    for tier in set_numbers(known.tiers):
        here = candidates(known.tiers, tier)[fit.points]
        at = fit.document_of_position[here], fit.points[here]
        counts = csr_array((np.ones(len(at[0])), at), shape=(len(fit), len(known.log_prior)))
        counts.sum_duplicates()
        shares.append((diags_array(1.0 / np.maximum(counts.sum(axis=1), 1.0)) @ counts).tocsr())
    return Exemplars(tuple(shares))
