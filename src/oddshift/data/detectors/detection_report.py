"""Planted recall: the share of public names found where names, "he" or "she" stood in the user's own texts.

Nothing has to be labelled: what is planted is known. Interval: Clopper & Pearson (Biometrika 1934).

The detection report: which detectors looked, what they found, where occurrences disagree, and what was left out.

Counts only, never a word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds.means import clopper_pearson_lower, clopper_pearson_upper
from oddshift.data.detectors.capitals import CAPITALISED
from oddshift.data.detectors.gazetteer import FAMILY_NAMES, GIVEN_NAMES
from oddshift.data.detectors.names import PERSON, ends_in_abbreviation
from oddshift.data.detectors.spans import Detector, Spans
from oddshift.data.detectors.tagging import Occurrences, TypeTags
from oddshift.model.tiers import NOT_SENSITIVE

PLANTED_KINDS = (PERSON, CAPITALISED, "NAME")
"""Labels whose spans are taken for names of people."""

_PRONOUN = re.compile(r"\b(?:[Hh]e|[Ss]he)\b(?!['’])")
_BORDER = re.compile(r"[.!?…]['\"”’)\]]{0,3}\s|\n")
_READ = 2  # texts that are read for each trial to find places, if they were not read before
_READ_OF_EACH = 500  # characters of each of those
_LONGEST = 600  # characters of a sentence that are kept on either side of a name


@dataclass(frozen=True)
class PlantedRecall:
    """How many of the planted names were found, and where the recall lies with confidence 1 − `alpha`.

    **Guarantee**: the interval holds the chance that a drawn public name is found in a drawn place, both drawn
    independently for each trial. Places are those where a name was found before and those of "he" and "she", which no
    detector chose. Rare names, and names in sentences of another kind, are not counted: the true recall may be lower.

    >>> PlantedRecall(found=97, planted=100, alpha=0.05).line()
    '97 of 100 planted names found: recall 97.0 % (95 % interval 91.5 to 99.4 %)'
    """

    found: int
    planted: int
    alpha: float = 0.05

    @property
    def recall(self) -> float:
        """The share that was found."""
        return self.found / self.planted

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper-Pearson, alpha/2 on either side."""
        half = self.alpha / 2
        return (
            clopper_pearson_lower(self.found, self.planted, half),
            clopper_pearson_upper(self.found, self.planted, half),
        )

    def line(self) -> str:
        """The counts and the interval in one sentence."""
        low, high = self.interval
        return (
            f"{self.found} of {self.planted} planted names found: recall {100 * self.recall:.1f} % "
            f"({100 * (1 - self.alpha):g} % interval {100 * low:.1f} to {100 * high:.1f} %)"
        )


@dataclass(frozen=True, repr=False)
class _Place:
    """A sentence of the user's texts around a name: the text before and after, and how many words the name had."""

    before: str
    after: str
    words: int


def recall_of_planted(
    detectors: Sequence[Detector],
    texts: Sequence[str],
    rng: np.random.Generator,
    *,
    spans: Sequence[Spans] | None = None,
    trials: int = 300,
    alpha: float = 0.05,
) -> PlantedRecall | None:
    """Measure recall on public names in place of detected ones and of "he" and "she", in at most `trials` sentences.

    `spans` are what the detectors found in the texts, where that is known already; otherwise some of the texts are
    read, up to their first few sentences. At most one sentence of a text is used. The result is None when there is no
    place.
    """
    most = whole(trials, "trials", 1)
    if not detectors:
        raise InvalidInput("no detectors, expected at least one")
    order = rng.permutation(len(texts))
    if spans is None:
        order = order[: _READ * most]
        some = [texts[d][:_READ_OF_EACH] for d in order]
        spans = [detector.detect(some) for detector in detectors]
        texts, order = some, np.arange(len(some))
    places = _places(texts, spans, order.tolist(), most, rng)
    if not places:
        return None
    names = [_name(place.words, rng) for place in places]
    planted = [f"{place.before}{name}{place.after}" for place, name in zip(places, names, strict=True)]
    starts = [len(place.before) for place in places]
    return PlantedRecall(_found(detectors, planted, starts, names), len(places), alpha)


def _places(
    texts: Sequence[str], spans: Sequence[Spans], order: list[int], most: int, rng: np.random.Generator
) -> list[_Place]:
    """At most one place in each text, texts in the given order."""
    names: dict[int, list[tuple[int, int]]] = {}
    for found in spans:
        kept = found.only(PLANTED_KINDS)
        for d, a, b in zip(kept.document.tolist(), kept.start.tolist(), kept.end.tolist(), strict=True):
            names.setdefault(d, []).append((a, b))
    places: list[_Place] = []
    for document in order:
        if len(places) == most:
            break
        found_here = names.get(document, []) + [m.span() for m in _PRONOUN.finditer(texts[document])]
        if found_here:
            start, end = found_here[int(rng.integers(len(found_here)))]
            places.append(_place(texts[document], start, end))
    return places


