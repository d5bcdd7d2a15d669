"""Bounded streams: characters that are cut by a block, bytes that are not UTF-8, records that do not end, new files."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import data_file
from oddshift.data.formats.data_file import (
    byte_sink,
    is_writable,
    refuse_long,
    shown,
    starts_with_mark,
    texts_of,
    uncounted,
    whole_text,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("streams")


@settings(max_examples=50, deadline=None)
@given(text=st.text(st.characters(codec="utf-8"), max_size=12), block=st.integers(1, 9))
def test_a_block_may_end_in_the_middle_of_a_character(folder, text, block):
    path = folder / "in.txt"
    path.write_bytes(text.encode())
    counted = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_file, "BLOCK", block)
        parts = list(texts_of(path, counted.append))
    assert "".join(part for part, _ in parts) == text
    assert [is_last for _, is_last in parts] == [False] * (len(parts) - 1) + [True] * bool(parts)
    assert sum(counted) == len(text.encode())


@pytest.mark.parametrize(("text", "is_marked"), [("\ufeffa", True), ("a\ufeff", False), ("", False), ("\ufeff", True)])
def test_a_byte_order_mark_is_found_at_the_start_and_skipped_on_request(folder, text, is_marked):
    path = folder / "mark.txt"
    path.write_bytes(text.encode())
    assert starts_with_mark(path) is is_marked
    assert "".join(part for part, _ in texts_of(path, uncounted)) == text
    kept = text.removeprefix("\ufeff")
    assert "".join(part for part, _ in texts_of(path, uncounted, skip_mark=True)) == kept


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (b"fine\nAnn \xff\n", r"line 2 is not UTF-8 \(byte 4 of the line\); it may be "),
        (b"\xc3", r"line 1 is not UTF-8 \(byte 0 of the line\)"),
        (b"caf\xe9", r"line 1 is not UTF-8 \(byte 3 of the line\)"),
    ],
)
def test_bytes_that_are_not_utf_8_are_named_by_their_place_and_not_quoted(tmp_path, data, where):
    path = tmp_path / "in.txt"
    path.write_bytes(data)
    for read in (lambda: list(texts_of(path, uncounted)), lambda: whole_text(path)):
        with pytest.raises(InvalidInput, match=where) as refused:
            read()
        assert "Ann" not in str(refused.value)
        assert refused.value.__suppress_context__


def test_a_character_that_the_end_of_the_file_cuts_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 2)
    (tmp_path / "in.txt").write_bytes("abé".encode()[:-1])
    with pytest.raises(InvalidInput, match="not UTF-8"):
        list(texts_of(tmp_path / "in.txt", uncounted))


def test_a_whole_text_is_bounded(tmp_path, monkeypatch):
    path = tmp_path / "in.txt"
    path.write_text("abcd")
    assert whole_text(path) == "abcd"
    monkeypatch.setattr(data_file, "LONGEST_RECORD", 3)
    with pytest.raises(InvalidInput, match=r"in\.txt has over 3 characters, expected shorter records"):
        whole_text(path)


def test_a_record_is_refused_from_the_first_character_beyond_the_longest(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "LONGEST_RECORD", 3)
    refuse_long("abc", tmp_path / "in.csv", 7)
    with pytest.raises(InvalidInput, match=r"in\.csv row 7 has over 3 characters"):
        refuse_long("abcd", tmp_path / "in.csv", 7)


def test_a_sink_makes_a_new_private_file_and_never_writes_over_one(tmp_path):
    path = tmp_path / "out"
    with byte_sink(path) as write:
        write(b"a")
        write(b"b")
    assert path.read_bytes() == b"ab"
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError), byte_sink(path):
        pass
    assert path.read_bytes() == b"ab"


def test_a_sink_does_not_follow_a_link_to_nowhere(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError), byte_sink(tmp_path / "link"):
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize(
    ("text", "can"), [("", True), ("abc", True), ("naïve 😀", True), ("\ud800", False), ("a\udfffb", False)]
)
def test_which_texts_can_be_written(text, can):
    assert is_writable(text) is can


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (2.0, "2"),
        (-3.0, "-3"),
        (0.1, "0.1"),
        (1e300, str(int(1e300))),
        (True, "True"),
        ("x", "x"),
        (7, "7"),
    ],
)
def test_how_released_values_are_shown(value, text):
    assert shown(value) == text


@settings(max_examples=60)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_shown_number_is_read_back_as_itself(value):
    assert float(shown(value)) == value
