"""Plain text: lines with any line end, folders at any depth, and releases that change nothing but the words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import FOLDER, TEXT, data_file, open_data, read_columns
from oddshift.data.formats.data_file import uncounted
from oddshift.data.formats.plain_text import FolderBlock, LineBlock, TextFile, TextFolder, lines_of

LINE = st.text(st.sampled_from("ab é😀\u2028\x0b\t"), max_size=5)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("text")


def nested(root, **files):
    """A folder of files, by name (`__` stands for a folder's slash)."""
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return TextFolder(root)


@settings(max_examples=50, deadline=None)
@given(
    lines=st.lists(st.tuples(LINE, st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=6),
    last=LINE,
    block=st.sampled_from([1, 2, 5, 1 << 20]),
)
def test_lines_end_at_line_feeds_only_and_come_back_byte_for_byte(folder, lines, last, block):
    path = folder / "in.txt"
    path.write_bytes(("".join(text + end for text, end in lines) + last).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(data_file, "BLOCK", block)
        parts = list(TextFile(path).blocks(uncounted))
    found = [cell for part in parts for cell in part.cells(TEXT)]
    assert found == [text for text, _ in lines] + ([last] if last else [])
    assert b"".join(part.render({TEXT: part.cells(TEXT)}, None) for part in parts) == path.read_bytes()


def test_released_lines_keep_the_line_ends_and_the_byte_order_mark():
    block = LineBlock(["\ufeffAnn\r\n", "\n", "Bo"])
    assert block.cells(TEXT) == ["Ann", "", "Bo"]
    assert block.render({TEXT: ["x", "y", "z"]}, None) == "\ufeffx\r\ny\nz".encode()


def test_lines_that_are_not_kept_are_left_out_with_their_ends():
    block = LineBlock(["a\n", "b\r\n", "c\n"])
    assert block.render({TEXT: ["x"]}, np.array([False, True, False])) == b"x\r\n"


def test_a_release_of_another_number_of_lines_is_never_written():
    with pytest.raises(ValueError, match="shorter"):
        LineBlock(["a\n", "b\n"]).render({TEXT: ["x"]}, None)


def test_whole_lines_are_given_as_soon_as_they_are_complete(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 4)
    (tmp_path / "in.txt").write_bytes(b"ab\ncdefgh\ni")
    counted = []
    assert list(lines_of(tmp_path / "in.txt", counted.append)) == [["ab\n"], ["cdefgh\n", "i"]]
    assert counted == [4, 4, 3]


def test_a_line_that_never_ends_is_refused_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 8)
    monkeypatch.setattr(data_file, "LONGEST_RECORD", 20)
    (tmp_path / "in.txt").write_text("short\n" + "secret" * 50)
    with pytest.raises(InvalidInput, match=r"in\.txt row 2 has over 20 characters") as refused:
        list(lines_of(tmp_path / "in.txt", uncounted))
    assert "secret" not in str(refused.value)


def test_files_of_a_folder_come_in_the_order_of_their_paths(tmp_path):
    file = nested(tmp_path, b="2", a="1", z__a="3", z__b__c="4")
    assert [path.name for path in file.files] == ["a.txt", "b.txt", "a.txt", "c.txt"]
    assert read_columns(file, (TEXT, FOLDER)) == {TEXT: ["1", "2", "3", "4"], FOLDER: ["", "", "z", "b"]}


def test_a_flat_folder_has_texts_and_no_classes(tmp_path):
    assert nested(tmp_path, a="1", b="2").names == (TEXT,)
    assert nested(tmp_path, pos__c="3").names == (TEXT, FOLDER)


def test_a_folder_that_ends_in_txt_is_not_a_file(tmp_path):
    (tmp_path / "odd.txt").mkdir()
    assert [path.name for path in nested(tmp_path, a="1").files] == ["a.txt"]


def test_an_empty_folder_is_refused_when_it_is_read(tmp_path):
    (tmp_path / "note.md").write_text("x")
    with pytest.raises(InvalidInput, match=r"holds no \.txt file, expected at least one"):
        _ = open_data(tmp_path).files


def test_a_folder_can_only_hold_text(tmp_path):
    nested(tmp_path, a="1")
    with pytest.raises(InvalidInput, match="can only hold data of kind text, expected data of kind table"):
        open_data(tmp_path, "table")


@pytest.mark.parametrize(("block", "sizes"), [(1, [1, 1, 1]), (4, [2, 1]), (1 << 20, [3])])
def test_files_are_gathered_into_blocks_of_bounded_size(tmp_path, monkeypatch, block, sizes):
    monkeypatch.setattr(data_file, "BLOCK", block)
    file = nested(tmp_path, a="12", b="345", c="6")
    counted = []
    assert [len(part) for part in file.blocks(counted.append)] == sizes
    assert counted == [2, 3, 1]
    assert file.unpacked_bytes == 6


def test_released_files_keep_their_names_and_marks():
    block = FolderBlock(["a.txt", "sub/b.txt"], ["\ufeffAnn", "Bo"])
    assert block.cells(TEXT) == ["Ann", "Bo"]
    assert block.render({TEXT: ["x", "y"]}, None) == [("a.txt", "\ufeffx".encode()), ("sub/b.txt", b"y")]
    assert block.render({TEXT: ["y"]}, np.array([False, True])) == [("sub/b.txt", b"y")]


def test_a_released_folder_is_new_and_only_its_owner_can_read_it(tmp_path):
    file = nested(tmp_path / "in", a="1", sub__b="2")
    with file.sink(tmp_path / "out") as write:
        for block in file.blocks(uncounted):
            write(block.render({TEXT: ["x", "y"]}, None))
    assert (tmp_path / "out" / "sub" / "b.txt").read_text() == "y"
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "out").rglob("*")} == {0}
    with pytest.raises(FileExistsError), file.sink(tmp_path / "out"):
        pass


def test_blocks_of_text_show_none_of_it():
    assert "Ann" not in repr(LineBlock(["Ann\n"]))
    assert "Ann" not in repr(FolderBlock(["Ann.txt"], ["Ann"]))
