"""Detectors of what is sensitive, behind one protocol, and the rule that turns their findings into tiers of word types.

Adding one: a file with a frozen class that has a `name` and `detect(texts) -> Spans`, a settings class with a `kind`
and `detector()` that makes it, and a line in DETECTORS or an entry point of the group `oddshift.detectors`.
"""

from __future__ import annotations

from typing import Any

from oddshift.base.registry import Registry
from oddshift.data.detectors.capitals import Capitals, CapitalsSettings
from oddshift.data.detectors.detection_report import DetectionReport, PlantedRecall, recall_of_planted, report_on
from oddshift.data.detectors.gazetteer import Gazetteer, GazetteerSettings, WordListSettings
from oddshift.data.detectors.handles import HANDLE_LABELS, Handles, HandlesSettings
from oddshift.data.detectors.kinds import (
    FIRST_KINDS,
    MARK_ONLY,
    OCCUPATIONS,
    SECOND_KINDS,
    TIER_OF_KIND,
    Occupations,
    OccupationsSettings,
    default_rule,
    mark_of,
)
from oddshift.data.detectors.names import KnownNames, known_names, linked, ordinary_words, stop_words
from oddshift.data.detectors.normalising import normalised
from oddshift.data.detectors.patterns import PATTERN_LABELS, Patterns, PatternsSettings
from oddshift.data.detectors.spacy_pipeline import Pipeline, PipelineSettings
from oddshift.data.detectors.spans import Detector, DetectorSettings, Spans
from oddshift.data.detectors.tagging import (
    NAME_LABELS,
    Occurrences,
    TierRule,
    TypeTags,
    closest,
    similarity_to,
    tag_types,
)

DETECTORS: Registry[type[Any]] = Registry(
    "detector",
    "oddshift.detectors",
    {
        "pipeline": PipelineSettings,
        "patterns": PatternsSettings,
        "gazetteer": GazetteerSettings,
        "words": WordListSettings,
        "capitals": CapitalsSettings,
        "handles": HandlesSettings,
        "occupations": OccupationsSettings,
    },
)
"""The settings of every detector by the kind that a configuration names, those of installed packages included."""

__all__ = [
    "DETECTORS",
    "FIRST_KINDS",
    "HANDLE_LABELS",
    "MARK_ONLY",
    "NAME_LABELS",
    "OCCUPATIONS",
    "PATTERN_LABELS",
    "SECOND_KINDS",
    "TIER_OF_KIND",
    "Capitals",
    "CapitalsSettings",
    "DetectionReport",
    "Detector",
    "DetectorSettings",
    "Gazetteer",
    "GazetteerSettings",
    "Handles",
    "HandlesSettings",
    "KnownNames",
    "Occupations",
    "OccupationsSettings",
    "Occurrences",
    "Patterns",
    "PatternsSettings",
    "Pipeline",
    "PipelineSettings",
    "PlantedRecall",
    "Spans",
    "TierRule",
    "TypeTags",
    "WordListSettings",
    "closest",
    "default_rule",
    "known_names",
    "linked",
    "mark_of",
    "normalised",
    "ordinary_words",
    "recall_of_planted",
    "report_on",
    "similarity_to",
    "stop_words",
    "tag_types",
]
