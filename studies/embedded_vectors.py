"""Cut the GloVe excerpt of the embedded corpus: `python -m studies.embedded_vectors` writes people.npz.

Numbers only, for the words of the corpus; GloVe's vectors are in the public domain (PDDL 1.0).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import data_folder
from oddshift.data.codecs.text.vectors import read_vectors
from oddshift.data.embedded import CLOSING, KINDS, PHRASES

TARGET = Path(__file__).resolve().parents[1] / "src" / "oddshift" / "data" / "people.npz"


def public_words() -> frozenset[str]:
    """Every word of the sentences, in lower case."""
    text = " ".join(phrase for row in PHRASES for phrase in row) + CLOSING
    return frozenset(word.strip(".").lower() for word in text.split() if word.strip(".{}"))


def main() -> None:
    """Write the excerpt; secret words must all have a vector, words of the sentences may lack one."""
    secret = [word for kind in KINDS for word in kind]
    if len(set(secret)) != len(secret) or set(secret) & public_words():
        raise InvalidInput("the kinds share a word with each other or with the sentences, expected distinct words")
    vectors = read_vectors(data_folder() / "glove.6B.100d.npz", {*secret, *public_words()})
    missing = sorted(set(secret) - set(vectors.words))
    if missing:
        raise InvalidInput(f"no vector for {', '.join(missing)}")
    np.savez_compressed(TARGET, words=np.array(vectors.words), vectors=vectors.vectors)
    print(f"{TARGET.name}: {len(vectors)} words, {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
