"""The text codec: detectors and a lexicon learned from the fit texts, laid over any texts of the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Codec, Columns, UnknownValues
from oddshift.data.codecs.coverage import FoundPoints, nearest_or_none
from oddshift.data.codecs.text.cells import TextCells
from oddshift.data.codecs.text.encoded import EncodedText, encode_tokens
from oddshift.data.codecs.text.lexicon import Lexicon, Similar, TextVocabulary, add_similar, build_lexicon, has_point
from oddshift.data.codecs.text.own_vectors import FROM_PIPELINE, FROM_TEXT, vectors_from_text, vectors_named
from oddshift.data.codecs.text.settings import TextSettings, casing_rules, tier_rule
from oddshift.data.codecs.text.short_text import ShortText, ShortTexts
from oddshift.data.codecs.text.span_detection import Finders, all_found
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.codecs.text.vectors import WordVectors
from oddshift.data.detectors import Detector, PlantedRecall, Spans, recall_of_planted
from oddshift.data.detectors.detection_report import DetectionReport, report_on
from oddshift.data.detectors.names import stop_words
from oddshift.data.detectors.storage import (
    KeptByName,
    KeptNames,
    finds_the_same,
    kept_detector,
)
from oddshift.data.detectors.tagging import TypeTags, tag_types
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.settings import WordChoice
from oddshift.mechanisms.word_channels import NoiseCharacter
from oddshift.model.records import Split
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


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
class TextCodec(Codec):
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
        known = vectors_named(settings.vectors, chosen) if vectors is None else vectors
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

    def unknown_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """None: other columns are released as they are."""
        return ()

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
    def found_by(self) -> str:
        """The detectors."""
        return ", ".join(detector.name for detector in self.finders.detectors)

    @property
    def word_vectors(self) -> WordVectors | None:
        """The vectors that the lexicon was built with."""
        return None if self.findings is None else self.findings.vectors

    @property
    def notes(self) -> tuple[str, ...]:
        """The detection report."""
        return () if self.findings is None else tuple(f"fit documents: {t}" for t in self.findings.report.lines())

    def notes_on(self, encoded: EncodedText) -> tuple[str, ...]:
        """The same, and how many words are new."""
        unseen = encoded.counts.unseen
        return (f"{unseen} of the marks stand for words that no fit document has", *self.notes)

    def found_points(self, encoded: EncodedText, split: Split) -> FoundPoints:
        """What was found in some texts, by the kinds of the detectors."""
        counts = encoded.counts.kinds
        kinds = tuple(dict.fromkeys((*encoded.kinds, *counts)))
        times = np.zeros((len(kinds), len(self.space)), dtype=np.int64)
        np.add.at(times, (encoded.kind_of_slot, encoded.records.points), 1)
        marked, left = (
            tuple(getattr(counts[kind], name) if kind in counts else 0 for kind in kinds) for name in ("marked", "left")
        )
        recall = None if self.findings is None else self.findings.recall
        return FoundPoints(kinds, times, marked, left, recall, nearest_or_none(self.space, self.tiers))

    def texts_in(self, encoded: EncodedText) -> EncodedText:
        """All of it."""
        return encoded

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

    def encode_few(self, columns: Columns, first: int = 1) -> EncodedText | ShortText:
        """One short text in which little is found is encoded word by word."""
        short, found = self._short.encoded(columns)
        return self.encode(columns, first, found) if short is None else short

    @cached_property
    def _short(self) -> ShortTexts:
        is_simple = len(self.required) == 1 and (self.settings.repeats, self.settings.joint_by) != ("once", "sentence")
        return ShortTexts(self.settings, self.lexicon, self.all_finders, is_simple)

    def encode_name(self, name: str, kind: str) -> EncodedText:
        """A stretch of text that someone else took for a name: every word of it is protected."""
        asked = self.settings
        tokens = tokenise([name], asked.tokeniser)
        found = all_found(tokens, kind)
        encoded = encode_tokens(tokens, self.lexicon, found, unknown=asked.unknown, casing=asked.casing)
        return replace(encoded, substitutes=asked.marks == "substitute")

    def on_columns(self, names: Sequence[str]) -> TextCodec:
        """The same codec for texts in other columns."""
        wanted = tuple(names)
        return self if wanted == self.settings.text else replace(self, settings=replace(self.settings, text=wanted))

    def with_detector(self, detector: Detector) -> TextCodec:
        """The same with a detector that the audit did not use."""
        return replace(self, extra_detector=detector)

    def unknown_values(self, encoded: EncodedText, columns: Columns) -> UnknownValues:
        """Found words without a point; each document is a row."""
        found = np.concatenate([encoded.slots, encoded.masked])
        is_unknown = np.repeat([False, True], [len(encoded.slots), len(encoded.masked)])
        return UnknownValues(np.searchsorted(encoded.tokens.offsets, found, side="right") - 1, is_unknown)

    def planted_recall(self, columns: Columns, rng: np.random.Generator, trials: int) -> PlantedRecall | None:
        """The recall of the detectors, where the settings ask for it."""
        if not self.finders.detectors or not self.settings.trials:
            return None
        texts = TextCells.of(columns, self.settings.text).documents
        return recall_of_planted(self.finders.detectors, texts, rng, trials=trials)

    def words_released(self, mechanism: Mechanism) -> tuple[str | None, ...]:
        """Words of points, further words of the fit texts, or strings, as the mechanism says."""
        names = self.point_names
        if isinstance(mechanism, NoiseCharacter):
            return mechanism.strings
        if mechanism.outputs is None:
            return (*names, None) if mechanism.n_outputs == len(names) + 1 else (None,) * mechanism.n_outputs
        return names if mechanism.n_outputs == len(names) else (*names, *self.other_words)

    def finds_again(self, vocabulary: TextVocabulary, columns: Columns) -> bool:
        """Whether detectors of other packages find the same; tests show it of our own."""
        texts = TextCells.of(columns, self.settings.text).documents
        pairs = zip(self.finders.detectors, vocabulary.detectors, strict=True)
        return all(finds_the_same(found, kept, texts) for found, kept in pairs if isinstance(kept, KeptByName))

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
            names=KeptNames.of(finders.known),
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
        detectors = tuple(kept.detector() for kept in vocabulary.detectors)
        return cls(settings, lexicon, Finders(detectors, vocabulary.names.known))

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
    finders = finders.taught(texts, alone)
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
    recall = None
    if settings.trials:  # the same texts give the same
        rng = np.random.default_rng(len(texts))
        recall = recall_of_planted(detectors, texts, rng, spans=alone, trials=settings.trials)
    report = report_on(seen, tags, has_point(seen, known), detectors, recall)
    words = tuple(word for word, is_word in zip(seen.types, seen.is_word.tolist(), strict=True) if is_word)
    return cls(settings, lexicon, finders, TextFindings(tags, report, recall, known, words))
