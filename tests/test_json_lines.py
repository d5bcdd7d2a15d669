"""JSON lines: the standard library reads what is released, and every byte that is not a released value stays."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import data_file, open_data, read_columns
from oddshift.data.formats.data_file import uncounted
from oddshift.data.formats.json_lines import JsonLinesBlock

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
LAYOUT = st.fixed_dictionaries(
    {"ensure_ascii": st.booleans(), "separators": st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", "  : ")])}
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


@pytest.fixture
def opened(tmp_path):
    def write(text):
        (tmp_path / "in.jsonl").write_bytes(text.encode())
        return open_data(tmp_path / "in.jsonl")

    return write


def block_of(*lines):
    return JsonLinesBlock([line + "\n" for line in lines], "in.jsonl", 1)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(VALUE, VALUE), min_size=1, max_size=4), layout=LAYOUT, block=st.sampled_from([1, 9, 999])
)
def test_what_the_standard_library_writes_is_read_in_blocks_of_any_size(folder, rows, layout, block):
    path = folder / "in.jsonl"
    lines = [json.dumps({"a": a, "b": b}, **layout) for a, b in rows]
    path.write_bytes("\r\n".join(lines).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_file, "BLOCK", block)
        found = read_columns(open_data(path), ("a", "b"), at_least=1)
    assert list(zip(found["a"], found["b"], strict=True)) == rows


@settings(max_examples=40, deadline=None)
@given(old=st.tuples(VALUE, VALUE, VALUE), new=TEXT, layout=LAYOUT)
def test_one_released_value_changes_its_own_bytes_and_no_others(old, new, layout):
    fields = dict(zip("abc", old, strict=True))
    line = json.dumps(fields, **layout)
    before, _, after = line.partition(json.dumps({"b": old[1]}, **layout)[1:-1])
    written = block_of(line).render({"b": [new]}, None).decode()
    assert json.loads(written) == {**fields, "b": new}
    assert written.startswith(before)
    assert written.endswith(after + "\n")


@settings(max_examples=40, deadline=None)
@given(value=VALUE, layout=LAYOUT)
def test_a_value_released_as_it_was_keeps_its_spelling(value, layout):
    line = json.dumps({"a": value, "b": 1}, **layout)
    same = block_of(line).render({"a": [value]}, None).decode()
    if not (isinstance(value, float) and value.is_integer()):
        assert same == line + "\n"
    assert json.loads(same) == {"a": value, "b": 1}


@pytest.mark.parametrize(
    ("raw", "value", "written"),
    [
        ("1.50", 1.5, "1.50"),
        ("1.50", 2.0, "2"),
        ("1", 2.25, "2.25"),
        ('"\\u00e9"', "ü", '"\\u00fc"'),
        ('"é"', "ü", '"ü"'),
        ('"x"', None, "null"),
        ("true", 1, "1"),
    ],
)
def test_a_released_value_is_written_in_the_manner_of_the_old_one(raw, value, written):
    assert block_of(f'{{"a": {raw}}}').render({"a": [value]}, None).decode() == f'{{"a": {written}}}\n'


def test_of_a_key_that_occurs_twice_the_last_counts_and_the_others_are_blanked():
    block = block_of('{"a": "Ann", "b": 1, "a": "Bo"}')
    assert block.cells("a") == ["Bo"]
    assert block.render({"a": ["x"]}, None).decode() == '{"a": null, "b": 1, "a": "x"}\n'


def test_lines_that_are_not_kept_are_left_out_and_empty_lines_stay():
    block = JsonLinesBlock(['{"a": 1}\n', " \r\n", '{"a": 2}\n', '{"a": 3}'], "in.jsonl", 1)
    assert len(block) == 3
    assert block.render({"a": [9]}, np.array([False, False, True])).decode() == ' \r\n{"a": 9}'


def test_columns_are_the_keys_of_the_first_object(opened):
    file = opened('\n{"b": 1, "a": 2}\n{"a": 1, "b": 2, "c": 3}\n')
    assert file.names == ("b", "a")
    assert read_columns(file, ("a",)) == {"a": [2, 1]}


def test_every_key_is_known_with_the_line_where_it_first_occurs():
    block = JsonLinesBlock(['{"a": 1}\n', "\n", '{"c": 1, "a": 2}\n', '{"b": 1, "c": 0}\n'], "in.jsonl", 5)
    assert block.all_keys == {"a": 5, "c": 7, "b": 8}


def test_a_block_without_an_object_has_no_keys():
    assert JsonLinesBlock(["\n", "\t\n"], "in.jsonl", 1).keys == ()


def test_a_byte_order_mark_stays_in_front_of_the_first_object(opened):
    file = opened('\ufeff{"a": "x"}\n{"a": "y"}\n')
    (block,) = file.blocks(uncounted)
    assert block.render({"a": ["p", "q"]}, None) == '\ufeff{"a": "p"}\n{"a": "q"}\n'.encode()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", "line 1 is a list, expected an object"),
        ('"Ann"', "line 1 is a str, expected an object"),
        ("12", "line 1 is an int, expected an object"),
        ("Ann", "line 1 is not a JSON document"),
        ('{"a": Ann}', "line 1 is not a JSON document"),
        ('{"a": "Ann"', "line 1 is not a JSON document"),
        ('{"a": "Ann",}', "line 1 is not a JSON document"),
        ('{"a" "Ann"}', "line 1 is not a JSON document"),
        ("{Ann: 1}", "line 1 is not a JSON document"),
        ('{"a": "Ann"} Ann', "line 1 is not a JSON document"),
        ('{"a": ' + "9" * 5000 + "}", "line 1 has a number of over 4300 digits, expected fewer"),
        ('{"\\ud800": "Ann"}', "line 1 has half of a surrogate pair in a key, expected characters"),
        ('{"a": "Ann \\ud800"}', "line 1 has half of a surrogate pair in column 'a', expected characters"),
        ('{"b": "Ann"}', "line 1 has no column 'a'"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_never_quoted(line, message):
    with pytest.raises(InvalidInput) as refused:
        block_of(line).cells("a")
    assert str(refused.value) == f"in.jsonl {message}"
    assert refused.value.__cause__ is None


def test_deep_nesting_is_refused_in_one_line():
    with pytest.raises(InvalidInput, match="line 1 is nested too deeply, expected plain values"):
        block_of('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}").cells("a")


def test_lines_are_numbered_through_all_blocks(opened, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 10)
    file = opened('{"a": 1}\n' * 7 + "\n[]\n")
    with pytest.raises(InvalidInput, match=r"in\.jsonl line 9 is a list"):
        read_columns(file, ("a",))
