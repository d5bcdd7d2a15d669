"""What a release of texts leaves in the clear, and whether a name becomes a name, beside Presidio on the same texts.

Names are found by the small pipeline that the policy keeps; what is left is counted by a *different* detector, which
neither side uses: capitalised words that open no sentence and that a list of public names holds. Writes
docs/studies/release.md.

Then the same noise with one draw for each secret of a text, and with one for each occurrence: what attackers that read
whole texts learn from either. The first argument names one corpus; its counts are kept, and the page has all that are.

    python -m studies.release [CORPUS]
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import spacy
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
from presidio_analyzer.nlp_engine import NerModelConfiguration, SpacyNlpEngine
from presidio_analyzer.predefined_recognizers import SpacyRecognizer

from oddshift.app.run import Run
from oddshift.audit import AuditSettings
from oddshift.base.storage import load, save
from oddshift.data.codecs import EncodedText, TextCodec, TextSettings, WordVectors, data_folder
from oddshift.data.codecs.text.vectors import read_vectors
from oddshift.data.detectors import Capitals, Handles, Occupations, Patterns, Pipeline
from oddshift.data.detectors.gazetteer import FAMILY_NAMES, GIVEN_NAMES, PLACE_NAMES
from oddshift.data.detectors.spacy_pipeline import usual_labels
from oddshift.data.preparation import Prepared
from oddshift.mechanisms import MechanismSettings, Tiered
from oddshift.mechanisms.utility import constant_of_each_kind, constant_output, expected_loss
from oddshift.model.records import Records, Split
from oddshift.model.release import draw_once
from studies.published import read_published

CORPORA = {"amazon": 1200, "ag_news": 800, "imdb": 200}
"""Texts of each corpus; the first 60 % are learned from."""

FIT = 0.6
EPSILON = 1.5
TIER = "PERSON"
PAGE = Path(__file__).parents[1] / "docs" / "studies" / "release.md"
LISTED = frozenset(name.lower() for name in (*GIVEN_NAMES, *FAMILY_NAMES, *PLACE_NAMES))
ATTACKERS = ("portfolio",)
HOME = Path(tempfile.gettempdir()) / "oddshift-release"
_ENTITIES = {"PERSON": "PERSON", "ORG": "ORGANIZATION", "GPE": "LOCATION"}


@dataclass(frozen=True)
class Repeats:
    """What the strongest attacker learns under one way to draw repeated secrets: overall, and about people."""

    drawn: str
    positions: int
    rate: float
    gain: float
    gain_error: float
    alone: float
    together: float
    loss: float


@dataclass(frozen=True)
class Row:
    """What happened to one corpus."""

    corpus: str
    texts: int
    found: int
    perturbed: int
    marked: int
    function_words: int
    unchanged: int
    released_as_found: int
    same_kind: float
    listed: int
    left: int
    left_by_presidio: int
    outputs: float
    loss: float
    constant: float
    constant_of_kind: float
    repeats: tuple[Repeats, ...]
    seconds: float


def study(corpus: str, size: int, vectors: WordVectors) -> Row:
    """Fit, encode, release once, and count."""
    texts = list(read_published(corpus).texts[:size])
    ner = data_folder() / "ner" / "en_core_web_sm_ner"
    detectors = [Patterns(), Handles(), Pipeline(ner, usual_labels(ner)), Occupations()]
    started = process_time()
    fit = texts[: int(FIT * size)]
    codec = TextCodec.fit({"text": fit}, TextSettings(is_public=True), detectors=detectors, vectors=vectors)
    encoded = codec.encode({"text": texts})
    once = draw_once(encoded.records)
    mechanism = Tiered(codec.space, codec.tiers, EPSILON, keeps_tier=True)
    drawn = mechanism.sample(once.records.points, np.random.default_rng(0))
    outputs = drawn[once.position]
    kinds = encoded.counts.kinds.values()
    share = np.bincount(drawn, minlength=len(codec.space)) / len(drawn)
    labels = codec.tiers.labels
    weights = np.bincount(once.records.points, minlength=len(codec.space)).astype(np.float64)
    places = listed_names(texts)
    return Row(
        corpus=corpus,
        texts=size,
        found=sum(kind.found for kind in kinds),
        perturbed=sum(kind.perturbed for kind in kinds),
        marked=sum(kind.marked for kind in kinds),
        function_words=sum(kind.left for kind in kinds),
        unchanged=int((outputs == encoded.records.points).sum()),
        released_as_found=released_as_found(encoded, outputs),
        same_kind=float((labels[outputs] == labels[encoded.records.points]).mean()),
        listed=sum(len(names) for names in places),
        left=_left(places, covered_by(encoded)),
        left_by_presidio=_left(places, presidio_spans(texts, str(ner))),
        outputs=float(np.exp(-(share[share > 0] * np.log(share[share > 0])).sum())),
        loss=expected_loss(mechanism, weights),
        constant=constant_output(codec.space, weights)[1],
        constant_of_kind=constant_of_each_kind(codec.space, weights, "cosine", labels)[1],
        repeats=tuple(learned(encoded, codec, drawn_as, mechanism) for drawn_as in ("each", "once")),
        seconds=process_time() - started,
    )


def learned(encoded: EncodedText, codec: TextCodec, drawn: str, mechanism: Tiered) -> Repeats:
    """Audit the same texts under the same noise, repeated secrets drawn once or each time."""
    part = np.digitize(np.random.default_rng(0).random(len(encoded.records)), (0.6, 0.8))
    parts = [encoded.records.take(np.flatnonzero(part == p)) for p in range(3)]
    fit, select, certify = (draw_once(records).records if drawn == "once" else records for records in parts)
    split = Split(fit=fit, select=select, certify=certify, by="document")
    prepared = Prepared(split, codec.tiers, "en_core_web_sm_ner", "text", codec)
    asked = AuditSettings(epsilon=mechanism.exact_epsilon, attackers=ATTACKERS, worst_positions=5)
    scales = (1.0,) * len(codec.tiers)
    found = Run(prepared, MechanismSettings(name="tiered", scales=scales, epsilon=EPSILON)).audit(asked).result
    best, own = found.row(found.strongest), found.row("own")
    tier = next(row for row in best.tiers if row.tier == TIER)
    return Repeats(
        drawn=drawn,
        positions=_positions(fit, select, certify),
        rate=tier.anchored,
        gain=best.joint_gain,
        gain_error=best.joint_gain_error,
        alone=next(row.top1 for row in own.tiers if row.tier == TIER),
        together=tier.top1,
        loss=expected_loss(mechanism, np.bincount(fit.points, minlength=len(codec.space)).astype(np.float64)),
    )


def _positions(*parts: Records) -> int:
    return sum(len(part.points) for part in parts)


def released_as_found(encoded: EncodedText, outputs: Any) -> int:
    """Found words that a release shows as they were although the mechanism drew another word, or none at all."""
    replaced = encoded.replaced(outputs)
    forms = [encoded.tokens.forms[form] for form in encoded.tokens.form.tolist()]
    drawn = dict(zip(encoded.slots.tolist(), outputs == encoded.records.points, strict=True))
    return sum(
        (replaced.get(token) or "").lower() == forms[token].lower() and not drawn.get(token, False)
        for token in [*encoded.slots.tolist(), *encoded.masked.tolist()]
    )


def listed_names(texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Where a capitalised word inside a sentence is a public name: a detector that neither side uses."""
    found = Capitals().detect(texts)
    places: list[list[tuple[int, int]]] = [[] for _ in texts]
    for d, a, b in zip(found.document.tolist(), found.start.tolist(), found.end.tolist(), strict=True):
        places[d] += [
            (a + m.start(), a + m.end()) for m in re.finditer(r"\w+", texts[d][a:b]) if m.group().lower() in LISTED
        ]
    return places


