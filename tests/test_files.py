"""The codec: what is saved comes back the same, and nothing else is accepted."""

import io
import json
import os
import pickle
import zipfile
from dataclasses import dataclass
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
        (Inner(object(), None), "v.json", "is a object"),
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
    envelope["sha256"] = files._digest(envelope["value"], {})


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
