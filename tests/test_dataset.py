"""A data set: columns with the settings that read them, named by content, and refusals that say where the data are."""

from dataclasses import replace

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceSettings, TableSettings, TextSettings, VectorSettings
from oddshift.data.dataset import FEWEST, Dataset, enough_rows, named_columns, read_dataset

TABLE = TableSettings(numeric=("age",), categorical=("sex",))
COLUMNS = {"age": [31, 42, 53, 64], "sex": ["f", "m", "f", "m"]}


def made(**changes):
    return replace(Dataset(COLUMNS, TABLE, "people.csv"), **changes)


def test_its_size_and_kind_are_shown_and_no_value():
    assert len(made()) == 4
    assert repr(made()) == "Dataset(table, 4 rows, 2 columns)"


def test_some_rows_of_all_columns():
    assert made().rows(np.array([True, False, False, True])) == {"age": [31, 64], "sex": ["f", "m"]}
    assert made().rows(np.zeros(4, dtype=bool)) == {"age": [], "sex": []}


def test_the_same_data_read_the_same_way_have_one_name_wherever_they_come_from():
    assert made().fingerprint == made(source="elsewhere.csv").fingerprint
    assert made().fingerprint == made(columns={name: list(cells) for name, cells in COLUMNS.items()}).fingerprint


@pytest.mark.parametrize(
    "changes",
    [
        {"columns": {**COLUMNS, "age": [31, 42, 53, 65]}},
        {"columns": {**COLUMNS, "age": [31.5, 42, 53, 64]}},
        {"columns": {**COLUMNS, "age": [42, 31, 53, 64]}},
        {"columns": {**COLUMNS, "more": [0, 0, 0, 0]}},
        {"settings": replace(TABLE, bins=19)},
        {"detectors": ()},
    ],
    ids=["a cell", "a type", "the order", "a column", "a setting", "detectors"],
)
def test_any_change_gives_another_name(changes):
    assert made(**changes).fingerprint != made().fingerprint


def test_a_bad_cell_is_named_by_its_row_among_all_and_by_its_file():
    columns = {**COLUMNS, "age": [31, 42, 53, "Annabel"]}
    with pytest.raises(InvalidInput, match=r"people\.csv: column 'age' at row 4") as refused:
        made(columns=columns).fit(np.array([True, True, True, False]))
    assert "Annabel" not in str(refused.value)


def test_a_bad_place_is_named_by_its_row_among_all():
    columns = {"lat": [1.0, 2.0, "x"], "lon": [1.0, 2.0, 3.0]}
    asked = PlaceSettings(user="", timestamp="", trip="", every=0)
    with pytest.raises(InvalidInput, match=r"^trips\.csv: column 'lat' at row 3"):
        Dataset(columns, asked, "trips.csv").fit(np.array([True, True, False]))


def test_only_refusals_of_cells_are_given_the_name_of_the_file():
    with pytest.raises(InvalidInput, match=r"^people\.csv: column 'x' is odd"), made().naming():
        raise InvalidInput("column 'x' is odd")
    with pytest.raises(InvalidInput, match=r"^something else"), made().naming():
        raise InvalidInput("something else")
    with pytest.raises(KeyError), made().naming():
        raise KeyError("column ")


def test_a_codec_is_learned_from_the_chosen_rows_only():
    rows = 40
    columns = {"age": list(range(rows)), "sex": ["f", "m"] * 18 + ["f", "x", "x", "x"]}
    codec = Dataset(columns, TABLE).fit(np.arange(rows) < 36)
    assert codec.kind == "table"
    outside = codec.encode({"age": [3], "sex": ["x"]})
    assert outside.counts.masked == 1


def test_a_table_of_a_file_has_the_columns_that_are_asked_for(tmp_path):
    (tmp_path / "in.csv").write_text("age,sex,name\n1,f,Ann\n2,m,Bob\n3,f,Cyd\n")
    found = read_dataset(tmp_path / "in.csv", TABLE)
    assert found.columns == {"age": ["1", "2", "3"], "sex": ["f", "m", "f"]}
    assert found.source == "in.csv"


def test_lines_of_text_need_no_names_of_columns(tmp_path):
    (tmp_path / "in.txt").write_text("one\ntwo\nthree\n")
    asked = TextSettings(is_public=True, text=("body",), user="who", label="class")
    found = read_dataset(tmp_path / "in.txt", asked)
    assert found.columns == {"text": ["one", "two", "three"]}
    assert (found.settings.text, found.settings.user, found.settings.label) == (("text",), None, None)


def test_folders_around_texts_are_their_classes(tmp_path):
    for name in ("neg/a.txt", "neg/b.txt", "pos/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found = read_dataset(tmp_path, TextSettings(is_public=True))
    assert found.settings.label == "folder"
    assert found.columns["folder"] == ["neg", "neg", "pos"]


@pytest.mark.parametrize(
    ("name", "text", "asked", "message"),
    [
        ("in.csv", "age,sex\n", TABLE, r"in\.csv has 0 records, expected at least 1"),
        ("in.csv", "age\n1\n2\n3\n", TABLE, r"in\.csv has no column 'sex' among its 1"),
        ("in.txt", "a\nb\nc\n", TABLE, r"in\.txt can only hold data of kind text, expected data of kind table"),
        ("in.csv", "a\n1\n2\n3\n", VectorSettings(), r"in\.csv has no column 'vectors' among its 1"),
    ],
)
def test_a_file_of_other_data_is_refused(tmp_path, name, text, asked, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_dataset(tmp_path / name, asked)


def test_there_is_a_row():
    enough = {"a": [0] * FEWEST}
    assert enough_rows(enough, "the values") is enough
    with pytest.raises(InvalidInput, match="the values has 0 rows, expected at least 1"):
        enough_rows({}, "the values")


def test_columns_are_taken_by_name_and_in_that_order():
    assert list(named_columns({"a": [1], "b": [2], "c": [3]}, ("c", "a"), "the frame")) == ["c", "a"]
    with pytest.raises(InvalidInput, match="the frame has no column 'd' among its 1"):
        named_columns({"a": [1]}, ("d",), "the frame")
