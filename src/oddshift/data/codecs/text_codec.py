"""The text codec: a lexicon learned from the fit texts, laid over any other texts of the same columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.lexicon import PUBLIC, Lexicon, Similar, add_similar, build_lexicon, has_point
from oddshift.data.codecs.own_vectors import vectors_from_text
from oddshift.data.codecs.pipeline_vectors import FROM_PIPELINE, pipeline_with_vectors, vectors_of_pipeline
from oddshift.data.codecs.text import EncodedText, casing_rules, encode_tokens
from oddshift.data.codecs.text_cells import TextCells
from oddshift.data.codecs.text_settings import FROM_TEXT, TextSettings
from oddshift.data.codecs.tokens import Tokens
from oddshift.data.codecs.word_vectors import WordVectors, read_vectors
from oddshift.data.detectors import Detector, Gazetteer, Handles, Occupations, Patterns, Spans, WordList
from oddshift.data.detectors.detection_report import DetectionReport, planted_recall, report_on
from oddshift.data.detectors.tagging import NAME_LABELS, TierRule, TypeTags, stop_words, tag_types
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, kw_only=True, repr=False)
class NameList:
    """Listed names, each one token wherever it stands; see `Gazetteer`."""

    names: tuple[str, ...]
    keep_case: bool
    cover_surnames: bool
    ordinary: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FixedForms:
    """Numbers, addresses and handles of fixed forms, each one token wherever it stands.

    `found_by` says whose labels they are: Presidio's patterns, handles, or the list of
    occupations.
    """

    found_by: Literal["patterns", "handles", "occupations"]
    labels: tuple[str, ...]
    threshold: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TextVocabulary:
    """A lexicon: the word of each point, the point of each type, types that are masked, and types that are public.

    `joined` says which stretches of several tokens are one.
    """

    words: tuple[str, ...]
    types: tuple[str, ...]
    type_points: IntArray
    masked: tuple[str, ...]
    public: tuple[str, ...]
    joined: tuple[NameList | FixedForms, ...]


@dataclass(frozen=True, eq=False, repr=False)
class TextFindings:
    """What fitting found: the tags behind the lexicon and the detection report."""

    tags: TypeTags
    report: DetectionReport


@dataclass(frozen=True, eq=False, repr=False)
class TextCodec:
    """Finds the secrets of texts by a lexicon, word by word.

    `joined_by` are the detectors whose every match is one token, in the order in which they are asked.
    `extra_detector` (optional) is asked for further names when texts are encoded: a word under one of its spans that
    the lexicon holds as public is masked, stop words apart. What it masks depends on the words around, which no
    certificate covers.
    """

    settings: TextSettings
    lexicon: Lexicon
    joined_by: tuple[Detector, ...] = ()
    findings: TextFindings | None = None
    extra_detector: Detector | None = None

    kind: ClassVar[str] = "text"

    @classmethod
    def fit(
        cls,
        columns: Columns,
        settings: TextSettings,
        *,
        detectors: Sequence[Detector] | None = None,
        vectors: WordVectors | None = None,
    ) -> TextCodec:
        """Detect, tag and build the lexicon of some texts.

        `detectors` and `vectors` are taken from the settings unless they are given.
        """
        chosen = [s.detector() for s in settings.detectors] if detectors is None else list(detectors)
        if not chosen:
            raise InvalidInput("no detector was named, expected at least one that finds sensitive words")
        known = _word_vectors(settings.vectors, chosen) if vectors is None else vectors
        return _fitted(cls, TextCells.of(columns, settings.text), settings, chosen, known)

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"TextCodec({self.lexicon!r})"

    @property
    def space(self) -> Space:
        """The words' vectors."""
        return self.lexicon.space

    @property
    def tiers(self) -> Tiers:
        """The tiers of the words."""
        return self.lexicon.tiers

    @property
    def released(self) -> tuple[str, ...]:
        """The columns of text."""
        return self.settings.text

    @property
    def required(self) -> tuple[str, ...]:
        """The columns of text."""
        return self.settings.text

    @property
    def point_names(self) -> tuple[str, ...]:
        """The word of each point."""
        return self.lexicon.words

    @property
    def notes(self) -> tuple[str, ...]:
        """The detection report."""
        return () if self.findings is None else tuple(f"fit documents: {t}" for t in self.findings.report.lines())

    def encode(self, columns: Columns, first: int = 1) -> EncodedText:
        """Texts with the lexicon laid over them, each row a document, with users and subgroups where they are known."""
        asked = self.settings
        cells = TextCells.of(columns, asked.text, first)
        tokens = cells.tokens(asked.tokeniser)
        for detector in self.joined_by:
            tokens = tokens.merged(cells.inside(detector.detect(cells.documents)))
        encoded = encode_tokens(
            tokens,
            self.lexicon,
            unknown=asked.unknown,
            casing=asked.casing,
            users=columns.get(asked.user) if asked.user else None,
            subgroups=columns.get(asked.subgroup) if asked.subgroup else None,
        )
        masked = encoded.masked
        if self.extra_detector is not None:
            masked = np.union1d(masked, self._names(tokens, cells, self.extra_detector))
        return replace(encoded, cells=cells, masked=masked)

    def stream(self) -> TextCodec:
        """Itself: rows do not continue one another."""
        return self

    def on_columns(self, names: Sequence[str]) -> TextCodec:
        """The same codec for texts in other columns."""
        return replace(self, settings=replace(self.settings, text=tuple(names)))

    def to_policy(self) -> tuple[TextSettings, TextVocabulary]:
        """Settings without the places of files, and the lexicon; a detector that only code can make is refused."""
        asked = self.settings
        source = asked.vectors if asked.vectors in {FROM_TEXT, FROM_PIPELINE} else Path(asked.vectors).name
        settings = replace(
            asked,
            detectors=(),  # what they found is in the lexicon; what joins tokens is in the vocabulary
            vectors=source,
            casing=casing_rules(self.tiers, asked.casing),
        )
        points = self.lexicon.point_of
        vocabulary = TextVocabulary(
            words=self.lexicon.words,
            types=tuple(points),
            type_points=np.array(list(points.values()), dtype=np.int64),
            masked=self.lexicon.masked,
            public=self.lexicon.public,
            joined=tuple(_stored(detector) for detector in self.joined_by),
        )
        return settings, vocabulary

    @classmethod
    def from_policy(cls, settings: TextSettings, vocabulary: TextVocabulary, space: Space, tiers: Tiers) -> TextCodec:
        """The codec over stored words."""
        lexicon = Lexicon(
            words=vocabulary.words,
            space=space,
            tiers=tiers,
            point_of=dict(zip(vocabulary.types, vocabulary.type_points.tolist(), strict=True)),
            masked=vocabulary.masked,
            public=vocabulary.public,
        )
        return cls(settings, lexicon, tuple(_made(part) for part in vocabulary.joined))

    def _names(self, tokens: Tokens, cells: TextCells, detector: Detector) -> IntArray:
        """Tokens that the detector takes for names and the lexicon for public words."""
        occurrences = tokens.occurrences
        under = np.unique(occurrences.under(detector.detect(cells.documents))[0])
        types = occurrences.type[under]
        is_stop = np.array([word in self._stop for word in occurrences.types], dtype=np.bool_)
        is_public = self.lexicon.code(occurrences.types) == PUBLIC
        return under[(is_public & occurrences.is_word & ~is_stop)[types]]

    @cached_property
    def _stop(self) -> frozenset[str]:
        return stop_words()


