"""Text: from tokens to Records and back, with sensitive words replaced in place and the rest untouched.

The paper's case study: each sensitive word is a secret, its point a word vector, its tier PII or PoII.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import IntArray, indices, one_of
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.casing import CASINGS, cased
from oddshift.data.codecs.corpora import Corpus
from oddshift.data.codecs.lexicon import (
    PUBLIC,
    UNKNOWN,
    Lexicon,
    Similar,
    add_similar,
    build_lexicon,
    has_point,
)
from oddshift.data.codecs.own_vectors import vectors_from_text
from oddshift.data.codecs.tokens import Tokens, tokenise
from oddshift.data.codecs.word_vectors import WordVectors
from oddshift.data.detectors.detection_report import DetectionReport, planted_recall, report_on
from oddshift.data.detectors.gazetteer import Gazetteer
from oddshift.data.detectors.spacy_pipeline import Pipeline
from oddshift.data.detectors.spans import Detector, Spans
from oddshift.data.detectors.tagging import NAME_LABELS, TierRule, TypeTags, stop_words, tag_types
from oddshift.model.metric import MetricLike
from oddshift.model.records import MASKED, SLOT, Context, Records, numbered
from oddshift.model.tiers import Tiers

MASK = "[MASKED]"
"""What stands in a released text for a word that is masked."""

UNKNOWN_RULES = ("mask", "refuse")
"""What happens to sensitive words without a point and to words the lexicon has never seen."""


@dataclass(frozen=True, eq=False, repr=False)
class EncodedText:
    """Tokenised documents with their secrets: `slots` and `masked` are token numbers.

    `slots[i]` is the token of `records.points[i]`. `masked` are sensitive tokens without a point and tokens of types
    that the lexicon does not know (`unseen` counts the latter); a release shows a mask there. `casing` is one rule a
    tier.
    """

    tokens: Tokens
    lexicon: Lexicon
    records: Records
    slots: IntArray
    masked: IntArray
    unseen: int
    casing: tuple[str, ...]

    def __repr__(self) -> str:
        """Counts only; never a word."""
        return f"EncodedText({self.records!r}, {len(self.masked)} masked tokens, {self.unseen} of unseen types)"

    @property
    def tiers(self) -> Tiers:
        """The tiers of the lexicon's points."""
        return self.lexicon.tiers

    def decode(self, outputs: npt.ArrayLike, words: Sequence[str | None] | None = None) -> tuple[str, ...]:
        """The texts with every secret replaced by `words[output]`; None masks the word, "" deletes it.

        `words` are by default the words of the lexicon's points. Casing follows the rule of the released word's tier,
        so it says nothing that the released word does not say.
        """
        return self.tokens.texts(self.replaced(outputs, words))

    def replaced(self, outputs: npt.ArrayLike, words: Sequence[str | None] | None = None) -> dict[int, str | None]:
        """What `decode` puts in the place of every secret and masked token, by token number; None deletes it."""
        table = self.lexicon.words if words is None else tuple(words)
        chosen = indices(outputs, "outputs", len(table))
        if len(chosen) != len(self.slots):
            raise InvalidInput(f"outputs has {len(chosen)} entries, expected {len(self.slots)} (one a secret)")
        rules = [self._rule(word) for word in table]
        opens = self.tokens.breaks
        replaced: dict[int, str | None] = dict.fromkeys(self.masked.tolist(), MASK)
        for slot, output in zip(self.slots.tolist(), chosen.tolist(), strict=True):
            word = table[output]
            replaced[slot] = (MASK if word is None else cased(word, rules[output], bool(opens[slot]))) or None
        return replaced

    def restored(self) -> tuple[str, ...]:
        """The texts as they came, byte for byte: the secrets in the clear."""
        return self.tokens.texts()

    def _rule(self, word: str | None) -> str:
        point = self.lexicon.point_of.get(word or "", -1)
        return "sentence" if point < 0 else self.casing[int(self.tiers.labels[point])]


def encode(
    tokens: Tokens,
    lexicon: Lexicon,
    *,
    unknown: str = "mask",
    casing: Sequence[str] | None = None,
    corpus: Corpus | None = None,
) -> EncodedText:
    """Tokens with the lexicon laid over them; every occurrence of a sensitive type is a secret.

    `unknown` is "mask" or "refuse". `corpus` gives the users and subgroups of the documents.
    """
    one_of(unknown, "unknown", UNKNOWN_RULES)
    rules = tuple(casing or ("title",) + ("sentence",) * (len(lexicon.tiers) - 1))
    if len(rules) != len(lexicon.tiers) or not set(rules) <= set(CASINGS):
        raise InvalidInput(f"casing={rules}, expected {len(lexicon.tiers)} of {', '.join(CASINGS)}")
    occurrences = tokens.occurrences
    code = lexicon.code(occurrences.types)[occurrences.type]
    hidden = np.flatnonzero(code < PUBLIC)
    if len(hidden) and unknown == "refuse":
        unseen = int((code == UNKNOWN).sum())
        raise InvalidInput(
            f"{len(hidden) - unseen} sensitive tokens without a vector and {unseen} of unseen types, expected none "
            "(unknown='refuse'); unknown='mask' masks them"
        )
    slots = np.flatnonzero(code >= 0)
    records = Records(
        space=lexicon.space,
        points=code[slots],
        offsets=np.searchsorted(slots, tokens.offsets),
        context=_context(tokens, code),
        **_people(corpus),
    )
    return EncodedText(tokens, lexicon, records, slots, hidden, int((code == UNKNOWN).sum()), rules)


