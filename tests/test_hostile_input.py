"""Hostile and damaged input on the command line: every refusal is one line, and nothing is released by accident."""

import gzip
import io
import json
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from command_line import run_here
from oddshift.app.cli import DEFECT, TRACEBACK, main
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import VectorCodec, VectorSettings
from oddshift.data.codecs.text.vectors import read_vectors
from oddshift.data.formats import data_file, open_data, read_columns
from oddshift.mechanisms import Exponential
from oddshift.protect.policies import make_policy, save_policy
from policies import people_policy

VECTORS = np.random.default_rng(0).normal(size=(40, 3))
REST = "".join(f'{{"text": "Ann met Bob. {i}"}}\n' for i in range(5))


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    """A policy for texts and one for vectors, each in a folder."""
    folder = tmp_path_factory.mktemp("policies")
    codec = VectorCodec.fit({"vectors": list(VECTORS)}, VectorSettings())
    save_policy(folder / "text", people_policy())
    save_policy(folder / "vectors", make_policy(codec, Exponential(codec.space, 2.0), codec.tiers))
    return folder


def refused(ended):
    """The one line of a refusal."""
    assert ended.problem == ""
    assert ended.code == 1
    return ended.err.strip()


def protected(policies, path, kind="text", *extra):
    out = path.with_name(f"out{path.suffix}")
    column = ("--text", "text") if kind == "text" else ()
    ended = run_here(
        "protect", path, out, "--policy", policies / kind / "policy.json", "--allow-uncertified", *column, *extra
    )
    assert out.exists() == (ended.code == 0)
    return ended


def written(tmp_path, name, data):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize("command", ["audit", "adapt"])
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"[data]\n\xff\xfe", "line 2 is not UTF-8"),
        (b"a = " + b"[" * 50_000, "nested too deeply"),
        (b"[audit]\nseed = " + b"9" * 5_000, "is not a TOML file"),
        (b"#" * (1 << 20) + b"\n", "expected a configuration"),
        (b'[data]\nkind = "people"\n[mechanism]\nepsilon = 2.0\n[audit]\nseed = -1\n', "seed=-1"),
        (b'[data]\nkind = "people"\n[mechanism]\nepsilon = 2.0\n[audit]\ndelta = 1e-308\n', "at least 1e-09"),
        (b'[data]\nkind = "people"\n[mechanism]\nepsilon = ' + b"9" * 400 + b"\n", "mechanism.epsilon"),
        (b'[data]\nkind = "people"\n[mechanism]\nepsilon = nan\n', "expected a finite number > 0"),
    ],
    ids=["utf-8", "nested", "digits", "long", "seed", "delta", "huge", "nan"],
)
def test_configurations(command, data, message, tmp_path):
    line = refused(run_here(command, written(tmp_path, "a.toml", data), "--out", tmp_path / "run"))
    assert message in line
    assert len(line) < 400
    assert not (tmp_path / "run").exists()


def test_a_folder_is_not_a_configuration(tmp_path):
    assert "is a folder, expected a TOML file" in refused(run_here("audit", tmp_path))


def test_a_tiny_budget_is_measured(tmp_path):
    text = '[data]\nkind = "people"\ndocuments = 30\n'
    text += '[mechanism]\nepsilon = 1e-308\n[audit]\nattackers = ["plugin"]\nworst_positions = 2\n'
    ended = run_here("audit", written(tmp_path, "a.toml", text), "--out", tmp_path / "run")
    assert ended.problem == ""
    assert ended.code in (0, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": ' + "[" * 100_000 + "}", "line 1 is nested too deeply"),
        ("[" * 100_000, "line 1 is nested too deeply"),
        ('{"text": "Ann", "n": ' + "9" * 5_000 + "}", "line 1 has a number of over"),
        ('{"text": "Ann \\ud800"}', "line 1 has half of a surrogate pair"),
        ('{"text": "Ann", "\\udfff": 1}', "line 1 has half of a surrogate pair in a key"),
        ('{"text": ["Ann"]}', "row 1 is a list"),
        ('{"text": {"a": "Ann"}}', "row 1 is a dict"),
        ('{"text": true}', "row 1 is a bool"),
        ('{"text": 31}', "row 1 is an int"),
        ('{"text": NaN}', "row 1 is a float"),
        ("5", "line 1 is an int, expected an object"),
        ("null", "line 1 is a NoneType, expected an object"),
        ('{"text": "Ann"', "line 1 is not a JSON document"),
    ],
    ids=[
        "deep",
        "deep line",
        "digits",
        "surrogate",
        "key",
        "list",
        "object",
        "bool",
        "int",
        "nan",
        "5",
        "null",
        "open",
    ],
)
def test_json_lines(line, message, policies, tmp_path):
    path = written(tmp_path, "in.jsonl", f"{line}\n{REST}")
    said = refused(protected(policies, path))
    assert message in said
    assert "Ann" not in said
    ended = run_here("init", path, "--out", tmp_path / "a.toml")
    assert ended.problem == ""


