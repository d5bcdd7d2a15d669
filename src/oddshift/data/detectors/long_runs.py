"""Long runs: words of hundreds of characters without a blank, which are cut at their marks before spaCy sees them.

spaCy's tokeniser takes the affixes of a word off one at a time and looks at the rest again each time, so its time grows
with the square of the length of a word: 16,000 brackets took half a minute. Words of a text are not that long.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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
    return nlp
