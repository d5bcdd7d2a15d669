"""Coverage: counts by kind before and after a draw, and the recall on planted names."""

import numpy as np

import encoding
from oddshift.data.codecs import Counts, KindCounts, TextSettings, WordVectors
from oddshift.data.codecs.coverage import kind_lines
from oddshift.data.detectors import Capitals, PlantedRecall, WordList

WORDS = ("ann", "bob", "carol", "dora", "eve", "nurse")
VECTORS = WordVectors(WORDS, np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32))
LISTED = WordList({**dict.fromkeys((*WORDS[:5], "zed"), "PERSON"), "nurse": "JOB"})
TEXTS = ["Ann met Bob and Zed.", "Carol, Dora, Eve; a nurse.", "He met Ann."]


def test_found_is_perturbed_marked_or_left():
    made = encoding.text(TEXTS, VECTORS, [LISTED], TextSettings(is_public=True))
    kinds = made.encoded.counts.kinds
    assert kinds == {
        "PERSON": KindCounts(found=7, perturbed=6, marked=1),
        "JOB": KindCounts(found=1, marked=1),  # one job is too few for a tier
    }


def test_what_came_out_unchanged_is_counted_after_the_draw():
    made = encoding.text(TEXTS, VECTORS, [LISTED], TextSettings(is_public=True))
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
