"""One reader for each format: what is read whole is what is read in blocks, and what comes out is what went in."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from oddshift.app.configuration import parse_config
from oddshift.app.configured_runs import prepare_configured
from oddshift.app.init.roles import roles_of
from oddshift.base.errors import InvalidInput
from oddshift.data.embedded import people
from oddshift.data.formats import FOLDER, FORMATS, TEXT, VECTORS, data_file, open_data, read_columns
from oddshift.mechanisms import Exponential
from oddshift.protect import Ledger, ProtectSettings, protect
from oddshift.protect.policies import make_policy, save_policy

DRY = ProtectSettings(allow_uncertified=True, dry_run=True)


def parquet_bytes(columns):
    import pyarrow as pa
    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def saved(save, *arrays, **named):
    stream = io.BytesIO()
    save(stream, *arrays, **named)
    return stream.getvalue()


ROWS = [["1", 'say "hi",\n there'], ["2", ""], ["3", "plain ü"]]
VALUES = np.arange(12.0).reshape(4, 3)
SAMPLES = {
    ".csv": '\ufeff"n",text\r\n1,"say ""hi"",\n there"\n\n2,\n"3",plain ü'.encode(),
    ".tsv": 'n\ttext\n1\t"say ""hi"",\n there"\r\n\r\n2\t\n3\tplain ü\n'.encode(),
    ".jsonl": "".join(json.dumps({"n": n, "text": t}) + "\r\n\n" for n, t in ROWS).encode(),
    ".parquet": parquet_bytes({"n": [n for n, _ in ROWS], "text": [t for _, t in ROWS]}),
    ".txt": "\ufefffirst line\r\n\n  third ü".encode(),
    ".npz": saved(np.savez, group=np.array(["a", "b", "b", "c"]), vectors=VALUES),
    ".npy": saved(np.save, VALUES),
}
"""A file of each format, with whatever is easily lost."""


@pytest.fixture(params=sorted(FORMATS))
def file(request, tmp_path):
    path = tmp_path / f"in{request.param}"
    path.write_bytes(SAMPLES[request.param])
    return open_data(path)


def cells(file):
    return {name: [list(c) if isinstance(c, np.ndarray) else c for c in column] for name, column in whole(file).items()}


def whole(file):
    return read_columns(file, file.names, at_least=1)


def test_every_format_has_a_sample():
    assert set(SAMPLES) == set(FORMATS)


def test_columns_are_those_of_the_file(file):
    found = cells(file)
    ending = file.path.suffix
    if ending == ".txt":
        assert found == {TEXT: ["first line", "", "  third ü"]}
    elif ending in (".npz", ".npy"):
        assert found[VECTORS] == VALUES.tolist()
        assert found.get("group", []) == (["a", "b", "b", "c"] if ending == ".npz" else [])
    else:
        assert found == {"n": [n for n, _ in ROWS], "text": [t for _, t in ROWS]}


@pytest.mark.parametrize("block", [1, 3, 25, 1 << 20])
def test_blocks_of_any_size_hold_the_same_cells(file, monkeypatch, block):
    expected = cells(file)
    monkeypatch.setattr(data_file, "BLOCK", block)
    again = open_data(file.path)
    assert cells(again) == expected
    counted = []
    rows = sum(len(part) for part in again.blocks(counted.append))
    assert rows == len(next(iter(expected.values())))
    assert sum(counted) > 0


def test_what_is_not_replaced_is_written_byte_for_byte(file, tmp_path):
    out = tmp_path / f"out{file.path.suffix}"
    name = VECTORS if VECTORS in file.names else "text"
    with file.sink(out) as write:
        for block in file.blocks(lambda size: None):
            write(block.render({name: block.cells(name)}, None))
    if file.path.suffix in (".parquet", ".npz"):  # containers: the same contents, packed anew
        assert cells(open_data(out)) == cells(file)
    else:
        assert out.read_bytes() == file.path.read_bytes()
    assert out.stat().st_mode & 0o077 == 0, "others may read it"


def test_replaced_cells_are_read_back(file, tmp_path):
    out = tmp_path / f"out{file.path.suffix}"
    name = VECTORS if VECTORS in file.names else "text"
    rows = len(cells(file)[name])
    new = [[float(k)] * 3 for k in range(rows)] if name == VECTORS else [f'new {k}, "quoted"\t' for k in range(rows)]
    with file.sink(out) as write:
        first = 0
        for block in file.blocks(lambda size: None):
            write(block.render({name: new[first : first + len(block)]}, None))
            first += len(block)
    assert cells(open_data(out)) == {**cells(file), name: new}


def test_records_that_are_not_kept_are_left_out(tmp_path):
    keep = np.array([True, False, True])
    for ending in (".csv", ".tsv", ".jsonl", ".parquet"):
        path, out = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
        path.write_bytes(SAMPLES[ending])
        file = open_data(path)
        with file.sink(out) as write:
            (block,) = file.blocks(lambda size: None)
            write(block.render({"text": ["a", "b"]}, keep))
        assert whole(open_data(out)) == {"n": ["1", "3"], "text": ["a", "b"]}, ending


def test_a_file_of_another_kind_is_refused(file):
    kind = FORMATS[file.path.suffix].only_kind
    for other in {"text", "table", "vectors"} - {kind}:
        if kind:
            with pytest.raises(InvalidInput, match=f"can only hold data of kind {kind}"):
                open_data(file.path, other)
        else:
            assert open_data(file.path, other).names == file.names


def policy_of():
    codec = people(40).codec
    masking = replace(codec, settings=replace(codec.settings, unknown="mark"))
    return make_policy(masking, Exponential(codec.space, 1.0), codec.tiers)


def audited(source, tmp_path):
    """How many documents an audit reads."""
    (tmp_path / "names.txt").write_text("first\nsecond\nfine\nmore\none\nanother\n")
    words = np.array(["first", "second", "fine", "more", "one", "another", "line"])
    np.savez(tmp_path / "words.npz", words=words, vectors=np.eye(7, dtype=np.float32))
    config = f"""
