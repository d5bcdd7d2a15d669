"""The text codec: detectors and a lexicon learned from the fit texts, laid over any texts of the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns, Coverage
from oddshift.data.codecs.text.cells import TextCells
from oddshift.data.codecs.text.encoded import EncodedText, casing_rules, encode_tokens
from oddshift.data.codecs.text.lexicon import Lexicon, Similar, add_similar, build_lexicon, has_point
from oddshift.data.codecs.text.own_vectors import (
    FROM_PIPELINE,
    pipeline_with_vectors,
    vectors_from_text,
    vectors_of_pipeline,
)
from oddshift.data.codecs.text.settings import FROM_TEXT, TextSettings
from oddshift.data.codecs.text.span_detection import Finders, all_found
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.codecs.text.vectors import WordVectors, read_vectors
from oddshift.data.detectors import Detector, PlantedRecall, Spans, default_rule, recall_of_planted
from oddshift.data.detectors.detection_report import DetectionReport, report_on
from oddshift.data.detectors.stop_words import stop_words
from oddshift.data.detectors.storage import KeptDetector, KeptNames, kept_detector, made_detector
from oddshift.data.detectors.tagging import NAME_LABELS, TierRule, TypeTags, tag_types
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.settings import WordChoice
from oddshift.mechanisms.word_channels import NoiseCharacter
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

ONE_OCCURRENCE = 1e-9
"""A share that a single occurrence always reaches."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TextVocabulary:
    """A lexicon and its finders in plain fields.

    The word of each point and how it is written; the point of each type; the types that are protected everywhere, with
    their kinds; the types that were found and have no point; the detectors; and what they learned about names.
    """

    words: tuple[str, ...]
    forms: tuple[str, ...]
    types: tuple[str, ...]
    type_points: IntArray
    everywhere: tuple[str, ...]
    kinds: tuple[str, ...]
    masked: tuple[str, ...]
    detectors: tuple[KeptDetector, ...]
    names: KeptNames


