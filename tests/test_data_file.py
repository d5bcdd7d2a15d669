"""A data file as a whole: wanted columns and nothing else, complete or refused, without a name of somebody's data."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import FORMATS, data_file, open_data
from oddshift.data.formats.data_file import read_columns, require_columns


@dataclass(frozen=True)
class Rows:
    """Some records in memory, as a block."""

    rows: list

    def __len__(self):
        return len(self.rows)

    def cells(self, name):
        return [row[name] for row in self.rows]

    def render(self, released, keep):
        return self.rows


@dataclass(frozen=True)
class Memory:
    """A data file of given blocks."""

    parts: tuple
    names: tuple = ("a", "b")
    unpacked_bytes: int = 10
    path: Path = Path("folder/in.csv")

    @property
    def files(self):
        return (self.path,)

    def blocks(self, count):
        for part in self.parts:
            yield Rows([dict(zip(self.names, row, strict=True)) for row in part])
            count(1)


def test_columns_are_joined_over_all_blocks_in_order():
    file = Memory((((1, "x"), (2, "y")), (), ((3, "z"),)))
    assert read_columns(file, ("b", "a")) == {"b": ["x", "y", "z"], "a": [1, 2, 3]}
    assert list(read_columns(file, ("b",))) == ["b"]


@pytest.mark.parametrize(
    ("parts", "at_least", "message"),
    [
        ((((1, 2),),), 2, "in.csv has 1 record, expected at least 2"),
        (((),), 1, "in.csv has 0 records, expected at least 1"),
        ((((1, 2), (3, 4)),), 3, "in.csv has 2 records, expected at least 3"),
    ],
)
def test_too_few_records_are_refused_with_their_number(parts, at_least, message):
    with pytest.raises(InvalidInput) as refused:
        read_columns(Memory(parts), ("a",), at_least=at_least)
    assert str(refused.value) == message


def test_a_missing_column_is_named_and_those_of_the_file_are_counted():
    with pytest.raises(InvalidInput) as refused:
        require_columns(Memory((), names=("Ann", "Smith")), ("text",))
    assert str(refused.value) == "in.csv has no column 'text' among its 2; is there a header row?"


def test_columns_of_one_name_are_refused_without_their_name():
    with pytest.raises(InvalidInput, match="has columns of the same name, expected distinct ones") as refused:
        require_columns(Memory((), names=("text", "Ann", "Ann")), ("text",))
    assert "Ann" not in str(refused.value)


def test_a_file_without_columns_says_which_were_expected():
    with pytest.raises(InvalidInput, match=r"in\.csv has 0 records, expected some with columns text, label"):
        require_columns(Memory((), names=()), ("text", "label"))


def test_a_file_too_large_to_be_read_as_a_whole_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(data_file, "LARGEST_WHOLE", 9)
    monkeypatch.setattr(Memory, "blocks", lambda *args: pytest.fail("it was read"))
    with pytest.raises(InvalidInput, match=r"in\.csv unpacks to 10 bytes, expected at most 9 to be read as a whole"):
        read_columns(Memory(()), ("a",))


@pytest.mark.parametrize("ending", sorted(FORMATS))
def test_an_empty_file_is_refused_whatever_its_format(ending, tmp_path):
    (tmp_path / f"in{ending}").write_bytes(b"")
    with pytest.raises(InvalidInput, match=r"is empty \(0 bytes\), expected records"):
        open_data(tmp_path / f"in{ending}")


def test_a_file_of_another_ending_or_of_none_is_refused_with_what_is_expected(tmp_path):
    for name in ("in.docx", "in", "in.CSV"):
        (tmp_path / name).write_text("a\n1\n")
        with pytest.raises(InvalidInput, match=r"expected one of \.csv, .* or a folder"):
            open_data(tmp_path / name)
    with pytest.raises(InvalidInput, match="is not a file or folder"):
        open_data(tmp_path / "none.csv")
