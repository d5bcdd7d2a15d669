"""Secrets in texts: the policy's word list decides, word by word, exactly as when it was audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.lexicon import PUBLIC, Lexicon
from oddshift.data.codecs.text import EncodedText, encode
from oddshift.data.codecs.tokens import Tokens, tokenise
from oddshift.data.detectors import Detector, Gazetteer, Patterns, stop_words
from oddshift.protect.policies import NameList, Policy, TextRules, WordReading

Columns = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class FoundWords:
    """The secrets of some texts: their points in order, and how many words are masked or unseen."""

    points: IntArray
    masked: int
    unseen: int
    encoded: EncodedText | None
    places: tuple[tuple[str, int], ...]
    cells: Columns
    is_mask: bool
    keep: None = None

    def read(self, outputs: IntArray) -> dict[str, list[Any]]:
        """The columns with released words in place of secrets; a cell that is no text stays what it is."""
        released = {name: list(column) for name, column in self.cells.items()}
        if self.encoded is not None:
            texts = self.encoded.decode(outputs, [None] if self.is_mask else None)
            for (name, row), text in zip(self.places, texts, strict=True):
                released[name][row] = text
        return released


@dataclass(frozen=True, eq=False, repr=False)
class WordFinder:
    """Finds the secrets of texts by the policy's vocabulary.

    `detector` (optional) is asked for further names: a word under one of its spans that the vocabulary holds as public
    is masked, stop words apart. What it masks depends on the words around, which no certificate covers.
    """

    policy: Policy
    detector: Detector | None = None

    @property
    def rules(self) -> TextRules:
        """How texts are cut and what becomes of unknown words."""
        rules = self.policy.terms.rules
        assert isinstance(rules, TextRules)
        return rules

    @cached_property
    def lexicon(self) -> Lexicon:
        """The policy's words as a lexicon."""
        reading = self._reading
        return Lexicon(
            words=reading.words,
            space=self.policy.space,
            tiers=self.policy.tiers,
            point_of=dict(zip(reading.types, reading.type_points.tolist(), strict=True)),
            masked=reading.masked,
            public=reading.public,
        )

    def find(self, cells: Columns, first: int = 1) -> FoundWords:
        """The secrets in columns of texts; None stands for no text."""
        places = tuple((name, row) for name, column in cells.items() for row, t in enumerate(column) if t is not None)
        texts = [cells[name][row] for name, row in places]
        for (name, row), text in zip(places, texts, strict=True):
            if not isinstance(text, str):
                raise InvalidInput(f"column {name!r} at row {first + row} is a {type(text).__name__}, expected text")
        if not texts:
            return FoundWords(np.empty(0, dtype=np.int64), 0, 0, None, (), cells, self._is_mask)
        encoded = self.encode(texts)
        masked = len(encoded.masked)
        return FoundWords(encoded.records.points, masked, encoded.unseen, encoded, places, cells, self._is_mask)

    def encode(self, texts: Sequence[str]) -> EncodedText:
        """Texts with the vocabulary laid over them."""
        tokens = tokenise(texts, self.rules.tokeniser)
        for found in self._joined:
            tokens = tokens.merged(found.detect(texts))
        encoded = encode(tokens, self.lexicon, unknown=self.rules.unknown, casing=self.rules.casing)
        if self.detector is None:
            return encoded
        masked = np.union1d(encoded.masked, self._names(tokens, texts, self.detector))
        return replace(encoded, masked=masked)

    def _names(self, tokens: Tokens, texts: Sequence[str], detector: Detector) -> IntArray:
        """Tokens that the detector takes for names and the vocabulary for public words."""
        occurrences = tokens.occurrences
        under = np.unique(occurrences.under(detector.detect(texts))[0])
        types = occurrences.type[under]
        is_stop = np.array([word in self._stop for word in occurrences.types], dtype=np.bool_)
        is_public = self.lexicon.code(occurrences.types) == PUBLIC
        return under[(is_public & occurrences.is_word & ~is_stop)[types]]

    @cached_property
    def _joined(self) -> tuple[Detector, ...]:
        """What makes several tokens one."""
        return tuple(
            Gazetteer(part.names, keep_case=part.keep_case)
            if isinstance(part, NameList)
            else Patterns(part.labels, part.threshold)
            for part in self._reading.joined
        )

    @cached_property
    def _stop(self) -> frozenset[str]:
        return stop_words()

    @property
    def _reading(self) -> WordReading:
        reading = self.policy.vocabulary.reading
        assert isinstance(reading, WordReading)
        return reading

    @cached_property
    def _is_mask(self) -> bool:
        return self.policy.terms.mechanism.name == "mask"
