"""Who is sensitive: detectors behind one protocol, and the rule that turns their findings into tiers of word types.

Adding one: a file with a frozen class that has a `name` and `detect(texts) -> Spans`, and a line in DETECTORS.
"""

from oddshift.data.detectors.capitals import Capitals
from oddshift.data.detectors.detection_report import DetectionReport, examples, planted_recall, report_on
from oddshift.data.detectors.gazetteer import Gazetteer, WordList
from oddshift.data.detectors.handles import HANDLE_LABELS, Handles
from oddshift.data.detectors.normalising import normalised
from oddshift.data.detectors.occurrences import Occurrences
from oddshift.data.detectors.patterns import PATTERN_LABELS, Patterns
from oddshift.data.detectors.similarity import closest, similarity_to
from oddshift.data.detectors.spacy_pipeline import Pipeline
from oddshift.data.detectors.spans import Detector, Spans
from oddshift.data.detectors.tagging import NAME_LABELS, TierRule, TypeTags, stop_words, tag_types

DETECTORS: dict[str, type[Detector]] = {
    "pipeline": Pipeline,
    "patterns": Patterns,
    "gazetteer": Gazetteer,
    "words": WordList,
    "capitals": Capitals,
    "handles": Handles,
}
"""Every detector by the name a configuration uses."""

__all__ = [
    "DETECTORS",
    "HANDLE_LABELS",
    "NAME_LABELS",
    "PATTERN_LABELS",
    "Capitals",
    "DetectionReport",
    "Detector",
    "Gazetteer",
    "Handles",
    "Occurrences",
    "Patterns",
    "Pipeline",
    "Spans",
    "TierRule",
    "TypeTags",
    "WordList",
    "closest",
    "examples",
    "normalised",
    "planted_recall",
    "report_on",
    "similarity_to",
    "stop_words",
    "tag_types",
]
