"""Documents alike: fit documents with the same rare public words lend a document their secrets.

S(x) = Σ_d cos(W, W_d)³·n_d(x) over the fit documents d whose words resemble those of this one, n_d(x) how often x
occurs in d, and the cosine is that of words weighed by how few documents hold them. log(1 + S(x)/(k·π(x))) is what they
say about x: two reports of one event share names even where no single word of the one gives them away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records

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
