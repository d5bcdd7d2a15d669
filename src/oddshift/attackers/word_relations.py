"""Relations between words and secrets: the words near each position, and those of its document.

A window is a run of places counted from the secret; its code is one number for the words there. Another secret counts
as a word that says its public tier, or whatever else a caller writes there, and a mask counts as a word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
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