def covered_by(encoded: EncodedText) -> list[list[tuple[int, int]]]:
    """The characters of every text that are not released as they are."""
    occurrences = encoded.tokens.occurrences
    covered: list[list[tuple[int, int]]] = [[] for _ in range(len(encoded.tokens))]
    for token in [*encoded.slots.tolist(), *encoded.masked.tolist()]:
        document = int(occurrences.document[token])
        covered[document].append((int(occurrences.start[token]), int(occurrences.end[token])))
    return covered


def presidio_spans(texts: Sequence[str], pipeline: str) -> list[list[tuple[int, int]]]:
    """What Presidio's analyzer finds with the same pipeline."""
    engine = SpacyNlpEngine(ner_model_configuration=NerModelConfiguration(model_to_presidio_entity_mapping=_ENTITIES))
    engine.nlp = {"en": spacy.load(pipeline)}
    names = sorted(set(_ENTITIES.values()))
    recognizer = SpacyRecognizer(supported_entities=names)
    registry = RecognizerRegistry(recognizers=[recognizer], supported_languages=["en"])
    analyzer = AnalyzerEngine(nlp_engine=engine, registry=registry, supported_languages=["en"])
    return [[(hit.start, hit.end) for hit in analyzer.analyze(text, "en")] for text in texts]


