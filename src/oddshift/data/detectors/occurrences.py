"""Where each word type occurs: this joins a tokenisation with the detectors' spans.

A type is a lower-cased word; an occurrence is one token of it, known by its characters [start, end).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.data.detectors.spans import Spans


@dataclass(frozen=True, eq=False, repr=False)
class Occurrences:
    """The type, first and last character of every token, cut into documents by `offsets`."""

    types: tuple[str, ...]
    type: IntArray
    start: IntArray
    end: IntArray
    offsets: IntArray

    def __repr__(self) -> str:
        """Counts only."""
        return f"Occurrences({len(self.type)} tokens, {len(self.types)} types, {len(self.offsets) - 1} documents)"

    @cached_property
    def totals(self) -> IntArray:
        """How often each type occurs."""
        return np.bincount(self.type, minlength=len(self.types)).astype(np.int64)

    @cached_property
    def is_word(self) -> BoolArray:
        """Which types hold a letter or a digit; the others (punctuation, blanks) are never sensitive."""
        return np.array([any(c.isalnum() for c in word) for word in self.types], dtype=np.bool_)

    @cached_property
    def document(self) -> IntArray:
        """The document of every token."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int64), np.diff(self.offsets))

    def overlapping(self, spans: Spans) -> tuple[IntArray, IntArray]:
        """Pairs (token, span) that share at least one character."""
        stride = int(self.end.max(initial=0)) + 1  # one number line: document · stride + character
        stride = max(stride, int(spans.end.max(initial=0)) + 1)
        token_start, token_end = (self.document * stride + edge for edge in (self.start, self.end))
        first = np.searchsorted(token_end, spans.document * stride + spans.start, side="right")
        last = np.searchsorted(token_start, spans.document * stride + spans.end, side="left")
        width = np.maximum(last - first, 0)
        span = np.repeat(np.arange(len(spans), dtype=np.int64), width)
        token = np.arange(len(span)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(first, width)
        return token.astype(np.int64), span
