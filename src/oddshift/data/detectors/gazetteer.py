"""Lists of names and words: what is on the list is sensitive wherever it occurs.

A gazetteer holds names of one or more words under one label; a word list maps single words to labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.normalising import normalised, through_normalised
from oddshift.data.detectors.spans import Spans
from oddshift.data.detectors.surnames import surnames_of, with_surnames

_WORD = re.compile(r"\w+")

_Entries = dict[str, list[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True, repr=False)
class Gazetteer:
    """Names of any number of words, matched as a whole, longest first; anything but letters may separate their words.

    `keep_case` asks for the same casing ("Reading" the town, not "reading"). With `cover_surnames` the last word of a
    listed full name is found alone too where it has a capital, unless it is a common word: a stop word, one of
    `ordinary` (words that a corpus writes in lower case), or one that the document itself mostly writes in lower case.

    >>> found = Gazetteer(["New York", "York"]).detect(["From New York to York."])
    >>> found.start.tolist(), found.end.tolist()
    ([5, 17], [13, 21])
    """

    entries: Sequence[str]
    label: str = "NAME"
    keep_case: bool = False
    cover_surnames: bool = True
    ordinary: frozenset[str] = frozenset()
    name: str = "gazetteer"
    _index: _Entries = field(init=False, compare=False)
    _surnames: dict[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Index the entries by their first word."""
        if isinstance(self.entries, str):
            raise InvalidInput("entries is one string, expected a list of names")
        pairs = ((entry, self.label) for entry in self.entries)
        object.__setattr__(self, "_index", _index_of(pairs, self.keep_case))
        covered = surnames_of(self.entries, self.ordinary) if self.cover_surnames else ()
        object.__setattr__(self, "_surnames", dict.fromkeys(covered, self.label))

    def __repr__(self) -> str:
        """The number of entries; never the names."""
        return f"Gazetteer({len(self.entries)} entries, label={self.label})"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every full match, and every bare surname."""
        found = through_normalised(lambda plain: _matches(plain, self._index, self.keep_case), texts)
        return with_surnames(texts, found, self._surnames) if self._surnames else found

    def matched(self, texts: Sequence[str]) -> ListUse:
        """How many of the entries occur in some texts, in full or by their surname."""
        return _use(texts, self.detect(texts), self.entries, self.keep_case)


@dataclass(frozen=True, repr=False)
class WordList:
    """Single words, in any casing, each with a label.

    >>> WordList({"asthma": "HEALTH"}).detect(["Asthma runs in the family."]).labels
    ('HEALTH',)
    """

    words: Mapping[str, str]
    name: str = "word list"
    _index: _Entries = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Check that each entry is one word."""
        many = sum(len(_WORD.findall(word)) != 1 for word in self.words)
        if many:
            raise InvalidInput(f"{many} entries of the word list are not single words; a Gazetteer takes phrases")
        object.__setattr__(self, "_index", _index_of(self.words.items(), False))

    def __repr__(self) -> str:
        """The number of words; never the words."""
        return f"WordList({len(self.words)} words)"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every occurrence."""
        return through_normalised(lambda plain: _matches(plain, self._index, False), texts)

    def matched(self, texts: Sequence[str]) -> ListUse:
        """How many of the words occur in some texts."""
        return _use(texts, self.detect(texts), tuple(self.words), False)


@dataclass(frozen=True)
class ListUse:
    """How much of a list occurs: entries listed, found in full, found by surname alone, and occurrences in total."""

    entries: int
    whole: int
    by_surname: int
    occurrences: int

    @property
    def matched(self) -> int:
        """Entries that occur in some form."""
        return self.whole + self.by_surname

    def line(self) -> str:
        """The counts in one sentence.

        >>> ListUse(5, 2, 1, 9).line()
        '3 of 5 listed entries occur, 9 times in all (1 of them by the surname alone)'
        """
        alone = f" ({self.by_surname} of them by the surname alone)" if self.by_surname else ""
        return f"{self.matched} of {self.entries} listed entries occur, {self.occurrences} times in all{alone}"


def _use(texts: Sequence[str], found: Spans, entries: Sequence[str], keep_case: bool) -> ListUse:
    """Which entries the spans of a list stand for."""
    rows = zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True)
    seen = {_key(texts[d][a:b], keep_case) for d, a, b in rows}
    listed = {_key(entry, keep_case): entry for entry in entries}
    whole = seen & set(listed)
    alone = {words[0].lower() for words in seen - whole}
    by_surname = sum(key not in whole and key[-1].lower() in alone for key in listed)
    return ListUse(len(listed), len(whole), by_surname, len(found))


def _key(entry: str, keep_case: bool) -> tuple[str, ...]:
    plain = normalised(entry).text
    return tuple(_WORD.findall(plain if keep_case else plain.lower()))


def _index_of(pairs: Iterable[tuple[str, str]], keep_case: bool) -> _Entries:
    """Entries by first word, longest first."""
    index: _Entries = {}
    for entry, label in pairs:
        words = _key(entry, keep_case)
        if not words:
            raise InvalidInput("an entry of the list holds no word, expected at least one letter or digit in each")
        index.setdefault(words[0], []).append((words, label))
    if not index:
        raise InvalidInput("the list is empty, expected at least one entry")
    for entries in index.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return index


def _matches(texts: Sequence[str], index: _Entries, keep_case: bool) -> Spans:
    found: list[tuple[int, int, int, str]] = []
    for document, text in enumerate(texts):
        places = [(m.group() if keep_case else m.group().lower(), m.start(), m.end()) for m in _WORD.finditer(text)]
        at = 0
        while at < len(places):
            for words, label in index.get(places[at][0], ()):
                if tuple(p[0] for p in places[at : at + len(words)]) == words:
                    found.append((document, places[at][1], places[at + len(words) - 1][2], label))
                    at += len(words) - 1
                    break
            at += 1
    return Spans.of(found, is_exact=True)


@dataclass(frozen=True, kw_only=True)
class GazetteerSettings:
    """Names of any number of words, one on each line of a text file, matched as a whole."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: Path
    """The list."""
    kind: Literal["gazetteer"] = "gazetteer"
    label: str = "NAME"
    """The label of what is found; it belongs to the first tier unless the data section says otherwise."""
    keep_case: bool = False
    """Whether a match needs the same casing."""

    def detector(self) -> Gazetteer:
        """The detector, with its list read from the file."""
        return Gazetteer(_lines(self.path), self.label, self.keep_case)


@dataclass(frozen=True, kw_only=True)
class WordListSettings:
    """Single words in any casing, one on each line of a text file."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: Path
    """The list."""
    kind: Literal["words"] = "words"
    label: str = "WORD"
    """The label of what is found, which may have a tier of its own."""

    def detector(self) -> WordList:
        """The detector, with its list read from the file."""
        return WordList(dict.fromkeys(_lines(self.path), self.label))


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read, expected a UTF-8 text file with a name on each line") from error
    return [line.strip() for line in text.splitlines() if line.strip()]
