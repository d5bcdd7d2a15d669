"""Finders: the detectors of a codec, and what they learned about names from the fit texts.

The same finders read the fit texts, the audited texts and every block of a release.

Found tokens: which words the detectors found, of what kind each is, and which span it belongs to.

What was found is never released as it is, with one exception: function words inside a name ("of" in "Bank of
America"), which say nothing about whose name it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.data.codecs.text.cells import TextCells
from oddshift.data.codecs.text.tokens import Tokens
from oddshift.data.detectors import Detector, KnownNames, known_names, linked, stop_words
from oddshift.data.detectors.names import LINKED_LABELS, without_possessive
from oddshift.data.detectors.spans import Spans


@dataclass(frozen=True, eq=False, repr=False)
class Finders:
    """Detectors in the order of use; `known` links names.

    Matches of exact detectors (a listed name, a number of a fixed form) are one token each.
    """

    detectors: tuple[Detector, ...] = ()
    known: KnownNames = field(default_factory=KnownNames)

    def __repr__(self) -> str:
        """Counts only; never a name."""
        return f"Finders({len(self.detectors)} detectors, {self.known!r})"

    def also(self, detector: Detector) -> Finders:
        """The same with one more detector."""
        return replace(self, detectors=(*self.detectors, detector))

    def detect(self, texts: Sequence[str]) -> list[Spans]:
        """What each detector finds on its own."""
        return [_names_alone(detector.detect(texts), texts) for detector in self.detectors]

    def taught(self, texts: Sequence[str], found: Sequence[Spans]) -> Finders:
        """The same finders after they have read the fit texts."""
        guesses = [part for part in found if not part.is_exact]
        people = _together([part.only(LINKED_LABELS) for part in guesses])
        return self if people is None else replace(self, known=known_names(texts, people))

    def find(
        self, cells: TextCells, tokeniser: str, found: Sequence[Spans] | None = None
    ) -> tuple[Tokens, FoundTokens, list[Spans]]:
        """The words of some texts, what was found among them, and the spans behind that.

        `found` is what `detect` says about these texts, where that is known.
        """
        texts = cells.documents
        spans = [cells.inside(part) for part in self.spans(texts, found)]
        tokens = cells.tokens(tokeniser)
        for part in spans:
            tokens = tokens.merged(part) if part.is_exact else tokens
        return tokens, found_tokens(tokens, spans, stop_words()), spans

    def spans(self, texts: Sequence[str], found: Sequence[Spans] | None = None) -> list[Spans]:
        """What each detector finds, and the further mentions of people who were found."""
        spans = self.detect(texts) if found is None else list(found)
        people = _together([part.only(LINKED_LABELS) for part in spans if not part.is_exact])
        return spans if people is None else [*spans, linked(texts, people, self.known)]


def _together(parts: Sequence[Spans]) -> Spans | None:
    """Guesses of several detectors in one value; None when no detector guesses."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    columns = [(p.document.tolist(), p.start.tolist(), p.end.tolist(), p.label.tolist(), p.labels) for p in parts]
    rows = [(d, a, b, names[k]) for ds, ss, es, ks, names in columns for d, a, b, k in zip(ds, ss, es, ks, strict=True)]
    return Spans.of(sorted(rows), is_exact=False)


def _names_alone(found: Spans, texts: Sequence[str]) -> Spans:
    """Guessed spans without the possessive at their end: "Kamali's" names Kamali."""
    if found.is_exact or not len(found):
        return found
    end = found.end.copy()
    for i, (document, start, stop) in enumerate(
        zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True)
    ):
        if texts[document][stop - 1] in "'’s":
            end[i] = start + len(without_possessive(texts[document][start:stop]))
    return Spans(found.document, found.start, end, found.label, found.labels, found.is_exact)


_IN_ANY_CASING = "the an of and for with to at by from this that these those last next every 's ’s"

