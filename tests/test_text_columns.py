from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from studies.published import read_published

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import data_folder
from oddshift.data.codecs.text import vectors
from oddshift.data.codecs.text.cells import TextCells
from oddshift.data.formats import FOLDER, open_data, read_columns


def _file(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read_corpus(path, text=("text",), header=None, at_least=2):
    """The documents of a file or folder."""
    file = open_data(path, "text", header=header)
    return TextCells.of(read_columns(file, text, at_least=at_least), text).documents


def _refusal(call, *args, **kwargs):
    with pytest.raises(InvalidInput) as refusal:
        call(*args, **kwargs)
    message = str(refusal.value)
    assert "\n" not in message
    assert "secretword" not in message
    return message


def test_headerless_class_title_text(tmp_path):
    path = _file(tmp_path, "train.csv", '"3","A title","A text."\n"4","","Only text."\n')
    header = ("label", "title", "text")
    assert read_corpus(path, ("title", "text"), header) == ["A title\nA text.", "Only text."]
    assert read_columns(open_data(path, header=header), ["label"]) == {"label": ["3", "4"]}


def test_wrong_encoding_names_the_line(tmp_path):
    bad = b"label,text\n1,plain\n2,secretword caf" + b"\xe9\n"
    assert _refusal(read_corpus, _file(tmp_path, "a.csv", bad)) == (
        "a.csv line 3 is not UTF-8 (byte 16 of the line); it may be WINDOWS-1252: "
        "iconv -f WINDOWS-1252 -t UTF-8 a.csv > utf8-a.csv"
    )
    line = b'{"text": "secretword"}\n{"text": "\xff"}\n'
    assert "a.jsonl line 2 is not UTF-8" in _refusal(read_corpus, _file(tmp_path, "a.jsonl", line))
    _file(tmp_path, "0.txt", b"caf\xe9")
    _file(tmp_path, "1.txt", b"fine")
    assert "0.txt line 1 is not UTF-8 (byte 3 of the line)" in _refusal(read_corpus, tmp_path)


def test_other_bad_files(tmp_path):
    assert "expected one of .csv" in _refusal(read_corpus, _file(tmp_path, "a.doc", "x"))
    assert "is not a file or folder" in _refusal(read_corpus, tmp_path / "none.csv")
    assert "line 1 is not a JSON document" in _refusal(read_corpus, _file(tmp_path, "a.jsonl", "secretword\n"))
    assert "line 1 is a list" in _refusal(read_corpus, _file(tmp_path, "b.jsonl", "[1]\n"))
    assert "is not a Parquet file" in _refusal(read_corpus, _file(tmp_path, "a.parquet", "secretword"))
    null = _file(tmp_path, "c.jsonl", '{"text": "a"}\n{"text": null}\n')
    assert read_corpus(null) == ["a", ""], "no text is an empty document"
    number = _file(tmp_path, "d.jsonl", '{"text": "a"}\n{"text": 5}\n')
    assert "column 'text' at row 2 is an int, expected text" in _refusal(read_corpus, number)
    assert "expected one of ag_news" in _refusal(read_published, "reuters")
    missing = _refusal(read_published, "imdb", tmp_path)
    assert str(tmp_path / "imdb.csv") in missing
    assert "columns label and text" in missing
    assert "ODDSHIFT_DATA" in missing


def test_an_installed_package_expects_data_where_it_is_run(tmp_path, monkeypatch):
    """Never among the installed packages: a folder there would be lost with the environment."""
    installed = tmp_path / "lib" / "python3" / "site-packages" / "oddshift" / "data" / "codecs" / "vectors.py"
    monkeypatch.delenv("ODDSHIFT_DATA", raising=False)
    monkeypatch.setattr(vectors, "__file__", str(installed))
    monkeypatch.chdir(tmp_path)
    assert data_folder() == Path("data")
    monkeypatch.setenv("ODDSHIFT_DATA", "elsewhere")
    assert data_folder() == Path("elsewhere")


def test_the_published_corpora(data):
    sizes = {name: len(read_published(name, data)) for name in ("ag_news", "imdb", "amazon")}
    assert sizes == {"ag_news": 12_599, "imdb": 5_000, "amazon": 5_000}
    labels = np.unique(read_published("ag_news", data).labels)
    assert labels.tolist() == ["1", "2", "3", "4"]


def test_the_published_imdb_folder_has_more_in_it_than_reviews(tmp_path):
    for name in ("neg", "pos", "unsup"):
        (tmp_path / name).mkdir()
        _file(tmp_path / name, "0_9.txt", f"a {name} review")
        _file(tmp_path, f"urls_{name}.txt", "http://localhost/")
    columns = read_columns(open_data(tmp_path), (FOLDER, "text"))
    reviews = [(label, text) for label, text in zip(columns[FOLDER], columns["text"], strict=True) if label]
    assert reviews == [(name, f"a {name} review") for name in ("neg", "pos", "unsup")]
    assert columns[FOLDER].count("") == 3, "link lists beside the folders have no class; they are read all the same"


def test_a_damaged_parquet_file_is_one_line(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"text": ["secretword"] * 50}), path)
    data = bytearray(path.read_bytes())
    data[20:60] = b"\xff" * 40
    path.write_bytes(bytes(data))
    assert _refusal(read_corpus, path) == "a.parquet is not a Parquet file, or is damaged"
