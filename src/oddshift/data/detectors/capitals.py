"""Capitalised words inside sentences: a guess at names that needs no trained model.

English capitalises names everywhere, and other words only at the start of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from oddshift.data.detectors.names import PERSON, ends_in_abbreviation, is_title, titled_names, without_possessive
from oddshift.data.detectors.normalising import through_normalised
from oddshift.data.detectors.spans import Spans

CAPITALISED = "CAPITALISED"
"""The label of a capitalised word that follows no title; one that follows a title is a PERSON."""

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_OPENS = re.compile(r"(?:^|[.!?…\n])[\s\"'“‘«()\[\]*-]*$")


@dataclass(frozen=True)
class Capitals:
    """Capitalised words that do not start a sentence, and names after a title; single letters are left out.

    A match is a guess: a word type counts when half of its occurrences match, and at least two. The detector finds
    names of people, firms and places alike, and misses names that only start sentences or are written in lower case. It
    finds too much in text that is all capitals, and in languages that capitalise nouns.

    >>> found = Capitals().detect(["Yesterday Ann met Bob. Then Ann left."])
    >>> found.start.tolist(), found.labels
    ([10, 18, 28], ('CAPITALISED',))
    """

    name: str = "capitalised words"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every capitalised word that does not start a sentence, without its "'s" and without titles."""
        return through_normalised(_detect, texts)


def _detect(texts: Sequence[str]) -> Spans:
    found = []
    for document, text in enumerate(texts):
        named = titled_names(text)
        inside = {place for a, b in named for place in range(a, b)}
        found += [(document, a, b, PERSON) for a, b in named]
        for match in _WORD.finditer(text):
            word = without_possessive(match.group())
            if _is_name(word) and match.start() not in inside and not _opens(text, match.start()):
                found.append((document, match.start(), match.start() + len(word), CAPITALISED))
    return Spans.of(sorted(found), is_exact=False)


def _is_name(word: str) -> bool:
    return word[0].isupper() and len(word) > 1 and not is_title(word)


def _opens(text: str, start: int) -> bool:
    """Whether a sentence starts there: only punctuation since its beginning."""
    before = text[max(0, start - 20) : start]
    return start == 0 or (_OPENS.search(before) is not None and not ends_in_abbreviation(before))


@dataclass(frozen=True, kw_only=True)
class CapitalsSettings:
    """Capitalised words inside sentences: a guess at names that needs no trained pipeline."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Literal["capitals"] = "capitals"

    def detector(self) -> Capitals:
        """The detector."""
        return Capitals()