FUNCTION_WORDS = frozenset(_IN_ANY_CASING.split())
"""Words that are left in place inside a guessed name, in any casing, and the ending of a possessive."""

NOT_FOUND = -1
"""Kind and span of a token that no detector found."""


@dataclass(frozen=True, eq=False, repr=False)
class FoundTokens:
    """The kind (a row of `kinds`) and the span of every token, −1 where nothing was found.

    `stays` marks function words inside a name. A punctuation mark inside a name has a span but no kind.
    """

    kind: IntArray
    span: IntArray
    stays: BoolArray
    kinds: tuple[str, ...]

    def __repr__(self) -> str:
        """Counts only."""
        return f"FoundTokens({int(self.is_found.sum())} of {len(self.kind)} tokens, {len(self.kinds)} kinds)"

    @property
    def is_found(self) -> BoolArray:
        """Which tokens may not be released as they are."""
        return (self.kind != NOT_FOUND) & ~self.stays

    def take(self, index: IntArray) -> FoundTokens:
        """What was found about some tokens."""
        return FoundTokens(self.kind[index], self.span[index], self.stays[index], self.kinds)


def nothing_found(tokens: int) -> FoundTokens:
    """Tokens in which nothing was found."""
    nowhere = np.full(tokens, NOT_FOUND, dtype=np.int64)
    return FoundTokens(nowhere, nowhere, np.zeros(tokens, dtype=np.bool_), ())


def all_found(tokens: Tokens, kind: str) -> FoundTokens:
    """Tokens of one name: all of its words were found, as one span."""
    occurrences = tokens.occurrences
    is_word = occurrences.is_word[occurrences.type]
    of_kind = np.where(is_word, 0, NOT_FOUND).astype(np.int64)
    return FoundTokens(of_kind, np.zeros(len(is_word), dtype=np.int64), np.zeros(len(is_word), dtype=np.bool_), (kind,))


def found_tokens(tokens: Tokens, spans: Sequence[Spans], stop_words: frozenset[str]) -> FoundTokens:
    """Spans laid over tokens; where spans overlap, an exact one wins over a guess, and then the earlier one."""
    occurrences = tokens.occurrences
    count = len(occurrences.type)
    kinds = tuple(dict.fromkeys(label for found in spans for label in found.labels))
    number = {label: row for row, label in enumerate(kinds)}
    kind, owner = np.full(count, NOT_FOUND, dtype=np.int64), np.full(count, NOT_FOUND, dtype=np.int64)
    is_guess = np.zeros(count, dtype=np.bool_)
    first = 0
    for found in sorted(spans, key=lambda part: not part.is_exact):
        token, span = occurrences.overlapping(found)
        token, span = token[::-1], span[::-1]  # so that the first span of a token is written last
        free = owner[token] == NOT_FOUND
        token, span = token[free], span[free]
        labels = np.array([number[label] for label in found.labels], dtype=np.int64)
        kind[token] = labels[found.label[span]] if len(token) else NOT_FOUND
        owner[token] = first + span
        is_guess[token] = not found.is_exact
        first += len(found)
    is_word = occurrences.is_word[occurrences.type]
    kind[~is_word] = NOT_FOUND
    return FoundTokens(kind, owner, is_guess & is_word & _function_words(tokens, stop_words), kinds)


def _function_words(tokens: Tokens, stop_words: frozenset[str]) -> BoolArray:
    """Function words, stop words in small letters, and single small letters (the "s" of a possessive)."""
    occurrences = tokens.occurrences
    in_any_casing = np.array([word in FUNCTION_WORDS for word in occurrences.types], dtype=np.bool_)
    if_small = np.array([word in stop_words or len(word) == 1 for word in occurrences.types], dtype=np.bool_)
    is_small = np.array([form.islower() for form in tokens.forms], dtype=np.bool_)
    return in_any_casing[occurrences.type] | (if_small[occurrences.type] & is_small[tokens.form])
