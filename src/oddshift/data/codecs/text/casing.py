"""Casing of released words: it follows a rule of the tier and the public words around, not the secret's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.tokens import Tokens
from oddshift.model.tiers import Tiers

MASK = "[MASKED]"
"""The mark in a released text for a word whose kind is not revealed."""

WRITTEN = "written"
"""The rule that keeps a word as the lexicon writes it ("McCarthy", "PAC", "nurse")."""

_FEWEST_WORDS = 2  # number of public words in capitals that make a heading


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


CASINGS: dict[str, Callable[[str, bool], str]] = {
    WRITTEN: lambda word, opens: _first_upper(word) if opens else word,
    "lower": lambda word, opens: word,
    "upper": lambda word, opens: word.upper(),
    "title": lambda word, opens: " ".join(_first_upper(part) for part in word.split(" ")),
    "sentence": lambda word, opens: _first_upper(word) if opens else word,
}
"""Rules by name: as mostly written; or lower case, capitals, title case, or sentence case."""


def cased(word: str, rule: str, opens_sentence: bool) -> str:
    """A lexicon word in the casing of a rule.

    >>> cased("new york", "title", False), cased("nurse", "sentence", True)
    ('New York', 'Nurse')
    """
    return CASINGS[rule](word, opens_sentence)


def in_capitals(tokens: Tokens, is_public: BoolArray) -> BoolArray:
    """Which tokens stand in a sentence whose public words are all in capitals, at least two of them (a heading).

    `is_public` says which tokens are released as they are: only those decide.
    """
    is_upper = np.array(list(map(is_upper_word, tokens.forms)), dtype=np.bool_)[tokens.form]
    is_cased = np.array(list(map(is_cased_word, tokens.forms)), dtype=np.bool_)
    counted = is_cased[tokens.form] & is_public
    sentence = np.cumsum(tokens.breaks)
    words = np.bincount(sentence[counted], minlength=int(sentence.max(initial=0)) + 1)
    upper = np.bincount(sentence[counted & is_upper], minlength=len(words))
    heading: BoolArray = is_heading(words, upper)[sentence]
    return heading


def is_upper_word(form: str) -> bool:
    """Whether a word is written in capitals."""
    return len(form) > 1 and form.isupper()


def is_cased_word(form: str) -> bool:
    """Whether a word could be written in capitals or not, which a single letter does not show."""
    return len(form) > 1 and form.upper() != form.lower()


def is_heading(words: Any, upper: Any) -> Any:
    """Whether a sentence with that many public words, and that many of them in capitals, is a heading."""
    return (words >= _FEWEST_WORDS) & (upper == words)


def shown_word(word: str | None, rule: str, opens_sentence: bool, in_heading: bool) -> str | None:
    """What a release shows for an output: its word in the casing of a rule, MASK where there is none, None for ""."""
    said = MASK if word is None else cased(word, rule, opens_sentence)
    return (said.upper() if rule == WRITTEN and in_heading else said) or None


def casing_rules(tiers: Tiers, casing: Sequence[str] | None) -> tuple[str, ...]:
    """The casing of each tier: by default every word as it is mostly written."""
    rules = tuple(casing or (WRITTEN,) * len(tiers))
    if len(rules) != len(tiers) or not set(rules) <= set(CASINGS):
        raise InvalidInput(f"casing={rules}, expected {len(tiers)} of {', '.join(CASINGS)}")
    return rules
