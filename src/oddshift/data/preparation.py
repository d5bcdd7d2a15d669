"""From data to records that can be audited: split, fit the codec on the fit part, encode, group as asked.

The vocabulary, the tiers and the prior come from the fit part only.

Near-duplicate texts: documents that share most of their word triples are one independent unit, not several.

MinHash signatures with banding (Broder 1997; Leskovec, Rajaraman and Ullman, chapter 3) propose pairs, and the exact
Jaccard similarity of their sets of word triples decides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, IntArray, unit_open
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.data.codecs import Codec, Columns, Encoded, EncodedText
from oddshift.data.codecs.coverage import FoundPoints, found_in_records
from oddshift.data.dataset import Dataset
from oddshift.data.embedded import People, PeopleSettings, people
from oddshift.model.prior import Markov
from oddshift.model.records import FRACTIONS, Records, Split, assign_parts, numbered
from oddshift.model.release import draw_once, one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

FEWEST_UNITS = 30
"""Groups of rows that a sample of a table has, at least."""

FEWEST_PARTED = 4
"""Units from which on data are divided into parts to learn from (two or more), to choose with and to certify on."""

COPY = 0.95
"""Share of word triples above which two texts count as copies of one another, and therefore as one unit."""


@dataclass(frozen=True, eq=False, repr=False)
class DocumentLabels:
    """The label of every text by name, and as numbers for the documents of each part that is learned from or judged."""

    names: tuple[str, ...]
    fit: IntArray
    certify: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Prepared:
    """Secrets ready to be audited.

    `codec` found them and finds those of new data in the same way; it is None for records that were built by hand.
    `prior_of` is the exact law of the secrets, where it is known, `encoded` the texts and `columns` the table, where
    there are any; `found` counts what was found. `labels` are those of texts, where a column of them was named and
    texts are read document by document. `certify_rows` are the raw rows of the certify part.
    """

    split: Split
    tiers: Tiers
    detector: str
    kind: str
    codec: Codec | None = None
    notes: tuple[str, ...] = ()
    prior_of: Callable[[int], Markov] | None = None
    encoded: EncodedText | None = None
    columns: Columns | None = None
    found: FoundPoints | None = None
    labels: DocumentLabels | None = None
    certify_rows: Columns | None = None

    def __repr__(self) -> str:
        """Counts only."""
        parts = ", ".join(str(len(part)) for part in self.split.parts)
        return f"Prepared({self.kind}, {parts} to learn from, to choose with and to certify on, {self.tiers})"

    @property
    def names(self) -> tuple[str, ...] | None:
        """The word of each point, for data that consist of words."""
        return None if self.codec is None else self.codec.point_names


def prepare(data: Dataset | PeopleSettings, seed: int, parts: IntArray | None = None) -> Prepared:
    """Split, fit and encode; the same data and seed give the same parts.

    `parts` says of every row whether it is learned from (0), chosen with (1) or certified on (2), instead of chance.
    """
    rng = np.random.default_rng([seed, 1])
    return _people(data, rng) if isinstance(data, PeopleSettings) else _dataset(data, rng, parts)


def prepare_records(records: Records, tiers: Tiers | None, seed: int) -> Prepared:
    """Records that were built by hand; without tiers all points are in one tier."""
    if not isinstance(records, Records):
        raise InvalidInput(f"data is {a_kind(records)}, expected a Dataset (od.texts, od.table, ...) or Records")
    split = records.split(rng=np.random.default_rng([seed, 1]))
    chosen = tiers or one_tier(records.space)
    found = found_in_records(split, chosen)
    return Prepared(split, chosen, "none (every position was given)", "records", found=found)


def _dataset(data: Dataset, rng: np.random.Generator, parts: IntArray | None) -> Prepared:
    settings = data.settings
    data, sampled = _sampled(data, rng) if parts is None else (data, ())
    with data.naming():
        units, by = settings.units(data.columns)
        units, copies = merged_units(data, units, by)
        part = _parts(units, rng) if parts is None else _last_of_each(units, parts)
        codec = data.fit(part == 0)
        encoded = codec.encode(data.columns)
    joint_by = getattr(settings, "joint_by", "document")
    if joint_by == "column":  # a column of each part is read together, so the parts are encoded one by one
        fit, select, certify = (codec.encode(data.rows(part == p)).records for p in range(3))
        split = Split(fit=fit, select=select, certify=certify, by=by)
    else:
        records = encoded.records
        if copies:
            records = replace(records, sources=first_of_each(units)[encoded.rows])
        split = _split(records, part[encoded.rows], joint_by, by, codec.drawn_once)
    return Prepared(
        split,
        codec.tiers,
        codec.found_by,
        codec.kind,
        codec,
        (*sampled, *codec.notes_on(encoded), *copies),
        encoded=codec.texts_in(encoded),
        columns=data.columns if codec.domains else None,
        found=codec.found_points(encoded, split),
        labels=_labels(data, encoded, part) if joint_by == "document" else None,
        certify_rows=data.rows(part == 2) if (part == 2).any() else None,
    )


def _parts(units: IntArray, rng: np.random.Generator) -> IntArray:
    """The part of every row; so few units that they cannot be divided are all learned from: nothing is counted."""
    if len(np.unique(units)) < FEWEST_PARTED:
        return np.zeros(len(units), dtype=np.int64)
    return assign_parts(units, FRACTIONS, rng)


def _labels(data: Dataset, encoded: Encoded, part: IntArray) -> DocumentLabels | None:
    """The labels of texts, in the order in which the parts hold their documents."""
    label = getattr(data.settings, "label", None)
    if label is None:
        return None
    names = np.array([str(value) for value in data.columns[label]])[encoded.rows]
    numbers = np.unique(names, return_inverse=True)[1].astype(np.int64)
    where = part[encoded.rows]
    return DocumentLabels(tuple(names.tolist()), numbers[where == 0], numbers[where == 2])


def _sampled(data: Dataset, rng: np.random.Generator) -> tuple[Dataset, tuple[str, ...]]:
    """A long table as a random sample of its rows, whole groups together, and a line that says how many they are."""
    settings = data.settings
    most = getattr(settings, "most_rows", None)
    if most is None or len(data) <= most:
        return data, ()
    with data.naming():
        data.refuse_bad_cells()
        units, _ = settings.units(data.columns)
    rank = rng.permutation(int(units.max()) + 1)[units]
    kept = np.cumsum(np.bincount(rank))
    chosen: BoolArray = rank < max(int(np.searchsorted(kept, most, side="right")), min(FEWEST_UNITS, len(kept)))
    if chosen.all():
        return data, ()
    line = f"examined a sample of {int(chosen.sum()):,} of {len(data):,} rows, drawn at random (most_cells)"
    return replace(data, columns=data.rows(chosen)), (line,)


def merged_units(data: Dataset, units: IntArray, by: str) -> tuple[IntArray, tuple[str, ...]]:
    """Units that join near-duplicate texts, and a line that says how many there are."""
    if by != "document" or not getattr(data.settings, "near_duplicates", False):
        return units, ()
    with data.naming():
        texts = data.settings.documents(data.columns)
    groups = near_duplicates(texts, COPY)
    left = len(np.unique(groups))
    if left == len(groups):
        return units, ()
    return groups, (f"{len(groups) - left} of {len(groups)} documents nearly repeat another: {left} independent units",)


def first_of_each(units: IntArray) -> IntArray:
    """For every row the first row of its unit."""
    _, first, inverse = np.unique(units, return_index=True, return_inverse=True)
    found: IntArray = first.astype(np.int64)[inverse.ravel()]
    return found


def people_of(data: PeopleSettings) -> People:
    """The embedded corpus that settings describe."""
    return people(data.documents, strength=data.strength, is_public=data.is_public, by_kind=data.by_kind)


def _people(data: PeopleSettings, rng: np.random.Generator) -> Prepared:
    corpus = people_of(data)
    split = corpus.records.split(rng=rng)
    return Prepared(
        split,
        corpus.tiers,
        "none (the embedded corpus marks its secrets)",
        corpus.codec.kind,
        corpus.codec,
        prior_of=corpus.prior_of,
        encoded=corpus.encoded,
        found=corpus.codec.found_points(corpus.encoded, split),
    )


def _split(records: Records, part: IntArray, joint_by: str, by: str, once: BoolArray | None) -> Split:
    """The parts decided before the vocabulary was built, read together as asked; `once` marks points drawn once."""
    chosen = (np.flatnonzero(part == p) for p in range(3))
    fit, select, certify = (
        read_together(records.take(some), joint_by, once) if len(some) else nothing_of(records.space) for some in chosen
    )
    return Split(fit=fit, select=select, certify=certify, by=by)


def nothing_of(space: Space) -> Records:
    """One document without a secret: a part of data that could not be divided."""
    return Records(space=space, points=np.empty(0, dtype=np.int64), offsets=np.zeros(2, dtype=np.int64))


def read_together(records: Records, joint_by: str, once: BoolArray | None) -> Records:
    """Records as attackers read them: joined as asked, and points that are drawn once put where they first stand."""
    joined = records.joined(joint_by)
    return joined if once is None else draw_once(joined, once).records


def _last_of_each(units: IntArray, parts: IntArray) -> IntArray:
    """Parts that keep units whole: a unit of several parts goes to the last of them."""
    last = np.zeros(int(units.max()) + 1, dtype=np.int64)
    np.maximum.at(last, units, parts)
    found: IntArray = last[units]
    return found


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
