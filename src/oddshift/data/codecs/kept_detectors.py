"""Detectors in plain fields, as a policy keeps them: lists with their entries, fixed forms, pipelines by fingerprint.

A detector that cannot be described by plain fields is refused, because a release has to find what the audit found.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from oddshift.base.errors import InvalidInput
from oddshift.data.detectors import (
    Capitals,
    Detector,
    Gazetteer,
    Handles,
    KnownNames,
    Occupations,
    Patterns,
    Pipeline,
    WordList,
)
from oddshift.data.detectors.spacy_pipeline import pipeline_folder
from oddshift.data.detectors.span_cache import fingerprint_of


@dataclass(frozen=True, kw_only=True, repr=False)
class NameList:
    """Listed names under one label; see `Gazetteer`."""

    names: tuple[str, ...]
    label: str
    keep_case: bool
    cover_surnames: bool
    ordinary: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class ListedWords:
    """Single words, each with a label; see `WordList`."""

    words: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FixedForms:
    """A detector that works by rules alone: `found_by` names it."""

    found_by: Literal["patterns", "handles", "occupations", "capitals"]
    labels: tuple[str, ...]
    threshold: float


@dataclass(frozen=True, kw_only=True)
class KeptPipeline:
    """A spaCy pipeline by name or folder, and the fingerprint of its files."""

    path: str
    labels: tuple[str, ...]
    fingerprint: str


@dataclass(frozen=True, kw_only=True, repr=False)
class KeptNames:
    """What was learned about names from the fit texts; see `KnownNames`. `joined` names are one word."""

    surnames: tuple[str, ...]
    labels: tuple[str, ...]
    ordinary: tuple[str, ...]
    joined: tuple[str, ...]

    @property
    def known(self) -> KnownNames:
        """In the form that the linking of names uses."""
        return KnownNames(dict(zip(self.surnames, self.labels, strict=True)), frozenset(self.ordinary))


KeptDetector = NameList | ListedWords | FixedForms | KeptPipeline
"""Every form in which a policy keeps a detector."""


def kept_detector(detector: Detector) -> KeptDetector:
    """A detector in plain fields."""
    if isinstance(detector, Pipeline):
        mark = fingerprint_of(pipeline_folder(detector.pipeline))
        return KeptPipeline(path=str(detector.pipeline), labels=tuple(detector.labels), fingerprint=mark)
    if isinstance(detector, Gazetteer):
        return NameList(
            names=tuple(detector.entries),
            label=detector.label,
            keep_case=detector.keep_case,
            cover_surnames=detector.cover_surnames,
            ordinary=tuple(sorted(detector.ordinary)),
        )
    if isinstance(detector, WordList):
        return ListedWords(words=tuple(detector.words), labels=tuple(detector.words.values()))
    if isinstance(detector, Patterns):
        return FixedForms(found_by="patterns", labels=detector.labels, threshold=detector.threshold)
    if isinstance(detector, Handles):
        return FixedForms(found_by="handles", labels=detector.labels, threshold=0.0)
    if isinstance(detector, Occupations | Capitals):
        by: Literal["occupations", "capitals"] = "occupations" if isinstance(detector, Occupations) else "capitals"
        return FixedForms(found_by=by, labels=(), threshold=0.0)
    raise InvalidInput(
        f"detector {detector.name!r} cannot be kept in a policy, expected a pipeline, patterns, handles, occupations, "
        "capitals or a list"
    )


def made_detector(kept: KeptDetector) -> Detector:
    """The detector that was kept; a pipeline that is missing or different is refused."""
    if isinstance(kept, KeptPipeline):
        return _pipeline(kept)
    if isinstance(kept, NameList):
        return Gazetteer(
            kept.names,
            kept.label,
            keep_case=kept.keep_case,
            cover_surnames=kept.cover_surnames,
            ordinary=frozenset(kept.ordinary),
        )
    if isinstance(kept, ListedWords):
        return WordList(dict(zip(kept.words, kept.labels, strict=True)))
    if kept.found_by == "patterns":
        return Patterns(kept.labels, kept.threshold, is_kept=False)
    if kept.found_by == "handles":
        return Handles(kept.labels)
    return Occupations() if kept.found_by == "occupations" else Capitals()


def _pipeline(kept: KeptPipeline) -> Pipeline:
    name = Path(kept.path).name
    try:
        folder = pipeline_folder(kept.path)
    except InvalidInput as error:
        raise InvalidInput(
            f"the policy finds names with the spaCy pipeline {name!r}, which is not at {kept.path}; expected it there"
        ) from error
    if fingerprint_of(folder) != kept.fingerprint:
        raise InvalidInput(
            f"the spaCy pipeline {name!r} is not the one that the policy was made with (its files differ), expected "
            "that one, because another pipeline finds other names"
        )
    return Pipeline(kept.path, kept.labels, is_kept=False)  # a release may be long: nothing of it is kept
