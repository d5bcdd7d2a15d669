"""Found tokens: which words the detectors found, of what kind each is, and which span it belongs to.

What was found is never released as it is, with one exception: function words inside a name ("of" in "Bank of
America"), which say nothing about whose name it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.data.codecs.tokens import Tokens
from oddshift.data.detectors.spans import Spans

_IN_ANY_CASING = "the an of and for with to at by from this that these those last next every 's ’s"

FUNCTION_WORDS = frozenset(_IN_ANY_CASING.split())
"""Words that are left in place inside a guessed name, in any casing, and the ending of a possessive."""

NOT_FOUND = -1
"""Kind and span of a token that no detector found."""


@dataclass(frozen=True, eq=False, repr=False)
class FoundTokens:
    """The kind (a row of `kinds`) and the span of every token, −1 where nothing was found.

    `stays` marks function words inside a name. A punctuation mark inside a name has a span but no kind.
    """

    kind: IntArray
    span: IntArray
    stays: BoolArray
    kinds: tuple[str, ...]

    def __repr__(self) -> str:
        """Counts only."""
        return f"FoundTokens({int(self.is_found.sum())} of {len(self.kind)} tokens, {len(self.kinds)} kinds)"

    @property
    def is_found(self) -> BoolArray:
        """Which tokens may not be released as they are."""
        return (self.kind != NOT_FOUND) & ~self.stays

    def take(self, index: IntArray) -> FoundTokens:
        """What was found about some tokens."""
        return FoundTokens(self.kind[index], self.span[index], self.stays[index], self.kinds)


def nothing_found(tokens: int) -> FoundTokens:
    """Tokens in which nothing was found."""
    nowhere = np.full(tokens, NOT_FOUND, dtype=np.int64)
    return FoundTokens(nowhere, nowhere, np.zeros(tokens, dtype=np.bool_), ())


def all_found(tokens: Tokens, kind: str) -> FoundTokens:
    """Tokens of one name: all of its words were found, as one span."""
    occurrences = tokens.occurrences
    is_word = occurrences.is_word[occurrences.type]
    of_kind = np.where(is_word, 0, NOT_FOUND).astype(np.int64)
    return FoundTokens(of_kind, np.zeros(len(is_word), dtype=np.int64), np.zeros(len(is_word), dtype=np.bool_), (kind,))


def found_tokens(tokens: Tokens, spans: Sequence[Spans], stop_words: frozenset[str]) -> FoundTokens:
    """Spans laid over tokens; where spans overlap, an exact one wins over a guess, and then the earlier one."""
    occurrences = tokens.occurrences
    count = len(occurrences.type)
    kinds = tuple(dict.fromkeys(label for found in spans for label in found.labels))
    number = {label: row for row, label in enumerate(kinds)}
    kind, owner = np.full(count, NOT_FOUND, dtype=np.int64), np.full(count, NOT_FOUND, dtype=np.int64)
    is_guess = np.zeros(count, dtype=np.bool_)
    first = 0
    for found in sorted(spans, key=lambda part: not part.is_exact):
        token, span = occurrences.overlapping(found)
        token, span = token[::-1], span[::-1]  # so that the first span of a token is written last
        free = owner[token] == NOT_FOUND
        token, span = token[free], span[free]
        labels = np.array([number[label] for label in found.labels], dtype=np.int64)
        kind[token] = labels[found.label[span]] if len(token) else NOT_FOUND
        owner[token] = first + span
        is_guess[token] = not found.is_exact
        first += len(found)
    is_word = occurrences.is_word[occurrences.type]
    kind[~is_word] = NOT_FOUND
    return FoundTokens(kind, owner, is_guess & is_word & _function_words(tokens, stop_words), kinds)


def _function_words(tokens: Tokens, stop_words: frozenset[str]) -> BoolArray:
    """Function words, stop words in small letters, and single small letters (the "s" of a possessive)."""
    occurrences = tokens.occurrences
    in_any_casing = np.array([word in FUNCTION_WORDS for word in occurrences.types], dtype=np.bool_)
    if_small = np.array([word in stop_words or len(word) == 1 for word in occurrences.types], dtype=np.bool_)
    is_small = np.array([form.islower() for form in tokens.forms], dtype=np.bool_)
    return in_any_casing[occurrences.type] | (if_small[occurrences.type] & is_small[tokens.form])
