"""Titles before names: "Mr." does not end a sentence, and the capitalised words after it name a person.

The dot of a title or of an initial is part of the word.

Linked names: a person who was found once by the full name is found again by a part of it.

"Norma Kamali" makes a later "Kamali" in the same document an occurrence of the same kind. If the full name occurs in
the fit documents, "Kamali" is linked in every document.

Stop words are never names by themselves: the words of spaCy's English list, by their class, which a test compares.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from oddshift.data.detectors.normalising import normalised
from oddshift.data.detectors.spans import Spans

PERSON = "PERSON"
"""The label of people."""

_BARE_TITLES = "mr mrs ms mx dr prof mme mlle messrs"  # also written without a dot
_DOTTED_TITLES = "gov sen rep gen col lt sgt rev hon capt cpl maj adm cmdr supt"
_SMALL_WORDS = "van von der den de da di del la le bin al el ter"

TITLES = frozenset(f"{_BARE_TITLES} {_DOTTED_TITLES}".split())
"""Titles that precede the name of a person, in lower case and without a dot."""

NO_SENTENCE_ENDS = TITLES | frozenset(["st", "jr", "sr"])
"""Abbreviations whose dot does not end a sentence."""

_BARE = frozenset(_BARE_TITLES.split())
_PARTICLES = frozenset(_SMALL_WORDS.split())
_TITLE = re.compile(r"(?<![\w.])([^\W\d_]{2,7})(\.?)[ \t]{1,3}(?=[^\W\d_])")
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|['’-](?=[^\W\d_]))*")
_BLANKS = re.compile(r"[ \t]{1,2}")
_AT_END = re.compile(r"(?<![\w.])([^\W\d_]{1,7})\.\s*$")
_POSSESSIVE_ENDS = ("s", "'", "’")
_MOST_WORDS = 3  # capitalised words of a name after a title


def is_no_end(word: str) -> bool:
    """Whether a dot right after this word belongs to it: a title, or an initial ("I" is mostly the pronoun).

    >>> [is_no_end(word) for word in ("Mr", "K", "I", "end")]
    [True, True, False, False]
    """
    return word.lower() in NO_SENTENCE_ENDS or (len(word) == 1 and word.isupper() and word != "I")


def ends_in_abbreviation(text: str) -> bool:
    """Whether a text ends in a title or an initial with its dot, so that the sentence goes on.

    >>> ends_in_abbreviation("They met Mr. "), ends_in_abbreviation("They met. ")
    (True, False)
    """
    found = _AT_END.search(text[-12:])
    return found is not None and is_no_end(found.group(1))


def without_possessive(word: str) -> str:
    """A word without its "'s"; the apostrophe of a plural goes as well."""
    if word[-1:] not in _POSSESSIVE_ENDS:  # most words, and this is asked for every word of a text
        return word
    for ending in ("'s", "’s", "'", "’"):
        if word.endswith(ending) and len(word) > len(ending):
            return word[: -len(ending)]
    return word


def is_title(word: str) -> bool:
    """Whether a word is a title, with or without its dot.

    >>> is_title("Mr."), is_title("Kamali")
    (True, False)
    """
    return word.rstrip(".").lower() in TITLES


def titled_names(text: str) -> list[tuple[int, int]]:
    """[start, end) of every name that follows a title, without the title.

    >>> text = "Later Mr. Kamali's aunt met Dr J. K. van Horn."
    >>> [text[a:b] for a, b in titled_names(text)]
    ['Kamali', 'J. K. van Horn']
    """
    found = []
    for title in _TITLE.finditer(text):
        word = title.group(1)
        if word[0].isupper() and word.lower() in (TITLES if title.group(2) else _BARE):
            end = _end_of_name(text, title.end())
            found += [(title.end(), end)] if end > title.end() else []
    return found


def with_titled_names(spans: Spans, texts: Sequence[str]) -> Spans:
    """Spans of people without their titles and possessives; the name after a title is found even where it was missed.

    A span that holds only a title moves to the name after it, and is dropped if there is none.
    """
    rows: list[tuple[int, int, int, str]] = []
    taken: dict[int, bytearray] = {}
    columns = (spans.document, spans.start, spans.end, spans.label)
    for d, a, b, label in zip(*(column.tolist() for column in columns), strict=True):
        start, end = _name_inside(texts[d], a, b) if spans.labels[label] == PERSON else (a, b)
        if end > start:
            rows.append((d, start, end, spans.labels[label]))
            taken.setdefault(d, bytearray(len(texts[d])))[start:end] = b"\x01" * (end - start)
    for d, text in enumerate(texts):
        for a, b in titled_names(text):
            if not any(taken.get(d, b"")[a:b]):
                rows.append((d, a, b, PERSON))
    return Spans.of(sorted(rows), is_exact=spans.is_exact)


def _name_inside(text: str, start: int, end: int) -> tuple[int, int]:
    """The name of a span that may start with a title and end with a possessive."""
    first = _WORD.match(text, start, end)
    if first is not None and first.group().lower() in TITLES and first.group()[0].isupper():
        start = first.end()
        while start < end and (text[start] == "." or text[start].isspace()):
            start += 1
    return start, start + len(without_possessive(text[start:end].rstrip()))


def _end_of_name(text: str, start: int) -> int:
    """Where a name ends that starts here: initials, particles, and up to three capitalised words."""
    at = end = start
    words = 0
    while words < _MOST_WORDS and (word := _WORD.match(text, at)):
        name = without_possessive(word.group())
        at = word.end()
        if len(name) == 1 and name.isupper() and text.startswith(".", at):
            at = end = at + 1
        elif words == 0 and name.lower() in TITLES and text.startswith(".", at):
            break  # "Lt. Col. Roe": the second title finds the name
        elif name[0].isupper():
            words += 1
            end = word.start() + len(name)
            if name != word.group():
                break
        elif name not in _PARTICLES:
            break
        blanks = _BLANKS.match(text, at)
        if blanks is None and text[at - 1] != ".":
            break
        at = blanks.end() if blanks else at
    return end


LINKED_LABELS = (PERSON,)
"""The kinds whose names are often shortened to a part."""

_NAME_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv", "phd", "md", "esq"])
_CALENDAR = (
    "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august "
    "september october november december"
)
_NEVER = frozenset(_CALENDAR.split()) | _SUFFIXES | NO_SENTENCE_ENDS
_CONTRACTION = re.compile(r"['’](?:m|ll|ve|re|d|t)$")
_FEWEST_LETTERS = 3


@dataclass(frozen=True, repr=False)
class KnownNames:
    """What the fit documents say about names; it holds real names and is as confidential as they are.

    `surnames` maps the last word of each full name, in lower case, to its label; `ordinary` are words that are written
    in lower case at least as often as with a capital, which are never linked.
    """

    surnames: Mapping[str, str] = field(default_factory=dict)
    ordinary: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        """Counts only; never a name."""
        return f"KnownNames({len(self.surnames)} surnames, {len(self.ordinary)} ordinary words)"


def ordinary_words(texts: Sequence[str]) -> frozenset[str]:
    """Return the words that are written in lower case at least as often as with a capital.

    >>> sorted(ordinary_words(["Brown met Will Brown.", "A brown fox will run, will it."]))
    ['fox', 'it', 'met', 'run', 'will']
    """
    small: Counter[str] = Counter()
    capital: Counter[str] = Counter()
    for text in texts:
        for match in _NAME_WORD.finditer(normalised(text).text):
            word = without_possessive(match.group())
            (small if word[0].islower() else capital)[word.lower()] += 1
    return frozenset(word for word, n in small.items() if n >= capital[word])


def may_link(word: str, ordinary: frozenset[str]) -> bool:
    """Whether a word may stand for a full name: capitalised, three letters or more, and not a common word."""
    low = word.lower()
    common = low in ordinary or low in _NEVER or low in stop_words() or _CONTRACTION.search(low) is not None
    return word[:1].isupper() and len(low) >= _FEWEST_LETTERS and not common


def known_names(texts: Sequence[str], spans: Spans, labels: Sequence[str] = LINKED_LABELS) -> KnownNames:
    """Return what some documents say about names: the surnames of full names, and the ordinary words."""
    ordinary = ordinary_words(texts)
    surnames = {
        words[-1].lower(): label
        for _, words, label in _names(texts, spans, labels)
        if len(words) > 1 and may_link(words[-1], ordinary)
    }
    return KnownNames(surnames, ordinary)


def linked(
    texts: Sequence[str], spans: Spans, known: KnownNames | None = None, labels: Sequence[str] = LINKED_LABELS
) -> Spans:
    """Add every further occurrence of a part of a name to the spans: in the same document, or of a known surname.

    Links keep the label of the name. What a span already covers stays as it is, and "'s" is not included.
    """
    known = KnownNames() if known is None else known
    parts: dict[int, dict[str, str]] = {}
    for document, words, label in _names(texts, spans, labels):
        own = parts.setdefault(document, {})
        own.update({word.lower(): label for word in words if may_link(word, known.ordinary)})
    taken: dict[int, bytearray] = {}
    columns = (spans.document, spans.start, spans.end, spans.label)
    rows = []
    for d, a, b, label in zip(*(column.tolist() for column in columns), strict=True):
        taken.setdefault(d, bytearray(len(texts[d])))[a:b] = b"\x01" * (b - a)
        rows.append((d, a, b, spans.labels[label]))
    for d, text in enumerate(texts):
        if d in parts or known.surnames:
            sought = {**known.surnames, **parts[d]} if d in parts else known.surnames
            rows += [(d, a, b, label) for a, b, label in _again(text, sought) if not any(taken.get(d, b"")[a:b])]
    return Spans.of(sorted(rows), is_exact=spans.is_exact)


def parts_of(name: str) -> list[str]:
    """The words of a name that may be used alone, without titles, initials and suffixes.

    >>> parts_of("Dr. Norma J. Kamali-Roe Jr.")
    ['Norma', 'Kamali', 'Roe']
    """
    words = [without_possessive(match.group()) for match in _NAME_WORD.finditer(normalised(name).text)]
    return [w for w in words if len(w) > 1 and w.lower() not in _SUFFIXES and w.lower() not in NO_SENTENCE_ENDS]


def _names(texts: Sequence[str], spans: Spans, labels: Sequence[str]) -> Iterator[tuple[int, list[str], str]]:
    """(document, words, label) of every name found."""
    columns = (spans.document, spans.start, spans.end, spans.label)
    for d, a, b, label in zip(*(column.tolist() for column in columns), strict=True):
        if spans.labels[label] in labels and (words := parts_of(texts[d][a:b])):
            yield d, words, spans.labels[label]


def _again(text: str, sought: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """(start, end, label) of every capitalised word that is looked for."""
    plain = normalised(text)
    for match in _NAME_WORD.finditer(plain.text):
        if not match.group()[0].isupper():
            continue
        word = without_possessive(match.group())
        label = sought.get(word.lower())
        if label is not None:
            yield *plain.original(match.start(), match.start() + len(word)), label


@cache
def word_lists(purpose: str) -> dict[str, Any]:
    """The lists of words that the package knows for one purpose: public names, occupations, stop words, people."""
    text = resources.files("oddshift.data").joinpath("words.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)[purpose]
    return found


@cache
def stop_words() -> frozenset[str]:
    """English function words that are never names by themselves, short forms with each kind of apostrophe.

    >>> "whose" in stop_words(), "’ll" in stop_words(), "paris" in stop_words()
    (True, True, False)
    """
    lists = word_lists("stop")
    short = (lists["short_forms"].replace("'", mark) for mark in "'‘’")
    return frozenset(" ".join((*lists.values(), *short)).split())
