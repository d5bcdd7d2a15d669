"""One short text without arrays: what a service that releases text after text encodes a text with.

Arrays pay off for many words, and cost more than the words themselves for a few. A short text is encoded word by word
here, in the steps of `Finders.find` and `encode_tokens`; a test compares the two. What is rare in short texts (letters
that look alike, refusals, marks shown as surrogates) is left to arrays.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.text.encoded import mark_for
from oddshift.data.codecs.text.lexicon import WITHOUT_POINT, Lexicon
from oddshift.data.codecs.text.settings import (
    TextSettings,
    casing_rules,
    is_cased_word,
    is_heading,
    is_upper_word,
    shown_word,
)
from oddshift.data.codecs.text.span_detection import FUNCTION_WORDS, NOT_FOUND, Finders
from oddshift.data.codecs.text.tokens import closes_sentence, ends_sentence, type_of, words_of
from oddshift.data.detectors.names import is_no_end, stop_words
from oddshift.data.detectors.normalising import normalised
from oddshift.data.detectors.spans import Spans
from oddshift.data.formats.data_file import is_writable

MOST_CHARACTERS = 2000
"""Length of the longest text that is encoded word by word; a performance setting."""

MOST_TEXTS = 4096
"""Number of texts whose words are remembered; a performance setting."""

MOST_FORMS = 1 << 16
"""Number of words whose facts are remembered before they are forgotten; a performance setting."""


class _Word(NamedTuple):
    """What a word is, wherever it stands: its point, its kind if it is protected everywhere, its part in a text."""

    point: int
    everywhere: str | None
    is_word: bool
    is_function: bool
    is_blank: bool
    is_end: bool
    is_dot: bool
    is_passed_over: bool
    is_no_end: bool
    is_cased: bool
    is_upper: bool


@dataclass(frozen=True, eq=False, repr=False)
class ShortText:
    """The words of a text, each with whether a blank follows; `slots[i]` is the word whose secret is `points[i]`.

    `opens` and `heading` say where each secret stands: at the start of a sentence, in a heading. `marks` are shown for
    the words that have no point. `written` are the casing rule and the word of each output.
    """

    column: str
    words: list[tuple[str, bool]]
    slots: list[int]
    points: list[int]
    opens: list[bool]
    heading: list[bool]
    marks: dict[int, str]
    written: tuple[tuple[str, ...], tuple[str | None, ...]]
    keep: None = None

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"ShortText({len(self.words)} words, {len(self.points)} secrets)"

    def decode(self, outputs: Sequence[int]) -> dict[str, list[Any]]:
        """The column with released words in place of secrets."""
        (rules, table), words = self.written, self.words
        pieces = [form + " " if spaced else form for form, spaced in words]
        shown: dict[int, str | None] = dict(self.marks)
        for slot, output, opens, heading in zip(self.slots, outputs, self.opens, self.heading, strict=True):
            shown[slot] = shown_word(table[output], rules[output], opens, heading)
        for slot, word in shown.items():
            pieces[slot] = "" if word is None else word + " " if words[slot][1] else word
        return {self.column: ["".join(pieces)]}


@dataclass(frozen=True, eq=False, repr=False)
class ShortTexts:
    """Encodes one short text in a call word by word; facts about words are looked up once.

    `is_simple` says that nothing but the text decides what is drawn.
    """

    settings: TextSettings
    lexicon: Lexicon
    finders: Finders
    is_simple: bool
    _known: dict[str, _Word] = field(default_factory=dict)
    _seen: dict[str, ShortText] = field(default_factory=dict)

    def encoded(self, columns: Columns) -> tuple[ShortText | None, list[Spans] | None]:
        """What `TextCodec.encode` says about one short text, or nothing; and what was detected, if it was looked at."""
        name = self.settings.text[0]
        column = columns.get(name, ())
        if not self.is_simple or len(column) != 1 or not _is_short(column[0]):
            return None, None
        text = column[0]
        if text in self._seen:
            return self._seen[text], None
        found = self.finders.detect([text])
        if normalised(text).start is not None:
            return None, found
        made = self._encoded(name, text, self.finders.spans([text], found))
        if len(self._seen) >= MOST_TEXTS:
            self._seen.clear()
        if made is not None:
            self._seen[text] = made
        return made, found

    @cached_property
    def _written(self) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
        return self.lexicon.written(casing_rules(self.lexicon.tiers, self.settings.casing))

    def _encoded(self, name: str, text: str, spans: Sequence[Spans]) -> ShortText | None:
        words = words_of(text, self.settings.tokeniser)
        for part in (part for part in spans if part.is_exact):
            words = _merged(words, _rows(part))
        known = self._known
        facts = [known.get(form) or self._fact(form) for form, _ in words]
        kinds, owner = self._kinds(words, facts, spans)
        points = [WITHOUT_POINT if kind is None else fact.point for kind, fact in zip(kinds, facts, strict=True)]
        hidden = [k for k, kind in enumerate(kinds) if kind is not None and points[k] == WITHOUT_POINT]
        if hidden and (self.settings.unknown == "refuse" or self.settings.marks == "substitute"):
            return None
        glued = _glued(hidden, facts, owner)
        if any(glued):
            kept = [k for k, is_glued in enumerate(glued) if not is_glued]
            words = _joined(words, glued)
            facts = [self._fact(form) for form, _ in words]
            kinds, points = [kinds[k] for k in kept], [points[k] for k in kept]
        slots = [place for place, point in enumerate(points) if point != WITHOUT_POINT]
        opens = _openings(words, facts)
        heading = _headings(facts, [kind is None for kind in kinds], opens) if slots else []
        return ShortText(
            column=name,
            words=words,
            slots=slots,
            points=[points[slot] for slot in slots],
            opens=[opens[slot] for slot in slots],
            heading=[heading[slot] for slot in slots],
            marks={
                place: mark_for(kind, self.lexicon.tiers)
                for place, (kind, point) in enumerate(zip(kinds, points, strict=True))
                if kind is not None and point == WITHOUT_POINT
            },
            written=self._written,
        )

    def _kinds(
        self, words: list[tuple[str, bool]], facts: list[_Word], spans: Sequence[Spans]
    ) -> tuple[list[str | None], list[int]]:
        """The kind of every word that may not be released as it is, and its span, as `found_tokens` says."""
        starts, ends = _edges(words)
        kinds, owner = [fact.everywhere for fact in facts], [NOT_FOUND] * len(words)
        first = 0
        for part in sorted(spans, key=lambda part: not part.is_exact):
            rows = _rows(part)
            for number, (start, end, label) in enumerate(rows, first):
                for token in range(bisect_right(ends, start), bisect_left(starts, end)):
                    if owner[token] == NOT_FOUND:
                        owner[token] = number
                        fact = facts[token]
                        if fact.is_word and (part.is_exact or not fact.is_function):
                            kinds[token] = label
            first += len(rows)
        return kinds, owner

    def _fact(self, form: str) -> _Word:
        found = self._known.get(form)
        if found is None:
            if len(self._known) >= MOST_FORMS:
                self._known.clear()
            found = self._known[form] = self._new_fact(form)
        return found

    def _new_fact(self, form: str) -> _Word:
        lexicon, kind_of = self.lexicon, type_of(form)
        is_single = kind_of in stop_words() or len(kind_of) == 1
        is_blank = not form.strip()
        return _Word(
            point=lexicon.point_of.get(kind_of, WITHOUT_POINT),
            everywhere=lexicon.everywhere.get(kind_of),
            is_word=any(c.isalnum() for c in kind_of),
            is_function=kind_of in FUNCTION_WORDS or (is_single and form.islower()),
            is_blank=is_blank,
            is_end=ends_sentence(form),
            is_dot=form == ".",
            is_passed_over=closes_sentence(form) or (is_blank and "\n" not in form),
            is_no_end=is_no_end(form),
            is_cased=is_cased_word(form),
            is_upper=is_upper_word(form),
        )


def _rows(part: Spans) -> list[tuple[int, int, str]]:
    """The spans of one text."""
    labels = [part.labels[k] for k in part.label.tolist()]
    return list(zip(part.start.tolist(), part.end.tolist(), labels, strict=True))


def _edges(words: Sequence[tuple[str, bool]]) -> tuple[list[int], list[int]]:
    """The first character of every word, and the one after its last."""
    starts, ends, at = [], [], 0
    for form, spaced in words:
        starts.append(at)
        ends.append(at + len(form))
        at += len(form) + spaced
    return starts, ends


def _merged(words: list[tuple[str, bool]], rows: Sequence[tuple[int, int, str]]) -> list[tuple[str, bool]]:
    """Words with every span as one, as `Tokens.merged` makes them."""
    if not rows:
        return words
    starts, ends = _edges(words)
    owner = [NOT_FOUND] * len(words)
    for number, (start, end, _) in enumerate(rows):
        for token in range(bisect_right(ends, start), bisect_left(starts, end)):
            owner[token] = number if owner[token] == NOT_FOUND else owner[token]
    return _joined(words, [a == b != NOT_FOUND for a, b in zip([NOT_FOUND, *owner[:-1]], owner, strict=True)])


def _joined(words: list[tuple[str, bool]], joins: Sequence[bool]) -> list[tuple[str, bool]]:
    """Words with each one marked in `joins` glued to the one before it."""
    found: list[tuple[str, bool]] = []
    for (form, spaced), is_joined in zip(words, joins, strict=True):
        if is_joined:
            before, was_spaced = found.pop()
            form = f"{before}{' ' * was_spaced}{form}"  # noqa: PLW2901 (the word alone is never needed again)
        found.append((form, spaced))
    return found


def _glued(hidden: list[int], facts: Sequence[_Word], owner: Sequence[int]) -> list[bool]:
    """Which words belong to the mark before them: nothing but punctuation lies between marks of one span."""
    glued = [False] * len(facts)
    for a, b in pairwise(hidden):
        if owner[a] == owner[b] != NOT_FOUND and not any(f.is_word or f.is_blank for f in facts[a + 1 : b]):
            glued[a + 1 : b + 1] = [True] * (b - a)
    return glued


def _is_short(cell: object) -> bool:
    return isinstance(cell, str) and 0 < len(cell) <= MOST_CHARACTERS and is_writable(cell)


def _openings(words: Sequence[tuple[str, bool]], facts: Sequence[_Word]) -> list[bool]:
    """Which words open a sentence, as `Tokens.breaks` says."""
    opens = [False] * len(facts)
    was_end = is_short = False
    for place, fact in enumerate(facts):
        is_end = fact.is_end and not (fact.is_dot and is_short)
        is_short = fact.is_no_end and not words[place][1]
        if not fact.is_passed_over:
            opens[place] = was_end and not is_end
            was_end = is_end
    if opens:
        opens[0] = True
    return opens


def _headings(facts: Sequence[_Word], is_public: Sequence[bool], opens: Sequence[bool]) -> list[bool]:
    """Which words stand in a heading, as `in_capitals` says: only words that are released as they are decide."""
    if not any(fact.is_upper for fact in facts):
        return [False] * len(facts)
    found: list[bool] = []
    starts = [place for place, is_first in enumerate(opens) if is_first]
    for start, end in pairwise([*starts, len(facts)]):
        public = [facts[k] for k in range(start, end) if facts[k].is_cased and is_public[k]]
        found += [is_heading(len(public), sum(fact.is_upper for fact in public))] * (end - start)
    return found
