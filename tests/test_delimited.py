"""CSV and TSV files: what the standard library writes is read, what is released is read by it, nothing else changes."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import data_file, open_data, read_columns
from oddshift.data.formats.data_file import uncounted
from oddshift.data.formats.delimited import DelimitedBlock, DelimitedFile, delimiter_of

CELL = st.text(st.sampled_from("ab \"',;\t\r\né😀"), max_size=6)
MARKS = {".csv": ",", ".tsv": "\t"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("delimited")


@pytest.fixture
def opened(tmp_path):
    """A file of some text, by its ending."""

    def write(text, ending=".csv", **options):
        path = tmp_path / f"in{ending}"
        path.write_bytes(text.encode())
        return open_data(path, **options)

    return write


def by_the_standard_library(rows, delimiter, line_end):
    """All cells quoted, because some versions leave a lone carriage return unquoted."""
    stream = io.StringIO(newline="")
    csv.writer(stream, delimiter=delimiter, lineterminator=line_end, quoting=csv.QUOTE_ALL).writerows(rows)
    return stream.getvalue().encode()


def standard_rows(data, delimiter):
    """Every row that the standard library reads, without the empty lines."""
    rows = csv.reader(io.StringIO(data.decode(), newline=""), delimiter=delimiter, strict=True)
    return [row for row in rows if row]


def released(file, **cells):
    """What is written when some columns are replaced, from the first block to the last."""
    places = {name: iter(values) for name, values in cells.items()}
    written = []
    for block in file.blocks(uncounted):
        new = {name: [next(values) for _ in range(len(block))] for name, values in places.items()}
        written.append(block.render(new, None))
    return b"".join(written)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=6),
    ending=st.sampled_from(sorted(MARKS)),
    line_end=st.sampled_from(["\n", "\r\n"]),
    block=st.sampled_from([1, 2, 7, 1 << 20]),
)
def test_what_the_standard_library_writes_is_read_in_blocks_of_any_size(folder, rows, ending, line_end, block):
    path = folder / f"in{ending}"
    path.write_bytes(by_the_standard_library([("a", "b"), *rows], MARKS[ending], line_end))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_file, "BLOCK", block)
        found = read_columns(DelimitedFile(path, None, MARKS[ending]), ("a", "b"), at_least=1)
    assert list(zip(found["a"], found["b"], strict=True)) == rows


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=5),
    new=st.lists(CELL, min_size=5, max_size=5),
    ending=st.sampled_from(sorted(MARKS)),
)
def test_released_cells_are_read_by_the_standard_library_and_the_others_are_as_before(folder, rows, new, ending):
    path, mark = folder / f"out{ending}", MARKS[ending]
    path.write_bytes(by_the_standard_library([("a", "b", "c"), *rows], mark, "\n"))
    written = released(DelimitedFile(path, None, mark), b=new[: len(rows)])
    expected = [[a, cell, c] for (a, _, c), cell in zip(rows, new, strict=False)]
    assert standard_rows(written, mark) == [["a", "b", "c"], *expected]


@settings(max_examples=30, deadline=None)
@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), block=st.sampled_from([1, 5, 1 << 20]))
def test_a_release_without_a_change_is_the_file_itself(folder, rows, block):
    path = folder / "same.csv"
    path.write_bytes(by_the_standard_library([("a", "b"), *rows], ",", "\r\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_file, "BLOCK", block)
        file = DelimitedFile(path)
        assert released(file, a=[a for a, _ in rows], b=[b for _, b in rows]) == path.read_bytes()
        assert released(file) == path.read_bytes()


@pytest.mark.parametrize(
    ("first", "mark"),
    [
        ("a,b", ","),
        ("a;b", ";"),
        ("a\tb", "\t"),
        ("a;b,c", ","),
        ('"a,b";c', ";"),
        ('"a;b"', ","),
        ("alone", ","),
        ("", ","),
    ],
)
def test_the_delimiter_is_that_of_the_first_line_outside_quotes(first, mark, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(f"{first}\n1;2,3\t4\n")
    assert delimiter_of(path) == mark


def test_the_delimiter_is_found_in_a_first_line_that_is_not_utf_8(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"na\xefve;b\n")
    assert delimiter_of(path) == ";"


def test_a_file_of_semicolons_keeps_them(opened):
    file = opened("a;b\n1,5;x\n2,5;y\n")
    assert read_columns(file, ("a",)) == {"a": ["1,5", "2,5"]}
    assert released(file, a=["7;7", "8"]) == b'a;b\n"7;7";x\n8;y\n'


def test_a_header_that_is_given_makes_the_first_row_data(opened):
    file = opened("1,x\n2,y\n", header=["n", "text"])
    assert file.names == ("n", "text")
    assert read_columns(file, ("n",)) == {"n": ["1", "2"]}
    assert released(file, text=["p", "q"]) == b"1,p\n2,q\n"


def test_the_byte_order_mark_is_not_part_of_the_first_name_and_stays_in_the_file(opened):
    file = opened("\ufeffa,b\n1,2\n3,4\n")
    assert file.names == ("a", "b")
    assert released(file, b=["5", "6"]) == "\ufeffa,b\n1,5\n3,6\n".encode()


def test_line_ends_may_be_of_three_kinds_in_one_file(opened):
    file = opened("a,b\r\n1,2\r3,4\n5,6")
    assert read_columns(file, ("a", "b")) == {"a": ["1", "3", "5"], "b": ["2", "4", "6"]}
    assert released(file, a=["x", "y", "z"]) == b"a,b\r\nx,2\ry,4\nz,6"


def test_empty_lines_are_not_records_and_stay_where_they_are(opened):
    file = opened("a,b\n\n1,2\n\n\n3,4\n\n")
    assert read_columns(file, ("a",)) == {"a": ["1", "3"]}
    assert released(file, a=["x", "y"]) == b"a,b\n\nx,2\n\n\ny,4\n\n"


def test_a_quoted_empty_cell_of_a_single_column_is_a_record(opened):
    file = opened('a\n""\nx\n')
    assert read_columns(file, ("a",)) == {"a": ["", "x"]}


def test_a_quote_inside_a_bare_cell_is_a_character(opened):
    assert read_columns(opened('a,b\n5" disk,x\n6",y\n'), ("a",)) == {"a": ['5" disk', '6"']}


def test_a_cell_that_is_released_as_it_was_keeps_its_spelling(opened):
    odd = b'a,b\n5" disk,"x"\n6",y\n'
    assert released(opened(odd.decode()), a=['5" disk', '6"'], b=["x", "y"]) == odd


@pytest.mark.parametrize("mark", ['"', "\r", "\n", ",", "\r\n"])
def test_a_bare_cell_is_quoted_when_its_new_text_needs_it(opened, mark):
    new = f"p{mark}q"
    written = released(opened("a,b\nx,y\n"), a=[new])
    assert standard_rows(written, ",") == [["a", "b"], [new, "y"]]
    assert written.startswith(b'a,b\n"')


def test_a_cell_that_was_quoted_stays_quoted(opened):
    assert released(opened('a,b\n"x",y\nx,y\n'), a=["1", "2"]) == b'a,b\n"1",y\n2,y\n'


@pytest.mark.parametrize(
    ("cell", "written"), [(2.0, "2"), (2.5, "2.5"), (-0.0, "0"), (None, ""), (7, "7"), ("p,q", '"p,q"')]
)
def test_numbers_are_written_in_their_shortest_form_and_a_mask_as_nothing(opened, cell, written):
    assert released(opened("a,b\nx,y\n"), a=[cell]) == f"a,b\n{written},y\n".encode()


def test_rows_that_are_not_kept_take_no_released_cell(opened):
    (block,) = opened("a,b\n1,p\n2,q\n3,r\n").blocks(uncounted)
    assert block.render({"a": ["x"]}, np.array([False, True, False])) == b"a,b\nx,q\n"
    assert block.render({}, np.array([False, False, False])) == b"a,b\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "row 2 has 1 columns, expected 2"),
        ("a,b\n1,2,3\n", "row 1 has 3 columns, expected 2"),
        ("a,b\n\n1,2\n\n1,2,3\n", "row 2 has 3 columns, expected 2"),
        ('a,b\n1,"open\n', "row 1 has a quote that is not closed"),
        ('"a"x,b\n1,2\n', "the header row has a quote that is not closed or is followed by text"),
    ],
)
def test_what_cannot_be_cut_is_refused_with_its_row_and_not_quoted(opened, text, message):
    with pytest.raises(InvalidInput, match=message) as refused:
        read_columns(opened(text), ("a",), at_least=1)
    assert "open" not in str(refused.value)


def test_a_record_that_never_ends_is_refused_before_the_file_is_read(opened, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 8)
    monkeypatch.setattr(data_file, "LONGEST_RECORD", 30)
    counted = []
    with pytest.raises(InvalidInput, match="row 1 has over 30 characters, expected shorter records"):
        for _ in opened('a,b\n1,"' + "secret " * 200).blocks(counted.append):
            pass
    assert sum(counted) < 64


def test_a_header_alone_has_columns_and_no_records(opened):
    file = opened("a,b\n")
    assert file.names == ("a", "b")
    with pytest.raises(InvalidInput, match=r"in\.csv has 0 records, expected at least 1"):
        read_columns(file, ("a",), at_least=1)


PLAIN = st.text(st.sampled_from("ab 'é1"), max_size=4)
NEW = st.one_of(CELL, st.none(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.integers())


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=6),
    new=st.lists(NEW, min_size=6, max_size=6),
    end=st.sampled_from(["\n", ""]),
)
def test_plain_records_are_written_by_column_as_they_are_one_by_one(rows, new, end):
    lines = ["\n"] * (len(rows) - 1) + [end]
    records = [(list(row), line) for row, line in zip(rows, lines, strict=True)]
    plain, careful = (DelimitedBlock(("x", "y"), records, "x,y\n", ",", is_plain) for is_plain in (True, False))
    cells = {"y": new[: len(rows)]}
    assert plain.render(cells, None) == careful.render(cells, None)
    assert plain.cells("x") == careful.cells("x")


def test_only_a_block_without_quotes_and_carriage_returns_is_plain(opened):
    kinds = {"a,b\n1,2\n": True, 'a,b\n"1",2\n': False, "a,b\r\n1,2\r\n": False, "a,b\n1,2": True}
    for text, is_plain in kinds.items():
        (block,) = opened(text).blocks(uncounted)
        assert block.is_plain == is_plain
        assert block.render({}, None) == text.encode()


def test_a_record_of_another_width_is_named_after_empty_lines_and_earlier_blocks(opened, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 8)
    file = opened("a,b\n1,2\n3,4\n\n5,6\n7\n")
    with pytest.raises(InvalidInput, match="row 4 has 1 columns, expected 2"):
        list(file.blocks(uncounted))
