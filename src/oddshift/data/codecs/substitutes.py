"""Substitutes: public names in place of marks, so that a release reads as text.

**Guarantee**: a substitute is drawn from a fixed public list with randomness from the operating system, independently
of the word it stands for; words that are equal within a document get the same substitute, as the pattern of equal
positions is public.
"""

from __future__ import annotations

from random import SystemRandom

from oddshift.base.arrays import IntArray
from oddshift.data.codecs.tokens import Tokens
from oddshift.data.detectors.kinds import mark_of
from oddshift.data.detectors.public_names import FAMILY_NAMES, GIVEN_NAMES, PLACE_NAMES

_PERSON, _PLACE = mark_of("PERSON"), mark_of("GPE")


def substituted(tokens: Tokens, masked: IntArray, marks: tuple[str, ...]) -> dict[int, str]:
    """A public name for each mark of a person or a place; other kinds keep their marks."""
    occurrences, draw = tokens.occurrences, SystemRandom()
    chosen: dict[tuple[int, int], str] = {}
    replaced = {}
    for token, mark in zip(masked.tolist(), marks, strict=True):
        if mark in (_PERSON, _PLACE):
            secret = int(occurrences.document[token]), int(occurrences.type[token])
            is_whole = " " in occurrences.types[secret[1]]
            if secret not in chosen:
                chosen[secret] = draw.choice(PLACE_NAMES) if mark == _PLACE else _person(draw, is_whole=is_whole)
            replaced[token] = chosen[secret]
    return replaced


def _person(draw: SystemRandom, *, is_whole: bool) -> str:
    """A surname, with a given name where a full name was replaced (the number of words is public)."""
    family = draw.choice(FAMILY_NAMES)
    return f"{draw.choice(GIVEN_NAMES)} {family}" if is_whole else family
