"""Spacing: how far apart neighbouring secrets are, which is public whether or not the words between them are read.

A gap is the number of tokens from one sensitive position to the next, 1 for adjacent ones; without a context W it is
the number of positions, always 1, so there is only one class.
"""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.model.records import Context, Records
from oddshift.model.release import Release

GAPS = (1, 2, 4)
"""Gaps from which a new class starts: adjacent, 2 to 3 tokens, and more."""

UNKNOWN = len(GAPS)
"""Class of a position with nothing before it, and of all positions where no spacing is known."""


def gap_classes(documents: Records | Release) -> IntArray:
    """For every position, the class of the gap to the position before it in the same document.

    >>> from oddshift.model.space import Space
    >>> bare = Records.from_documents(Space([[0.0], [1.0]]), [[0, 1]])
    >>> gap_classes(bare)
    array([3, 3])
    """
    offsets, context = documents.offsets, documents.context
    classes = np.full(int(offsets[-1]), UNKNOWN, dtype=np.int64)
    if context is None or len(classes) < 2:
        return classes
    inner = np.ones(len(classes), dtype=bool)
    inner[offsets[:-1][np.diff(offsets) > 0]] = False
    gaps = _token_gaps(context)
    classes[inner] = np.searchsorted(GAPS, gaps[inner], side="right") - 1
    return classes


def _token_gaps(context: Context) -> IntArray:
    """Tokens between each slot and the slot before it, that one counted; 0 for the first slot of all."""
    return np.diff(context.slots, prepend=context.slots[:1])
