"""Near-duplicate texts: documents that share most of their word triples are one independent unit, not several.

MinHash signatures with banding (Broder 1997; Leskovec, Rajaraman and Ullman, chapter 3) propose pairs, and the exact
Jaccard similarity of their sets of word triples decides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import IntArray, unit_open
from oddshift.model.records import numbered

SHINGLE = 3
"""Words in a row that make one element of a document's set."""

BANDS, ROWS = 20, 4
"""Rows of a signature in each band: two texts of similarity s meet in some band with probability 1 − (1 − s^4)^20."""

_WORD = re.compile(r"\w+")
_PRIME = np.uint64((1 << 61) - 1)
_SEED = 20_240_117  # fixed, so that the same texts always give the same groups


Shingles = npt.NDArray[np.uint64]
"""The distinct word triples of one text."""


def near_duplicates(texts: Sequence[str], similarity: float = 0.8) -> IntArray:
    """A group number for every text; texts of one group are linked by pairs of at least that Jaccard similarity.

    A text without a word is a group of its own. Numbers follow the first appearance of each group.

    >>> near_duplicates(["the cat sat on the mat today", "a dog ran", "The cat sat on the mat, today!"]).tolist()
    [0, 1, 0]
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    unit_open(similarity, "similarity")
    shingles = _shingles(texts)
    alike = [pair for pair in sorted(set(_proposed(shingles))) if _jaccard(*(shingles[k] for k in pair)) >= similarity]
    links = np.array(alike, dtype=np.int64).reshape(-1, 2)
    graph = coo_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(len(texts), len(texts)))
    return numbered(connected_components(graph, directed=False)[1].tolist())[0]


def _shingles(texts: Sequence[str]) -> list[Shingles]:
    """The distinct word triples of every text, as 64-bit numbers; shorter texts are one element."""
    number: dict[str, int] = {}
    found = []
    for text in texts:
        words = [number.setdefault(word, len(number) + 1) for word in _WORD.findall(text.lower())]
        if len(words) < SHINGLE:
            words = words + [0] * (SHINGLE - len(words)) if words else []
        ids = np.array(words, dtype=np.uint64)
        mixed = np.zeros(max(0, len(ids) - SHINGLE + 1), dtype=np.uint64)
        for k in range(SHINGLE):
            mixed = (mixed * np.uint64(0x9E3779B97F4A7C15)) ^ ids[k : k + len(mixed)]
            mixed ^= mixed >> np.uint64(29)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
        found.append(np.unique(mixed))
    return found


def _proposed(shingles: Sequence[Shingles]) -> Iterator[tuple[int, int]]:
    """Pairs whose signatures agree in a band, each text against the first ones of its bucket."""
    rng = np.random.default_rng(_SEED)
    a = rng.integers(1, 1 << 61, BANDS * ROWS, dtype=np.uint64)
    b = rng.integers(0, 1 << 61, BANDS * ROWS, dtype=np.uint64)
    full = [k for k, found in enumerate(shingles) if len(found)]
    signatures = np.array([((shingles[k][:, None] * a + b) % _PRIME).min(axis=0) for k in full], dtype=np.uint64)
    for band in range(BANDS if full else 0):
        buckets: dict[bytes, list[int]] = defaultdict(list)
        rows = np.ascontiguousarray(signatures[:, band * ROWS : (band + 1) * ROWS])
        for row, text in enumerate(full):
            bucket = buckets[rows[row].tobytes()]
            for other in bucket[:_COMPARED]:
                yield other, text
            bucket.append(text)


_COMPARED = 4  # texts of a bucket that a new one is compared with: enough to link copies, linear in their number


def _jaccard(left: Shingles, right: Shingles) -> float:
    """|A ∩ B| / |A ∪ B| of two sets of distinct numbers."""
    shared = len(np.intersect1d(left, right, assume_unique=True))
    return shared / (len(left) + len(right) - shared)
