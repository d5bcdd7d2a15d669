"""Lists of names and words: what is on the list is sensitive wherever it stands.

A gazetteer holds names of one or more words under one label; a word list maps single words to labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.normalising import normalised, through_normalised
from oddshift.data.detectors.spans import Spans

_WORD = re.compile(r"\w+")

_Entries = dict[str, list[tuple[tuple[str, ...], str]]]


@dataclass(frozen=True, repr=False)
class Gazetteer:
    """Names of any number of words, matched whole, longest first, whatever lies between their words but letters.

    `keep_case` asks for the same casing ("Reading" the town, not "reading").

    >>> found = Gazetteer(["New York", "York"]).detect(["From New York to York."])
    >>> found.start.tolist(), found.end.tolist()
    ([5, 17], [13, 21])
    """

    entries: Sequence[str]
    label: str = "NAME"
    keep_case: bool = False
    name: str = "gazetteer"
    _index: _Entries = field(init=False, compare=False)

    def __post_init__(self) -> None:
        """Index the entries by their first word."""
        if isinstance(self.entries, str):
            raise InvalidInput("entries is one string, expected a list of names")
        pairs = ((entry, self.label) for entry in self.entries)
        object.__setattr__(self, "_index", _index_of(pairs, self.keep_case))

    def __repr__(self) -> str:
        """The number of entries; never the names."""
        return f"Gazetteer({len(self.entries)} entries, label={self.label})"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every whole match."""
        return through_normalised(lambda plain: _matches(plain, self._index, self.keep_case), texts)


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


def _index_of(pairs: Iterable[tuple[str, str]], keep_case: bool) -> _Entries:
    """Entries by first word, longest first."""
    index: _Entries = {}
    for entry, label in pairs:
        plain = normalised(entry).text
        words = tuple(_WORD.findall(plain if keep_case else plain.lower()))
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