def _place(text: str, start: int, end: int) -> _Place:
    """The sentence around a name."""
    borders = [m.end() for m in _BORDER.finditer(text) if not ends_in_abbreviation(text[: m.start() + 1][-12:])]
    k = bisect_right(borders, start)
    first = max(borders[k - 1] if k else 0, start - _LONGEST)
    last = min(next((b for b in borders[k:] if b >= end), len(text)), end + _LONGEST)
    return _Place(text[first:start], text[end:last].rstrip(), len(text[start:end].split()))


def _name(words: int, rng: np.random.Generator) -> str:
    """A full name where there were several words; otherwise a surname or a given name."""
    given, family = (str(rng.choice(names)) for names in (GIVEN_NAMES, FAMILY_NAMES))
    if words > 1:
        return f"{given} {family}"
    return family if rng.random() < 0.5 else given


def _found(detectors: Sequence[Detector], planted: list[str], starts: list[int], names: list[str]) -> int:
    """How many names are covered, with every word, by the spans of all detectors together."""
    touched = [bytearray(len(text)) for text in planted]
    for detector in detectors:
        spans = detector.detect(planted)
        for d, a, b in zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True):
            touched[d][a:b] = b"\x01" * (b - a)
    whole_names = 0
    for seen, start, name in zip(touched, starts, names, strict=True):
        words = [(m.start() + start, m.end() + start) for m in re.finditer(r"\S+", name)]
        whole_names += all(any(seen[a:b]) for a, b in words)
    return whole_names


@dataclass(frozen=True)
class TierCount:
    """One tier: its word types, how many have a vector, and their occurrences (all, and without a vector)."""

    name: str
    types: int
    with_vector: int
    occurrences: int
    masked: int


@dataclass(frozen=True)
class DetectionReport:
    """What detection found in a corpus, in numbers.

    `vector_coverage` is the share of running words that have a vector; `sensitive_share` the share of running words in
    some tier. `mixed`, `refused` and `contested` count types whose occurrences disagree: only some of them are tagged;
    some are tagged but the rule left the type out; they are tagged with more than one tier. `recall` is that on planted
    names, where it was measured.
    """

    detectors: tuple[str, ...]
    documents: int
    tokens: int
    words: int
    types: int
    tiers: tuple[TierCount, ...]
    vector_coverage: float
    sensitive_share: float
    mixed: int
    refused: int
    contested: int
    recall: PlantedRecall | None = None

    def lines(self) -> tuple[str, ...]:
        """The report as text."""
        tiers = tuple(
            f"{t.name}: {t.types} types ({t.with_vector} with a vector), {t.occurrences} occurrences "
            f"({t.masked} masked for lack of a vector)"
            for t in self.tiers
        )
        missed = "names that they miss: not measured" if self.recall is None else self.recall.line()
        return (
            f"looked: {', '.join(self.detectors)}; names they miss are released in the clear",
            f"{self.documents} documents, {self.tokens} tokens, {self.words} words, {self.types} types",
            *tiers,
            f"words with a vector: {self.vector_coverage:.1%}; words in some tier: {self.sensitive_share:.1%}",
            f"occurrences disagree: {self.mixed} types tagged in part, {self.refused} left out by the rule, "
            f"{self.contested} tagged with several tiers",
            missed,
        )


def report_on(
    occurrences: Occurrences,
    tags: TypeTags,
    has_vector: BoolArray,
    detectors: Sequence[Detector],
    recall: PlantedRecall | None = None,
) -> DetectionReport:
    """Report on a tagged corpus; `has_vector` says which types have a point."""
    totals = np.where(occurrences.is_word, occurrences.totals, 0)
    words = int(totals.sum())
    sensitive = tags.labels != NOT_SENSITIVE
    return DetectionReport(
        detectors=tuple(detector.name for detector in detectors),
        documents=len(occurrences.offsets) - 1,
        tokens=len(occurrences.type),
        words=words,
        types=int((totals > 0).sum()),
        tiers=tuple(_tier(name, tags.labels == t, has_vector, totals) for t, name in enumerate(tags.names)),
        vector_coverage=float(totals[has_vector].sum() / max(1, words)),
        sensitive_share=float(totals[sensitive].sum() / max(1, words)),
        mixed=len(tags.mixed),
        refused=len(tags.refused),
        contested=len(tags.contested),
        recall=recall,
    )


def _tier(name: str, inside: BoolArray, has_vector: BoolArray, totals: IntArray) -> TierCount:
    return TierCount(
        name=name,
        types=int(inside.sum()),
        with_vector=int((inside & has_vector).sum()),
        occurrences=int(totals[inside].sum()),
        masked=int(totals[inside & ~has_vector].sum()),
    )
