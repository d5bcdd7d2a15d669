"""CPU times of reading, tokenising, tiering and generating."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from studies.published import read_published

from benchmarks.table import Line, cpu, forget
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import data_folder, read_vectors, tokenise
from oddshift.data.detectors import Patterns, closest, similarity_to
from oddshift.data.embedded import people


def write_glove(path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(1_000, 100)).round(5)
    lines = [" ".join(map(str, row)) for row in rows.tolist()]
    with path.open("w") as stream:
        stream.writelines(f"w{i} {lines[i % 1_000]}\n" for i in range(400_000))


def similarity() -> None:
    vectors = np.random.default_rng(0).normal(size=(60_000, 100)).astype(np.float32)
    chosen = np.arange(60_000) < 5_500
    closest(similarity_to(vectors, chosen), ~chosen, 54_500)


def within(what: str, work: Callable[[], object], limit: float | None = None) -> Line:
    """One time beside its limit, where one was stated."""
    _, seconds = cpu(work)
    if limit is None:
        return Line(what, f"{seconds:.2f} s")
    return Line(what, f"{seconds:.2f} s", limit=f"{limit:g} s", holds=seconds <= limit)


def run() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "glove.txt"
        write_glove(path)
        needed = {f"w{i}" for i in range(0, 360_000, 6)}
        lines = [within("60,000 of 400,000 GloVe lines", lambda: read_vectors(path, needed), 20.0)]
    lines.append(within("similar words among 60,000", similarity, 30.0))
    lines.append(within("embedded corpus, 3,000 texts", people))
    try:
        texts = read_published("ag_news").texts
    except InvalidInput:
        return [*lines, Line("AG News", "left out: no real data here")]
    excerpt = data_folder() / "glove.6B.100d.npz"
    lines.append(within("GloVe excerpt of 53,505 words", lambda: read_vectors(excerpt), 1.0))
    return [*lines, *new_and_known(list(texts))]


def new_and_known(texts: list[str]) -> list[Line]:
    """Cutting and matching: texts that no cache has seen, the same texts again, and the libraries below, alone."""
    import spacy  # noqa: PLC0415 - optional

    tokenise(["Ann met Bob."])
    alone = spacy.blank("en").tokenizer
    forget()
    tokens, cold = cpu(lambda: tokenise(texts))
    _, warm = cpu(lambda: tokenise(texts))
    _, peer = cpu(lambda: [alone(text) for text in texts])
    count = len(tokens.form)
    patterns = Patterns(is_kept=False)
    patterns.detect(["Ann met Bob."])
    _, found = cpu(lambda: patterns.detect(texts))
    _, again = cpu(lambda: patterns.detect(texts))
    return [
        Line(
            f"tokenise {len(texts):,} new texts of AG News",
            f"{count / cold:,.0f} tokens/s",
            f"spaCy's tokenizer alone: {count / peer:,.0f} tokens/s",
            f"{peer / cold:.2f}x",
        ),
        Line("the same texts again", f"{count / warm:,.0f} tokens/s"),
        Line("patterns in the same texts, new to them", f"{len(texts) / found:,.0f} texts/s"),
        Line("patterns in the same texts again", f"{len(texts) / again:,.0f} texts/s"),
    ]