def _left(places: Sequence[Sequence[tuple[int, int]]], covered: Sequence[Sequence[tuple[int, int]]]) -> int:
    """How many places nobody covers."""
    return sum(
        not any(a < end and start < b for start, end in spans)
        for names, spans in zip(places, covered, strict=True)
        for a, b in names
    )


def page(rows: Sequence[Row]) -> str:
    """The page, from the counts."""
    table = [
        "| corpus | texts | found | perturbed | marked | function words | drawn as themselves | released as found |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {r.corpus} | {r.texts:,} | {r.found:,} | {r.perturbed:,} | {r.marked:,} | {r.function_words:,} | "
            f"{r.unchanged:,} ({r.unchanged / max(1, r.perturbed):.1%}) | {r.released_as_found} |"
            for r in rows
        ),
    ]
    left = [
        "| corpus | names on the list | left by oddshift | left by Presidio | same kind | CPU seconds |",
        "|---|---|---|---|---|---|",
        *(
            f"| {r.corpus} | {r.listed:,} | {r.left} ({r.left / max(1, r.listed):.1%}) | {r.left_by_presidio} "
            f"({r.left_by_presidio / max(1, r.listed):.1%}) | {r.same_kind:.1%} | {r.seconds:.0f} |"
            for r in rows
        ),
    ]
    cost = [
        "| corpus | loss | one constant word of each kind | one constant word | effective outputs |",
        "|---|---|---|---|---|",
        *(
            f"| {r.corpus} | {r.loss:.4f} | {r.constant_of_kind:.4f} | {r.constant:.4f} | {r.outputs:.0f} |"
            for r in rows
        ),
    ]
    again = [
        "| corpus | drawn | positions | rate | joint gain (nats) | top-1 alone | together | loss |",
        "|---|---|---|---|---|---|---|---|",
        *(
            f"| {r.corpus} | {x.drawn} | {x.positions:,} | {x.rate:.2%} | {x.gain:.3f} ± {x.gain_error:.3f} "
            f"| {x.alone:.1%} | {x.together:.1%} | {x.loss:.4f} |"
            for r in rows
            for x in r.repeats
        ),
    ]
    parts = ([_HEAD, *table], [_MIDDLE, *left], [_TAIL, *cost], [_AGAIN, *again])
    return "\n".join(line for part in parts for line in (*part, ""))


_HEAD = f"""# What a release leaves in the clear

Written by `python -m studies.release`, once for each corpus. The first {FIT:.0%} of the texts are learned from, and all
are released once at ε = {EPSILON:g} by the tiered mechanism over GloVe (100 dimensions). Names are found by
`en_core_web_sm_ner`, patterns, handles and a list of occupations. Kinds are tiers, outputs keep their tier, repeats are
drawn once. The texts are the first ones of each corpus, few enough that a corpus takes a few CPU minutes.

A found word is perturbed, marked or, when it is a function word inside a name ("of"), left. The last column counts
found words that the release shows although the mechanism did not draw them: it has to be 0.
"""
_MIDDLE = """A *different* detector counts what is left: capitalised words inside sentences that are on a list of common
given names, surnames and large cities. Neither side uses it. Presidio runs with the same pipeline (PERSON, ORG, GPE) on
the same texts in the same run. "Same kind" is the share of perturbed words whose output is of the same tier.
"""
_TAIL = """Both sides miss what the pipeline misses. Linked names, titles and the rule for other occurrences of a type
find some of that again. What the release costs, next to constant words (cosine loss; outputs are exp of the entropy of
what was drawn):
"""
_AGAIN = f"""Drawn once for each secret of a text, or for each occurrence (the paper's way), with the same noise. The
rate is the share of pairs with the true value that exceed what one release alone can leak (the exact ε of the
mechanism), and top-1 the share of right first guesses, both about {TIER}; the joint gain is over all tiers. Attacker:
the strongest of own, {", ".join(ATTACKERS)}.
"""


def kept(corpus: str) -> Row | None:
    """What was counted of a corpus, if it was."""
    file = HOME / f"{corpus}.json"
    found: Row | None = load(file, Row) if file.is_file() else None
    return found


def main() -> None:
    """Count the corpora that are asked for, and write the page of all that have been counted."""
    HOME.mkdir(exist_ok=True)
    vectors = read_vectors(data_folder() / "glove.6B.100d.npz")
    for corpus in sys.argv[1:] or CORPORA:
        save(HOME / f"{corpus}.json", study(corpus, CORPORA[corpus], vectors))
    rows = [row for row in map(kept, CORPORA) if row is not None]
    PAGE.write_text(page(rows).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
