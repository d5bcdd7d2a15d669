"""Look-alike letters: text as it reads, with a map back to the characters as they were written.

Unicode holds the Latin letters many times over: full-width, mathematical, circled, squared, as pairs of flags, as small
capitals. A detector reads the plain letters (NFKC, UAX #15, and a small table where NFKC leaves symbols alone) and
answers in the characters of the original.

Long runs: words of hundreds of characters without a blank, which are cut at their marks before spaCy sees them.

spaCy's tokeniser takes the affixes of a word off one at a time and looks at the rest again each time, so its time grows
with the square of the length of a word: 16,000 brackets took half a minute. Words of a text are not that long.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from oddshift.data.detectors.spans import Spans

_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_REGIONAL = 0x1F1E6
_RUNS = {0x1F110: _UPPER, 0x1F150: _UPPER, 0x1F170: _UPPER, _REGIONAL: _UPPER, 0x249C: _UPPER.lower()}
_SMALL_CAPITALS = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘǫꞯʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqqrstuvwyz", strict=True))
_TABLE = {chr(first + i): letter for first, letters in _RUNS.items() for i, letter in enumerate(letters)}
_TABLE |= _SMALL_CAPITALS

_MARKS = ((0x300, 0x36F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F))
_UNSEEN = ((0xAD, 0xAD), (0x200B, 0x200F), (0x2060, 0x2064), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xE0100, 0xE01EF))


@dataclass(frozen=True, eq=False, repr=False)
class Normalised:
    """A text as it reads; character i of `text` stands for characters [start[i], end[i]) of the original.

    `start` and `end` never decrease. They are None where the text already reads as it is written.
    """

    text: str
    start: tuple[int, ...] | None = None
    end: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        """Size only."""
        return f"Normalised({len(self.text)} characters, {'as written' if self.start is None else 'changed'})"

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The characters of the original that [start, end) of `text` stands for."""
        if self.start is None or self.end is None:
            return start, end
        return self.start[start], self.end[end - 1]

    def reading(self, start: int, end: int) -> tuple[int, int]:
        """The smallest stretch of `text` that stands for characters [start, end) of the original."""
        if self.start is None or self.end is None:
            return start, end
        return bisect_right(self.end, start), bisect_left(self.start, end)


def normalised(text: str) -> Normalised:
    """Write every look-alike letter as a plain one, compose accents, and leave zero-width characters out.

    Digits in circles, fractions and symbols of several letters (™) stay as they are: names are not spelled with them.

    >>> plain = normalised("Ⓜⓘⓒ's ﬁle")
    >>> plain.text, plain.original(0, 3)
    ("Mic's file", (0, 3))
    """
    if text.isascii() or not any(_is_changed(c) for c in set(text) if c > "\x7f"):
        return Normalised(text)
    letters: list[str] = []
    start: list[int] = []
    end: list[int] = []
    at = 0
    for piece, width in _pieces(text):
        for letter in piece:
            letters.append(letter)
            start.append(at)
            end.append(at + width)
        if not piece and end:
            end[-1] = at + width
        at += width
    return Normalised("".join(letters), tuple(start), tuple(end))


def through_normalised(detect: Callable[[Sequence[str]], Spans], texts: Sequence[str]) -> Spans:
    """What `detect` finds in the texts as they read, as spans of the texts as they are written."""
    plain = [normalised(text) for text in texts]
    found = detect([p.text for p in plain])
    changed = np.array([p.start is not None for p in plain], dtype=np.bool_)
    if not len(found) or not changed[found.document].any():
        return found
    start, end = found.start.copy(), found.end.copy()
    for i in np.flatnonzero(changed[found.document]).tolist():
        start[i], end[i] = plain[int(found.document[i])].original(int(start[i]), int(end[i]))
    return Spans(found.document, start, end, found.label, found.labels, found.is_exact)


def _pieces(text: str) -> list[tuple[str, int]]:
    """(what is read, how many characters it was written with), in order; what is read as nothing follows something."""
    made: list[tuple[str, int]] = []
    flags = _flag_borders(text)
    waiting = 0  # characters of no width before any that they could belong to
    at = 0
    while at < len(text):
        letter = text[at]
        if at in flags:
            made.append((" ", 0))
        if _within(letter, _UNSEEN) or _within(letter, _MARKS):
            if made and not waiting and not made[-1][0][-1:].isspace():
                made.append(("", 1))
            else:
                waiting += 1
            at += 1
            continue
        stop = at + 1
        while stop < len(text) and _within(text[stop], _MARKS):
            stop += 1
        if letter.isspace() and waiting:
            made += [(c, 1) for c in text[at - waiting : at]]
            waiting = 0
        made.append((_read(text[at:stop]), stop - at + waiting))
        waiting = 0
        at = stop
    return made + [(c, 1) for c in text[len(text) - waiting :]]


