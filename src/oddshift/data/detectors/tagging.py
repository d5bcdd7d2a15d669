"""The tier rule: from tagged occurrences to the tier of a word type, and to whether all of its occurrences count.

A tagged occurrence is protected in any case. The other occurrences of its type are protected too when at least half of
all, and at least two, are tagged, and the type is not a stop word. (A single tagged occurrence is not enough: that
would tag "the" and "of".)

Where each word type occurs: this joins a tokenisation with the detectors' spans.

A type is a lower-cased word; an occurrence is one token of it, known by its characters [start, end).

PoII by similarity: words that are not PII themselves but lie close to PII words.

The paper's second tier (after Hassan et al. 2023): the top q % of the remaining vocabulary by cosine similarity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks, one_of, whole
from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.spans import Spans
from oddshift.model.tiers import NOT_SENSITIVE

NAME_LABELS = ("PERSON", "ORG", "GPE")
"""The labels that the paper counts as PII."""

PII = "PII"
"""Name of the default first tier."""


@dataclass(frozen=True)
class TierRule:
    """The tier of each label, and how many tagged occurrences make a type sensitive.

    `tier_of` maps a detector's label to one of `names` (most sensitive first). Labels that it does not list are ignored
    when they are guesses, and belong to the most sensitive tier when an exact detector gives them: they were asked for.
    A type counts when at least a `share` of its occurrences are tagged, and at least `count` of them. One is enough
    when it was listed or has a fixed form (an exact detector), because such a match is not a guess. `levels` says which
    tiers are equally sensitive, from 0 on; without it each tier is a level of its own.
    """

    names: tuple[str, ...] = (PII,)
    tier_of: Mapping[str, str] = field(default_factory=lambda: dict.fromkeys(NAME_LABELS, PII))
    share: float = 0.5
    count: int = 2
    levels: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        """Check the map against the names."""
        if not self.names or len(set(self.names)) != len(self.names):
            raise InvalidInput(f"names={self.names}, expected at least one tier name, all distinct")
        unknown = sorted(set(self.tier_of.values()) - set(self.names))
        if unknown:
            raise InvalidInput(f"tier_of names {unknown[0]!r}, expected one of {', '.join(self.names)}")
        if not 0 < self.share <= 1:
            raise InvalidInput(f"share={self.share}, expected 0 < share <= 1")
        whole(self.count, "count", 1)


@dataclass(frozen=True, eq=False, repr=False)
class TypeTags:
    """The tier of every word type that is protected everywhere (−1 for none), and the counts behind it.

    `tagged` (types, tiers) counts the occurrences tagged with each tier; `totals` all occurrences. `levels` has the
    level of each tier.
    """

    labels: IntArray
    tagged: IntArray
    totals: IntArray
    names: tuple[str, ...]
    levels: tuple[int, ...]

    def __repr__(self) -> str:
        """Counts only; never a word."""
        sizes = ", ".join(f"{name}: {int((self.labels == t).sum())}" for t, name in enumerate(self.names))
        return f"TypeTags({len(self.labels)} types; {sizes})"

    @property
    def tier_of_tagged(self) -> IntArray:
        """The tier of every type that was tagged anywhere, −1 for the others."""
        tier = tier_of_most(self.tagged, self.levels)
        return np.where(self.labels != NOT_SENSITIVE, self.labels, tier)

    @property
    def mixed(self) -> IntArray:
        """Types with some occurrences tagged and some not."""
        some = self.tagged.sum(axis=1)
        return np.flatnonzero((some > 0) & (some < self.totals))

    @property
    def refused(self) -> IntArray:
        """Types with some tagged occurrence that the rule left out of every tier."""
        return np.flatnonzero((self.tagged.sum(axis=1) > 0) & (self.labels == NOT_SENSITIVE))

    @property
    def contested(self) -> IntArray:
        """Types tagged with more than one tier."""
        return np.flatnonzero((self.tagged > 0).sum(axis=1) > 1)

    def with_tier(self, name: str, types: IntArray) -> TypeTags:
        """One more, least sensitive tier, holding those types that are in none."""
        labels = self.labels.copy()
        free = types[labels[types] == NOT_SENSITIVE]
        labels[free] = len(self.names)
        column = np.zeros((len(labels), 1), dtype=np.int64)
        levels = (*self.levels, max(self.levels) + 1)
        return TypeTags(labels, np.hstack([self.tagged, column]), self.totals, (*self.names, name), levels)


def tag_types(occurrences: Occurrences, spans: Sequence[Spans], rule: TierRule, stop_words: frozenset[str]) -> TypeTags:
    """Tag every word type with its tier, from what the detectors found."""
    tiers = len(rule.names)
    guessed = _tier_of_tokens(occurrences, [s for s in spans if not s.is_exact], rule)
    exact = _tier_of_tokens(occurrences, [s for s in spans if s.is_exact], rule)
    tagged = _counts(occurrences, np.minimum(guessed, exact), tiers)
    certain = _counts(occurrences, exact, tiers).cumsum(axis=1)
    upto = tagged.cumsum(axis=1)
    half = rule.share * occurrences.totals[:, None]
    is_stop = np.array([word in stop_words for word in occurrences.types], dtype=np.bool_)[:, None]
    by_guess = (upto >= half) & (upto >= rule.count) & ~is_stop
    by_match = (upto >= half) & (certain >= 1) & (~is_stop | (certain >= occurrences.totals[:, None]))
    enters = (by_guess | by_match) & occurrences.is_word[:, None] & (occurrences.totals > 0)[:, None]
    levels = tuple(range(tiers)) if rule.levels is None else rule.levels
    labels = np.where(enters.any(axis=1), tier_of_most(tagged, levels), NOT_SENSITIVE).astype(np.int64)
    return TypeTags(labels, tagged, occurrences.totals, rule.names, levels)


def tier_of_most(tagged: IntArray, levels: Sequence[int]) -> IntArray:
    """The tier of every type from its tagged occurrences (types, tiers); −1 where none is tagged.

    It belongs to the most sensitive level such that this level and the more sensitive ones hold half of them; within
    that level it is the most frequent tier.

    >>> tier_of_most(np.array([[1, 4, 2], [1, 0, 2], [0, 0, 0]]), (0, 0, 1)).tolist()
    [1, 2, -1]
    """
    level = np.asarray(levels)
    total = tagged.sum(axis=1)
    upto = np.stack([tagged[:, level <= k].sum(axis=1) for k in range(int(level.max()) + 1)], axis=1)
    chosen = (2 * upto >= total[:, None]).argmax(axis=1)
    inside = np.where(level[None, :] == chosen[:, None], tagged, -1)
    return np.where(total > 0, inside.argmax(axis=1), NOT_SENSITIVE).astype(np.int64)


def _tier_of_tokens(occurrences: Occurrences, spans: Sequence[Spans], rule: TierRule) -> IntArray:
    """The most sensitive tier any span gives each token; the number of tiers when none does."""
    tier = np.full(len(occurrences.type), len(rule.names), dtype=np.int64)
    number = {name: t for t, name in enumerate(rule.names)}
    for found in spans:
        otherwise = 0 if found.is_exact else len(rule.names)
        of_label = [number[rule.tier_of[x]] if x in rule.tier_of else otherwise for x in found.labels]
        token, span = occurrences.overlapping(found)
        np.minimum.at(tier, token, np.array(of_label, dtype=np.int64)[found.label[span]])
    return tier


def _counts(occurrences: Occurrences, tier: IntArray, tiers: int) -> IntArray:
    """(types, tiers): occurrences of each type with each tier."""
    cell = occurrences.type * (tiers + 1) + tier
    table = np.bincount(cell, minlength=len(occurrences.types) * (tiers + 1))
    return table.reshape(len(occurrences.types), tiers + 1)[:, :tiers].astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Occurrences:
    """The type, first and last character of every token, cut into documents by `offsets`."""

    types: tuple[str, ...]
    type: IntArray
    start: IntArray
    end: IntArray
    offsets: IntArray

    def __repr__(self) -> str:
        """Counts only."""
        return f"Occurrences({len(self.type)} tokens, {len(self.types)} types, {len(self.offsets) - 1} documents)"

    @cached_property
    def totals(self) -> IntArray:
        """How often each type occurs."""
        return np.bincount(self.type, minlength=len(self.types)).astype(np.int64)

    @cached_property
    def is_word(self) -> BoolArray:
        """Which types hold a letter or a digit; the others (punctuation, blanks) are never sensitive."""
        return np.array([any(c.isalnum() for c in word) for word in self.types], dtype=np.bool_)

    @cached_property
    def document(self) -> IntArray:
        """The document of every token."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int64), np.diff(self.offsets))

    def overlapping(self, spans: Spans) -> tuple[IntArray, IntArray]:
        """Pairs (token, span) that share at least one character."""
        stride = int(self.end.max(initial=0)) + 1  # one number line: document · stride + character
        stride = max(stride, int(spans.end.max(initial=0)) + 1)
        token_start, token_end = (self.document * stride + edge for edge in (self.start, self.end))
        first = np.searchsorted(token_end, spans.document * stride + spans.start, side="right")
        last = np.searchsorted(token_start, spans.document * stride + spans.end, side="left")
        width = np.maximum(last - first, 0)
        span = np.repeat(np.arange(len(spans), dtype=np.int64), width)
        token = np.arange(len(span)) - np.repeat(np.cumsum(width) - width, width) + np.repeat(first, width)
        return token.astype(np.int64), span