def _fitted(
    cls: type[TextCodec],
    cells: TextCells,
    settings: TextSettings,
    detectors: Sequence[Detector],
    vectors: WordVectors | None,
) -> TextCodec:
    """Tokenise, detect, tag, and build the lexicon."""
    tokens, texts = cells.tokens(settings.tokeniser), cells.documents
    spans = [cells.inside(detector.detect(texts)) for detector in detectors]
    joined_by = [detector for detector, found in zip(detectors, spans, strict=True) if found.is_exact]
    for found in spans:
        tokens = tokens.merged(found) if found.is_exact else tokens
    names = _repeated_names(texts, spans) if settings.join_names else []
    if names:
        joined_by.append(Gazetteer(names, keep_case=True))
        tokens = tokens.merged(cells.inside(joined_by[-1].detect(texts)))
    seen = tokens.occurrences
    known = vectors_from_text(seen) if vectors is None else vectors
    stop = stop_words()
    tags = tag_types(seen, spans, tier_rule(settings, [label for found in spans for label in found.labels]), stop)
    if settings.similar_percent:
        similar = Similar(settings.similar_name, settings.similar_percent, settings.similar_variant)
        tags = add_similar(tags, seen, known, similar, stop)
    lexicon = build_lexicon(seen, tags, known, is_public=settings.is_public, stop_words=stop, metric=settings.metric)
    casing_rules(lexicon.tiers, settings.casing)
    recall = planted_recall(detectors, texts, settings.planted) if settings.planted else None
    report = report_on(seen, tags, has_point(seen, known), detectors, recall)
    return cls(settings, lexicon, tuple(joined_by), TextFindings(tags, report))