def test_half_a_surrogate_in_memory_is_refused():
    from oddshift.protect import Sanitizer

    with pytest.raises(InvalidInput, match="row 2 has half of a surrogate pair"):
        Sanitizer(people_policy()).texts(["Ann", "Bob \ud800"])


def npz(**arrays):
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def changed(data, *changes):
    """An archive with some bytes changed: (mark before them, offset, new byte)."""
    made = bytearray(data)
    for mark, offset, value in changes:
        made[made.find(mark) + offset] = value
    return bytes(made)


def header(shape):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


WHOLE = npz(vectors=VECTORS, group=np.arange(len(VECTORS)))
LOCAL, CENTRAL = b"PK\x03\x04", b"PK\x01\x02"
DAMAGED = {
    "nothing.npz": (npz(), "has 0 records"),
    "text.npz": (b"PK\x03\x04abc", "damaged"),
    "cut.npz": (WHOLE[:200], "damaged"),
    "checksum.npz": (changed(WHOLE, (CENTRAL, 16, 1), (LOCAL, 14, 1)), "its checksum is wrong"),
    "packing.npz": (changed(WHOLE, (CENTRAL, 10, 99), (LOCAL, 8, 99)), "packed in a way"),
    "encrypted.npz": (changed(WHOLE, (CENTRAL, 8, 1), (LOCAL, 6, 1)), "encrypted"),
    "other.npz": (npz(other=VECTORS), "no column 'vectors'"),
    "objects.npz": (npz(vectors=np.array([[None, 1]], dtype=object)), "expected rows of floats"),
    "complex.npz": (npz(vectors=VECTORS.astype(complex)), "expected rows of floats"),
    "wide.npy": (header((1, 10**15)), "expected at most"),
    "below.npy": (header((-1, 3)), "damaged"),
    "short.npy": (header((10**9, 10)), "ends before its 1000000000 vectors do"),
    "cut.npy": (b"\x93NUMPY\x01\x00", "damaged"),
    "new.npy": (b"\x93NUMPY\x03\x00\x02\x00\x00\x00{}", "damaged"),
    "open.npy": (b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16, "damaged"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_arrays(name, policies, tmp_path):
    data, message = DAMAGED[name]
    path = written(tmp_path, name, data)
    assert message in refused(protected(policies, path, "vectors"))
    refused(run_here("init", path, "--out", tmp_path / "a.toml"))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([None, [1.0, 2.0, 3.0]], "row 1 has no numbers"),
        (["abc", "def"], "row 1 has no numbers"),
        ([1.0, 2.0], "row 1 has no numbers"),
        ([[1.0], [1.0, 2.0]], "row 1 has 1 numbers, expected 3"),
        ([["a", "b", "c"]] * 2, "something other than numbers"),
        ([[1.0, None, 2.0]] * 2, "row 1: expected 3 finite numbers"),
        ([[[1.0], [1.0], [1.0]]] * 2, "lists inside its vectors"),
    ],
    ids=["null", "text", "scalar", "ragged", "words", "null inside", "nested"],
)
def test_vectors_in_parquet(column, message, policies, tmp_path):
    path = tmp_path / "in.parquet"
    parquet.write_table(pa.table({"vectors": column}), path)
    assert message in refused(protected(policies, path, "vectors"))


def test_numbers_beyond_floats_in_vectors(policies, tmp_path):
    path = written(tmp_path, "in.jsonl", f'{{"vectors": [1, 2, {"9" * 400}]}}\n' * 4)
    assert "something other than numbers" in refused(protected(policies, path, "vectors"))
    assert run_here("init", path, "--out", tmp_path / "a.toml").problem == ""


def test_groups_that_are_lists_are_refused(tmp_path):
    path = written(tmp_path, "in.npz", npz(vectors=VECTORS, group=VECTORS))
    assert "group is of shape (40, 3), expected 40" in refused(run_here("init", path, "--out", tmp_path / "a.toml"))


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bits_in_parquet_and_archives(seed, policies, tmp_path):
    rng = np.random.default_rng(seed)
    table = io.BytesIO()
    parquet.write_table(pa.table({"text": [f"Ann met Bob {i}" for i in range(200)]}), table)
    for suffix, kind, whole in ((".parquet", "text", table.getvalue()), (".npz", "vectors", WHOLE)):
        for number in range(5):
            data = bytearray(whole)
            for place in rng.integers(len(data), size=3):
                data[place] ^= 1 << rng.integers(8)
            path = written(tmp_path, f"{number}{suffix}", bytes(data))
            out = tmp_path / f"out{number}{suffix}"
            policy = policies / kind / "policy.json"
            ended = run_here("protect", path, out, "--policy", policy, "--allow-uncertified", "--allow-repeat")
            assert ended.problem == ""