@dataclass(frozen=True)
class TextSettings:
    """How texts become secrets; `is_public` (is the attacker told each position's tier?) has no default.

    `similar` is the tier of similar words (None for none); `join_names` makes each name of several words that occurs
    at least twice one secret instead of one a word; the detectors' recall on the names `planted` is reported.
    """

    is_public: bool
    rule: TierRule = field(default_factory=TierRule)
    similar: Similar | None = field(default_factory=Similar)
    scales: tuple[float, ...] | None = None
    unknown: str = "mask"
    casing: tuple[str, ...] | None = None
    metric: MetricLike = "euclidean"
    tokeniser: str = "spacy"
    join_names: bool = False
    planted: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class PreparedText:
    """What `prepare` made: the encoded text, the tags behind its lexicon, and the detection report.

    `joined_by` are the detectors whose every match is one token, in the order in which they were asked.
    """

    encoded: EncodedText
    tags: TypeTags
    report: DetectionReport
    joined_by: tuple[Detector, ...]


def prepare(
    corpus: Corpus,
    vectors: WordVectors | None,
    detectors: Sequence[Detector],
    settings: TextSettings,
    fit: npt.ArrayLike | None = None,
) -> PreparedText:
    """Tokenise, detect, tag, and encode a corpus; the lexicon is built from the documents `fit` (default: all).

    Without `vectors` they are made from those documents too (`vectors_from_text`).
    """
    _check_labels(detectors, settings.rule)
    tokens = tokenise(corpus.texts, settings.tokeniser)
    spans = [detector.detect(corpus.texts) for detector in detectors]
    joined_by = [detector for detector, found in zip(detectors, spans, strict=True) if found.is_exact]
    for found in spans:
        if found.is_exact:
            tokens = tokens.merged(found)
    chosen = np.arange(len(corpus)) if fit is None else indices(fit, "fit", len(corpus))
    known = [found.in_documents(chosen) for found in spans]
    if settings.join_names:
        names = _repeated_names([corpus.texts[d] for d in chosen], known)
        joined_by += [Gazetteer(names, keep_case=True)] if names else []
        tokens = tokens.merged(joined_by[-1].detect(corpus.texts)) if names else tokens
    seen = tokens.take(chosen).occurrences
    vectors = vectors_from_text(seen) if vectors is None else vectors
    stop = stop_words()
    tags = tag_types(seen, known, settings.rule, stop)
    if settings.similar is not None:
        tags = add_similar(tags, seen, vectors, settings.similar, stop)
    lexicon = build_lexicon(
        seen,
        tags,
        vectors,
        is_public=settings.is_public,
        scales=settings.scales,
        stop_words=stop,
        metric=settings.metric,
    )
    encoded = encode(tokens, lexicon, unknown=settings.unknown, casing=settings.casing, corpus=corpus)
    recall = planted_recall(detectors, corpus.texts, settings.planted) if settings.planted else None
    report = report_on(seen, tags, has_point(seen, vectors), detectors, recall)
    return PreparedText(encoded, tags, report, tuple(joined_by))


def _check_labels(detectors: Sequence[Detector], rule: TierRule) -> None:
    """Refuse a label that was selected by name but leads to no tier: its words would be released in the clear."""
    chosen = [label for detector in detectors if isinstance(detector, Pipeline) for label in detector.labels]
    lost = [label for label in chosen if label not in rule.tier_of and label not in NAME_LABELS]
    if lost:
        raise InvalidInput(f"label {lost[0]!r} is selected but leads to no tier, expected it in TierRule.tier_of")


def _context(tokens: Tokens, code: IntArray) -> Context:
    """The public side: types of untouched tokens, a slot for each secret, a mask for each masked word."""
    occurrences = tokens.occurrences
    is_public = code == PUBLIC
    used, symbol = np.unique(occurrences.type[is_public], return_inverse=True)
    symbols = np.where(code >= 0, SLOT, MASKED).astype(np.int64)
    symbols[is_public] = symbol
    names = tuple(occurrences.types[t] for t in used)
    return Context(tokens=symbols, offsets=tokens.offsets, symbols=names, breaks=tokens.breaks)


def _people(corpus: Corpus | None) -> dict[str, Any]:
    """User and subgroup numbers of a corpus, as Records takes them."""
    found: dict[str, Any] = {}
    if corpus is not None and corpus.users is not None:
        found["users"] = numbered(corpus.users)[0]
    if corpus is not None and corpus.subgroups is not None:
        found["subgroups"], found["subgroup_names"] = numbered(corpus.subgroups)
    return found


def _repeated_names(texts: Sequence[str], spans: Sequence[Spans]) -> list[str]:
    """Names of several words that the detectors found at least twice in the texts."""
    times: Counter[str] = Counter()
    for found in spans:
        rows = zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True)
        times.update(texts[d][a:b] for d, a, b in rows)
    return [name for name, n in times.items() if n >= 2 and len(name.split()) > 1]
