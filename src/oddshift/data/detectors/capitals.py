"""Capitalised words inside sentences: a guess at names that needs no trained model.

English writes names with a capital wherever they stand, and other words only where a sentence opens.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oddshift.data.detectors.spans import Spans

CAPITALISED = "CAPITALISED"
"""The one label."""

_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_OPENS = re.compile(r"(?:^|[.!?…\n])[\s\"'“‘«()\[\]*-]*$")


@dataclass(frozen=True)
class Capitals:
    """Words that start with a capital where no sentence opens; single letters apart.

    A word type is believed as any guess is: at half of its occurrences and at least two of them. It finds names of
    people, firms and places alike, and misses those that only open sentences or are written in small letters; text in
    capitals throughout, and languages that capitalise nouns, give it too much.

    >>> found = Capitals().detect(["Yesterday Ann met Bob. Then Ann left."])
    >>> found.start.tolist(), found.labels
    ([10, 18, 28], ('CAPITALISED',))
    """

    name: str = "capitalised words"

    def detect(self, texts: Sequence[str]) -> Spans:
        """Every capitalised word that opens no sentence."""
        found = [
            (document, match.start(), match.end(), CAPITALISED)
            for document, text in enumerate(texts)
            for match in _WORD.finditer(text)
            if match.group()[0].isupper() and len(match.group()) > 1 and not _opens(text, match.start())
        ]
        return Spans.of(found, is_exact=False)


def _opens(text: str, start: int) -> bool:
    """Whether a sentence opens there: nothing but marks since its beginning."""
    return _OPENS.search(text[max(0, start - 20) : start]) is not None if start else True
