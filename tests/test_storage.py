"""The codec: what is saved comes back the same, and nothing else is accepted."""

import io
import json
import os
import pickle
import zipfile
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oddshift.base import storage as files
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput, TamperedEvidence


@dataclass(frozen=True)
class Inner:
    name: str
    level: float | None


@dataclass(frozen=True)
class Grown:
    name: str
    level: float | None = field(default=None, metadata={files.ADDED_LATER: True})


@dataclass(frozen=True)
class Other:
    flag: bool


@dataclass(frozen=True, eq=False)
class Outer:
    items: tuple[Inner | Other, ...]
    pair: tuple[int, float]
    table: dict[str, float]
    mode: Literal["a", "b"]
    values: FloatArray | None
    counts: IntArray | None = None


def outer(values=None, counts=None, **changes):
    fields = {
        "items": (Inner("x", None), Other(True)),
        "pair": (3, 0.1),
        "table": {"k": 1.0},
        "mode": "a",
        "values": values,
        "counts": counts,
    }
    return Outer(**{**fields, **changes})


def test_arrays_and_fields_come_back_the_same(tmp_path):
    value = outer(np.array([0.1, np.inf, -0.0]), np.arange(3))
    mark = files.save(tmp_path / "v.npz", value)
    again = files.load(tmp_path / "v.npz", Outer)
    assert np.array_equal(again.values, value.values)
    assert again.counts.dtype == np.int64
    assert (again.items, again.pair, again.table, again.mode) == (value.items, value.pair, value.table, value.mode)
    assert files.digest(again) == mark
    with pytest.raises(ValueError, match="read-only"):
        again.values[0] = 1.0


def test_equal_values_give_equal_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        files.save(tmp_path / name, outer(np.arange(5.0)))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@given(st.floats(allow_nan=False), st.text(max_size=20))
def test_floats_and_text_round_trip(number, text):
    arrays = {}
    encoded = json.loads(json.dumps(files.encode(Inner(text, number), arrays), allow_nan=False))
    assert files.decode(encoded, Inner, arrays) == Inner(text, number)


@pytest.mark.parametrize(
    ("value", "name", "message"),
    [
        (outer(np.arange(2.0)), "v.json", "expected .npz"),
        (Other(True), "v.pkl", "expected .json or .npz"),
        (Inner("x", float("nan")), "v.json", "NaN"),
        (Inner(object(), None), "v.json", "is an object"),
        (outer(np.array([object()])), "v.npz", "expected numbers"),
    ],
)
def test_what_cannot_be_saved_is_refused(tmp_path, value, name, message):
    with pytest.raises(InvalidInput, match=message):
        files.save(tmp_path / name, value)
    assert not list(tmp_path.iterdir())


def edited(path, change):
    envelope = json.loads(path.read_text())
    change(envelope)
    path.write_text(json.dumps(envelope))


def rehash(envelope):
    envelope["sha256"] = files.content_digest(envelope["value"], {})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e["value"].update(level=2.0), "contents hash to"),
        (lambda e: e.update(schema=99), f"schema=99, expected {files.SCHEMA}"),
        (lambda e: e.update(extra=1), "expected exactly the entries"),
        (lambda e: (e["value"].update(level="high"), rehash(e)), "value.level is 'high'"),
        (lambda e: (e["value"].update(more=1), rehash(e)), r"\['more'\] missing or unknown"),
        (lambda e: (e["value"].pop("name"), rehash(e)), r"\['name'\] missing or unknown"),
        (lambda e: (e["value"].update(kind="Popen"), rehash(e)), "is a Popen, expected a"),
        (lambda e: (e.update(value=[1]), rehash(e)), "value is a list"),
    ],
)
def test_edited_files_are_refused(tmp_path, change, message):
    path = tmp_path / "v.json"
    files.save(path, Inner("x", 1.0))
    edited(path, change)
    with pytest.raises(TamperedEvidence, match=message):
        files.load(path, Inner)


def test_an_older_file_may_lack_only_what_was_added_later(tmp_path):
    path = tmp_path / "v.json"
    files.save(path, Grown("x", 1.0))
    edited(path, lambda e: (e["value"].pop("level"), rehash(e)))
    assert files.load(path, Grown) == Grown("x")
    older = json.loads(path.read_text())["sha256"]
    assert files.save(path, Grown("x")) == older  # its digest stays, too
    edited(path, lambda e: (e["value"].pop("name"), rehash(e)))
    with pytest.raises(TamperedEvidence, match=r"\['name'\] missing or unknown"):
        files.load(path, Grown)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"schema": 1, "sha256": "", "value": NaN}',
        '{"schema": 1, "sha256": "", "value": 1e999}',
        '{"schema": 1, "sha256": "", "value": {"kind": "Inner", "name": "x", "level": 1' + "0" * 400 + "}}",
        '{"schema": [], "sha256": {}, "value": null}',
        "null",
        "\ud800".encode("utf-8", "surrogatepass"),
    ],
)
def test_hostile_documents_are_refused_without_a_traceback(tmp_path, text):
    path = tmp_path / "v.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(TamperedEvidence) as caught:
        files.load(path, Inner)
    assert "\n" not in str(caught.value)


