"""Planted recall: public names in the user's own sentences, counted with an interval.

Coverage: counts by kind before and after a draw, and the recall on planted names.
"""

import time

import numpy as np
import pytest
from studies.published import read_published

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.bounds import clopper_pearson_lower, clopper_pearson_upper
from oddshift.data.codecs import Counts, KindCounts, TextSettings, WordVectors
from oddshift.data.codecs.coverage import kind_lines
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.detectors import (
    Capitals,
    Gazetteer,
    Pipeline,
    PlantedRecall,
    Spans,
    TierRule,
    recall_of_planted,
    report_on,
    tag_types,
)
from oddshift.data.detectors.detection_report import _place
from oddshift.data.detectors.gazetteer import FAMILY_NAMES, GIVEN_NAMES

TEXTS = ["Ann met Bob.", "Ann left.", "Zed slept well"]


def _tagged():
    occurrences = tokenise(TEXTS, "plain").occurrences
    detector = Gazetteer({"ann": "PERSON", "bob": "PERSON"})
    return occurrences, tag_types(occurrences, [detector.detect(TEXTS)], TierRule(), frozenset()), detector


def test_counts_by_hand():
    occurrences, tags, detector = _tagged()
    has_vector = np.array([word != "bob" for word in occurrences.types])
    report = report_on(occurrences, tags, has_vector, [detector], PlantedRecall(found=1, planted=2))
    assert (report.documents, report.tokens, report.words, report.types) == (3, 10, 8, 7)
    (pii,) = report.tiers
    assert (pii.types, pii.with_vector, pii.occurrences, pii.masked) == (2, 1, 3, 1)
    assert report.lines()[-1] == PlantedRecall(found=1, planted=2).line()
    assert report.sensitive_share == pytest.approx(3 / 8)
    assert report.vector_coverage == pytest.approx(7 / 8)


def test_lines_say_who_looked_and_show_no_word():
    occurrences, tags, detector = _tagged()
    report = report_on(occurrences, tags, np.ones(len(occurrences.types), dtype=bool), [detector])
    text = "\n".join(report.lines())
    assert "gazetteer; names they miss are released in the clear" in text
    assert "not measured" in text
    for word in ("ann", "Ann", "bob", "Zed"):
        assert word not in text
        assert word not in repr(report)
        assert word not in repr(tags)
        assert word not in repr(occurrences)


def test_types_are_those_of_the_documents_looked_at():
    tokens = tokenise(TEXTS, "plain")
    first = tokens.take(np.array([0])).occurrences
    detector = Gazetteer({"ann": "PERSON"})
    tags = tag_types(first, [detector.detect(TEXTS[:1])], TierRule(), frozenset())
    report = report_on(first, tags, np.ones(len(first.types), dtype=bool), [detector])
    assert report.types == len({first.types[t] for t in first.type if first.is_word[t]})
    assert report.types < int(first.is_word.sum())


PLANTED_TEXTS = [
    f"It rained. Yesterday Ann{k % 7} Lee{k % 5} met nobody, Mr. X said. Then it stopped." for k in range(40)
]


class Everything:
    name = "everything"

    def detect(self, texts):
        return Spans.of([(d, 0, len(t), "PERSON") for d, t in enumerate(texts) if t], is_exact=False)


class OwnNames:
    """Finds the names that stand in PLANTED_TEXTS and no other."""

    name = "own names"

    def detect(self, texts):
        rows = [
            (d, t.index("Ann"), t.index(" met"), "PERSON") for d, t in enumerate(texts) if "Ann" in t and " met" in t
        ]
        return Spans.of(rows, is_exact=False)


def test_who_finds_everything_has_recall_one():
    made = recall_of_planted([OwnNames(), Everything()], PLANTED_TEXTS, np.random.default_rng(0), trials=30)
    assert (made.found, made.planted, made.recall) == (30, 30, 1.0)
    assert made.interval == (clopper_pearson_lower(30, 30, 0.025), 1.0)


def test_who_knows_only_the_own_names_has_recall_zero():
    made = recall_of_planted([OwnNames()], PLANTED_TEXTS, np.random.default_rng(0))
    assert made.planted == len(PLANTED_TEXTS)
    assert made.recall == 0.0
    assert made.interval[1] == clopper_pearson_upper(made.found, made.planted, 0.025)


def test_every_word_of_a_name_has_to_be_found():
    given = Gazetteer(GIVEN_NAMES, "PERSON", cover_surnames=False)
    family = Gazetteer(FAMILY_NAMES, "PERSON", cover_surnames=False)
    rng = np.random.default_rng(1)
    half = recall_of_planted([OwnNames(), given], PLANTED_TEXTS, rng)
    full = recall_of_planted([OwnNames(), given, family], PLANTED_TEXTS, rng)
    assert half.recall < 0.2
    assert full.recall == 1.0


