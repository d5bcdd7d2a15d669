"""Graphs of our own values in one file: equal when read back, parts shared again, nothing foreign and nothing run."""

import json
import stat
import zipfile
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pytest
from scipy import sparse

from oddshift.attackers import ATTACKERS, UNTRAINED
from oddshift.base import safe_serialization
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.identity import fingerprint
from oddshift.base.safe_serialization import can_be_stored, load_graph, save_graph
from oddshift.base.storage import content_digest, pack, unpack
from oddshift.data.embedded import people
from oddshift.model.space import Space
from worlds import ring, with_words


@dataclass(frozen=True)
class Foreign:
    """A frozen dataclass of another package."""

    x: int


def again(value, tmp_path):
    save_graph(tmp_path / "value.npz", value)
    return load_graph(tmp_path / "value.npz")


def rewritten(path, change):
    """Edit the text of a file and state the hash of what it says now: only what reading checks can refuse it."""
    text, arrays = unpack(path.read_bytes())
    body = json.loads(text)
    del body["sha256"]
    change(body)
    path.write_bytes(pack(json.dumps({"sha256": content_digest(body, arrays), **body}).encode(), arrays))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -3,
        "Ann \udcff",
        0.1,
        float("inf"),
        (1, [2, "b"], {"a": (1.5,), 2: None}),
        {"x"},
        frozenset({1, 2}),
        (),
    ],
    ids=repr,
)
def test_plain_values_come_back_with_their_types(value, tmp_path):
    found = again(value, tmp_path)
    assert found == value
    assert type(found) is type(value)


def test_not_a_number_comes_back(tmp_path):
    assert np.isnan(again([float("nan")], tmp_path)[0])


def test_arrays_keep_type_order_and_whether_they_may_be_written(tmp_path):
    fixed = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    fixed.setflags(write=False)
    values = (fixed, np.array([True, False]), np.array(["Ann", "Bo"]), np.float32(0.5), np.zeros((0, 4)))
    found = again(values, tmp_path)
    for left, right in zip(values, found, strict=True):
        assert (left.dtype, left.shape) == (right.dtype, right.shape)
        assert np.array_equal(left, right)
    assert found[0].flags.f_contiguous
    assert not found[0].flags.writeable
    assert found[1].flags.writeable
    assert isinstance(found[3], np.float32)


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csr_matrix", "csc_matrix"])
def test_sparse_matrices_come_back(kind, tmp_path):
    value = getattr(sparse, kind)(np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]))
    found = again(value, tmp_path)
    assert type(found) is type(value)
    assert (found.toarray() == value.toarray()).all()


def test_parts_that_were_shared_are_shared_again(tmp_path):
    space = Space([[0.0], [1.0]])
    left, right, alone = again((space, {"again": space}, Space([[0.0], [1.0]])), tmp_path)
    assert left is right["again"]
    assert alone is not left


def test_what_was_computed_on_the_way_is_not_stored(tmp_path):
    space = Space([[0.0], [1.0]])
    assert space.fingerprint
    found = again(space, tmp_path)
    assert "fingerprint" not in vars(found)
    assert found.fingerprint == space.fingerprint


@pytest.mark.parametrize("name", sorted(UNTRAINED))
def test_every_untrained_attacker_comes_back_with_its_fingerprint(name, tmp_path):
    world = with_words(ring(documents=60))
    fitted = ATTACKERS[name](world.known, np.random.default_rng(4))
    found = again(fitted, tmp_path)
    assert fingerprint(found) == fingerprint(fitted)
    assert found.name == fitted.name


def test_a_method_of_one_of_our_values_comes_back(tmp_path):
    corpus = people(60)
    found = again(corpus.prior_of, tmp_path)
    assert fingerprint(found(3)) == fingerprint(corpus.prior_of(3))


def test_a_mapping_that_cannot_be_written_comes_back_as_a_plain_one(tmp_path):
    assert again(MappingProxyType({"a": 1}), tmp_path) == {"a": 1}