def test_a_headerless_file_is_not_quoted(policies, tmp_path):
    path = written(tmp_path, "in.csv", "Zebulon Secretname,31\nBob,32\nCy,44\n")
    for ended in (protected(policies, path), run_here("init", path, "--out", tmp_path / "a.toml")):
        assert "header row" in refused(ended)
        assert "Zebulon" not in ended.err


def test_where_a_file_stops_being_utf_8_is_named(policies, tmp_path):
    path = written(tmp_path, "in.csv", b"text\n" + b"Ann met Bob\n" * 3_000 + b"Ann \xff\n")
    assert "line 3002 is not UTF-8 (byte 4 of the line)" in refused(protected(policies, path))


@pytest.mark.parametrize("line", ["5", "[]", "null", '"a"', "[" * 50_000, "\xff", '{"key": 5}', '{"key": "zz"}'])
def test_lines_of_an_old_ledger(line, policies, tmp_path):
    for name in ("policy.json", "vocabulary.npz"):
        written(tmp_path, name, (policies / "text" / name).read_bytes())
    written(tmp_path, "releases.jsonl", f"{line}\n".encode("latin-1"))
    path = written(tmp_path, "in.jsonl", REST)
    ended = run_here("protect", path, tmp_path / "out.jsonl", "--policy", tmp_path, "--allow-uncertified")
    assert ended.problem == ""


@pytest.mark.parametrize("data", [b"", b"\xff", b"[" * 100_000, b"{}", b"5", b'{"schema": ' + b"9" * 5_000 + b"}"])
def test_stored_files_that_are_something_else(data, policies, tmp_path):
    for name in ("a.json", "policy.json"):
        written(tmp_path, name, data)
    written(tmp_path, "vocabulary.npz", data)
    assert run_here("verify", tmp_path / "a.json").problem == ""
    path = written(tmp_path, "in.jsonl", REST)
    refused(run_here("protect", path, tmp_path / "out.jsonl", "--policy", tmp_path / "policy.json"))


def test_names_with_markup_are_text(policies, tmp_path):
    folder = tmp_path / "[bold] [red] [" / "bold] ["
    folder.mkdir(parents=True)
    path = written(folder, "in.jsonl", '{"text": "Ann met Bob", "[/]": 1}\n')
    ended = protected(policies, path, "text", "--allow-repeat")
    assert ended.problem == ""
    assert "[bold] [red] [/bold] [/out.jsonl" in ended.out.replace("\n", "")
    assert "released as they are: [/]" in ended.out


