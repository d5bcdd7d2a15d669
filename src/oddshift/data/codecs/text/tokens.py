"""Tokens: texts cut into words such that joining them gives back every byte.

A token is a surface form and whether one blank follows; anything else between words is a token of its own.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, IntArray, one_of
from oddshift.base.errors import InvalidInput
from oddshift.base.spacy_import import import_spacy
from oddshift.data.detectors.names import is_no_end
from oddshift.data.detectors.normalising import BoundedTokenizer, Normalised, normalised, of_same_rules
from oddshift.data.detectors.spans import Spans
from oddshift.data.detectors.tagging import Occurrences
from oddshift.model.records import gather, numbered, offsets_of

MOST_WORDS = 500_000
"""Number of words that spaCy may remember before it is made again, so that memory does not grow with the input."""

MOST_TEXTS = 20_000
"""Number of texts whose words are remembered, so that they are not cut twice; a performance setting."""

_ENDS = frozenset([".", "!", "?", "...", "…", "?!", "!!", "!!!", "??", "...."])
_CLOSERS = frozenset(["'", '"', "''", ")", "]", "”", "’", "»"])
_PIECE = re.compile(r"(\w+|[^\w\s]|\s)( ?)")


@dataclass(frozen=True, eq=False, repr=False)
class Tokens:
    """Documents as tokens: `forms` are the distinct surface forms, `form` the row of each token.

    >>> tokens = tokenise(["Ann met  Bob."], "plain")
    >>> tokens.texts(), len(tokens.form)
    (('Ann met  Bob.',), 5)
    """

    forms: tuple[str, ...]
    form: IntArray
    spaced: BoolArray
    offsets: IntArray

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"Tokens({len(self)} documents, {len(self.form)} tokens, {len(self.forms)} forms)"

    def texts(self, replaced: dict[int, str | None] | None = None) -> tuple[str, ...]:
        """The texts, byte for byte; `replaced` gives other words for some token numbers (None deletes one)."""
        words = [*self.forms, *(form + " " for form in self.forms)]
        pieces = [words[word] for word in (self.form + len(self.forms) * self.spaced).tolist()]
        for token, word in (replaced or {}).items():
            pieces[token] = "" if word is None else word + " " if self.spaced[token] else word
        cuts = self.offsets.tolist()
        return tuple("".join(pieces[a:b]) for a, b in pairwise(cuts))

    @property
    def character_starts(self) -> IntArray:
        """The first character of every token, counted over all documents."""
        lengths = np.array([len(form) for form in self.forms], dtype=np.int64)[self.form]
        return offsets_of(lengths + self.spaced)[:-1]

    @cached_property
    def occurrences(self) -> Occurrences:
        """The type (lower-cased, in plain letters) and the characters of every token."""
        lowered, types = numbered(list(map(type_of, self.forms)))
        lengths = np.array([len(form) for form in self.forms], dtype=np.int64)[self.form]
        edges = offsets_of(lengths + self.spaced)
        base = np.repeat(edges[self.offsets[:-1]], np.diff(self.offsets))
        start = edges[:-1] - base
        return Occurrences(tuple(str(t) for t in types), lowered[self.form], start, start + lengths, self.offsets)

    @cached_property
    def breaks(self) -> BoolArray:
        """Which tokens open a sentence: the first after a full stop, question or exclamation mark, or line break.

        The dot of a title ("Mr.") or of an initial does not end a sentence.
        """
        blank = np.array([not form.strip() for form in self.forms], dtype=np.bool_)[self.form]
        newline = np.array(["\n" in form for form in self.forms], dtype=np.bool_)[self.form]
        ends = np.array(list(map(ends_sentence, self.forms)), dtype=np.bool_)[self.form]
        ends &= ~self._is_dot_of_word
        closes = np.array(list(map(closes_sentence, self.forms)), dtype=np.bool_)[self.form]
        matters = np.flatnonzero(~(closes | (blank & ~newline)))
        opens = np.zeros(len(self.form), dtype=np.bool_)
        document = self.occurrences.document[matters]
        opens[matters[1:]] = ends[matters[:-1]] & ~ends[matters[1:]] & (document[1:] == document[:-1])
        opens[self.offsets[:-1][np.diff(self.offsets) > 0]] = True
        return opens

    @property
    def _is_dot_of_word(self) -> BoolArray:
        """Which tokens are the dot right after a title or an initial."""
        dot = np.array([form == "." for form in self.forms], dtype=np.bool_)[self.form]
        short = np.array([is_no_end(form) for form in self.forms], dtype=np.bool_)[self.form] & ~self.spaced
        return dot & np.append(False, short[:-1])[: len(dot)]

    def take(self, documents: IntArray) -> Tokens:
        """Some documents, in that order."""
        index, cuts = gather(self.offsets, documents)
        return Tokens(self.forms, self.form[index], self.spaced[index], cuts)

    def merged(self, spans: Spans) -> Tokens:
        """Every span as one token: a name of several words, or a number that was cut into pieces.

        A token that is only partly inside a span belongs to it entirely; of spans that share a token the first one
        wins.
        """
        token, span = self.occurrences.overlapping(spans)
        if not len(token):
            return self
        owner = np.full(len(self.form), -1, dtype=np.int64)
        owner[token[::-1]] = span[::-1]
        joins = np.append(False, (owner[1:] == owner[:-1]) & (owner[1:] >= 0))
        joins[self.offsets[:-1][self.offsets[:-1] < len(joins)]] = False
        return joined_tokens(self, joins)


def tokenise(texts: Sequence[str], tokeniser: str = "spacy") -> Tokens:
    """Cut texts by spaCy's English rules ("spacy") or by letters, digits and marks alone ("plain").

    Words in circled, squared or other look-alike letters are cut where plain letters would be; their forms stay as
    they are written.
    """
    one_of(tokeniser, "tokeniser", tuple(TOKENISERS))
    if not len(texts):
        raise InvalidInput("texts is empty, expected at least one")
    plain = [normalised(text) for text in texts]
    return _as_written(TOKENISERS[tokeniser]([p.text for p in plain]), texts, plain)


def words_of(text: str, tokeniser: str) -> list[tuple[str, bool]]:
    """The words of one text, and whether a blank follows each, as `tokenise` cuts them; the text reads as written.

    >>> words_of("Ann met.", "plain")
    [('Ann', True), ('met', False), ('.', False)]
    """
    if tokeniser == "plain":
        return [(word, bool(blank)) for word, blank in _PIECE.findall(text)]
    cut = _english()
    edges = cut(text).to_array(["IDX", "LENGTH", "SPACY"]).reshape(-1, 3).tolist()
    found = [(text[start : start + length], spaced == 1) for start, length, spaced in edges]
    if len(cut.vocab) > MOST_WORDS:
        _english.cache_clear()
    return found


def type_of(form: str) -> str:
    """The type of a word: lower-cased, in plain letters."""
    return normalised(form).text.lower()


def ends_sentence(form: str) -> bool:
    """Whether a token may end a sentence: a full stop or its like, or a line break."""
    return form in _ENDS or "\n" in form


def closes_sentence(form: str) -> bool:
    """Whether a token is a bracket or quotation mark that may follow the end of a sentence."""
    return form in _CLOSERS


def no_tokens(documents: int) -> Tokens:
    """Documents without any word."""
    empty: IntArray = np.zeros(0, dtype=np.int64)
    return Tokens((), empty, empty.astype(np.bool_), np.zeros(documents + 1, dtype=np.int64))


def _by_spacy(texts: Sequence[str]) -> Tokens:
    cut, before = _english(), _cut_before()
    new = [text for text in dict.fromkeys(texts) if text not in before]
    if len(before) + len(new) > MOST_TEXTS:
        before.clear()
    for text in new if before or len(new) <= MOST_TEXTS else ():
        before[text] = _cells(cut, text)
    arrays = [before[text] if text in before else _cells(cut, text) for text in texts]
    table = np.concatenate(arrays)
    hashes, form = np.unique(table[:, 0], return_inverse=True)
    forms = tuple(cut.vocab.strings[int(h)] for h in hashes)
    if len(cut.vocab) > MOST_WORDS:
        _english.cache_clear()
        _cut_before.cache_clear()
    return Tokens(forms, form.astype(np.int64), table[:, 1] == 1, offsets_of([len(a) for a in arrays]))


def _cells(cut: BoundedTokenizer, text: str) -> npt.NDArray[np.uint64]:
    """The hash of each word of a text, and whether a blank follows."""
    cells: npt.NDArray[np.uint64] = cut(text).to_array(["ORTH", "SPACY"]).reshape(-1, 2)
    return cells


@lru_cache(maxsize=1)
def _cut_before() -> dict[str, npt.NDArray[np.uint64]]:
    """Texts that were cut already: the fit texts are a part of the audited ones."""
    return {}


@lru_cache(maxsize=1)
def _english() -> BoundedTokenizer:
    """The tokenizer of `spacy.blank("en")`, without the plug-ins that making a whole pipeline imports first."""
    import_spacy()
    from spacy.lang.en import English
    from spacy.language import create_tokenizer
    from spacy.vocab import create_vocab

    vocab = create_vocab("en", English.Defaults)
    rules: Any = SimpleNamespace(vocab=vocab, Defaults=English.Defaults)  # all that a tokenizer takes from a pipeline
    return of_same_rules(BoundedTokenizer(create_tokenizer()(rules), vocab))


def _by_pieces(texts: Sequence[str]) -> Tokens:
    number: dict[str, int] = {}
    codes, spaced, lengths = array("q"), bytearray(), []
    for text in texts:  # one after the other: the pieces of many texts would not stay in a cache
        pieces = _PIECE.findall(text)
        codes.extend([number.setdefault(word, len(number)) for word, _ in pieces])
        spaced += bytes([blank != "" for _, blank in pieces])
        lengths.append(len(pieces))
    form = np.array(codes, dtype=np.int64)
    return Tokens(tuple(number), form, np.array(spaced, dtype=np.bool_), offsets_of(lengths))


def _as_written(tokens: Tokens, texts: Sequence[str], plain: Sequence[Normalised]) -> Tokens:
    """Tokens of texts as they read, with the characters as they were written."""
    changed = [d for d, p in enumerate(plain) if p.start is not None]
    if not changed:
        return tokens
    start = tokens.occurrences.start
    words: list[str] = [tokens.forms[form] for form in tokens.form.tolist()]
    spaced, kept = tokens.spaced.copy(), np.ones(len(words), dtype=np.bool_)
    for document in changed:
        first, last = tokens.offsets[document : document + 2].tolist()
        text, edges = texts[document], plain[document].start or ()
        cuts = [edges[s] for s in start[first:last].tolist()] + [len(text)]
        for token, (a, b) in enumerate(pairwise(cuts), start=first):
            spaced[token] &= text[a:b].endswith(" ")
            words[token] = text[a : b - 1] if spaced[token] else text[a:b]
            kept[token] = b > a
    form, forms = numbered([word for word, keep in zip(words, kept.tolist(), strict=True) if keep])
    cuts_kept = np.append(0, np.cumsum(kept))[tokens.offsets].astype(np.int64)
    return Tokens(tuple(str(f) for f in forms), form, spaced[kept], cuts_kept)


TOKENISERS: dict[str, Callable[[Sequence[str]], Tokens]] = {"spacy": _by_spacy, "plain": _by_pieces}
"""Every tokeniser by name."""


def joined_tokens(tokens: Tokens, joins: BoolArray) -> Tokens:
    """The tokens with each one marked in `joins` glued to the one before it."""
    if not joins.any():
        return tokens
    first = np.flatnonzero(~joins)
    last = np.append(first[1:], len(joins)) - 1
    forms, number = list(tokens.forms), {form: i for i, form in enumerate(tokens.forms)}
    form = tokens.form[first].copy()
    for group in np.flatnonzero(last > first):
        inside = range(first[group], last[group] + 1)
        words = [tokens.forms[tokens.form[t]] + " " * bool(tokens.spaced[t]) for t in inside]
        text = "".join(words)[: -1 if tokens.spaced[last[group]] else None]
        if text not in number:
            number[text] = len(forms)
            forms.append(text)
        form[group] = number[text]
    cuts = np.searchsorted(first, tokens.offsets).astype(np.int64)
    return Tokens(tuple(forms), form, tokens.spaced[last], cuts)