[data]
kind = "text"
path = "{source}"
vectors = "{tmp_path / "words.npz"}"
detectors = [{{kind = "words", path = "{tmp_path / "names.txt"}"}}]
is_public = true
similar_percent = 0
[mechanism]
epsilon = 1.0
"""
    split = prepare_configured(parse_config(config, "test")).split
    return len(split.fit) + len(split.select) + len(split.certify)


def records_protected(source, tmp_path):
    """How many records protecting reads, without writing anything."""
    policy = policy_of()
    save_policy(tmp_path / "policy", policy)
    out = tmp_path / f"out{source.suffix}"
    return protect(source, out, policy, Ledger.beside(tmp_path / "policy"), DRY).records


def nested(tmp_path):
    folder = tmp_path / "letters"
    for name in ("a.txt", "b.txt", "sub/c.txt", "sub/deeper/d.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"first line of {name}\nsecond line\n")
    (folder / "ignored.md").write_text("x")
    return folder


def test_init_audit_and_protect_read_the_same_nested_files(tmp_path):
    """Four files were counted, two audited and four released (line by line) before there was one reader."""
    folder = nested(tmp_path)
    assert roles_of(folder).rows == audited(folder, tmp_path) == records_protected(folder, tmp_path) == 4
    columns = read_columns(open_data(folder), (TEXT, FOLDER))
    assert columns[TEXT][0] == "first line of a.txt\nsecond line\n"
    assert columns[FOLDER] == ["", "", "sub", "deeper"]


def test_a_folder_comes_out_as_it_went_in(tmp_path, monkeypatch):
    folder, out = nested(tmp_path), tmp_path / "out"
    monkeypatch.setattr(data_file, "BLOCK", 40)
    file = open_data(folder)
    assert file.names == (TEXT, FOLDER)
    with file.sink(out) as write:
        for block in file.blocks(lambda size: None):
            write(block.render({TEXT: block.cells(TEXT)}, None))
    kept = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*.txt")}
    assert kept == {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*.txt")}
    assert {oct(p.stat().st_mode & 0o077) for p in out.rglob("*")} == {"0o0"}


def test_an_odd_quote_is_refused_by_everyone(tmp_path):
    """The audit read `"ab"c` as abc, and protecting refused it, before there was one reader."""
    path = tmp_path / "in.csv"
    path.write_text('text,n\nfine,1\n"ab"c,2\nmore,3\n')
    calls = (lambda: roles_of(path), lambda: audited(path, tmp_path), lambda: records_protected(path, tmp_path))
    for call in calls:
        with pytest.raises(InvalidInput, match=r"in\.csv row 2 has a quote that is not closed or is followed by text"):
            call()


def test_an_odd_quote_is_found_before_the_end_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 16)
    path = tmp_path / "in.csv"
    path.write_text('text\n"ab"c\n' + "more\n" * 500)
    read = []
    with pytest.raises(InvalidInput, match="row 1 has a quote"):
        for _ in open_data(path).blocks(read.append):
            pass
    assert sum(read) < 100


def test_a_single_text_file_is_its_lines_for_everyone(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("one line\nanother\n\nlast")
    assert roles_of(path).rows == audited(path, tmp_path) == records_protected(path, tmp_path) == 4
