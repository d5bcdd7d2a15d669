"""Every registered detector keeps the same promises."""

import time

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from oddshift.data.detectors import (
    DETECTORS,
    Capitals,
    Detector,
    Gazetteer,
    Handles,
    Occupations,
    Patterns,
    Pipeline,
    Spans,
)

TEXTS = [
    "John Smith of Microsoft, a lawyer, wrote to jo@example.com from Paris.",
    "",
    "John Smith again, the lawyer @jsmith, 192.168.0.1.",
]


@pytest.fixture(params=sorted(DETECTORS))
def detector(request, data, empty_cache):
    made = {
        "pipeline": lambda: Pipeline(data / "ner" / "en_core_web_sm_ner"),
        "patterns": Patterns,
        "gazetteer": lambda: Gazetteer(["John Smith", "Paris"]),
        "capitals": Capitals,
        "handles": Handles,
        "occupations": Occupations,
        "words": lambda: Gazetteer({"paris": "GPE", "john": "PERSON"}),
    }
    return made[request.param]()


def test_it_is_a_detector(detector):
    assert isinstance(detector, Detector)
    assert isinstance(detector.name, str)


def test_settings_make_it(request, detector, tmp_path, data):
    """A configuration names a kind; its settings make a detector of this class and refuse unknown keys."""
    kind = request.node.callspec.params["detector"]
    (tmp_path / "names.txt").write_text("John Smith\n" if kind == "gazetteer" else "john\n")
    needed = {
        "pipeline": {"path": str(data / "ner" / "en_core_web_sm_ner")},
        "gazetteer": {"path": tmp_path / "names.txt"},
        "words": {"path": tmp_path / "names.txt"},
    }.get(kind, {})
    adapter = TypeAdapter(DETECTORS[kind])
    made = adapter.validate_python({"kind": kind, **needed})
    assert made.kind == kind
    assert type(made.detector()) is type(detector)
    with pytest.raises(ValidationError, match="nosuchkey"):
        adapter.validate_python({"kind": kind, **needed, "nosuchkey": 1})


def test_spans_lie_inside_their_text_in_order(detector):
    spans = detector.detect(TEXTS)
    assert isinstance(spans, Spans)
    assert len(spans) >= 2
    places = list(zip(spans.document.tolist(), spans.start.tolist(), strict=True))
    assert places == sorted(places)
    for document, start, end in zip(spans.document, spans.start, spans.end, strict=True):
        assert 0 <= start < end <= len(TEXTS[document])


def test_it_repeats(detector):
    first, second = detector.detect(TEXTS), detector.detect(TEXTS)
    assert first.labels == second.labels
    np.testing.assert_array_equal(first.start, second.start)


def test_documents_do_not_see_each_other(detector):
    together = detector.detect(TEXTS)
    alone = detector.detect(TEXTS[2:])
    np.testing.assert_array_equal(together.start[together.document == 2], alone.start)


def test_it_shows_no_secret(detector):
    shown = repr(detector) + repr(detector.detect(TEXTS)) + detector.name
    for secret in ("John", "john", "Smith", "example.com", "192.168"):
        assert secret not in shown


def test_nothing_in_nothing(detector):
    assert len(detector.detect(["", " "])) == 0


DISGUISED = [
    "Ｊｏｈｎ Ｓｍｉｔｈ wrote to ｊｏ＠ｅｘａｍｐｌｅ．ｃｏｍ from P\u0336aris on Monday, as 𝐉𝐨𝐡𝐧 the ⓛⓐⓦⓨⓔⓡ did."
]


def test_spans_lie_on_the_characters_as_they_were_written(detector):
    spans = detector.detect(DISGUISED)
    assert len(spans) >= 1
    for start, end in zip(spans.start, spans.end, strict=True):
        assert 0 <= start < end <= len(DISGUISED[0])
        assert DISGUISED[0][start:end].strip() == DISGUISED[0][start:end]


@pytest.mark.parametrize("piece", ["a.", "a@", "A ", "www.", "Mr. A ", "ⓐ\u0336", "a/b#", "'s "])
def test_hostile_text_is_read_without_backtracking(detector, piece):
    detector.detect(["Ann met Bob 1234 at jo@example.com."])  # whatever is loaded once
    text = piece * (8000 // len(piece))
    is_network = isinstance(detector, Pipeline)  # which reads about 8,000 tokens a second, and never goes back
    limit = 20.0 if is_network else 5.0  # backtracking would take minutes; a busy machine must not fail
    for hostile in (text + "@",) if is_network else (text, text + "@"):
        start = time.process_time()
        detector.detect([hostile])
        assert time.process_time() - start < limit