def test_a_huge_number_with_the_right_hash_is_refused(tmp_path):
    path = tmp_path / "v.json"
    files.save(path, Inner("x", 1.0))
    edited(path, lambda e: (e["value"].update(level=10**400), rehash(e)))
    with pytest.raises(TamperedEvidence):
        files.load(path, Inner)


def test_every_truncation_is_refused(tmp_path):
    for name, value in (("v.json", Inner("x", 1.0)), ("v.npz", outer(np.arange(50.0)))):
        path = tmp_path / name
        files.save(path, value)
        whole = path.read_bytes()
        for size in [0, 1, 2, 10, len(whole) // 2, len(whole) - 1]:
            path.write_bytes(whole[:size])
            with pytest.raises(TamperedEvidence):
                files.load(path, Inner, Outer)


def test_flipped_bytes_never_pass_silently(tmp_path):
    path = tmp_path / "v.npz"
    value = outer(np.arange(20.0))
    mark = files.save(path, value)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            again = files.load(path, Outer)
        except TamperedEvidence:
            continue
        assert files.digest(again) == mark  # a byte that carries no content, such as a file date


def test_pickles_are_never_loaded(tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "exploded"),)

    files.save(tmp_path / "v.npz", outer(np.arange(3.0)))
    buffer = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "v.npz") as old, zipfile.ZipFile(buffer, "w") as new:
        new.writestr("value.json", old.read("value.json"))
        array = io.BytesIO()
        np.save(array, np.array([Bomb()], dtype=object), allow_pickle=True)
        new.writestr("value.values.npy", array.getvalue())
    (tmp_path / "v.npz").write_bytes(buffer.getvalue())
    with pytest.raises(TamperedEvidence):
        files.load(tmp_path / "v.npz", Outer)
    (tmp_path / "raw.npz").write_bytes(pickle.dumps(3))
    with pytest.raises(TamperedEvidence):
        files.load(tmp_path / "raw.npz", Outer)
    assert not (tmp_path / "exploded").exists()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "v.json"
    files.save(path, Inner("old", None))

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        files.save(path, Inner("new", None))
    assert files.load(path, Inner).name == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["v.json"]


def test_the_digest_depends_on_values_names_types_shapes_and_kinds():
    base = outer(np.arange(4.0))
    marks = {
        files.digest(base),
        files.digest(outer(np.arange(4.0) + 1e-300 * np.array([1, 0, 0, 0]))),
        files.digest(outer(np.arange(4.0).reshape(2, 2))),
        files.digest(outer(np.arange(4.0, dtype=np.float32))),
        files.digest(outer(None, np.arange(4))),
        files.digest(outer(np.arange(4.0), mode="b")),
        files.digest(Inner("x", 1.0)),
        files.digest(Inner("x", None)),
        files.digest(Other(True)),
    }
    assert len(marks) == 9


def test_the_digest_does_not_depend_on_memory_layout_or_byte_order():
    table = np.arange(12.0).reshape(3, 4)
    plain = files.digest(outer(table))
    assert files.digest(outer(np.asfortranarray(table))) == plain
    assert files.digest(outer(table.astype(">f8"))) == plain
    assert files.digest(outer(np.arange(24.0).reshape(3, 8)[:, ::2] / 2)) == plain


def test_the_digest_is_a_published_number():
    """Sorted JSON of the fields, hashed: anyone can compute it without this library."""
    import hashlib

    text = '{"kind":"Inner","level":0.5,"name":"x"}'
    assert files.digest(Inner("x", 0.5)) == hashlib.sha256(text.encode()).hexdigest()


def test_a_file_of_one_kind_is_not_read_as_another(tmp_path):
    files.save(tmp_path / "v.json", Other(True))
    assert files.load(tmp_path / "v.json", Inner, Other) == Other(True)
    with pytest.raises(TamperedEvidence, match="value is an Other, expected an Inner"):
        files.load(tmp_path / "v.json", Inner)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pair": [3]}, "1 entries.*expected 2 entries"),
        ({"pair": [3, True]}, "value.pair.1 is 'True', expected a number"),
        ({"pair": [3.0, 0.1]}, "value.pair.0 is '3.0', expected int"),
        ({"pair": "ab"}, "expected a list"),
        ({"table": [1]}, "value.table is .*expected a mapping"),
        ({"table": {"k": "nan"}}, "value.table.k is 'nan', expected a number"),
        ({"mode": "c"}, "value.mode is 'c', expected one of"),
        ({"items": [{"kind": "Other", "flag": 1}]}, "value.items.0.flag is '1', expected bool"),
        ({"values": {"array": "value.elsewhere"}}, "value.values is"),
        ({"values": [1.0]}, "value.values is"),
    ],
)
def test_every_field_is_checked_against_its_declared_type(change, message):
    body = files.encode(outer(), {})
    with pytest.raises(TamperedEvidence, match=message) as caught:
        files.decode({**body, **change}, Outer, {})
    assert "\n" not in str(caught.value)


