"""CPU times of reading, tokenising, tiering and generating."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from oddshift.detectors import Patterns, closest, similarity_to
from oddshift.embedded import people
from oddshift.errors import InvalidInput
from oddshift.modalities import data_folder, read_published, read_vectors, tokenise


def cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def write_glove(path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(1_000, 100)).round(5)
    lines = [" ".join(map(str, row)) for row in rows.tolist()]
    with path.open("w") as stream:
        stream.writelines(f"w{i} {lines[i % 1_000]}\n" for i in range(400_000))


def similarity() -> None:
    vectors = np.random.default_rng(0).normal(size=(60_000, 100)).astype(np.float32)
    chosen = np.arange(60_000) < 5_500
    closest(similarity_to(vectors, chosen), ~chosen, 54_500)


def run() -> None:
    """Print every time beside its limit."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "glove.txt"
        write_glove(path)
        needed = {f"w{i}" for i in range(0, 360_000, 6)}
        print(f"60,000 of 400,000 GloVe lines: {cpu(lambda: read_vectors(path, needed)):.2f} CPU s (limit 20)")
    print(f"PoII of 60,000 words: {cpu(similarity):.2f} CPU s (limit 30)")
    print(f"embedded corpus, 3,000 texts: {cpu(people):.2f} CPU s")
    try:
        texts = read_published("ag_news").texts
    except InvalidInput as error:
        print(f"real data left out: {error}")
        return
    excerpt = data_folder() / "glove.6B.100d.npz"
    print(f"GloVe excerpt of 53,505 words: {cpu(lambda: read_vectors(excerpt)):.2f} CPU s (limit 1)")
    tokenise(texts[:1])
    seconds = cpu(lambda: tokenise(texts))
    print(f"tokenise AG News: {seconds:.2f} CPU s, {len(tokenise(texts).form) / seconds:,.0f} tokens/s")
    Patterns().detect(texts[:1])
    print(f"patterns over AG News: {cpu(lambda: Patterns().detect(texts)):.2f} CPU s")
