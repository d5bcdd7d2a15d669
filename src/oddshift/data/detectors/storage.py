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
)
from oddshift.data.detectors.spacy_pipeline import pipeline_folder
from oddshift.data.detectors.spans import fingerprint_of


@dataclass(frozen=True, kw_only=True, repr=False)
class NameList:
    """Listed names, each with a label; see `Gazetteer`."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    keep_case: bool
    cover_surnames: bool
    found_by: str

    @classmethod
    def of(cls, found: Gazetteer) -> NameList:
        """In plain fields."""
        return cls(
            names=tuple(found.labels),
            labels=tuple(found.labels.values()),
            keep_case=found.keep_case,
            cover_surnames=found.cover_surnames,
            found_by=found.name,
        )

    def detector(self) -> Gazetteer:
        """The detector."""
        entries = dict(zip(self.names, self.labels, strict=True))
        return Gazetteer(
            entries,
            keep_case=self.keep_case,
            cover_surnames=self.cover_surnames,
            name=self.found_by,
        )


@dataclass(frozen=True, kw_only=True)
class FixedForms:
    """A detector that works by rules alone: `found_by` names it."""

    found_by: Literal["patterns", "handles", "occupations", "capitals"]
    labels: tuple[str, ...]
    threshold: float

    @classmethod
    def of(cls, found: Patterns | Handles | Occupations | Capitals) -> FixedForms:
        """In plain fields."""
        names: dict[type[Any], Any] = {Patterns: "patterns", Handles: "handles", Occupations: "occupations"}
        labels, threshold = getattr(found, "labels", ()), getattr(found, "threshold", 0.0)
        return cls(found_by=names.get(type(found), "capitals"), labels=labels, threshold=threshold)

    def detector(self) -> Detector:
        """The detector."""
        if self.found_by == "patterns":
            return Patterns(self.labels, self.threshold, is_kept=False)
        if self.found_by == "handles":
            return Handles(self.labels)
        return Occupations() if self.found_by == "occupations" else Capitals()


@dataclass(frozen=True, kw_only=True)
class KeptPipeline:
    """A spaCy pipeline by name or folder, and the fingerprint of its files."""

    path: str
    labels: tuple[str, ...]
    fingerprint: str

    @classmethod
    def of(cls, found: Pipeline) -> KeptPipeline:
        """In plain fields."""
        mark = fingerprint_of(pipeline_folder(found.pipeline))
        return cls(path=str(found.pipeline), labels=tuple(found.labels), fingerprint=mark)

    def detector(self) -> Pipeline:
        """The detector; a pipeline that is missing or different is refused."""
        name = Path(self.path).name
        try:
            folder = pipeline_folder(self.path)
        except InvalidInput as error:
            raise InvalidInput(
                f"the policy finds names with the spaCy pipeline {name!r}, which is not at {self.path}; expected it "
                "there"
            ) from error
        if fingerprint_of(folder) != self.fingerprint:
            raise InvalidInput(
                f"the spaCy pipeline {name!r} is not the one that the policy was made with (its files differ), "
                "expected that one, because another pipeline finds other names"
            )
        return Pipeline(self.path, self.labels, is_kept=False)  # a release may be long: nothing of it is kept


@dataclass(frozen=True, kw_only=True, repr=False)
class KeptByName:
    """A detector that a registered name leads to: the settings of that name make it again."""

    entry: StoredName
    settings: Any = field(metadata={TYPED_BY: lambda known: DETECTORS.again(known["entry"])})

    @classmethod
    def of(cls, found: Detector) -> KeptByName:
        """By the settings that its `to_policy` gives, which have to be those of a registered name."""
        refusal = f"detector {found.name!r} cannot be kept in a policy"
        describe = getattr(found, "to_policy", None)
        if describe is None:
            raise InvalidInput(
                f"{refusal}, expected a pipeline, patterns, handles, occupations, capitals, a list, or a registered "
                "detector with to_policy()"
            )
        settings = describe()
        name = str(getattr(settings, "kind", ""))
        if name not in DETECTORS or DETECTORS[name] is not type(settings):
            raise InvalidInput(f"{refusal}: to_policy() gives {type(settings).__name__}, expected registered settings")
        kept = cls(entry=DETECTORS.stored(name), settings=settings)
        refuse_unreadable(kept, refusal)
        return kept

    def detector(self) -> Detector:
        """The detector."""
        made: Detector = self.settings.detector()
        return made


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


KeptDetector = NameList | FixedForms | KeptPipeline | KeptByName
"""Every form in which a policy keeps a detector; `detector()` makes it again."""

_FORMS: dict[type[Any], Any] = {
    Pipeline: KeptPipeline,
    Gazetteer: NameList,
    **dict.fromkeys((Patterns, Handles, Occupations, Capitals), FixedForms),
}


def kept_detector(detector: Detector) -> KeptDetector:
    """A detector in plain fields."""
    kept: KeptDetector = _FORMS.get(type(detector), KeptByName).of(detector)
    return kept


def finds_the_same(detector: Detector, kept: KeptDetector, texts: Sequence[str]) -> bool:
    """Whether a detector that is made again from what was kept of it finds the same spans in some texts."""
    first, second = (each.detect(texts) for each in (detector, kept.detector()))
    same = first.by_document(len(texts)) == second.by_document(len(texts))
    return same and first.is_exact == second.is_exact
