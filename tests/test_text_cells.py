"""Cells of text: columns become documents and come back, spans and words are cut at the edges of cells."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.cells import JOINT, TextCells
from oddshift.data.detectors.spans import Spans

CELL = st.none() | st.text(st.sampled_from("aB é.\n\t"), max_size=6).filter(lambda cell: cell != JOINT)
ROWS = st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=4)
NAMES = ("title", "body", "note")


def cells_of(rows):
    return TextCells.of({name: [row[k] for row in rows] for k, name in enumerate(NAMES)}, NAMES)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_a_document_is_its_cells_with_a_line_break_between(rows):
    assert cells_of(rows).documents == [JOINT.join(cell for cell in row if cell) for row in rows]


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_columns_come_back_as_they_were(rows):
    cells = cells_of(rows)
    assert cells.put_back(cells.tokens("plain"), {}) == {name: [row[k] for row in rows] for k, name in enumerate(NAMES)}


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_words_join_to_the_documents_and_never_cross_a_cell(rows):
    cells = cells_of(rows)
    tokens = cells.tokens("plain")
    assert tokens.texts() == tuple(cells.documents)
    for row in range(len(rows)):
        at, edges = 0, set()
        for cell in filter(None, rows[row]):
            edges |= {at, at + len(cell)}
            at += len(cell) + 1
        first, last = tokens.offsets[row : row + 2]
        starts = tokens.occurrences.start[first:last].tolist()
        ends = tokens.occurrences.end[first:last].tolist()
        for start, end in zip(starts, ends, strict=True):
            assert not any(start < edge < end for edge in edges)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 15), st.integers(1, 8)), max_size=4))
def test_spans_cover_the_same_characters_but_the_line_breaks_between_cells(rows, places):
    cells = cells_of(rows)
    made = sorted(
        (d, a, min(a + n, len(cells.documents[d])), "X")
        for d, a, n in places
        if d < len(rows) and a < len(cells.documents[d])
    )
    inside = cells.inside(Spans.of(made, is_exact=False))
    joints = {(d, at) for d, row in enumerate(rows) for at in _joints(row)}
    covered = {(d, c) for d, a, b, _ in made for c in range(a, b)} - joints
    columns = zip(inside.document.tolist(), inside.start.tolist(), inside.end.tolist(), strict=True)
    assert {(d, c) for d, a, b in columns for c in range(a, b)} == covered


def _joints(row):
    """Where the line breaks between the cells of a row are."""
    at, found = 0, []
    for cell in filter(None, row):
        at += len(cell)
        found.append(at)
        at += 1
    return found[:-1]


def test_a_replaced_word_stays_in_its_cell():
    cells = cells_of([("Ann met", "Bob.", None), (None, None, None), ("", "Ann", "x")])
    tokens = cells.tokens("plain")
    words = [tokens.forms[form] for form in tokens.form]
    changed = {at: "Eve" for at, word in enumerate(words) if word in {"Ann", "Bob"}}
    assert cells.put_back(tokens, changed) == {
        "title": ["Eve met", None, ""],
        "body": ["Eve.", None, "Eve"],
        "note": [None, None, "x"],
    }


def test_whether_every_document_is_one_cell():
    assert TextCells.of({"a": ["x", "y"]}, ("a",)).has_one_each
    assert not TextCells.of({"a": ["x", ""]}, ("a",)).has_one_each
    assert not TextCells.of({"a": ["x"], "b": ["y"]}, ("a", "b")).has_one_each


def test_rows_without_any_text_are_documents_without_words():
    cells = TextCells.of({"a": [None, ""]}, ("a",))
    assert cells.documents == ["", ""]
    assert len(cells.tokens("plain")) == 2
    assert cells.put_back(cells.tokens("plain"), {}) == {"a": [None, ""]}


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (7, "column 'a' at row 12 is an int, expected text"),
        (["Ann"], "column 'a' at row 12 is a list, expected text"),
        ("Ann \ud800", "column 'a' at row 12 has half of a surrogate pair, expected characters"),
    ],
)
def test_a_cell_that_is_not_text_is_named_and_not_quoted(cell, message):
    with pytest.raises(InvalidInput) as refused:
        TextCells.of({"a": ["fine", None, cell]}, ("a",), first=10)
    assert str(refused.value) == message


def test_cells_are_not_shown():
    assert "Ann" not in repr(TextCells.of({"a": ["Ann"]}, ("a",)))