def _word_vectors(source: str, detectors: Sequence[Detector]) -> WordVectors | None:
    """The vectors that the settings name; None for those made from the text."""
    if source == FROM_TEXT:
        return None
    if source == FROM_PIPELINE:
        return vectors_of_pipeline(pipeline_with_vectors(detectors))
    return read_vectors(Path(source))


def tier_rule(settings: TextSettings, labels: Sequence[str]) -> TierRule:
    """Labels and their tiers: whatever was found leads to the first tier, unless `tier_of` says otherwise."""
    first = dict.fromkeys((*NAME_LABELS, *labels), settings.tier_names[0])
    tier_of = {**first, **settings.tier_of}
    return TierRule(names=settings.tier_names, tier_of=tier_of, share=settings.share, count=settings.count)


def _repeated_names(texts: Sequence[str], spans: Sequence[Spans]) -> list[str]:
    """Names of several words that the detectors found at least twice in the texts."""
    times: Counter[str] = Counter()
    for found in spans:
        rows = zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True)
        times.update(texts[d][a:b] for d, a, b in rows)
    return [name for name, n in times.items() if n >= 2 and len(name.split()) > 1]


def _stored(detector: Detector) -> NameList | FixedForms:
    if isinstance(detector, Patterns):
        return FixedForms(found_by="patterns", labels=detector.labels, threshold=detector.threshold)
    if isinstance(detector, Handles):
        return FixedForms(found_by="handles", labels=detector.labels, threshold=0.0)
    if isinstance(detector, Gazetteer):
        return NameList(
            names=tuple(detector.entries),
            keep_case=detector.keep_case,
            cover_surnames=detector.cover_surnames,
            ordinary=tuple(sorted(detector.ordinary)),
        )
    if isinstance(detector, WordList):
        return NameList(names=tuple(detector.words), keep_case=False, cover_surnames=False, ordinary=())
    if isinstance(detector, Occupations):
        return FixedForms(found_by="occupations", labels=(), threshold=0.0)
    raise InvalidInput(f"detector {detector.name!r} cannot be kept in a policy, expected patterns or a list of names")


def _made(stored: NameList | FixedForms) -> Detector:
    if isinstance(stored, NameList):
        ordinary = frozenset(stored.ordinary)
        return Gazetteer(
            stored.names, keep_case=stored.keep_case, cover_surnames=stored.cover_surnames, ordinary=ordinary
        )
    if stored.found_by == "handles":
        return Handles(stored.labels)
    if stored.found_by == "occupations":
        return Occupations()
    return Patterns(stored.labels, stored.threshold)
