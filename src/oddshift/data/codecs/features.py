"""Averaged word vectors of texts, before and after release: what downstream tasks use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, indices
from oddshift.data.codecs.text import EncodedText
from oddshift.data.codecs.word_vectors import WordVectors
from oddshift.mechanisms.utility import averaged


def text_features(
    encoded: EncodedText,
    vectors: WordVectors,
    outputs: npt.ArrayLike | None = None,
    words: Sequence[str | None] | None = None,
) -> FloatArray:
    """(documents, k) mean vectors; with `outputs` secrets are replaced by what was released, and masked words left out.

    `words` has the word of each output, by default those of the lexicon's points.
    """
    occurrences = encoded.tokens.occurrences
    rows = vectors.rows_of(occurrences.types)[occurrences.type]
    if outputs is not None:
        table = encoded.lexicon.words if words is None else tuple(words)
        chosen = indices(outputs, "outputs", len(table))
        rows[encoded.masked] = -1
        rows[encoded.slots] = vectors.rows_of([word or "" for word in table])[chosen]
    return averaged(vectors.vectors, np.asarray(rows), encoded.tokens.offsets)


def features_of_part(encoded: EncodedText, vectors: WordVectors, *, sensitive: bool) -> FloatArray:
    """(documents, k) mean vectors of the sensitive words alone as they were, or of all words but those.

    Between the two lies what noise can be good for: a release that serves worse than dropping the words serves nobody.
    """
    occurrences = encoded.tokens.occurrences
    rows = vectors.rows_of(occurrences.types)[occurrences.type]
    found = np.zeros(len(rows), dtype=bool)
    found[encoded.masked] = True
    found[encoded.slots] = True
    rows[found != sensitive] = -1
    return averaged(vectors.vectors, np.asarray(rows), encoded.tokens.offsets)
