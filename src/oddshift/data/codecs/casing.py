"""Casing of released words: a rule of the tier, never a copy of the secret's casing."""

from __future__ import annotations

from collections.abc import Callable


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


CASINGS: dict[str, Callable[[str, bool], str]] = {
    "lower": lambda word, opens: word,
    "upper": lambda word, opens: word.upper(),
    "title": lambda word, opens: " ".join(_first_upper(part) for part in word.split(" ")),
    "sentence": lambda word, opens: _first_upper(word) if opens else word,
}
"""Rules by name: as in the lexicon, all capitals, every word capitalised, capitalised where a sentence opens."""


def cased(word: str, rule: str, opens_sentence: bool) -> str:
    """A lexicon word in the casing of a rule.

    >>> cased("new york", "title", False), cased("nurse", "sentence", True)
    ('New York', 'Nurse')
    """
    return CASINGS[rule](word, opens_sentence)
