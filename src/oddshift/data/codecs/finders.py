"""Finders: the detectors of a codec, and what they learned about names from the fit texts.

The same finders read the fit texts, the audited texts and every block of a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from oddshift.data.codecs.found_tokens import FoundTokens, found_tokens
from oddshift.data.codecs.text_cells import TextCells
from oddshift.data.codecs.tokens import Tokens
from oddshift.data.detectors import Detector, Gazetteer, KnownNames, Spans, known_names, linked, stop_words
from oddshift.data.detectors.honorifics import without_possessive
from oddshift.data.detectors.linking import LINKED_LABELS


@dataclass(frozen=True, eq=False, repr=False)
class Finders:
    """Detectors in the order of use; `known` links names, `joined` are names of several words that count as one word.

    Matches of exact detectors (a listed name, a number of a fixed form) are one token each, and so is every name of
    `joined`.
    """

    detectors: tuple[Detector, ...] = ()
    known: KnownNames = field(default_factory=KnownNames)
    joined: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Counts only; never a name."""
        return f"Finders({len(self.detectors)} detectors, {self.known!r}, {len(self.joined)} joined names)"

    def also(self, detector: Detector) -> Finders:
        """The same with one more detector."""
        return replace(self, detectors=(*self.detectors, detector))

    def detect(self, texts: Sequence[str]) -> list[Spans]:
        """What each detector finds on its own."""
        return [_names_alone(detector.detect(texts), texts) for detector in self.detectors]

    def taught(self, texts: Sequence[str], found: Sequence[Spans], *, joins: bool) -> Finders:
        """The same finders after they have read the fit texts; with `joins` names found at least twice are one word."""
        guesses = [part for part in found if not part.is_exact]
        people = _together([part.only(LINKED_LABELS) for part in guesses])
        known = KnownNames() if people is None else known_names(texts, people)
        return replace(self, known=known, joined=tuple(_repeated_names(texts, found)) if joins else ())

    def find(
        self, cells: TextCells, tokeniser: str, found: Sequence[Spans] | None = None
    ) -> tuple[Tokens, FoundTokens, list[Spans]]:
        """The words of some texts, what was found among them, and the spans behind that.

        `found` is what `detect` says about these texts, where that is known.
        """
        texts = cells.documents
        spans = [cells.inside(part) for part in self.spans(texts, found)]
        tokens = cells.tokens(tokeniser)
        for part in spans:
            tokens = tokens.merged(part) if part.is_exact else tokens
        if self.joined:
            tokens = tokens.merged(cells.inside(self._listed.detect(texts)))
        return tokens, found_tokens(tokens, spans, stop_words()), spans

    def spans(self, texts: Sequence[str], found: Sequence[Spans] | None = None) -> list[Spans]:
        """What each detector finds, and the further mentions of people who were found."""
        spans = self.detect(texts) if found is None else list(found)
        people = _together([part.only(LINKED_LABELS) for part in spans if not part.is_exact])
        return spans if people is None else [*spans, linked(texts, people, self.known)]

    def finds_any(self, text: str, found: Sequence[Spans]) -> bool:
        """Whether anything is found in a text, or a joined name is in it; `found` is what `detect` says about it."""
        if any(len(part) for part in self.spans([text], found)):
            return True
        return bool(self.joined) and len(self._listed.detect([text])) > 0

    @cached_property
    def _listed(self) -> Gazetteer:
        return Gazetteer(self.joined, keep_case=True, cover_surnames=False)


def _together(parts: Sequence[Spans]) -> Spans | None:
    """Guesses of several detectors in one value; None when no detector guesses."""
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    columns = [(p.document.tolist(), p.start.tolist(), p.end.tolist(), p.label.tolist(), p.labels) for p in parts]
    rows = [(d, a, b, names[k]) for ds, ss, es, ks, names in columns for d, a, b, k in zip(ds, ss, es, ks, strict=True)]
    return Spans.of(sorted(rows), is_exact=False)


def _names_alone(found: Spans, texts: Sequence[str]) -> Spans:
    """Guessed spans without the possessive at their end: "Kamali's" names Kamali."""
    if found.is_exact or not len(found):
        return found
    end = found.end.copy()
    for i, (document, start, stop) in enumerate(
        zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True)
    ):
        if texts[document][stop - 1] in "'’s":
            end[i] = start + len(without_possessive(texts[document][start:stop]))
    return Spans(found.document, found.start, end, found.label, found.labels, found.is_exact)


def _repeated_names(texts: Sequence[str], spans: Sequence[Spans]) -> list[str]:
    """Names of several words that the detectors found at least twice in the texts."""
    times: Counter[str] = Counter()
    for found in spans:
        rows = zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True)
        times.update(texts[d][a:b] for d, a, b in rows)
    return [name for name, n in times.items() if n >= 2 and len(name.split()) > 1]