def _read(cluster: str) -> str:
    """A character and the marks over it as one plain letter, where there is one."""
    base = _letters(cluster[0])
    if len(cluster) == 1 or (not cluster[0].isalpha() and base == cluster[0]):
        return base + cluster[1:]
    whole = unicodedata.normalize("NFC", base + cluster[1:])
    return "".join(c for c in whole if not _within(c, _MARKS))


@lru_cache(maxsize=4096)
def _letters(c: str) -> str:
    """The plain letters that one character stands for; itself where it stands for none."""
    if c <= "\x7f":
        return c
    if c in _TABLE:
        return _TABLE[c]
    plain = unicodedata.normalize("NFKC", c)
    kind = unicodedata.category(c)
    if len(plain) == 1:
        takes = plain.isalpha() or (kind == "Nd" and plain.isdigit()) or (kind[0] in "PS" and "!" <= plain <= "~")
    else:
        takes = plain.isalpha() and kind[0] == "L"
    return plain if takes else c


def _is_changed(c: str) -> bool:
    return _letters(c) != c or _within(c, _MARKS) or _within(c, _UNSEEN)


def _within(c: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return c > "\x7f" and any(first <= ord(c) <= last for first, last in ranges)


def _flag_borders(text: str) -> frozenset[int]:
    """Where a flag (a pair of regional letters) touches a word: a blank is read there, so that the word stays one."""
    is_flag = [_REGIONAL <= ord(c) < _REGIONAL + 26 for c in text]
    borders: set[int] = set()
    at = 0
    while at < len(text):
        stop = at
        while stop < len(text) and is_flag[stop]:
            stop += 1
        if stop > at and (stop - at) % 2 == 0:
            borders |= {at} if at and _letters(text[at - 1]).isalnum() else set()
            borders |= {stop} if stop < len(text) and _letters(text[stop]).isalnum() else set()
        at = max(stop, at + 1)
    return frozenset(borders)


LONGEST_RUN = 256
"""Characters of the longest run without a blank that spaCy cuts by its own rules."""

_RUN = re.compile(r"\S+ ?")
_PIECE = re.compile(rf"(\w{{1,{LONGEST_RUN}}}|[^\w\s])( ?)")


@dataclass(frozen=True, eq=False, repr=False)
class BoundedTokenizer:
    """spaCy's tokenizer of a vocabulary, in time that grows with the length of the text and no faster."""

    inner: Any
    vocab: Any

    def __call__(self, text: str) -> Any:
        """A spaCy document; its words and the blanks after them join to the text, character for character."""
        if len(text) <= LONGEST_RUN or max(map(len, text.split()), default=0) <= LONGEST_RUN:
            return self.inner(text)
        from spacy.tokens import Doc

        words: list[str] = []
        spaces: list[bool] = []
        at = 0
        for run in _RUN.finditer(text):
            if run.end() - run.start() > LONGEST_RUN:
                self._add(text[at : run.start()], words, spaces)
                for piece in _PIECE.finditer(run.group()):
                    words.append(piece[1])
                    spaces.append(bool(piece[2]))
                at = run.end()
        self._add(text[at:], words, spaces)
        return Doc(self.vocab, words=words, spaces=spaces)

    def _add(self, text: str, words: list[str], spaces: list[bool]) -> None:
        if text:
            for token in self.inner(text):
                words.append(token.text)
                spaces.append(bool(token.whitespace_))


def bounded(nlp: Any) -> Any:
    """The pipeline with its tokenizer bounded."""
    nlp.tokenizer = BoundedTokenizer(nlp.tokenizer, nlp.vocab)
    _AT_HAND[:] = [*_AT_HAND[-1:], nlp.tokenizer]
    return nlp


_AT_HAND: list[BoundedTokenizer] = []  # the tokenizers of pipelines that are loaded: what one has read, it cuts faster


def of_same_rules(own: BoundedTokenizer) -> BoundedTokenizer:
    """One that cuts as this one does: that of a loaded pipeline, which has read the texts, if its rules are equal."""
    rules = own.inner.to_bytes(exclude=["vocab"])
    return next((t for t in reversed(_AT_HAND) if t.inner.to_bytes(exclude=["vocab"]) == rules), own)