def test_an_array_of_another_type_is_refused():
    arrays = {}
    body = files.encode(outer(np.arange(3.0)), arrays)
    with pytest.raises(TamperedEvidence, match=r"value\.values is"):
        files.decode(body, Outer, {"value.values": np.arange(3)})
    with pytest.raises(TamperedEvidence, match="value is 'int64', expected an array of float64"):
        files.decode({"array": "a"}, FloatArray, {"a": np.arange(3)})


def test_a_value_that_its_own_class_refuses_is_tampered(tmp_path):
    from oddshift.evidence.witness import Witness, witness_of

    files.save(tmp_path / "v.json", witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0))
    edited(tmp_path / "v.json", lambda e: (e["value"].update(alpha=1.5), rehash(e)))
    with pytest.raises(TamperedEvidence, match=r"value: .*alpha.*expected 0 < alpha < 1"):
        files.load(tmp_path / "v.json", Witness)


def test_members_that_unpack_too_large_are_refused_before_they_are_read(tmp_path, monkeypatch):
    files.save(tmp_path / "v.npz", outer(np.zeros(10_000)))
    assert (tmp_path / "v.npz").stat().st_size < 5_000
    monkeypatch.setattr(files, "LARGEST_STORED", 50_000)
    with pytest.raises(TamperedEvidence, match="expected at most 50000"):
        files.load(tmp_path / "v.npz", Outer)


def test_a_missing_member_or_an_extra_array_does_not_pass(tmp_path):
    path = tmp_path / "v.npz"
    files.save(path, outer(np.arange(3.0)))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert sorted(members) == ["value.json", "value.values.npy"]
    for kept in ({"value.json"}, {"value.values.npy"}):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for name in kept:
                archive.writestr(name, members[name])
        path.write_bytes(buffer.getvalue())
        with pytest.raises(TamperedEvidence):
            files.load(path, Outer)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in {**members, "value.more.npy": members["value.values.npy"]}.items():
            archive.writestr(name, data)
    path.write_bytes(buffer.getvalue())
    with pytest.raises(TamperedEvidence, match="contents hash to"):
        files.load(path, Outer)


def test_a_file_is_readable_by_its_owner_alone_from_its_first_byte_when_asked(tmp_path):
    path = tmp_path / "private.bin"
    files.write_atomic(path, b"secret", mode=0o600)
    assert path.stat().st_mode & 0o777 == 0o600
    old = os.umask(0o022)
    try:
        files.write_atomic(tmp_path / "open.bin", b"public")
    finally:
        os.umask(old)
    assert (tmp_path / "open.bin").stat().st_mode & 0o777 == 0o644


def test_a_new_file_replaces_an_old_one_whole(tmp_path):
    path = tmp_path / "a.bin"
    files.write_atomic(path, b"a long first text")
    files.write_atomic(path, b"short")
    assert path.read_bytes() == b"short"
    assert [p.name for p in tmp_path.iterdir()] == ["a.bin"]


def test_a_refusal_names_the_place_and_never_the_value():
    @dataclass(frozen=True)
    class Holder:
        password: object

    with pytest.raises(InvalidInput, match=r"value.password.0 is a complex, expected plain fields") as caught:
        files.encode(Holder((123456j,)), {})
    assert "123456" not in str(caught.value)
    with pytest.raises(InvalidInput, match=r"value\.password is an array of <U6, expected numbers") as caught:
        files.encode(Holder(np.array(["hunter"])), {})
    assert "hunter" not in str(caught.value)


def test_an_older_version_is_read_where_the_fields_are_the_same(tmp_path):
    path = tmp_path / "v.json"
    files.save(path, Inner("x", 1.0))
    edited(path, lambda e: e.update(schema=2))
    assert files.schema_of(path) == 2
    assert files.load(path, Inner) == Inner("x", 1.0)


def test_an_older_version_of_other_fields_is_refused_by_its_version(tmp_path):
    path = tmp_path / "v.json"
    files.save(path, Inner("x", 1.0))
    edited(path, lambda e: (e.update(schema=2), e["value"].pop("name"), rehash(e)))
    with pytest.raises(TamperedEvidence, match=f"schema=2 of an older oddshift, expected {files.SCHEMA}"):
        files.load(path, Inner)


@pytest.mark.parametrize("schema", [1, files.SCHEMA + 1, True, 2.0, "3", None])
def test_any_other_version_is_refused(tmp_path, schema):
    path = tmp_path / "v.json"
    files.save(path, Inner("x", 1.0))
    edited(path, lambda e: e.update(schema=schema))
    with pytest.raises(TamperedEvidence, match="schema="):
        files.load(path, Inner)


@pytest.mark.parametrize("text", ["", "[]", "null", "[" * 100_000, '{"schema": "3"}', "PK broken"])
def test_a_file_without_a_version_states_none(tmp_path, text):
    (tmp_path / "v.json").write_text(text)
    assert files.schema_of(tmp_path / "v.json") is None