def test_nothing_to_stand_for_is_none_and_no_detector_is_refused():
    assert recall_of_planted([Gazetteer(["Zed"])], ["nobody here"], np.random.default_rng(0)) is None
    with pytest.raises(InvalidInput, match="no detectors"):
        recall_of_planted([], PLANTED_TEXTS, np.random.default_rng(0))


def test_he_and_she_are_places_that_no_detector_chose():
    """Capitalised words are found inside sentences only, so a name that opens one shows what the guess misses."""
    texts = ["She left early.", "Then he came.", "He's gone."] * 20
    made = recall_of_planted([Capitals()], texts, np.random.default_rng(0))
    assert made.planted == 40
    assert made.found == 20


def test_the_sentence_around_a_name():
    text = "It rained. Later Mr. Kamali left early! Then it stopped."
    start = text.index("Kamali")
    place = _place(text, start, start + 6)
    assert (place.before, place.after, place.words) == ("Later Mr. ", " left early!", 1)


def test_the_same_seed_gives_the_same_and_spans_are_taken_as_given():
    detectors = [Capitals()]
    first, second = (recall_of_planted(detectors, PLANTED_TEXTS, np.random.default_rng(3)) for _ in range(2))
    assert first == second
    spans = [Capitals().detect(PLANTED_TEXTS)]
    given = recall_of_planted(detectors, PLANTED_TEXTS, np.random.default_rng(3), spans=spans, trials=10)
    assert given.planted == 10


def test_lines_say_counts_and_interval():
    assert PlantedRecall(0, 10).line() == "0 of 10 planted names found: recall 0.0 % (95 % interval 0.0 to 30.8 %)"


def test_a_trained_pipeline_on_real_sentences(data, empty_cache):
    texts = read_published("ag_news", data).texts
    detector = Pipeline(data / "ner" / "en_core_web_sm_ner", is_cached=False)
    start = time.process_time()
    made = recall_of_planted([detector], texts[:100], np.random.default_rng(0), trials=40)
    assert time.process_time() - start < 20
    assert made.planted >= 20
    assert 0.5 < made.recall <= 1
    low, high = made.interval
    assert low < made.recall <= high


WORDS = ("ann", "bob", "carol", "dora", "eve", "nurse")
VECTORS = WordVectors(WORDS, np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32))
LISTED = Gazetteer({**dict.fromkeys((*WORDS[:5], "zed"), "PERSON"), "nurse": "JOB"})
COUNTED_TEXTS = ["Ann met Bob and Zed.", "Carol, Dora, Eve; a nurse.", "He met Ann."]


def test_found_is_perturbed_marked_or_left():
    made = encoding.text(COUNTED_TEXTS, VECTORS, [LISTED], TextSettings(is_public=True))
    kinds = made.encoded.counts.kinds
    assert kinds == {
        "PERSON": KindCounts(found=7, perturbed=6, marked=1),
        "JOB": KindCounts(found=1, marked=1),  # one job is too few for a tier
    }


def test_what_came_out_unchanged_is_counted_after_the_draw():
    made = encoding.text(COUNTED_TEXTS, VECTORS, [LISTED], TextSettings(is_public=True))
    points = made.encoded.records.points
    outputs = np.where(np.arange(6) < 2, points, (points + 1) % 5)
    counts = made.encoded.after_draw(outputs)
    assert counts.kinds["PERSON"].unchanged == 2
    assert kind_lines(counts.kinds)[0] == "PERSON: 7 found, 6 perturbed (2 came out unchanged), 1 marked"


def test_counts_of_blocks_add_up_by_kind():
    one = Counts(found=2, kinds={"PERSON": KindCounts(found=2, perturbed=2)})
    two = Counts(found=3, masked=1, kinds={"PERSON": KindCounts(found=1, marked=1), "ORG": KindCounts(found=2, left=2)})
    both = one + two
    assert both.found == 5
    assert both.kinds == {
        "PERSON": KindCounts(found=3, perturbed=2, marked=1),
        "ORG": KindCounts(found=2, left=2),
    }
    assert kind_lines(both.kinds)[1] == "ORG: 2 found, 0 perturbed, 0 marked, 2 function words inside them left"


def test_planted_recall_is_measured_at_fit_time_when_asked_for():
    texts = [f"Then {name} met him, and he left {other}." for name in WORDS[:5] for other in WORDS[:5]]
    texts = [text.replace("ann", "Ann").replace("bob", "Bob") for text in texts]
    made = encoding.text(texts, VECTORS, [Capitals()], TextSettings(is_public=True, trials=20, fewest=1))
    again = encoding.text(texts, VECTORS, [Capitals()], TextSettings(is_public=True, trials=20, fewest=1))
    recall = made.codec.findings.recall
    assert isinstance(recall, PlantedRecall)
    assert recall.planted == 20
    assert recall == again.codec.findings.recall
    plain = encoding.text(texts, VECTORS, [Capitals()], TextSettings(is_public=True, fewest=1)).codec
    assert plain.findings.recall is None
