"""Word vectors made from the texts themselves, for users without a file of published vectors.

Positive pointwise mutual information of words that occur near each other, reduced to its leading eigenvectors (Levy and
Goldberg 2014): words in similar contexts lie close to each other.

Word vectors of a spaCy pipeline: the pipeline that finds the names can also say which words are similar.

`python -m spacy download en_core_web_md` gives both. Nothing is downloaded here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.spacy_import import import_spacy
from oddshift.data.codecs.text.vectors import WordVectors, read_vectors
from oddshift.data.detectors.spacy_pipeline import Pipeline, pipeline_folder
from oddshift.data.detectors.spans import Detector
from oddshift.data.detectors.tagging import Occurrences

FEWEST = 3
"""Words in two documents or more without which no word gets a vector."""

_WINDOW = 5  # words on either side that count as context
_DENSE = 1500  # words up to which all eigenvectors are computed at once


def vectors_from_text(occurrences: Occurrences, dimensions: int = 50) -> WordVectors:
    """Make vectors of unit length for words of letters that occur in at least two documents; others have none.

    PPMI(a, b) = max(0, ln n(a, b)·n / (n(a)·n(b))) over pairs at most 5 words apart; with P ≈ QΛQᵀ the vector of a is
    the row of Q|Λ|^½, scaled to length 1. The same texts give the same vectors.

    **Guarantee**: none about privacy. The vectors are a function of the texts, as the vocabulary is: build them from
    fit documents only. A number, an address or a word of one document has no vector, so it is masked, never released
    in the place of another. Small corpora give rough vectors, which reflect context more than meaning.
    """
    kept = _kept(occurrences)
    if len(kept) < FEWEST:
        return WordVectors((), np.zeros((0, 1), dtype=np.float32))
    counts = _company(occurrences, kept)
    has_company = np.asarray(counts.sum(axis=1)).ravel() > 0
    table = _reduced(_ppmi(counts), min(dimensions, len(kept) - 1))
    norms = np.linalg.norm(table, axis=1)
    keep = np.flatnonzero(has_company & (norms > 1e-9))
    words = tuple(occurrences.types[kept[i]] for i in keep)
    return WordVectors(words, (table[keep] / norms[keep, None]).astype(np.float32))


def _kept(occurrences: Occurrences) -> IntArray:
    """Types of letters only that occur in at least two documents."""
    pairs = np.unique(np.stack([occurrences.type, occurrences.document]), axis=1)
    documents = np.bincount(pairs[0], minlength=len(occurrences.types))
    return np.flatnonzero((documents >= 2) & _is_plain(occurrences.types)).astype(np.int64)


def _is_plain(types: tuple[str, ...]) -> BoolArray:
    """Letters, with marks inside a word or blanks between the words of a name."""
    return np.array([all(c.isalpha() or c in " '-’" for c in t) and t[:1].isalpha() for t in types], dtype=np.bool_)


def _company(occurrences: Occurrences, kept: IntArray) -> Any:
    """How often two kept words occur within _WINDOW kept words of each other: a symmetric sparse matrix."""
    from scipy.sparse import coo_array

    number = np.full(len(occurrences.types), -1, dtype=np.int64)
    number[kept] = np.arange(len(kept))
    word = number[occurrences.type]
    is_kept = word >= 0
    word, document = word[is_kept], occurrences.document[is_kept]
    left, right = [], []
    for apart in range(1, _WINDOW + 1):
        together = document[apart:] == document[:-apart]
        left.append(word[:-apart][together])
        right.append(word[apart:][together])
    rows, columns = np.concatenate([*left, *right]), np.concatenate([*right, *left])
    return coo_array((np.ones(len(rows)), (rows, columns)), shape=(len(kept), len(kept))).tocsr()


def _ppmi(counts: Any) -> Any:
    """max(0, ln n(a, b)·n / (n(a)·n(b))), entry by entry."""
    cells = counts.tocoo()
    each = np.asarray(counts.sum(axis=1)).ravel()
    ratio = cells.data * each.sum() / (each[cells.coords[0]] * each[cells.coords[1]])
    cells.data = np.log(np.maximum(ratio, 1.0))
    return cells.tocsr()


def _reduced(matrix: Any, dimensions: int) -> FloatArray:
    """Rows of Q|Λ|^½ for the eigenvalues of largest magnitude."""
    if matrix.shape[0] <= _DENSE:
        values, vectors = np.linalg.eigh(matrix.toarray())
        largest = np.argsort(-np.abs(values), kind="stable")[:dimensions]
        values, vectors = values[largest], vectors[:, largest]
    else:
        from scipy.sparse.linalg import eigsh

        start: npt.NDArray[np.float64] = np.ones(matrix.shape[0])
        values, vectors = eigsh(matrix, k=dimensions, v0=start)
    return np.asarray(vectors * np.sqrt(np.abs(values)), dtype=np.float64)


FROM_TEXT = "from-text"
"""Word vectors that are made from the fit part of the texts."""

FROM_PIPELINE = "pipeline"
"""What a configuration says instead of a file of vectors: those of the pipeline that finds the names."""


def vectors_of_pipeline(pipeline: str | Path, words: Collection[str] | None = None) -> WordVectors:
    """Read the vectors of `words` (None: of every word that the pipeline lists) in small letters.

    A word type is in small letters, and many pipelines list names with a capital only: where a type itself has no
    vector, the one of its capitalised form stands for it, then the one in capitals throughout. A row of zeros does
    not count as a vector. Pipelines without vectors are refused.
    """
    folder = pipeline_folder(pipeline)
    vocabulary = _vocabulary(str(folder))
    vectors = vocabulary.vectors
    if not vectors.shape[0] or not vectors.shape[1]:
        raise InvalidInput(
            f"spaCy pipeline {folder.name!r} has no word vectors, expected one that has, such as en_core_web_md "
            "(python -m spacy download en_core_web_md)"
        )
    sought = _listed(vocabulary) if words is None else dict.fromkeys(words)
    found = {word: row for word in sought if (row := _row(vectors, vocabulary.strings, word)) is not None}
    table = np.array(list(found.values()), dtype=np.float32).reshape(len(found), vectors.shape[1])
    return WordVectors(tuple(found), table)


def pipeline_with_vectors(detectors: Sequence[Detector]) -> str | Path:
    """Return the first pipeline among some detectors, whose vectors `vectors = "pipeline"` refers to."""
    for detector in detectors:
        if isinstance(detector, Pipeline):
            return detector.pipeline
    raise InvalidInput(
        f"vectors={FROM_PIPELINE!r} without a detector of kind 'pipeline', expected one whose vectors can be used"
    )


def vectors_named(source: str, detectors: Sequence[Detector]) -> WordVectors | None:
    """The vectors that the settings name; None for those made from the text."""
    if source == FROM_TEXT:
        return None
    if source == FROM_PIPELINE:
        return vectors_of_pipeline(pipeline_with_vectors(detectors))
    return read_vectors(Path(source))


def _row(vectors: Any, strings: Any, word: str) -> np.typing.NDArray[np.float32] | None:
    """The vector of the first form of a word that has one."""
    for form in dict.fromkeys((word, word.title(), word.upper())):
        if form in vectors if vectors.mode == "floret" else strings[form] in vectors:
            row = np.asarray(vectors[form if vectors.mode == "floret" else strings[form]], dtype=np.float32)
            if row.any():
                return row
    return None


def _listed(vocabulary: Any) -> Iterable[str]:
    """Every word that has a vector of its own, in small letters, in the order of the pipeline."""
    if vocabulary.vectors.mode == "floret":
        raise InvalidInput("the pipeline makes vectors from pieces of words and lists none, expected words=")
    names = (vocabulary.strings[key] for key in vocabulary.vectors)
    return dict.fromkeys(name.lower() for name in names)


@lru_cache(maxsize=1)
def _vocabulary(folder: str) -> Any:
    spacy = import_spacy()
    try:
        config = spacy.util.load_config(Path(folder) / "config.cfg")
        language = spacy.util.get_lang_class(config["nlp"]["lang"])
        return language().vocab.from_disk(Path(folder) / "vocab")
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise InvalidInput(f"the words of spaCy pipeline {Path(folder).name!r} cannot be read ({reason})") from error
