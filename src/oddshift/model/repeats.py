"""Repeats: a secret that occurs several times in one document is drawn once, and its other occurrences copy the output.

Which positions hold the same secret is then public: the copies stand in the public context W as symbols that name the
secret they repeat. Two distinct secrets may still receive the same output.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.model.records import Context, Records, offsets_of

REPEATS = ("once", "each")
"""Draw once for each secret of a document, or once for each of its occurrences (as the paper does)."""


@dataclass(frozen=True, eq=False, repr=False)
class DistinctSecrets:
    """The distinct secrets of every document, and the position among them that each original position copies.

    `records` holds each secret once, where it first occurs; `position` has one entry for each original position, so
    `outputs[position]` is what a release of all positions reads as.
    """

    records: Records
    position: IntArray

    def __repr__(self) -> str:
        """Counts only."""
        return f"DistinctSecrets({self.records!r} from {len(self.position)} positions)"


def draw_once(records: Records, among: BoolArray | None = None) -> DistinctSecrets:
    """Keep the first occurrence of every secret within what is read together.

    `among` says for which points that holds; by default for all. Secrets at other points are kept wherever they occur.

    **Guarantee**: a release of the result shows every secret of a document through exactly one draw.

    >>> from oddshift.model.space import Space
    >>> found = draw_once(Records.from_documents(Space([[0.0], [1.0]]), [[1, 0, 1], [1]]))
    >>> found.records.points, found.position
    (array([1, 0, 1]), array([0, 1, 0, 2]))
    """
    secret = records.document_of_position * len(records.space) + records.points
    if among is not None:
        apart = np.flatnonzero(~among[records.points])
        secret[apart] = len(records) * len(records.space) + apart
    _, first, inverse = np.unique(secret, return_index=True, return_inverse=True)
    kept: IntArray = np.sort(first).astype(np.int64)
    rank = np.empty(len(kept), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(kept))
    position: IntArray = rank[inverse.ravel()]
    lengths = np.bincount(records.document_of_position[kept], minlength=len(records))
    distinct = replace(
        records,
        points=records.points[kept],
        offsets=offsets_of(lengths),
        context=_marked(records, kept, position, offsets_of(lengths)),
    )
    return DistinctSecrets(distinct, position)


def _marked(records: Records, kept: IntArray, position: IntArray, offsets: IntArray) -> Context | None:
    """The context with every copy replaced by a public symbol that names the secret it repeats."""
    context = records.context
    if context is None:
        return None
    copies = np.ones(len(records.points), dtype=bool)
    copies[kept] = False
    number = (position - offsets[records.document_of_position])[copies]
    symbols = tuple(f"[same as {k + 1}]" for k in range(int(number.max(initial=-1)) + 1))
    tokens = context.tokens.copy()
    tokens[context.slots[copies]] = len(context.symbols) + number
    return replace(context, tokens=tokens, symbols=(*context.symbols, *symbols))
