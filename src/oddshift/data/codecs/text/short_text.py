"""One short text without arrays: what a service that releases text after text encodes a text with.

Arrays pay off for many words, and cost more than the words themselves for a few. A text in which detectors find
nothing beyond the lexicon is encoded word by word here. Every other text is encoded by `TextCodec.encode`, and a test
compares the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.text.casing import is_cased_word, is_heading, is_upper_word
from oddshift.data.codecs.text.encoded import casing_rules, mark_for, shown_word
from oddshift.data.codecs.text.lexicon import WITHOUT_POINT, Lexicon
from oddshift.data.codecs.text.settings import TextSettings
from oddshift.data.codecs.text.span_detection import Finders
from oddshift.data.codecs.text.tokens import closes_sentence, ends_sentence, type_of, words_of
from oddshift.data.detectors.names import is_no_end
from oddshift.data.detectors.normalising import normalised
from oddshift.data.detectors.spans import Spans
from oddshift.data.formats.streams import is_writable

MOST_CHARACTERS = 2000
"""Length of the longest text that is encoded word by word; a performance setting."""

MOST_FORMS = 1 << 16
"""Number of words whose facts are remembered before they are forgotten; a performance setting."""


class _Word(NamedTuple):
    """What a word is, wherever it stands: its point or mark, and what it says about sentences and headings."""

    point: int
    mark: str | None
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

    def encoded(self, columns: Columns) -> tuple[ShortText | None, list[Spans] | None]:
        """What `TextCodec.encode` says about one short text, or nothing; and what was detected, if it was looked at."""
        name = self.settings.text[0]
        column = columns.get(name, ())
        if not self.is_simple or len(column) != 1 or not _is_short(column[0]):
            return None, None
        text = column[0]
        found = self.finders.detect([text])
        if normalised(text).start is not None or self.finders.finds_any(text, found):
            return None, found
        return self._encoded(name, words_of(text, self.settings.tokeniser)), found

    @cached_property
    def _written(self) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
        return self.lexicon.written(casing_rules(self.lexicon.tiers, self.settings.casing))

    def _encoded(self, name: str, words: list[tuple[str, bool]]) -> ShortText | None:
        asked, facts = self.settings, [self._fact(form) for form, _ in words]
        slots = [place for place, fact in enumerate(facts) if fact.point != WITHOUT_POINT]
        marks = {place: fact.mark for place, fact in enumerate(facts) if fact.mark is not None}
        if marks and (asked.unknown == "refuse" or asked.marks == "substitute"):
            return None
        opens = _openings(words, facts)
        heading = _headings(facts, opens) if slots else []
        return ShortText(
            column=name,
            words=words,
            slots=slots,
            points=[facts[slot].point for slot in slots],
            opens=[opens[slot] for slot in slots],
            heading=[heading[slot] for slot in slots],
            marks=marks,
            written=self._written,
        )

    def _fact(self, form: str) -> _Word:
        found = self._known.get(form)
        if found is None:
            if len(self._known) >= MOST_FORMS:
                self._known.clear()
            found = self._known[form] = self._new_fact(form)
        return found

    def _new_fact(self, form: str) -> _Word:
        lexicon, kind_of = self.lexicon, type_of(form)
        kind = lexicon.everywhere.get(kind_of)
        point = WITHOUT_POINT if kind is None else lexicon.point_of.get(kind_of, WITHOUT_POINT)
        is_blank = not form.strip() and "\n" not in form
        return _Word(
            point=point,
            mark=mark_for(kind, lexicon.tiers) if kind is not None and point == WITHOUT_POINT else None,
            is_end=ends_sentence(form),
            is_dot=form == ".",
            is_passed_over=closes_sentence(form) or is_blank,
            is_no_end=is_no_end(form),
            is_cased=is_cased_word(form),
            is_upper=is_upper_word(form),
        )


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


def _headings(facts: Sequence[_Word], opens: Sequence[bool]) -> list[bool]:
    """Which words stand in a heading, as `in_capitals` says: only words that are released as they are decide."""
    if not any(fact.is_upper for fact in facts):
        return [False] * len(facts)
    found: list[bool] = []
    starts = [place for place, is_first in enumerate(opens) if is_first]
    for start, end in zip(starts, [*starts[1:], len(facts)], strict=True):
        inside = facts[start:end]
        public = [fact for fact in inside if fact.is_cased and fact.point == WITHOUT_POINT and fact.mark is None]
        found += [is_heading(len(public), sum(fact.is_upper for fact in public))] * len(inside)
    return found