def circle():
    inside = []
    inside.append(inside)
    return inside


@pytest.mark.parametrize(
    "value",
    [lambda: 1, Foreign(1), object(), np.array([object()]), b"bytes", len, Space, (1, [Foreign(2)]), circle()],
    ids=["lambda", "foreign", "object", "objects", "bytes", "builtin", "class", "inside", "circle"],
)
def test_anything_else_is_refused(value, tmp_path):
    assert not can_be_stored(value)
    with pytest.raises(InvalidInput):
        save_graph(tmp_path / "value.npz", value)
    assert list(tmp_path.iterdir()) == []


def test_only_its_owner_may_read_the_file(tmp_path):
    save_graph(tmp_path / "value.npz", (1, 2))
    assert stat.S_IMODE((tmp_path / "value.npz").stat().st_mode) == 0o600


def test_equal_values_give_equal_bytes(tmp_path):
    for name in ("a.npz", "b.npz"):
        save_graph(tmp_path / name, (Space([[0.0], [2.0]]), {"x": np.arange(3)}))
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "value.npz"
    save_graph(path, (1, np.arange(4)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    with pytest.raises(TamperedEvidence):
        load_graph(path)
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as archive:
        archive.writestr("value.json", "{}")
    with pytest.raises(TamperedEvidence):
        load_graph(tmp_path / "other.npz")


def test_an_edited_number_is_refused(tmp_path):
    path = tmp_path / "value.npz"
    save_graph(path, (1, np.arange(4)))
    text, arrays = unpack(path.read_bytes())
    path.write_bytes(pack(text, {name: array + 1 for name, array in arrays.items()}))
    with pytest.raises(TamperedEvidence, match="hash"):
        load_graph(path)


def other_class(name):
    def change(body):
        next(node for node in body["nodes"] if node["kind"] == "object")["class"] = name

    return change


def forward(body):
    body["nodes"][0] = {"kind": "tuple", "items": [{"node": len(body["nodes"]) - 1}]}


def other_fields(body):
    node = next(node for node in body["nodes"] if node["kind"] == "object")
    node["fields"]["surplus"] = 1


def unknown_kind(body):
    body["nodes"][0]["kind"] = "call"


@pytest.mark.parametrize(
    "change",
    [
        other_class("os:system"),
        other_class("subprocess:Popen"),
        other_class("oddshift.base.storage:write_atomic"),
        other_class("oddshift.base.registry:Registry"),
        other_class("oddshift.no_such_module:Thing"),
        forward,
        other_fields,
        unknown_kind,
    ],
)
def test_a_file_that_asks_for_anything_else_is_refused(change, tmp_path):
    path = tmp_path / "value.npz"
    save_graph(path, Space([[0.0], [1.0]]))
    rewritten(path, change)
    with pytest.raises(TamperedEvidence):
        load_graph(path)


@pytest.mark.parametrize("name", ["__class__", "_hidden", "no_such"])
def test_a_method_must_be_a_public_one_of_the_class(name, tmp_path):
    path = tmp_path / "value.npz"
    save_graph(path, people(60).prior_of)

    def change(body):
        body["nodes"][-1]["name"] = name

    rewritten(path, change)
    with pytest.raises(TamperedEvidence):
        load_graph(path)


def test_no_method_of_a_class_runs_while_it_is_read(tmp_path, monkeypatch):
    space = Space([[0.0], [1.0]])
    save_graph(tmp_path / "value.npz", space)
    for name in ("__init__", "__post_init__"):
        monkeypatch.setattr(Space, name, lambda *args, **named: pytest.fail("ran"), raising=False)
    assert (load_graph(tmp_path / "value.npz").points == space.points).all()


def test_a_file_of_another_layout_is_refused(tmp_path, monkeypatch):
    save_graph(tmp_path / "value.npz", (1,))
    monkeypatch.setattr(safe_serialization, "LAYOUT", 2)
    with pytest.raises(TamperedEvidence):
        load_graph(tmp_path / "value.npz")
