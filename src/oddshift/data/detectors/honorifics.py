"""Titles before names: "Mr." does not end a sentence, and the capitalised words after it name a person.

The dot of a title or of an initial is part of the word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
