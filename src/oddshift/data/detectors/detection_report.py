"""The detection report: which detectors looked, what they found, where occurrences disagree, and what was left out.

Counts only, never a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.data.detectors.planting import PlantedRecall
from oddshift.data.detectors.spans import Detector
from oddshift.data.detectors.tagging import Occurrences, TypeTags
from oddshift.model.tiers import NOT_SENSITIVE


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
