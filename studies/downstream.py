"""What released texts still serve for, next to texts without their sensitive words and to those words alone.

The four news classes of AG News are predicted by logistic regression from averaged word vectors, trained and tested on
the same kind of text; a fifth of the documents is held out. A mechanism that scores below dropping the words does harm
to the reader as well: nothing at all in their place serves better than what it puts there.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.data.codecs import TextCodec, TextSettings, WordVectors, data_folder, read_vectors
from oddshift.data.codecs.text.encoded import EncodedText
from oddshift.data.codecs.text.passages import text_features
from oddshift.data.codecs.text.settings import PAPER_TIERS
from oddshift.data.detectors import Pipeline
from oddshift.mechanisms import Exponential
from oddshift.mechanisms.utility import averaged, classification
from studies.published import read_published
from studies.tables import table, write

EPSILON, DOCUMENTS = 2.5, 4_000
SCALES = (1.0, 0.75, 0.5, 0.25)
DROPPED, ALONE = "sensitive words dropped", "sensitive words only"


def parts(made: EncodedText, vectors: WordVectors) -> Iterator[tuple[str, FloatArray]]:
    """The two rows that every table of downstream accuracy has besides its releases."""
    yield DROPPED, features_of_part(made, vectors, sensitive=False)
    yield ALONE, features_of_part(made, vectors, sensitive=True)


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


def accuracy(before: FloatArray, after: FloatArray, labels: Sequence[str]) -> tuple[float, float]:
    """Accuracy after a change of the texts, and before it."""
    done = classification(before, after, labels, rng=np.random.default_rng(2))
    return done.after, done.before


def with_error(share: float, documents: int) -> str:
    """An accuracy with its 95 % interval; a fifth of the documents is held out."""
    return f"{share:.1%} ± {1.96 * np.sqrt(share * (1 - share) / (0.2 * documents)):.1%}"


def below_dropping(scores: dict[str, float]) -> str:
    """Which releases score below dropping the sensitive words, in one sentence."""
    worse = [
        f"{name} ({score:.1%})"
        for name, score in scores.items()
        if name not in (DROPPED, ALONE) and score < scores[DROPPED]
    ]
    if not worse:
        return f"Every release scores above texts whose sensitive words are dropped ({scores[DROPPED]:.1%})."
    return f"Below texts whose sensitive words are simply dropped ({scores[DROPPED]:.1%}): {', '.join(worse)}."


def main() -> None:
    """Encode, release at several scales, classify, write; the argument is the number of documents."""
    most = int(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENTS
    corpus, vectors = read_published("ag_news"), read_vectors(data_folder() / "glove.6B.100d.npz")
    chosen = np.sort(np.random.default_rng(0).permutation(len(corpus))[:most])
    texts, labels = [corpus.texts[d] for d in chosen], [corpus.labels[d] for d in chosen]
    detector = Pipeline(data_folder() / "ner" / "en_core_web_sm_ner")
    settings = TextSettings(is_public=True, **PAPER_TIERS)
    codec = TextCodec.fit({"text": texts}, settings, detectors=[detector], vectors=vectors)
    made = codec.encode({"text": texts})
    before, secrets = text_features(made, vectors), made.records
    scores = {}
    for scale in SCALES:
        outputs = Exponential(secrets.space, scale * EPSILON).sample(secrets.points, np.random.default_rng(1))
        scores[f"EM at scale {scale:g}"], untouched = accuracy(before, text_features(made, vectors, outputs), labels)
    for name, features in parts(made, vectors):
        scores[name], _ = accuracy(before, features, labels)
    rows = [[name, with_error(score, len(texts))] for name, score in {"untouched": untouched, **scores}.items()]
    share = len(secrets.points) + len(made.masked)
    about = " ".join((__doc__ or "").split())
    write(
        "downstream",
        "What released texts still serve for",
        f"{about}\n\n{table(['texts', 'accuracy'], rows)}\n\n{below_dropping(scores)}\n\n{len(texts):,} documents of "
        f"{len(corpus):,}, epsilon {EPSILON}; {share:,} words are sensitive, {len(made.masked):,} of them have no "
        "point and become a mark, which has no vector.",
    )


if __name__ == "__main__":
    main()
