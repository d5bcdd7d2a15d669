"""Lists of names and words: what is on the list is sensitive wherever it occurs.

A gazetteer holds names of one or more words under one label, or each under a label of its own.

Surnames of a list: a listed full name is found by its last word alone, unless that is a common word.

Common given names and surnames of many origins, and large cities: they belong to nobody in particular.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.names import KnownNames, linked, may_link, ordinary_words, parts_of, word_lists
from oddshift.data.detectors.normalising import normalised, through_normalised
from oddshift.data.detectors.spans import Spans

_WORD = re.compile(r"\w+")

_Entries = dict[str, list[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True, repr=False)
class Gazetteer:
    """Names of any number of words, matched as a whole, longest first; anything but letters may separate their words.

    `entries` are names, which all get the `label`, or names with a label for each. `keep_case` asks for the same casing
    ("Reading" the town, not "reading"). With `cover_surnames` the last word of a listed full name is found alone too
    where it has a capital, unless it is a common word: a stop word, or one that the document itself mostly writes in
    lower case.

    >>> found = Gazetteer(["New York", "York"]).detect(["From New York to York."])
    >>> found.start.tolist(), found.end.tolist()
    ([5, 17], [13, 21])
    """

    entries: Sequence[str] | Mapping[str, str]
    label: str = "NAME"
    keep_case: bool = False
    cover_surnames: bool = True
    name: str = "gazetteer"
    _index: _Entries = field(init=False, compare=False)
    _surnames: dict[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Index the entries by their first word."""
        if isinstance(self.entries, str):
            raise InvalidInput("entries is one string, expected a list of names")
        object.__setattr__(self, "_index", _index_of(self.labels.items(), self.keep_case))
        covered = surnames_of(tuple(self.labels)) if self.cover_surnames else {}
        found = {surname: self.labels[entry] for surname, entry in covered.items()}
        object.__setattr__(self, "_surnames", found)

    @cached_property
    def labels(self) -> dict[str, str]:
        """The label of every entry."""
        entries = self.entries
        return dict(entries) if isinstance(entries, Mapping) else dict.fromkeys(entries, self.label)

    def __repr__(self) -> str:
        """The number of entries; never the names."""
        return f"Gazetteer({len(self.entries)} entries, label={', '.join(sorted(set(self.labels.values())))})"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every full match, and every bare surname."""
        found = through_normalised(lambda plain: _matches(plain, self._index, self.keep_case), texts)
        return with_surnames(texts, found, self._surnames) if self._surnames else found


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
    """Words or phrases in any casing, one on each line of a text file; a surname alone is not one of them."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    path: Path
    """The list."""
    kind: Literal["words"] = "words"
    label: str = "WORD"
    """The label of what is found, which may have a tier of its own."""

    def detector(self) -> Gazetteer:
        """The detector, with its list read from the file."""
        return Gazetteer(_lines(self.path), self.label, cover_surnames=False, name="word list")


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read, expected a UTF-8 text file with a name on each line") from error
    return [line.strip() for line in text.splitlines() if line.strip()]


_NO_PERSON_STARTS = "new north south east west northern southern eastern western central great san santa los las el the"
_NO_PERSON_HOLDS = (
    "of and the for & inc ltd llc corp co plc gmbh company corporation group holdings bank university college school "
    "institute hospital church city county state states republic kingdom province island islands river lake mount "
    "mountain mountains street avenue road park bridge airport station committee council department ministry party "
    "union association club team league cup times post news journal magazine press museum court house"
)
_STARTS, _HOLDS = frozenset(_NO_PERSON_STARTS.split()), frozenset(_NO_PERSON_HOLDS.split())
_MOST_WORDS = 5


def surnames_of(entries: Sequence[str]) -> dict[str, str]:
    """The last words, in small letters, of those entries that read like the full name of a person, and the entries.

    >>> surnames_of(["Norma Kamali", "New York", "Bank of Omaha", "Ann Will", "Cher"])
    {'kamali': 'Norma Kamali'}
    """
    found: dict[str, str] = {}
    for entry in entries:
        words = entry.split()
        low = [word.strip(".,").lower() for word in words]
        is_person = 1 < len(words) <= _MOST_WORDS and low[0] not in _STARTS and not _HOLDS & set(low)
        parts = parts_of(entry)
        if is_person and len(parts) > 1 and may_link(parts[-1].title(), frozenset()):
            found.setdefault(parts[-1].lower(), entry)
    return found


def with_surnames(texts: Sequence[str], spans: Spans, surnames: Mapping[str, str]) -> Spans:
    """Spans with the bare surnames; a document that mostly writes one in small letters does not name anyone by it."""
    every = linked(texts, spans, KnownNames(surnames), labels=())
    listed = set(zip(spans.document.tolist(), spans.start.tolist(), strict=True))
    ordinary: dict[int, frozenset[str]] = {}
    keep = []
    for d, a, b in zip(every.document.tolist(), every.start.tolist(), every.end.tolist(), strict=True):
        is_listed = (d, a) in listed
        if not is_listed and d not in ordinary:
            ordinary[d] = ordinary_words([texts[d]])
        keep.append(is_listed or normalised(texts[d][a:b]).text.lower() not in ordinary[d])
    return every.take(np.array(keep, dtype=np.bool_))


GIVEN_NAMES = tuple(word_lists("public")["given"].split())
"""Given names."""

FAMILY_NAMES = tuple(word_lists("public")["family"].split())
"""Surnames."""

PLACE_NAMES = tuple(word_lists("public")["cities"].split())
"""Large cities."""
