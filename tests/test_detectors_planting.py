"""Planted recall: public names in the user's own sentences, counted with an interval."""

import time

import numpy as np
import pytest
from studies.published import read_published

from oddshift.base.errors import InvalidInput
from oddshift.bounds import clopper_pearson_lower, clopper_pearson_upper
from oddshift.data.detectors import Capitals, Gazetteer, Pipeline, PlantedRecall, Spans, recall_of_planted
from oddshift.data.detectors.detection_report import _place
from oddshift.data.detectors.gazetteer import FAMILY_NAMES, GIVEN_NAMES

TEXTS = [f"It rained. Yesterday Ann{k % 7} Lee{k % 5} met nobody, Mr. X said. Then it stopped." for k in range(40)]


class Everything:
    name = "everything"

    def detect(self, texts):
        return Spans.of([(d, 0, len(t), "PERSON") for d, t in enumerate(texts) if t], is_exact=False)


class OwnNames:
    """Finds the names that stand in TEXTS and no other."""

    name = "own names"

    def detect(self, texts):
        rows = [
            (d, t.index("Ann"), t.index(" met"), "PERSON") for d, t in enumerate(texts) if "Ann" in t and " met" in t
        ]
        return Spans.of(rows, is_exact=False)


def test_who_finds_everything_has_recall_one():
    made = recall_of_planted([OwnNames(), Everything()], TEXTS, np.random.default_rng(0), trials=30)
    assert (made.found, made.planted, made.recall) == (30, 30, 1.0)
    assert made.interval == (clopper_pearson_lower(30, 30, 0.025), 1.0)


def test_who_knows_only_the_own_names_has_recall_zero():
    made = recall_of_planted([OwnNames()], TEXTS, np.random.default_rng(0))
    assert made.planted == len(TEXTS)
    assert made.recall == 0.0
    assert made.interval[1] == clopper_pearson_upper(made.found, made.planted, 0.025)


def test_every_word_of_a_name_has_to_be_found():
    given = Gazetteer(GIVEN_NAMES, "PERSON", cover_surnames=False)
    family = Gazetteer(FAMILY_NAMES, "PERSON", cover_surnames=False)
    rng = np.random.default_rng(1)
    half = recall_of_planted([OwnNames(), given], TEXTS, rng)
    full = recall_of_planted([OwnNames(), given, family], TEXTS, rng)
    assert half.recall < 0.2
    assert full.recall == 1.0


def test_nothing_to_stand_for_is_none_and_no_detector_is_refused():
    assert recall_of_planted([Gazetteer(["Zed"])], ["nobody here"], np.random.default_rng(0)) is None
    with pytest.raises(InvalidInput, match="no detectors"):
        recall_of_planted([], TEXTS, np.random.default_rng(0))


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
    first, second = (recall_of_planted(detectors, TEXTS, np.random.default_rng(3)) for _ in range(2))
    assert first == second
    spans = [Capitals().detect(TEXTS)]
    given = recall_of_planted(detectors, TEXTS, np.random.default_rng(3), spans=spans, trials=10)
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
