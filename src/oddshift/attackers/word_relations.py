"""Relations between words and secrets: the words near each position, and those of its document.

A window is a run of places counted from the secret; its code is one number for the words there. Another secret counts
as a word that says its public tier, or whatever else a caller writes there, and a mask counts as a word.

Documents alike: fit documents with the same rare public words lend a document their secrets.

S(x) = Σ_d cos(W, W_d)³·n_d(x) over the fit documents d whose words resemble those of this one, n_d(x) how often x
occurs in d, and the cosine is that of words weighed by how few documents hold them. log(1 + S(x)/(k·π(x))) is what they
say about x: two reports of one event share names even where no single word of the one gives them away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import MASKED, Context, Records

WINDOWS = ((-1,), (1,), (-2, -1), (-1, 1), (1, 2), (-3, -2, -1), (1, 2, 3))
"""The places of the words of each relation, counted from the secret; two more relations are the bag of the document and
documents alike."""

RARE, FEW = 0.016, 10
"""A word counts in the bag if at most this share of the documents holds it, or at most a few: common words say nearly
the same of every document, and the noise of their counts would add up."""

MOST_TIERS = 1_000
"""Tiers that a code of words leaves room for."""


def rare_words(fit: Records) -> BoolArray:
    """The numbers (mask, slot, then every symbol) of words that few documents hold."""
    assert fit.context is not None
    width = len(fit.context.symbols) + 2
    document = np.repeat(np.arange(len(fit)), np.diff(fit.context.offsets))
    held_by = np.bincount(np.unique(document * width + fit.context.tokens - MASKED) % width, minlength=width)
    return np.asarray(held_by <= max(FEW, RARE * len(fit)))


def numbers_in(context: Context, symbols: tuple[str, ...]) -> IntArray:
    """The number under which each token (mask, slot, then every symbol) was counted; −1 for a symbol that was not."""
    if context.symbols == symbols:
        return np.arange(len(symbols) + 2)
    place = {symbol: k + 2 for k, symbol in enumerate(symbols)}
    return np.array([0, 1, *(place.get(symbol, -1) for symbol in context.symbols)], dtype=np.int64)


def relations(
    context: Context, lengths: IntArray, tiers: IntArray | None, counted: tuple[IntArray, BoolArray]
) -> tuple[Any, ...]:
    """For each window a code of its words at every position, −1 for none; then the bag, sparse (positions, symbols).

    `counted` is the number of every token of the context (−1 for one that was not counted), and which numbers the bag
    holds. `tiers` are the public tiers of the positions. A mask counts as a word, and so does a slot, by its tier.
    """
    number, in_bag = counted
    bag = document_words(context, np.where(in_bag[number], number, -1), len(in_bag))
    windows = window_relations(context, tiers, number, len(in_bag))
    return (*windows, bag[np.repeat(np.arange(len(lengths)), lengths)])


def window_relations(context: Context, tiers: IntArray | None, number: IntArray, width: int) -> list[IntArray]:
    """The same without the bag; `width` is how many numbers there are."""
    tokens, slots = number[context.tokens - MASKED], context.slots
    tokens[slots] = width + (0 if tiers is None else tiers)
    places = slots, token_documents(context)
    return [window_codes(window, tokens, places, width + MOST_TIERS) for window in WINDOWS]


def document_words(context: Context, number: IntArray, width: int) -> Any:
    """Which words every document holds, sparse 0-1 (documents, width); words with the number −1 do not count."""
    words = number[context.tokens - MASKED]
    keep = (context.tokens >= 0) & (words >= 0)
    code = np.unique(token_documents(context)[keep] * width + words[keep])
    return zero_one(code // width, code % width, (len(context.offsets) - 1, width))


def token_documents(context: Context) -> IntArray:
    """The document of every token."""
    return np.repeat(np.arange(len(context.offsets) - 1), np.diff(context.offsets))


def window_codes(window: tuple[int, ...], tokens: IntArray, places: tuple[IntArray, IntArray], base: int) -> IntArray:
    """One number for the words at these offsets from every slot; −1 where one is missing or was never counted."""
    slots, document = places
    code, known = np.zeros(len(slots), dtype=np.int64), np.ones(len(slots), dtype=np.bool_)
    for offset in window:
        at = slots + offset
        inside = (at >= 0) & (at < len(tokens))
        at = np.where(inside, at, 0)
        known &= inside & (document[at] == document[slots]) & (tokens[at] >= 0)
        code = code * base + tokens[at]
    return np.where(known, code, -1)


def zero_one(row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    """A sparse matrix with a one at every given place."""
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(row)), (row, column)), shape=shape)


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
