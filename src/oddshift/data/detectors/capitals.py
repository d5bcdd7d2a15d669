"""Capitalised words inside sentences: a guess at names that needs no trained model.

English capitalises names everywhere, and other words only at the start of a sentence.

Names by what is said around them: introduced, greeted, speaking, or listed next to the name of a person.

A trained pipeline, and a rule by capitals, see these places less well than a rule that knows the phrase. The other way
round, some guesses say nothing about anybody: labels of fields ("IBAN") and lengths of time ("the following year").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from oddshift.data.detectors.names import (
    PERSON,
    ends_in_abbreviation,
    is_title,
    titled_names,
    with_titled_names,
    without_possessive,
)
from oddshift.data.detectors.normalising import through_normalised
from oddshift.data.detectors.spans import Spans

CAPITALISED = "CAPITALISED"
"""The label of a capitalised word that follows no title; one that follows a title is a PERSON."""

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_OPENS = re.compile(r"(?:^|[.!?…\n])[\s\"'“‘«()\[\]*-]*$")


@dataclass(frozen=True)
class Capitals:
    """Capitalised words that do not start a sentence, and names after a title; single letters are left out.

    A match is a guess: a word type counts when half of its occurrences match, and at least two. The detector finds
    names of people, firms and places alike, and misses names that only start sentences or are written in lower case. It
    finds too much in text that is all capitals, and in languages that capitalise nouns.

    >>> found = Capitals().detect(["Yesterday Ann met Bob. Then Ann left."])
    >>> found.start.tolist(), found.labels
    ([10, 18, 28], ('CAPITALISED',))
    """

    name: str = "capitalised words"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every capitalised word that does not start a sentence, without its "'s" and without titles."""
        return through_normalised(_detect, texts)


def _detect(texts: Sequence[str]) -> Spans:
    found = []
    for document, text in enumerate(texts):
        named = titled_names(text)
        inside = {place for a, b in named for place in range(a, b)}
        found += [(document, a, b, PERSON) for a, b in named]
        for match in _WORD.finditer(text):
            word = without_possessive(match.group())
            if _is_name(word) and match.start() not in inside and not _opens(text, match.start()):
                found.append((document, match.start(), match.start() + len(word), CAPITALISED))
    return Spans.of(sorted(found), is_exact=False)


def _is_name(word: str) -> bool:
    return word[0].isupper() and len(word) > 1 and not is_title(word)


def _opens(text: str, start: int) -> bool:
    """Whether a sentence starts there: only punctuation since its beginning."""
    before = text[max(0, start - 20) : start]
    return start == 0 or (_OPENS.search(before) is not None and not ends_in_abbreviation(before))