@dataclass(frozen=True, eq=False, repr=False)
class TextFindings:
    """What fitting found: the tags behind the lexicon, the detection report, and the recall on planted names.

    `vectors` are those that the lexicon was built with, and `words` all words of the fit texts.
    """

    tags: TypeTags
    report: DetectionReport
    recall: PlantedRecall | None = None
    vectors: WordVectors | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class TextCodec:
    """Finds the secrets of texts by detectors and a lexicon, word by word.

    A word that a detector found is a secret when its type has a point, and otherwise becomes a mark of its kind.
    Types that the lexicon protects everywhere count as found wherever they stand. All other words stay as they are.
    `extra_detector` is an optional detector that the audit did not use.
    """

    settings: TextSettings
    lexicon: Lexicon
    finders: Finders = field(default_factory=Finders)
    findings: TextFindings | None = None
    extra_detector: Detector | None = None

    kind: ClassVar[str] = "text"
    settings_class: ClassVar[type[TextSettings]] = TextSettings
    vocabulary_class: ClassVar[type[TextVocabulary]] = TextVocabulary

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
        """The columns of text, and that of users where a secret is drawn once for each user."""
        asked = self.settings
        by_user = asked.user is not None and asked.joint_by == "user" and asked.repeats == "once"
        return (*asked.text, *((asked.user,) if by_user and asked.user else ()))

    @property
    def point_names(self) -> tuple[str, ...]:
        """The word of each point."""
        return self.lexicon.words

    @property
    def output_words(self) -> WordChoice:
        """The word of each point, and the vectors of the other words of the fit texts where those are at hand."""
        found = self.findings
        if found is None or found.vectors is None:
            return WordChoice(self.point_names)
        return WordChoice(self.point_names, found.vectors.look_up(self.other_words)[0].astype(np.float64))

    @cached_property
    def other_words(self) -> tuple[str, ...]:
        """The words of the fit texts that are not points and have a vector of their own, in order."""
        found = self.findings
        if found is None or found.vectors is None:
            return ()
        taken = {row.tobytes() for row in self.space.points.astype(np.float32)}
        others = []
        for word in sorted(set(found.words) - set(self.lexicon.point_of)):
            place = found.vectors.row.get(word)
            if place is not None and (row := found.vectors.vectors[place].tobytes()) not in taken:
                taken.add(row)
                others.append(word)
        return tuple(others)

    @property
    def notes(self) -> tuple[str, ...]:
        """The detection report."""
        return () if self.findings is None else tuple(f"fit documents: {t}" for t in self.findings.report.lines())

    def coverage(self, encoded: EncodedText) -> Coverage:
        """What happened to the words of each kind in some texts, and how many names the detectors may have missed."""
        finders = self.finders.detectors if self.extra_detector is None else self.all_finders.detectors
        names = tuple(detector.name for detector in finders)
        return Coverage(
            detectors=names, counts=encoded.counts, recall=None if self.findings is None else self.findings.recall
        )

    def encode(self, columns: Columns, first: int = 1, found: Sequence[Spans] | None = None) -> EncodedText:
        """Texts with their secrets; each row is a document, with users and subgroups where they are known.

        `found` is what the finders detect in these texts, where that is known.
        """
        asked = self.settings
        cells = TextCells.of(columns, asked.text, first)
        tokens, among, _ = self.all_finders.find(cells, asked.tokeniser, found)
        encoded = encode_tokens(
            tokens,
            self.lexicon,
            among,
            unknown=asked.unknown,
            casing=asked.casing,
            users=columns.get(asked.user) if asked.user else None,
            subgroups=columns.get(asked.subgroup) if asked.subgroup else None,
            shows_shapes=asked.marks == "substitute",
        )
        return replace(encoded, cells=cells, substitutes=asked.marks == "substitute", repeats=asked.repeats)

    def encode_name(self, name: str, kind: str) -> EncodedText:
        """A stretch of text that someone else took for a name: every word of it is protected."""
        asked = self.settings
        tokens = tokenise([name], asked.tokeniser)
        found = all_found(tokens, kind)
        encoded = encode_tokens(tokens, self.lexicon, found, unknown=asked.unknown, casing=asked.casing)
        return replace(encoded, substitutes=asked.marks == "substitute")

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
            detectors=(),  # they are in the vocabulary, lists with their entries
            vectors=source,
            casing=casing_rules(self.tiers, asked.casing),
        )
        lexicon, finders = self.lexicon, self.finders
        vocabulary = TextVocabulary(
            words=lexicon.words,
            forms=lexicon.forms,
            types=tuple(lexicon.point_of),
            type_points=np.array(list(lexicon.point_of.values()), dtype=np.int64),
            everywhere=tuple(lexicon.everywhere),
            kinds=tuple(lexicon.everywhere.values()),
            masked=lexicon.masked,
            detectors=tuple(kept_detector(detector) for detector in finders.detectors),
            names=KeptNames(
                surnames=tuple(finders.known.surnames),
                labels=tuple(finders.known.surnames.values()),
                ordinary=tuple(sorted(finders.known.ordinary)),
                joined=finders.joined,
            ),
        )
        return settings, vocabulary

    @classmethod
    def from_policy(cls, settings: TextSettings, vocabulary: TextVocabulary, space: Space, tiers: Tiers) -> TextCodec:
        """The codec over stored words; a pipeline that is not the one it was made with is refused."""
        lexicon = Lexicon(
            words=vocabulary.words,
            space=space,
            tiers=tiers,
            point_of=dict(zip(vocabulary.types, vocabulary.type_points.tolist(), strict=True)),
            everywhere=dict(zip(vocabulary.everywhere, vocabulary.kinds, strict=True)),
            forms=vocabulary.forms,
            masked=vocabulary.masked,
        )
        detectors = tuple(made_detector(kept) for kept in vocabulary.detectors)
        return cls(settings, lexicon, Finders(detectors, vocabulary.names.known, vocabulary.names.joined))

    @cached_property
    def all_finders(self) -> Finders:
        """The finders, and the extra detector where there is one."""
        return self.finders if self.extra_detector is None else self.finders.also(self.extra_detector)