VARIANTS = ("max", "mean")
"""How similarities to many PII words become one score: the closest one, or the average."""


def similarity_to(
    vectors: npt.NDArray[np.float32] | FloatArray, chosen: BoolArray, variant: str = "max"
) -> npt.NDArray[np.float32]:
    """Return the cosine similarity of every vector (n, k) to the chosen ones: the largest, or the mean.

    >>> similarity_to(np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]]), np.array([True, False, False])).round(3)
    array([1.   , 0.   , 0.707], dtype=float32)
    """
    one_of(variant, "variant", VARIANTS)
    if not chosen.any():
        raise InvalidInput("no PII word has a vector, expected at least one to compare with")
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = (vectors / np.where(norms > 0, norms, 1.0)).astype(np.float32)
    targets = unit[chosen]
    if variant == "mean":  # the mean of cosines is the cosine with the mean direction, unnormalised
        return np.asarray(unit @ targets.mean(axis=0), dtype=np.float32)
    score = np.empty(len(unit), dtype=np.float32)
    for part in blocks(len(unit), len(targets)):
        score[part] = (unit[part] @ targets.T).max(axis=1)
    return score


def closest(score: npt.NDArray[np.float32], eligible: BoolArray, remaining: int, percent: float = 10.0) -> IntArray:
    """Return the eligible rows of highest score, `percent` of the `remaining` vocabulary; ties are broken by row."""
    if not 0 < percent <= 100:
        raise InvalidInput(f"percent={percent}, expected 0 < percent <= 100")
    rows = np.flatnonzero(eligible)
    wanted = min(len(rows), round(percent / 100.0 * remaining))
    best = np.argsort(-score[rows], kind="stable")[:wanted]
    return np.sort(rows[best]).astype(np.int64)