@dataclass(frozen=True, kw_only=True)
class CapitalsSettings:
    """Capitalised words inside sentences: a guess at names that needs no trained pipeline."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["capitals"] = "capitals"

    def detector(self) -> Capitals:
        """The detector."""
        return Capitals()


_NAME = r"[^\W\d_a-z][^\W\d_]*(?:['’-][^\W\d_]+)*"
_NAMES = rf"(?-i:{_NAME}(?:[ ](?:(?:van|von|de|del|der|di|da|la)[ ]){{0,3}}{_NAME}){{0,2}})"
_SMALL = r"[^\W\d_]{2,}(?:[ ][^\W\d_]{2,})?(?=[.,!?;\n]|$)"
_PHRASE = r"\b(?:name(?:'s|’s|[ ]is)|calls?[ ](?:me|him|her)|named[ ](?:him|her|me)|partner['’]s[ ]name)[ ]"
_GREETING = r"(?:^|(?<=[.!?\n>]))[ ]*(?:hi|hello|hey|dear)[ ]"
_INTRODUCED = re.compile(rf"(?:{_PHRASE}|{_GREETING}(?={_NAMES}[,!.:\n]|{_NAMES}$))({_NAMES})", re.IGNORECASE)
_INTRODUCED_SMALL = re.compile(rf"{_PHRASE}({_SMALL})")
_SPEAKER = re.compile(rf"^[ ]*({_NAMES}):[ ]?\\?[\"“']", re.MULTILINE)
_SPEAKER_SMALL = re.compile(r"^[ ]*([^\W\d_]{2,20}):[ ]?\\?[\"“]", re.MULTILINE)
_CALLED = re.compile(rf"^({_NAMES}), (?:can|could|would|will|please|do|are|have)\b", re.MULTILINE)
_LIST = re.compile(rf"(?<!\w)(?:{_NAMES}, ){{0,12}}{_NAMES},? (?:and|or|&) {_NAMES}")
_ITEM = re.compile(_NAMES)

_FIELDS_WORDS = (
    "iban ssn atm phone fax address email e-mail tel mobile office cell url id pin vat name number date dob zip "
    "me i ex i'm it you he she we they hi hello dear please thanks"
)
_FIELDS = frozenset(_FIELDS_WORDS.split())
_LENGTH = re.compile(
    r"(?:(?:about|around|over|under|nearly|almost|the|this|that|these|those|last|next|past|previous|following|coming|"
    r"first|second|third|final|every|each|all|whole|a|an|one|two|three|four|five|six|seven|eight|nine|ten|few|several|many|some|"
    r"couple|of|half|\d{1,3}|\d{1,2}(?:st|nd|rd|th))[ -])*"
    r"(?:seconds?|minutes?|hours?|days?|weeks?|weekends?|months?|years?|decades?|centur(?:y|ies))"
    r"(?:[ ](?:ago|later|earlier|long|old))?"
    r"|daily|weekly|monthly|yearly|annual(?:ly)?|today|now",
    re.IGNORECASE,
)


def in_context(spans: Spans, texts: Sequence[str]) -> Spans:
    """Guesses with the people that the text around them names, without titles, and without those that name nothing."""
    found = with_titled_names(spans, texts)
    rows = []
    taken = [bytearray(len(text)) for text in texts]
    columns = (found.document, found.start, found.end, found.label)
    for d, a, b, k in zip(*(column.tolist() for column in columns), strict=True):
        if not says_nothing(texts[d][a:b], found.labels[k]):
            rows.append((d, a, b, found.labels[k]))
            taken[d][a:b] = (b"\x02" if found.labels[k] == PERSON else b"\x01") * (b - a)
    for d, text in enumerate(texts):
        for a, b in introduced_names(text):
            if not any(taken[d][a:b]):
                rows.append((d, a, b, PERSON))
                taken[d][a:b] = b"\x02" * (b - a)
        for a, b in _listed_beside(text, taken[d]):
            rows.append((d, a, b, PERSON))
    return Spans.of(sorted(rows), is_exact=spans.is_exact)


def introduced_names(text: str) -> Iterator[tuple[int, int]]:
    """[start, end) of people who are introduced, greeted, called or speak.

    >>> text = "My name is Monika. They call me Izaak"
    >>> [text[a:b] for a, b in introduced_names(text)]
    ['Monika', 'Izaak']
    """
    forms = [_INTRODUCED, _SPEAKER, _CALLED]
    if text.islower():
        forms = [_INTRODUCED_SMALL, _SPEAKER_SMALL]
    for form in forms:
        for match in form.finditer(text):
            first = match.group(1).partition(" ")[0]
            if first.lower() not in _FIELDS and not titled_names(match.group(1)):
                yield match.span(1)


def _listed_beside(text: str, taken: bytearray) -> Iterator[tuple[int, int]]:
    """Capitalised items of a list of which another is a person, and that nobody else has found."""
    if 2 not in taken:
        return
    for match in _LIST.finditer(text):
        items = [item.span() for item in _ITEM.finditer(text, match.start(), match.end())]
        if any(2 in taken[a:b] for a, b in items):
            yield from ((a, b) for a, b in items if not any(taken[a:b]) and text[a:b].lower() not in _FIELDS)


def says_nothing(text: str, label: str) -> bool:
    """Whether a guess is the label of a field or a pronoun, or a length of time.

    >>> says_nothing("IBAN", "ORG"), says_nothing("2 months", "DATE"), says_nothing("May 2021", "DATE")
    (True, True, False)
    """
    if label in {"DATE", "TIME"}:
        return _LENGTH.fullmatch(text.strip()) is not None
    return text.strip(" \\\"'.,:;-").lower() in _FIELDS