def _fitted(
    cls: type[TextCodec],
    cells: TextCells,
    settings: TextSettings,
    detectors: Sequence[Detector],
    vectors: WordVectors | None,
) -> TextCodec:
    """Detect, tokenise, tag, and build the lexicon."""
    texts, stop = cells.documents, stop_words()
    finders = Finders(tuple(detectors))
    alone = finders.detect(texts)
    finders = finders.taught(texts, alone, joins=settings.join_names)
    tokens, found, spans = finders.find(cells, settings.tokeniser, alone)
    seen = tokens.occurrences
    known = vectors_from_text(seen) if vectors is None else vectors
    rule = tier_rule(settings, [label for part in spans for label in part.labels])
    tags = tag_types(seen, spans, rule, frozenset() if settings.tier_rule == "any" else stop)
    if settings.similar_percent:
        similar = Similar(settings.similar_name, settings.similar_percent, settings.similar_variant)
        tags = add_similar(tags, seen, known, similar, stop)
    lexicon = build_lexicon(
        tokens,
        found,
        tags,
        known,
        is_public=settings.is_public,
        fewest=0 if settings.tier_names else settings.fewest,
        stop_words=stop,
        metric=settings.metric,
    )
    casing_rules(lexicon.tiers, settings.casing)
    recall = _recall(detectors, texts, alone, settings.trials)
    report = report_on(seen, tags, has_point(seen, known), detectors, recall)
    words = tuple(word for word, is_word in zip(seen.types, seen.is_word.tolist(), strict=True) if is_word)
    return cls(settings, lexicon, finders, TextFindings(tags, report, recall, known, words))


def words_released(codec: TextCodec, mechanism: Mechanism) -> tuple[str | None, ...]:
    """The word of every output of a mechanism over a codec's points; None where nothing is left of the word."""
    names = codec.point_names
    if isinstance(mechanism, NoiseCharacter):
        return mechanism.strings
    if mechanism.outputs is None:
        return (*names, None) if mechanism.n_outputs == len(names) + 1 else (None,) * mechanism.n_outputs
    return names if mechanism.n_outputs == len(names) else (*names, *codec.other_words)


def _recall(
    detectors: Sequence[Detector], texts: Sequence[str], found: Sequence[Spans], trials: int
) -> PlantedRecall | None:
    """Recall on public names planted into the fit texts; the same texts give the same."""
    if not trials:
        return None
    return recall_of_planted(detectors, texts, np.random.default_rng(len(texts)), spans=found, trials=trials)


def _word_vectors(source: str, detectors: Sequence[Detector]) -> WordVectors | None:
    """The vectors that the settings name; None for those made from the text."""
    if source == FROM_TEXT:
        return None
    if source == FROM_PIPELINE:
        return vectors_of_pipeline(pipeline_with_vectors(detectors))
    return read_vectors(Path(source))


def tier_rule(settings: TextSettings, labels: Sequence[str]) -> TierRule:
    """Labels and their tiers: by kind, or, where tiers are named, as `tier_of` says and otherwise to the first."""
    if not labels:
        raise InvalidInput("none of 0 sensitive word types has a vector (the detectors found nothing), expected some")
    share, count = (ONE_OCCURRENCE, 1) if settings.tier_rule == "any" else (settings.share, settings.count)
    if not settings.tier_names:
        return default_rule(labels, share, count)
    first = dict.fromkeys((*NAME_LABELS, *labels), settings.tier_names[0])
    tier_of = {**first, **settings.tier_of}
    return TierRule(names=settings.tier_names, tier_of=tier_of, share=share, count=count)
