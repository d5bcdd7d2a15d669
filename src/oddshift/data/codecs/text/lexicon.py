"""Written forms: how each word of the lexicon is mostly written, "McCarthy" or "PAC".

The lexicon: the word types that have a point, and those that are protected wherever they stand.

It is built from public lists or from the fit split only, and is treated as public afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.settings import WRITTEN
from oddshift.data.codecs.text.span_detection import FoundTokens
from oddshift.data.codecs.text.tokens import Tokens
from oddshift.data.codecs.text.vectors import WordVectors
from oddshift.data.detectors.normalising import normalised
from oddshift.data.detectors.storage import KeptDetector, KeptNames
from oddshift.data.detectors.tagging import Occurrences, TypeTags, closest, similarity_to
from oddshift.model.metric import MetricLike
from oddshift.model.space import Space
from oddshift.model.tiers import NOT_SENSITIVE, Tiers

CAPITALS_WEIGHT = 0.2
"""The weight of a form in capitals against another one: "BEIJING" opens every report, but is written "Beijing"."""


def written_forms(tokens: Tokens, found: FoundTokens, types: IntArray) -> tuple[str, ...]:
    """The most common form of each type among its found occurrences; among all where none was found.

    Headings write every word in capitals, so a form in capitals is taken only where others are rare. Look-alike letters
    are written as plain ones. Of forms that are equally common the one seen first is taken.
    """
    of_found = _most_common(tokens, np.flatnonzero(found.is_found))
    missing = [t for t in types.tolist() if t not in of_found]
    of_all = _most_common(tokens, np.flatnonzero(np.isin(tokens.occurrences.type, missing))) if missing else {}
    chosen = {**of_all, **of_found}
    return tuple(normalised(tokens.forms[chosen[t]]).text for t in types.tolist())


def _most_common(tokens: Tokens, index: IntArray) -> dict[int, int]:
    """The most common form of every type that occurs among some tokens."""
    pair = tokens.occurrences.type[index] * len(tokens.forms) + tokens.form[index]
    values, first, times = np.unique(pair, return_index=True, return_counts=True)
    is_upper = np.array([len(form) > 1 and form.isupper() for form in tokens.forms], dtype=np.bool_)
    weight = np.where(is_upper[values % max(len(tokens.forms), 1)], times * CAPITALS_WEIGHT, times)
    order = np.lexsort((-first, weight))  # rising, so that the most common is written last
    types, forms = np.divmod(values[order], max(len(tokens.forms), 1))
    return dict(zip(types.tolist(), forms.tolist(), strict=True))


WITHOUT_POINT = -1
"""Stands for the point of a type that has none."""

UNKNOWN = "[MASKED]"
"""Stands for the word of a point that no type has."""

POINT_SHARE = 0.1
"""The share of a type's occurrences that must be found for it to become a point; "stocks", found once, does not."""