def test_names_that_no_terminal_can_show(policies, tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    try:
        (folder / "\udcff.txt").write_text("Ann met Bob")
    except OSError:
        pytest.skip("the file system has no such names")
    out = tmp_path / "out"
    ended = run_here("protect", folder, out, "--policy", policies / "text", "--allow-uncertified", "--allow-repeat")
    assert ended.problem == ""
    assert "\\udcff.txt" in ended.out


class Odd(Exception):
    """Something nobody thought of."""


def test_a_defect_is_one_line_without_data(monkeypatch, tmp_path, capsys):
    def fail(*_, **__):
        raise Odd("Zebulon Secretname")

    monkeypatch.setattr("oddshift.evidence.certificates.verify_file", fail)
    monkeypatch.setattr("sys.argv", ["oddshift", "verify", str(written(tmp_path, "a.json", "{}"))])
    monkeypatch.delenv(TRACEBACK, raising=False)
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == DEFECT
    assert "defect of oddshift (Odd in test_hostile_input.py" in said
    assert "Zebulon" not in said
    assert len(said.splitlines()) == 1
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(Odd):
        main()


@pytest.mark.parametrize(("error", "message"), [(MemoryError, "not enough memory"), (EOFError, "defect of oddshift")])
def test_memory_and_short_files_are_not_an_interruption(error, message, monkeypatch, tmp_path, capsys):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("oddshift.evidence.certificates.verify_file", fail)
    monkeypatch.setattr("sys.argv", ["oddshift", "verify", str(written(tmp_path, "a.json", "{}"))])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (1, DEFECT)
    assert message in capsys.readouterr().err


class TestLimits:
    """Refusals by stated sizes, before the memory is taken."""

    def test_records(self, policies, tmp_path, monkeypatch):
        monkeypatch.setattr(data_file, "LONGEST_RECORD", 30_000)
        monkeypatch.setattr(data_file, "BLOCK", 4_000)
        cell = b"a " * 20_000
        for name, data in (
            ("a.csv", b'text\n"' + cell + b'"\n'),
            ("b.csv", b"text\n" + cell + b"\n"),
            ("c.csv", b'text\n"' + cell),
            ("d.txt", cell),
            ("e.jsonl", b'{"text": "' + cell + b'"}\n'),
        ):
            assert "over 30000 characters" in refused(protected(policies, written(tmp_path, name, data)))

    def test_a_file_of_a_folder(self, policies, tmp_path, monkeypatch):
        monkeypatch.setattr(data_file, "LONGEST_RECORD", 1_000)
        (tmp_path / "in").mkdir()
        written(tmp_path, "in/a.txt", b"a " * 1_000)
        assert "over 1000 characters" in refused(protected(policies, tmp_path / "in"))

    def test_an_array_by_its_header(self, tmp_path, monkeypatch):
        monkeypatch.setattr(data_file, "LARGEST_WHOLE", 900)
        with pytest.raises(InvalidInput, match="unpacks to 960 bytes, expected at most 900"):
            read_columns(open_data(written(tmp_path, "in.npz", WHOLE)), ["vectors"])
        with pytest.raises(InvalidInput, match="unpacks to 8000000000 bytes"):
            read_columns(open_data(written(tmp_path, "in.npy", header((10**8, 10)))), ["vectors"])

    def test_other_arrays_by_their_headers(self, tmp_path):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            whole = io.BytesIO()
            np.save(whole, VECTORS)
            archive.writestr("vectors.npy", whole.getvalue())
            archive.writestr("group.npy", header((10**12,)))
        file = open_data(written(tmp_path, "in.npz", stream.getvalue()))
        with pytest.raises(InvalidInput, match="group of 8000000000000 bytes, expected at most"):
            read_columns(file, ["vectors", "group"])

    def test_parquet_by_its_row_groups(self, tmp_path, monkeypatch):
        path = tmp_path / "in.parquet"
        parquet.write_table(pa.table({"text": ["a" * 1_000] * 1_000}), path, use_dictionary=False, compression="zstd")
        monkeypatch.setattr(data_file, "LARGEST_WHOLE", 100_000)
        assert path.stat().st_size < 10_000
        with pytest.raises(InvalidInput, match="unpacks to 10"):
            read_columns(open_data(path), ["text"])

    def test_word_vectors_without_a_line_end(self, tmp_path):
        path = tmp_path / "a.txt.gz"
        with gzip.open(path, "wb") as stream:
            for _ in range(40):
                stream.write(b"a" * (1 << 20))
        with pytest.raises(InvalidInput, match="line 1 has over 1048575 bytes"):
            read_vectors(path)

    @pytest.mark.parametrize(
        ("name", "data", "message"),
        [
            ("a.bin", b"1 999999999\na " + b"0" * 100, "vectors have 999999999 numbers"),
            ("a.npz", npz(words=np.array(["a"]), vectors=np.array(["b"])), "one word for each row"),
            ("a.npz", npz(words=np.array("a"), vectors=VECTORS), "one word for each row"),
            ("a.npz", npz(vectors=VECTORS), "no array 'words'"),
            ("a.npz", WHOLE[:300], "not a complete .npz file"),
            ("a.zip", changed(WHOLE, (CENTRAL, 8, 1), (LOCAL, 6, 1)), "not a complete|holds"),
        ],
    )
    def test_word_vectors_that_are_something_else(self, name, data, message, tmp_path):
        with pytest.raises(InvalidInput, match=message):
            read_vectors(written(tmp_path, name, data))

    def test_arrays_of_an_archive(self, tmp_path):
        path = written(tmp_path, "in.npz", WHOLE)
        assert data_file.whole_array(path, "group").tolist() == list(range(40))
        with pytest.raises(InvalidInput, match="group of 320 bytes, expected at most 100"):
            data_file.whole_array(path, "group", 100)
        with pytest.raises(InvalidInput, match="an array is missing"):
            data_file.whole_array(path, "other")
        pickled = npz(a=np.array([None], dtype=object))
        with pytest.raises(InvalidInput, match="without pickles"):
            data_file.whole_array(written(tmp_path, "p.npz", pickled), "a")
        with pytest.raises(FileNotFoundError):
            data_file.whole_array(tmp_path / "none.npz", "a")


def test_json_output_stays_json_when_refused(tmp_path):
    ended = run_here("verify", written(tmp_path, "a.json", "{}"), "--json")
    assert ended.problem == ""
    if ended.out.strip():
        json.loads(ended.out)
