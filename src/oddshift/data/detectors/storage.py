"""Detectors in plain fields, as a policy keeps them: lists with their entries, fixed forms, pipelines by fingerprint.

A detector of another package is kept by its registered name, with its settings. One that cannot be described by plain
fields is refused, because a release has to find what the audit found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from oddshift.base.errors import InvalidInput
from oddshift.base.identity import refuse_unreadable
from oddshift.base.registry import StoredName
from oddshift.base.storage import TYPED_BY
from oddshift.data.detectors import (
    DETECTORS,
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
from oddshift.data.detectors.spans import fingerprint_of


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
class KeptByName:
    """A detector that a registered name leads to: the settings of that name make it again."""

    entry: StoredName
    settings: Any = field(metadata={TYPED_BY: lambda known: DETECTORS.again(known["entry"])})


@dataclass(frozen=True, kw_only=True, repr=False)
class KeptNames:
    """What was learned about names from the fit texts; see `KnownNames`."""

    surnames: tuple[str, ...]
    labels: tuple[str, ...]
    ordinary: tuple[str, ...]

    @classmethod
    def of(cls, known: KnownNames) -> KeptNames:
        """In plain fields."""
        surnames, labels = tuple(known.surnames), tuple(known.surnames.values())
        return cls(surnames=surnames, labels=labels, ordinary=tuple(sorted(known.ordinary)))

    @property
    def known(self) -> KnownNames:
        """In the form that the linking of names uses."""
        return KnownNames(dict(zip(self.surnames, self.labels, strict=True)), frozenset(self.ordinary))


KeptDetector = NameList | ListedWords | FixedForms | KeptPipeline | KeptByName
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
    if isinstance(detector, Patterns | Handles | Occupations | Capitals):
        return _fixed_forms(detector)
    return _kept_by_name(detector)


def made_detector(kept: KeptDetector) -> Detector:
    """The detector that was kept; a pipeline that is missing or different is refused."""
    if isinstance(kept, KeptPipeline):
        return _pipeline(kept)
    if isinstance(kept, KeptByName):
        made: Detector = kept.settings.detector()
        return made
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
    return _made_of_forms(kept)


def _fixed_forms(detector: Patterns | Handles | Occupations | Capitals) -> FixedForms:
    if isinstance(detector, Patterns):
        return FixedForms(found_by="patterns", labels=detector.labels, threshold=detector.threshold)
    if isinstance(detector, Handles):
        return FixedForms(found_by="handles", labels=detector.labels, threshold=0.0)
    by: Literal["occupations", "capitals"] = "occupations" if isinstance(detector, Occupations) else "capitals"
    return FixedForms(found_by=by, labels=(), threshold=0.0)


def _made_of_forms(kept: FixedForms) -> Detector:
    if kept.found_by == "patterns":
        return Patterns(kept.labels, kept.threshold, is_kept=False)
    if kept.found_by == "handles":
        return Handles(kept.labels)
    return Occupations() if kept.found_by == "occupations" else Capitals()


def finds_the_same(detector: Detector, kept: KeptDetector, texts: Sequence[str]) -> bool:
    """Whether a detector that is made again from what was kept of it finds the same spans in some texts."""
    first, second = (each.detect(texts) for each in (detector, made_detector(kept)))
    same = first.by_document(len(texts)) == second.by_document(len(texts))
    return same and first.is_exact == second.is_exact


def _kept_by_name(detector: Detector) -> KeptByName:
    """A detector by the settings that `to_policy` gives, which have to be those of a registered name."""
    refusal = f"detector {detector.name!r} cannot be kept in a policy"
    describe = getattr(detector, "to_policy", None)
    if describe is None:
        raise InvalidInput(
            f"{refusal}, expected a pipeline, patterns, handles, occupations, capitals, a list, or a registered "
            "detector with to_policy()"
        )
    settings = describe()
    name = str(getattr(settings, "kind", ""))
    if name not in DETECTORS or DETECTORS[name] is not type(settings):
        raise InvalidInput(f"{refusal}: to_policy() gives {type(settings).__name__}, expected registered settings")
    kept = KeptByName(entry=DETECTORS.stored(name), settings=settings)
    refuse_unreadable(kept, refusal)
    return kept


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
