"""Spans and occurrences: labelled stretches of characters, filtered and renumbered, and the tokens under them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import load, save
from oddshift.data.codecs.text.tokens import tokenise
from oddshift.data.detectors.spans import Spans
from oddshift.data.detectors.tagging import Occurrences

ROW = st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(1, 4), st.sampled_from(["ORG", "PERSON", "GPE"]))
ROWS = st.lists(ROW, max_size=8).map(lambda rows: sorted((d, start, start + n, label) for d, start, n, label in rows))


def rows_of(spans):
    columns = zip(spans.document.tolist(), spans.start.tolist(), spans.end.tolist(), spans.label.tolist(), strict=True)
    return [(d, start, end, spans.labels[label]) for d, start, end, label in columns]


def arrays(**changes):
    given = {"document": [0, 1], "start": [0, 2], "end": [1, 4], "label": [0, 0], **changes}
    return {name: np.array(values, dtype=np.int64) for name, values in given.items()}


@settings(max_examples=50)
@given(ROWS, st.booleans())
def test_rows_come_back_and_labels_are_sorted_and_used(rows, is_exact):
    spans = Spans.of(rows, is_exact=is_exact)
    assert rows_of(spans) == rows
    assert spans.labels == tuple(sorted({row[3] for row in rows}))
    assert (len(spans), spans.is_exact) == (len(rows), is_exact)


@settings(max_examples=50)
@given(ROWS, st.sets(st.sampled_from(["ORG", "PERSON", "NOBODY"])))
def test_spans_of_some_labels_are_a_plain_filter(rows, labels):
    assert rows_of(Spans.of(rows, is_exact=False).only(tuple(labels))) == [row for row in rows if row[3] in labels]


def test_some_spans_are_taken_by_number_or_by_truth():
    spans = Spans.of([(0, 0, 1, "A"), (1, 0, 2, "B"), (2, 0, 3, "A")], is_exact=False)
    assert rows_of(spans.take(np.array([2, 0]))) == [(2, 0, 3, "A"), (0, 0, 1, "A")]
    assert rows_of(spans.take(np.array([False, True, False]))) == [(1, 0, 2, "B")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"document": [0]}, r"span columns have lengths \[1, 2\], expected one length"),
        ({"end": [1, 2]}, r"a span is empty or has a label outside \[0, 1\)"),
        ({"end": [1, 1]}, r"a span is empty or has a label outside \[0, 1\)"),
        ({"label": [0, 1]}, r"a span is empty or has a label outside \[0, 1\)"),
    ],
)
def test_columns_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(InvalidInput, match=message):
        Spans(**arrays(**changes), labels=("A",), is_exact=False)


def test_spans_are_stored_and_read_back(tmp_path):
    spans = Spans.of([(0, 1, 4, "PERSON"), (2, 0, 2, "ORG")], is_exact=False)
    save(tmp_path / "spans.npz", spans)
    found = load(tmp_path / "spans.npz", Spans)
    assert rows_of(found) == rows_of(spans)
    assert (found.labels, found.is_exact) == (spans.labels, False)


def test_spans_are_shown_as_counts():
    assert repr(Spans.of([(0, 1, 4, "PERSON")], is_exact=False)) == "Spans(1 spans, 1 labels)"


TEXTS = ["Ann met Bob, twice.", "", "Ann", "  ann  "]


@settings(max_examples=60)
@given(ROWS)
def test_tokens_under_spans_are_those_that_share_a_character(rows):
    occurrences = tokenise(TEXTS, "plain").occurrences
    token, span = occurrences.overlapping(Spans.of(rows, is_exact=False))
    expected = [
        (t, s)
        for s, (document, start, end, _) in enumerate(rows)
        for t in range(len(occurrences.type))
        if occurrences.document[t] == document and occurrences.start[t] < end and occurrences.end[t] > start
    ]
    assert list(zip(token.tolist(), span.tolist(), strict=True)) == expected


def test_only_types_with_a_letter_or_a_digit_are_words():
    occurrences = tokenise(["x1 7 é _ , ! 中"], "plain").occurrences
    words = {word for word, is_word in zip(occurrences.types, occurrences.is_word, strict=True) if is_word}
    assert words == {"x1", "7", "é", "中"}


def test_occurrences_are_shown_as_counts():
    empty = np.zeros(0, dtype=np.int64)
    assert repr(Occurrences(("ann",), empty, empty, empty, np.zeros(3, dtype=np.int64))) == (
        "Occurrences(0 tokens, 1 types, 2 documents)"
    )