@dataclass(frozen=True, eq=False, repr=False)
class Lexicon:
    """Word types and their points.

    `words` holds the word that stands for each point of `space`, `forms` how it is mostly written; `point_of` maps a
    type to its point. `everywhere` are the types that are protected wherever they stand, found or not, each with
    its kind. `masked` are types that were found in the fit texts and have no point.
    """

    words: tuple[str, ...]
    space: Space
    tiers: Tiers
    point_of: Mapping[str, int]
    everywhere: Mapping[str, str] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    masked: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check that there are as many words as points and tiers; without forms a word is written as it is."""
        if not self.forms:
            object.__setattr__(self, "forms", self.words)
        sizes = (len(self.words), len(self.space), len(self.tiers.labels), len(self.forms))
        if len(set(sizes)) != 1:
            raise InvalidInput(
                f"{sizes[0]} words, {sizes[1]} points, {sizes[2]} tier labels and {sizes[3]} forms, expected one number"
            )

    def __len__(self) -> int:
        """Number of points."""
        return len(self.words)

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"Lexicon({len(self)} points, {len(self.masked)} types without one, {len(self.everywhere)} everywhere)"

    @cached_property
    def everywhere_kinds(self) -> tuple[str, ...]:
        """The kinds of types that are protected everywhere, each once."""
        return tuple(dict.fromkeys(self.everywhere.values()))

    @cached_property
    def masked_types(self) -> frozenset[str]:
        """The types that were found in the fit texts and have no point."""
        return frozenset(self.masked)

    def written(self, casing: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
        """The casing rule of every point, and the word that it applies to; `casing` has a rule for each tier."""
        if casing not in self._written:
            rules = tuple(casing[label] for label in self.tiers.labels.tolist())
            both = zip(rules, self.forms, self.words, strict=True)
            self._written[casing] = (rules, tuple(form if rule == WRITTEN else word for rule, form, word in both))
        return self._written[casing]

    @cached_property
    def _written(self) -> dict[tuple[str, ...], tuple[tuple[str, ...], tuple[str | None, ...]]]:
        return {}

    def points_of(self, types: Sequence[str]) -> IntArray:
        """The point of every type, WITHOUT_POINT where it has none."""
        return np.array([self.point_of.get(word, WITHOUT_POINT) for word in types], dtype=np.int64)


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
    tokens: Tokens,
    found: FoundTokens,
    tags: TypeTags,
    vectors: WordVectors,
    *,
    is_public: bool,
    fewest: int = 0,
    stop_words: frozenset[str] = frozenset(),
    metric: MetricLike = "euclidean",
) -> Lexicon:
    """The lexicon of tagged types; `is_public` says whether the attacker is told each position's tier.

    A type has a point when it has a vector and is protected everywhere, or was found often enough. Types with equal
    vectors share a point, which belongs to the most sensitive of their tiers. A tier with fewer than `fewest` points is
    dropped, unless all tiers have fewer.
    """
    occurrences = tokens.occurrences
    everywhere = (tags.labels != NOT_SENSITIVE) & (occurrences.totals > 0)
    chosen = np.flatnonzero(everywhere | _found_often(occurrences, found, tags, stop_words))
    chosen = chosen[np.argsort([occurrences.types[t] for t in chosen], kind="stable")]
    names = [occurrences.types[t] for t in chosen]
    table, known = vectors.look_up(names)
    if len(chosen) and not known.any():
        return _marks_alone(occurrences, tags, _kinds_of_types(occurrences, found, tags), names, is_public)
    label = tags.tier_of_tagged[chosen]
    sizes = np.bincount(label[known], minlength=len(tags.names))
    kept = _kept_tiers(sizes, len(names), fewest)
    known &= np.isin(label, kept)
    space, group = Space.merged(table[known].astype(np.float64), metric)
    number = np.full(len(tags.names), len(tags.names), dtype=np.int64)
    number[kept] = np.arange(len(kept))
    labels = np.full(len(space), len(tags.names), dtype=np.int64)
    np.minimum.at(labels, group, number[label[known]])
    first = np.unique(group, return_index=True)[1]
    with_point = np.flatnonzero(known)
    kind_of = _kinds_of_types(occurrences, found, tags)
    seen = set(np.flatnonzero(np.bincount(occurrences.type[found.is_found], minlength=len(occurrences.types))).tolist())
    has_point = set(chosen[with_point].tolist())
    return Lexicon(
        words=tuple(names[i] for i in with_point[first]),
        space=space,
        tiers=_tiers(labels, tags, kept, is_public),
        point_of=dict(zip((names[i] for i in with_point), group.tolist(), strict=True)),
        everywhere={occurrences.types[t]: kind_of[t] for t in np.flatnonzero(everywhere).tolist()},
        forms=written_forms(tokens, found, chosen[with_point[first]]),
        masked=tuple(sorted(occurrences.types[t] for t in (seen | set(np.flatnonzero(everywhere))) - has_point)),
    )


def _marks_alone(
    occurrences: Occurrences, tags: TypeTags, kinds: Mapping[int, str], names: Sequence[str], is_public: bool
) -> Lexicon:
    """The lexicon of texts none of whose words has a vector: every word that is found becomes a mark of its kind.

    Its one point stands for no word.
    """
    return Lexicon(
        words=(UNKNOWN,),
        space=Space(np.ones((1, 1))),
        tiers=Tiers([0], names=tags.names[:1], scales=(1.0,), is_public=is_public),
        point_of={},
        everywhere={occurrences.types[t]: kind for t, kind in kinds.items() if occurrences.totals[t] > 0},
        masked=tuple(sorted(names)),
    )


def _found_often(occurrences: Occurrences, found: FoundTokens, tags: TypeTags, stop_words: frozenset[str]) -> BoolArray:
    """Types found at enough of their occurrences to count as names; stop words ("US", "Will") need two of them."""
    times = np.bincount(occurrences.type[found.is_found], minlength=len(occurrences.types))
    is_stop = np.array([word in stop_words for word in occurrences.types], dtype=np.bool_)
    enough = np.where(is_stop, times >= 2, times >= POINT_SHARE * occurrences.totals)
    return (times > 0) & enough & (tags.tier_of_tagged != NOT_SENSITIVE)


def _kept_tiers(sizes: IntArray, types: int, fewest: int) -> IntArray:
    """The tiers that have enough points; any tier with points if none has enough; all if no number is asked for."""
    if not sizes.any():
        raise InvalidInput(f"none of {types} sensitive word types has a vector, expected at least one")
    kept = np.flatnonzero(sizes >= fewest)
    return kept if len(kept) else np.flatnonzero(sizes)


def _tiers(labels: IntArray, tags: TypeTags, kept: IntArray, is_public: bool) -> Tiers:
    """The tiers that are kept, with levels numbered from 0."""
    levels = np.unique([tags.levels[t] for t in kept], return_inverse=True)[1]
    return Tiers(
        labels,
        names=tuple(tags.names[t] for t in kept),
        scales=(1.0,) * len(kept),
        is_public=is_public,
        levels=tuple(levels.tolist()),
    )


def _kinds_of_types(occurrences: Occurrences, found: FoundTokens, tags: TypeTags) -> dict[int, str]:
    """The most frequent kind of each type that is protected everywhere; its tier if it was never found."""
    kinds = len(found.kinds)
    cell = occurrences.type[found.is_found] * kinds + found.kind[found.is_found]
    table = np.bincount(cell, minlength=len(occurrences.types) * kinds).reshape(-1, kinds) if kinds else None
    return {
        t: found.kinds[int(table[t].argmax())]
        if table is not None and table[t].any()
        else tags.names[int(tags.labels[t])]
        for t in np.flatnonzero(tags.labels != NOT_SENSITIVE).tolist()
    }


def has_point(occurrences: Occurrences, vectors: WordVectors) -> BoolArray:
    """Which types have a vector (for names of several words: all of their words have)."""
    return vectors.look_up(occurrences.types)[1]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TextVocabulary:
    """A lexicon and its finders in plain fields.

    The word of each point and how it is written; the point of each type; the types that are protected everywhere, with
    their kinds; the types that were found and have no point; the detectors; and what they learned about names.
    """

    words: tuple[str, ...]
    forms: tuple[str, ...]
    types: tuple[str, ...]
    type_points: IntArray
    everywhere: tuple[str, ...]
    kinds: tuple[str, ...]
    masked: tuple[str, ...]
    detectors: tuple[KeptDetector, ...]
    names: KeptNames
