"""Files in, files out: secrets are replaced, and every other byte is the one that came."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

import encoding
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceSettings, TableSettings, TextSettings, WordVectors
from oddshift.data.detectors import Gazetteer
from oddshift.data.formats import data_file, open_data, read_columns
from oddshift.mechanisms import Exponential, Mask
from oddshift.model.space import Space
from oddshift.protect import Ledger, ProtectSettings, protect
from oddshift.protect.policies import POLICY, make_policy, save_policy

LOUD = 1e6  # an epsilon that changes nothing
WORDS = ("ann", "bob", "carl", "dora")
STRANGERS = ("zed", "x", "é")  # listed, and without a vector
FREE = ProtectSettings(allow_uncertified=True, allow_repeat=True)


def text_policy(epsilon=LOUD, mask=False, **settings):
    texts = ("Ann met the bob, said carl.", "Dora met Ann")
    vectors = WordVectors(WORDS, np.arange(8, dtype=np.float32).reshape(4, 2) ** 1.5)
    chosen = TextSettings(is_public=True, casing=("lower",), tokeniser="plain")
    codec = encoding.text(texts, vectors, [Gazetteer(dict.fromkeys((*WORDS, *STRANGERS), "PERSON"))], chosen).codec
    mechanism = Mask(codec.space) if mask else Exponential(codec.space, epsilon)
    return make_policy(replace(codec, settings=replace(chosen, **settings)), mechanism, codec.tiers)


def released(tmp_path, name, data, policy, settings=FREE):
    """The bytes that come out for the bytes that go in."""
    home = tmp_path / "policy"
    if not (home / POLICY).is_file():
        save_policy(home, policy)
    source, out = tmp_path / name, tmp_path / f"out-{name}"
    source.write_bytes(data)
    protect(source, out, policy, Ledger.beside(home), settings)
    return out.read_bytes()


CSV = (
    "\ufeff"
    'id,"text",note\r\n'
    '1,"ANN ""met""\n  Bob, said",plain\n'
    "\r\n"
    '02,the Ann,"kept ""as"" it, is"\r'
    '3,, "odd" quotes \r\n'
    '"4","Zed","é"'
)


def test_csv_keeps_every_other_byte(tmp_path):
    """Quotes, blanks, line ends, a mark at the start, empty lines and a missing last line end."""
    expected = CSV.replace("ANN", "ann").replace("Bob", "bob").replace("Ann", "ann").replace("Zed", "[PERSON]")
    assert released(tmp_path, "a.csv", CSV.encode(), text_policy()) == expected.encode()
    with pytest.raises(InvalidInput, match="the header row has a quote that is not closed or is followed by text"):
        released(tmp_path, "b.csv", CSV.replace('"text"', '"text" ').encode(), text_policy())


@pytest.mark.parametrize("block", [1, 2, 3, 7, 64, 1 << 20])
def test_blocks_of_any_size_give_the_same(tmp_path, monkeypatch, block):
    monkeypatch.setattr(data_file, "BLOCK", block)
    expected = CSV.replace("ANN", "ann").replace("Bob", "bob").replace("Ann", "ann").replace("Zed", "[PERSON]")
    assert released(tmp_path, "a.csv", CSV.encode(), text_policy()) == expected.encode()
    lines = '{"text": "Ann", "n": 1}\n\n{"text": "– the ANN"}\r\n{"text":"x"}'
    there = lines.replace('"Ann"', '"ann"').replace("ANN", "ann").replace('"x"', '"[PERSON]"')
    assert released(tmp_path, "a.jsonl", lines.encode(), text_policy()) == there.encode()
    texts = "Ann\n\nthe  ANN \r\nmet é"
    assert released(tmp_path, "a.txt", texts.encode(), text_policy()) == b"ann\n\nthe  ann \r\nmet [PERSON]"


def test_csv_cells_are_quoted_when_they_must_be(tmp_path):
    """What is released is read back as one cell, whatever it holds."""
    rows = [["1", "Ann, the"], ["2", 'Bob "met"'], ["3", "carl\nsaid"], ["4", "met"]]
    stream = io.StringIO()
    csv.writer(stream).writerows([["id", "text"], *rows])
    got = released(tmp_path, "a.csv", stream.getvalue().encode(), text_policy()).decode()
    back = list(csv.reader(io.StringIO(got)))
    assert back[1:] == [[n, text.lower().replace("the", "the")] for n, text in rows]


def test_csv_without_a_header_row_and_with_several_texts(tmp_path):
    policy = text_policy(text=("title", "body"), header=("n", "title", "body"))
    assert released(tmp_path, "a.csv", b"1,Ann,Bob\n2,x,met", policy) == b"1,ann,bob\n2,[PERSON],met"


def test_json_lines_keep_what_is_not_the_text(tmp_path):
    line = '\ufeff { "a" : 1.50e3 ,"te\\u0078t":"ANN met", "u": "\\u00e9", "big": 123456789012345678901, "n": null}\n'
    expected = line.replace("ANN", "ann")
    assert released(tmp_path, "a.jsonl", line.encode(), text_policy()) == expected.encode()
    assert released(tmp_path, "b.jsonl", b'{"text": null}\n', text_policy()) == b'{"text": null}\n'
    escaped = released(tmp_path, "c.jsonl", b'{"text": "\\u00e9 Ann"}', text_policy())
    assert escaped == b'{"text": "[PERSON] ann"}'


def test_a_key_that_stands_twice_hides_nothing(tmp_path):
    got = released(tmp_path, "a.jsonl", b'{"text": "Ann", "text": "Bob"}', text_policy())
    assert got == b'{"text": null, "text": "bob"}'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"[1]", "line 2 is a list, expected an object"),
        (b'{"text": "Ann"', "line 2 is not a JSON document"),
        (b'{"text": "Ann",}', "line 2 is not a JSON document"),
        (b'{"text": "Ann"} x', "line 2 is not a JSON document"),
        (b"{text: 1}", "line 2 is not a JSON document"),
        (b'{"other": "Ann"}', "has no column 'text'"),
        (b'{"text": 5}', "column 'text' at row 2 is an int, expected text"),
    ],
)
def test_bad_lines_are_named_and_not_quoted(tmp_path, line, words):
    with pytest.raises(InvalidInput, match=words) as caught:
        released(tmp_path, "a.jsonl", b'{"text": "met"}\n' + line, text_policy())
    assert "Ann" not in str(caught.value)


def test_bad_tables_are_named_and_not_quoted(tmp_path):
    for data, words in (
        (b"text,n\nAnn,1\nBob\n", r"a\.csv row 2 has 1 columns, expected 2"),
        (b'text\n"Ann', r"a\.csv row 1 has a quote that is not closed"),
        (b"text\n", r"a\.csv has 0 records"),
        (b"text,text\nAnn,Bob\n", "columns of the same name"),
        (b"text\nAnn\xff\n", "line 2 is not UTF-8"),
        (b"", r"a\.csv is empty \(0 bytes\)"),
    ):
        with pytest.raises(InvalidInput, match=words) as caught:
            released(tmp_path, "a.csv", data, text_policy())
        assert "Ann" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith((".", "out"))] == []


def test_a_record_that_never_ends_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 100)
    monkeypatch.setattr(data_file, "LONGEST_RECORD", 500)
    with pytest.raises(InvalidInput, match="row 1 has over 500 characters"):
        released(tmp_path, "a.csv", b'text\n"' + b"met " * 500, text_policy())


@pytest.mark.parametrize("kind", ["string", "large_string", "dictionary"])
def test_parquet_keeps_schema_types_and_other_columns(tmp_path, kind):
    import pyarrow as pa
    from pyarrow import parquet

    types = {
        "string": pa.string(),
        "large_string": pa.large_string(),
        "dictionary": pa.dictionary(pa.int32(), pa.string()),
    }
    texts = ["Ann met", None, "the Zed", "met"] * 50
    column = pa.array(texts, pa.string()).cast(types[kind])
    table = pa.table({"n": pa.array(range(200), pa.int16()), "text": column, "x": [[1, 2], []] * 100})
    table = table.replace_schema_metadata({"who": "us"})
    stream = io.BytesIO()
    parquet.write_table(table, stream, row_group_size=64)
    table = parquet.read_table(stream)
    back = parquet.read_table(io.BytesIO(released(tmp_path, "a.parquet", stream.getvalue(), text_policy())))
    assert back.schema.equals(table.schema, check_metadata=True)
    assert back.column("text").to_pylist() == ["ann met", None, "the [PERSON]", "met"] * 50
    assert back.drop_columns(["text"]).equals(table.drop_columns(["text"]))


def test_a_folder_of_texts_comes_out_as_one(tmp_path):
    source = tmp_path / "in"
    (source / "sub").mkdir(parents=True)
    (source / "a.txt").write_text("Ann met\n")
    (source / "sub" / "b.txt").write_text("\ufeffBob")
    (source / "ignored.md").write_text("Ann")
    save_policy(tmp_path / "policy", text_policy())
    done = protect(source, tmp_path / "out", text_policy(), Ledger.beside(tmp_path / "policy"), FREE)
    found = {p.relative_to(tmp_path / "out").as_posix(): p.read_text() for p in (tmp_path / "out").rglob("*.txt")}
    assert found == {"a.txt": "ann met\n", "sub/b.txt": "\ufeffbob"}
    assert done.records == 2
    with pytest.raises(InvalidInput, match=r"holds no \.txt file"):
        protect(tmp_path / "policy", tmp_path / "o", text_policy(), Ledger.beside(tmp_path / "policy"), FREE)


TABLE = {"age": [20, 30, 41, 30], "city": ["oslo", "rome", "oslo", "rome"]}


def test_tables_are_released_in_place(tmp_path):
    table = {**TABLE, "who": ["x"] * 4, "k": ["y"] * 4}
    settings = TableSettings(
        numeric=("age",), categorical=("city",), public=("who", "k"), domains={"age": (20, 30, 41)}
    )
    made = encoding.table(table, settings)
    policy = made.policy(Exponential(made.space, LOUD))
    got = released(tmp_path, "a.csv", b'city,who,age\n"oslo",x,19.5\nrome,"y",31\n', policy)
    assert got == b'city,who,age\n"oslo",x,20\nrome,"y",30\n'
    lines = released(tmp_path, "a.jsonl", b'{"age": 40, "city": "oslo", "k": [1.0]}', policy)
    assert json.loads(lines) == {"age": 41, "city": "oslo", "k": [1.0]}
    masked = made.policy(Mask(made.space))
    assert released(tmp_path, "b.csv", b"age,city,k\n20,oslo,1\n", masked) == b"age,city,k\n,,1\n"
    with pytest.raises(InvalidInput, match="column 'age' at row 3 is not a number"):
        released(tmp_path, "c.csv", b"age,city\n20,oslo\n20,oslo\nx,oslo\n", policy)


def test_released_row_groups_are_not_cut_by_blocks(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    from oddshift.data.formats import data_file

    monkeypatch.setattr(data_file, "BLOCK", 2000)  # some rows at a time
    table = pa.table({"text": [f"ann left {n}" for n in range(3000)], "x": np.arange(3000.0), "a.b": [1] * 3000})
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    back = parquet.ParquetFile(io.BytesIO(released(tmp_path, "a.parquet", stream.getvalue(), text_policy())))
    assert back.num_row_groups == 1
    assert back.read(["x", "a.b"]).equals(table.select(["x", "a.b"]))


def test_only_columns_that_name_records_are_read_for_their_keys(tmp_path, monkeypatch):
    import pyarrow as pa
    from pyarrow import parquet

    from oddshift.data.formats.parquet_file import ParquetBlock, ParquetFile
    from oddshift.protect.record_identity import KnownBy, survey
    from oddshift.protect.record_keys import RecordKeys

    path, seen = tmp_path / "a.parquet", []
    parquet.write_table(pa.table({"x": [1.0, 2.0], "text": ["a", "b"], "who": ["u", "v"], "p.q": [1, 2]}), path)
    old = ParquetBlock.cells

    def spy(self, name):
        seen.append(self.table.column_names)
        return old(self, name)

    monkeypatch.setattr(ParquetBlock, "cells", spy)
    keys = RecordKeys(bytes(32))
    survey(ParquetFile(path), KnownBy("content", ("text",), "who"), keys, None, allow_new_keys=False)
    survey(ParquetFile(path), KnownBy("id", ("p.q",)), keys, None, allow_new_keys=False)
    assert seen == [["text", "who"]] * 2 + [["x", "text", "who", "p.q"]]


@pytest.mark.parametrize("cells", [[], ["", "a", "Zoë 𝒜", ""], ["a", None], [None]])
@pytest.mark.parametrize("kind", ["string", "large_string", "string_view"])
def test_released_texts_become_the_column_that_they_were(cells, kind):
    import pyarrow as pa

    from oddshift.data.formats.parquet_file import ParquetBlock

    field = pa.field("text", getattr(pa, kind)())
    table = pa.table([pa.array(["x"] * len(cells), field.type)], schema=pa.schema([field]))
    back = ParquetBlock(table).render({"text": cells}, None)
    back.validate(full=True)
    assert back.schema == table.schema
    assert back.column("text").to_pylist() == cells


def test_whole_columns_of_parquet_stay_whole(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    made = encoding.table({"age": list(range(101))}, TableSettings(numeric=("age",), bins=8))
    policy = made.policy(Exponential(made.space, LOUD))
    stream = io.BytesIO()
    parquet.write_table(pa.table({"age": pa.array([3, 50], pa.int8())}), stream)
    back = parquet.read_table(io.BytesIO(released(tmp_path, "a.parquet", stream.getvalue(), policy)))
    assert back.column("age").to_pylist() == [0, 40], "of 0, 20, ..., 100; halfway goes down"
    assert back.schema.field("age").type == pa.int8()


def fixes(n=60):
    lines = [f"u{i // 30},{1224000000 + 100 * (i % 30)},{39.9 + i / 500:.4f},116.3,t{i // 30},x{i}" for i in range(n)]
    return "who,when,phi,lambda,trip,note\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize("block", [50, 1 << 20])
def test_trajectories_are_thinned_and_moved_as_they_were_audited(tmp_path, monkeypatch, block):
    monkeypatch.setattr(data_file, "BLOCK", block)
    (tmp_path / "g.csv").write_text(fixes())
    settings = PlaceSettings(lat="phi", lon="lambda", user="who", timestamp="when", trip="trip", every=300.0)
    made = encoding.places(read_columns(open_data(tmp_path / "g.csv"), settings.wanted(())), settings)
    policy = made.policy(Exponential(made.space, LOUD))
    with pytest.raises(InvalidInput, match="column 'note' is not known to the policy"):
        released(tmp_path, "a.csv", fixes().encode(), policy)
    asked = replace(FREE, clear=("note",))
    rows = list(csv.DictReader(io.StringIO(released(tmp_path, "a.csv", fixes().encode(), policy, asked).decode())))
    shown = made.encoded.decode(made.encoded.records.points)
    assert [float(row["phi"]) for row in rows] == shown["phi"]
    assert [float(row["lambda"]) for row in rows] == shown["lambda"]
    assert [row["note"] for row in rows] == [f"x{i}" for i in range(60) if i % 3 == 0]
    turned = fixes().splitlines()
    turned[3], turned[9] = turned[9], turned[3]
    with pytest.raises(InvalidInput, match="the fix at row 4 is out of order"):
        released(tmp_path, "b.csv", "\n".join(turned).encode(), policy, asked)


def test_vectors_of_a_parquet_file(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    space = Space(np.eye(3))
    policy = encoding.vector_policy(Exponential(space, LOUD))
    stream = io.BytesIO()
    parquet.write_table(pa.table({"vectors": [[0.9, 0.1, 0.0], [0.0, 0.0, 2.0]], "group": ["a", "b"]}), stream)
    back = parquet.read_table(io.BytesIO(released(tmp_path, "a.parquet", stream.getvalue(), policy)))
    assert back.to_pydict() == {"vectors": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], "group": ["a", "b"]}


def vector_policy(mechanism=Exponential, *arguments):
    space = Space(np.eye(3))
    return encoding.vector_policy(mechanism(space, *arguments))


@pytest.mark.parametrize("block", [12, 1 << 20])
def test_vectors_of_an_archive_and_what_lies_beside_them(tmp_path, monkeypatch, block):
    monkeypatch.setattr(data_file, "BLOCK", block)
    stream = io.BytesIO()
    vectors = np.array([[0.9, 0.1, 0.0], [0.0, 0.0, 2.0], [0.0, 0.4, 0.3]], dtype=np.float32)
    np.savez(stream, group=np.array(["a", "b", "b"]), vectors=vectors)
    with np.load(io.BytesIO(released(tmp_path, "a.npz", stream.getvalue(), vector_policy(Exponential, LOUD)))) as back:
        assert back["vectors"].tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
        assert back["vectors"].dtype == np.float32
        assert back["group"].tolist() == ["a", "b", "b"]
    with np.load(io.BytesIO(released(tmp_path, "b.npz", stream.getvalue(), vector_policy(Mask)))) as back:
        assert np.isnan(back["vectors"]).all()


def test_archives_of_another_form_are_refused(tmp_path):
    def saved(**arrays):
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        return stream.getvalue()

    for data, words in (
        (b"PK", r"a\.npz is not a complete \.npz file"),
        (saved(other=np.eye(3)), "has no column 'vectors'"),
        (saved(vectors=np.eye(3).T.copy(order="F")), "expected rows of floats"),
        (saved(vectors=np.eye(3, dtype=int)), "expected rows of floats"),
        (saved(vectors=np.array([[1.0, 2.0]])), "at row 1 has 2 numbers, expected 3"),
        (saved(vectors=np.array([[1.0, 2.0, np.nan]])), "at row 1: expected 3 finite numbers"),
    ):
        with pytest.raises(InvalidInput, match=words):
            released(tmp_path, "a.npz", data, vector_policy(Exponential, 1.0))
    with pytest.raises(InvalidInput, match=r"a\.npz can only hold data of kind vectors, expected data of kind text"):
        released(tmp_path, "a.npz", b"PK", text_policy())
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith((".", "out"))] == []
