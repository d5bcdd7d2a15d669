"""Files of a data set: which belong to it, how they are cut, and what is refused before anything is read."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.data_file import uncounted
from oddshift.data.formats.data_set import DataPart, DataSet, find_data_set, refuse_other_columns


def write_lines(path, rows, end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps(row) for row in rows) + end, encoding="utf-8")


def cells(file, name):
    return [cell for block in file.blocks(uncounted) for cell in block.cells(name)]


def test_a_folder_and_a_pattern_give_the_same_files_in_order(tmp_path):
    for name in ("b.jsonl", "inner/a.jsonl", "_notes.jsonl", ".hidden/c.jsonl", "_delta/d.jsonl"):
        write_lines(tmp_path / name, [{"text": name}])
    (tmp_path / "readme.md").write_text("other endings are no data")
    found = find_data_set(tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in found.files] == ["b.jsonl", "inner/a.jsonl"]
    assert find_data_set(f"{tmp_path}/inner/*.jsonl") == DataSet(tmp_path / "inner", (tmp_path / "inner/a.jsonl",))
    deep = find_data_set(f"{tmp_path}/**/[ab].jsonl")
    assert (deep.folder, deep.files) == (tmp_path, found.files)


def test_a_file_and_a_folder_of_plain_text_are_no_data_sets(tmp_path):
    (tmp_path / "a.txt").write_text("Ann")
    assert find_data_set(tmp_path) is None
    assert find_data_set(tmp_path / "a.txt") is None
    assert find_data_set(tmp_path / "missing.csv") is None


@pytest.mark.parametrize("name", ["a.csv", "a.txt"])
def test_several_formats_are_refused(tmp_path, name):
    write_lines(tmp_path / "b.jsonl", [{"text": "Ann"}])
    (tmp_path / name).write_text("text\nAnn\n")
    with pytest.raises(InvalidInput, match=r"holds \.\w+ and \.\w+ files, expected files of one format"):
        find_data_set(tmp_path)


@pytest.mark.parametrize("pattern", ["*.csv", "*.txt"])
def test_a_pattern_without_data_is_refused(tmp_path, pattern):
    (tmp_path / "a.txt").write_text("Ann")
    with pytest.raises(InvalidInput, match="matches no data"):
        find_data_set(f"{tmp_path}/{pattern}")


@pytest.mark.parametrize("size", [1, 7, 40, 100, 10_000])
@pytest.mark.parametrize("end", ["\n", "", "\n\n"])
def test_lines_are_cut_between_records_and_none_is_lost(tmp_path, size, end):
    texts = [f"line {n} é" * (n % 4) for n in range(17)]
    write_lines(tmp_path / "a.jsonl", [{"text": text} for text in texts], end)
    data = find_data_set(tmp_path)
    parts = data.parts(size)
    found = [text for part in parts for text in cells(data.opened(part, "text"), "text")]
    assert found == texts
    assert parts[0] == DataPart("a.jsonl", "a.jsonl") if size == 10_000 else len(parts) > 1
    names = [part.name for part in parts]
    assert len(set(names)) == len(names)
    raw = (tmp_path / "a.jsonl").read_bytes()
    whole = [raw if part.is_whole else raw[part.start : part.end] for part in parts]
    assert b"".join(whole) == raw


@pytest.mark.parametrize(("size", "parts"), [(1, 5), (10**9, 1)])
def test_parquet_files_are_cut_between_row_groups(tmp_path, size, parts):
    parquet.write_table(pa.table({"text": [f"t{n}" for n in range(23)]}), tmp_path / "a.parquet", row_group_size=5)
    data = find_data_set(tmp_path)
    cut = data.parts(size)
    assert len(cut) == parts
    assert [t for part in cut for t in cells(data.opened(part, "text"), "text")] == [f"t{n}" for n in range(23)]
    assert (
        sum(data.opened(part).unpacked_bytes for part in cut) == data.opened(DataPart("a.parquet", "")).unpacked_bytes
    )
    assert len(data.parts(size, keep_whole=True)) == 1


def test_a_csv_file_is_never_cut(tmp_path):
    (tmp_path / "a.csv").write_text('text\n"Ann\nBob"\nCyd\n')
    assert find_data_set(tmp_path).parts(1) == (DataPart("a.csv", "a.csv"),)


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_files_with_other_columns_are_refused_by_name(tmp_path, ending):
    for number, column in enumerate(("text", "text", "words")):
        path = tmp_path / f"{number}{ending}"
        if ending == ".parquet":
            parquet.write_table(pa.table({column: ["Ann"]}), path)
        elif ending == ".csv":
            path.write_text(f"{column}\nAnn\n")
        else:
            write_lines(path, [{column: "Ann"}])
    with pytest.raises(InvalidInput, match=rf"2\{ending} has other columns than 0\{ending} \(1 and 1\)"):
        refuse_other_columns(find_data_set(tmp_path))


def test_columns_of_other_types_are_refused_and_new_keys_may_be_allowed(tmp_path):
    parquet.write_table(pa.table({"n": [1]}), tmp_path / "a.parquet")
    parquet.write_table(pa.table({"n": ["1"]}), tmp_path / "b.parquet")
    with pytest.raises(InvalidInput, match="other columns"):
        refuse_other_columns(find_data_set(tmp_path))
    write_lines(tmp_path / "in" / "a.jsonl", [{"text": "Ann"}])
    write_lines(tmp_path / "in" / "b.jsonl", [{"text": "Ann", "more": 1}])
    refuse_other_columns(find_data_set(tmp_path / "in"), allow_new_keys=True)


def test_an_empty_or_unreadable_file_is_refused_by_name(tmp_path):
    write_lines(tmp_path / "a.jsonl", [{"text": "Ann"}])
    (tmp_path / "b.jsonl").write_text("")
    with pytest.raises(InvalidInput, match=r"b\.jsonl is empty"):
        refuse_other_columns(find_data_set(tmp_path))
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "c.parquet").write_bytes(b"not parquet")
    with pytest.raises(InvalidInput, match=r"c\.parquet is not a Parquet file"):
        find_data_set(tmp_path / "p").parts()
