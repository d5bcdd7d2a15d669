"""The lexicon: for every word type, the point that stands for it, or why it has none.

Built from public lists or from the fit split only, and public from then on. A type it does not know may be a name
that no one has seen yet: it is never released silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.word_vectors import WordVectors
from oddshift.data.detectors.occurrences import Occurrences
from oddshift.data.detectors.similarity import closest, similarity_to
from oddshift.data.detectors.tagging import TypeTags
from oddshift.model.metric import MetricLike
from oddshift.model.space import Space
from oddshift.model.tiers import NOT_SENSITIVE, Tiers

PUBLIC = -1
"""Code of a type in no tier: released as it is."""

WITHOUT_POINT = -2
"""Code of a sensitive type without a vector: there is nothing to perturb."""

UNKNOWN = -3
"""Code of a type that was not seen when the lexicon was built."""


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon:
    """Word types and their points.

    `words` holds the word that stands for each point of `space`; `point_of` leads from a type to its point; `masked`
    are sensitive types without a vector; `public` are types known to be in no tier.
    """

    words: tuple[str, ...]
    space: Space
    tiers: Tiers
    point_of: Mapping[str, int]
    masked: tuple[str, ...]
    public: tuple[str, ...]

    def __post_init__(self) -> None:
        """Check that words, points and tiers are as many."""
        sizes = (len(self.words), len(self.space), len(self.tiers.labels))
        if len(set(sizes)) != 1:
            raise InvalidInput(f"{sizes[0]} words, {sizes[1]} points and {sizes[2]} tier labels, expected as many")

    def __len__(self) -> int:
        """Number of points."""
        return len(self.words)

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"Lexicon({len(self)} points, {len(self.masked)} types without one, {len(self.public)} public types)"

    def code(self, types: Sequence[str]) -> IntArray:
        """A point, PUBLIC, WITHOUT_POINT or UNKNOWN for every type; marks without letter or digit are public."""
        return np.array([self._code(word) for word in types], dtype=np.int64)

    @cached_property
    def _codes(self) -> dict[str, int]:
        without = dict.fromkeys(self.masked, WITHOUT_POINT)
        return {**dict.fromkeys(self.public, PUBLIC), **without, **self.point_of}

    def _code(self, word: str) -> int:
        mark = PUBLIC if not any(c.isalnum() for c in word) else UNKNOWN
        return self._codes.get(word, mark)


@dataclass(frozen=True)
class Similar:
    """The tier of words close to the tagged ones: its name, the share (percent) of the vocabulary, max or mean."""

    name: str = "PoII"
    percent: float = 10.0
    variant: str = "max"


def add_similar(
    tags: TypeTags, occurrences: Occurrences, vectors: WordVectors, similar: Similar, stop_words: frozenset[str]
) -> TypeTags:
    """One more tier: the top percent of the remaining words with a vector, by cosine similarity to the tagged ones.

    Stop words count as remaining vocabulary, as in the paper, but never enter the tier.
    """
    table, known = vectors.look_up(occurrences.types)
    types = np.flatnonzero(occurrences.is_word & (occurrences.totals > 0) & known)
    tagged = tags.labels[types] != NOT_SENSITIVE
    score = similarity_to(table[types], tagged, similar.variant)
    is_stop = np.array([occurrences.types[t] in stop_words for t in types], dtype=np.bool_)
    chosen = closest(score, ~tagged & ~is_stop, int((~tagged).sum()), similar.percent)
    return tags.with_tier(similar.name, types[chosen])


def build_lexicon(
    occurrences: Occurrences,
    tags: TypeTags,
    vectors: WordVectors,
    *,
    is_public: bool,
    scales: Sequence[float] | None = None,
    stop_words: frozenset[str] = frozenset(),
    metric: MetricLike = "euclidean",
) -> Lexicon:
    """The lexicon of tagged types; `is_public` says whether the attacker is told each position's tier.

    Types with equal vectors share a point (the most sensitive tier of theirs). Stop words are public unless tagged.
    """
    seen = occurrences.totals > 0
    sensitive = np.flatnonzero((tags.labels != NOT_SENSITIVE) & seen)
    sensitive = sensitive[np.argsort([occurrences.types[t] for t in sensitive], kind="stable")]
    names = [occurrences.types[t] for t in sensitive]
    table, known = vectors.look_up(names)
    if not known.any():
        raise InvalidInput(f"none of {len(names)} sensitive word types has a vector, expected at least one")
    space, group = Space.merged(table[known].astype(np.float64), metric)
    with_point = [name for name, has in zip(names, known, strict=True) if has]
    labels = np.full(len(space), len(tags.names), dtype=np.int64)
    np.minimum.at(labels, group, tags.labels[sensitive[known]])
    first = np.unique(group, return_index=True)[1]
    is_plain = (tags.labels == NOT_SENSITIVE) & seen & occurrences.is_word
    plain = {occurrences.types[t] for t in np.flatnonzero(is_plain)}
    return Lexicon(
        words=tuple(with_point[i] for i in first),
        space=space,
        tiers=Tiers(labels, names=tags.names, scales=scales or (1.0,) * len(tags.names), is_public=is_public),
        point_of=dict(zip(with_point, group.tolist(), strict=True)),
        masked=tuple(name for name, has in zip(names, known, strict=True) if not has),
        public=tuple(sorted(plain | (stop_words - set(names)))),
    )


def has_point(occurrences: Occurrences, vectors: WordVectors) -> BoolArray:
    """Which types have a vector (for names of several words: all of their words have)."""
    return vectors.look_up(occurrences.types)[1]
