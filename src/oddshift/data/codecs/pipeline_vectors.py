"""Word vectors of a spaCy pipeline: the pipeline that finds the names can also say which words are similar.

`python -m spacy download en_core_web_md` gives both. Nothing is downloaded here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.base.spacy_import import import_spacy
from oddshift.data.codecs.word_vectors import WordVectors
from oddshift.data.detectors.linking import Linking
from oddshift.data.detectors.spacy_pipeline import Pipeline, pipeline_folder
from oddshift.data.detectors.spans import Detector

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
        inner = detector.detector if isinstance(detector, Linking) else detector
        if isinstance(inner, Pipeline):
            return inner.pipeline
    raise InvalidInput(
        f"vectors={FROM_PIPELINE!r} without a detector of kind 'pipeline', expected one whose vectors can be used"
    )


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
