"""NumPy files: rows in blocks of any size, types and other arrays kept, and anything but rows of floats refused."""

import io
import zipfile

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import VECTORS, data_file, open_data, read_columns, vector_files
from oddshift.data.formats.data_file import uncounted
from oddshift.data.formats.vector_files import VectorBlock

ROWS = np.random.default_rng(0).normal(size=(7, 3))
both = pytest.mark.parametrize("ending", [".npy", ".npz"])
types = pytest.mark.parametrize("kind", ["<f8", "<f4", "<f2", ">f8"])


@pytest.fixture
def opened(tmp_path):
    def write(ending, vectors, **others):
        path = tmp_path / f"in{ending}"
        np.save(path, vectors) if ending == ".npy" else np.savez(path, vectors=vectors, **others)
        return open_data(path)

    return write


def written(file, path, rows):
    with file.sink(path) as write:
        start = 0
        for block in file.blocks(uncounted):
            write(block.render({VECTORS: rows[start : start + len(block)]}, None))
            start += len(block)
    return open_data(path)


def table(file):
    return np.array(read_columns(file, (VECTORS,), at_least=1)[VECTORS])


@both
@types
@pytest.mark.parametrize("block", [1, 50, 1 << 20])
def test_rows_are_read_as_float64_in_blocks_of_any_size(opened, monkeypatch, ending, kind, block):
    monkeypatch.setattr(data_file, "BLOCK", block)
    found = table(opened(ending, ROWS.astype(kind)))
    assert found.dtype == np.float64
    assert np.array_equal(found, ROWS.astype(kind).astype(np.float64))


@both
@types
def test_a_release_has_the_type_and_shape_of_the_file(opened, tmp_path, ending, kind):
    file = opened(ending, ROWS.astype(kind))
    out = written(file, tmp_path / f"out{ending}", [list(row) for row in 2 * ROWS])
    stored = np.load(out.path, allow_pickle=False)
    found = stored["vectors"] if ending == ".npz" else stored
    assert found.dtype == np.dtype(kind)
    assert np.array_equal(found, (2 * ROWS).astype(kind))
    assert out.path.stat().st_mode & 0o777 == 0o600


@both
def test_a_masked_row_is_released_as_not_a_number(opened, tmp_path, ending):
    out = written(opened(ending, ROWS[:2]), tmp_path / f"out{ending}", [None, [1.0, 2.0, 3.0]])
    (block,) = out.blocks(uncounted)
    assert np.isnan(block.rows[0]).all()
    assert block.rows[1].tolist() == [1, 2, 3]


def test_other_arrays_are_copied_as_they_are(opened, tmp_path):
    others = {"group": np.array(list("aabbccd")), "odd": np.eye(2), "none": np.zeros(0)}
    file = opened(".npz", ROWS, **others)
    assert set(file.names) == {VECTORS, *others}
    out = written(file, tmp_path / "out.npz", list(ROWS))
    with np.load(out.path) as stored:
        assert set(stored.files) == {VECTORS, *others}
        assert all(np.array_equal(stored[name], array) for name, array in others.items())


def test_values_of_other_arrays_follow_their_rows_through_all_blocks(opened, monkeypatch):
    monkeypatch.setattr(data_file, "BLOCK", 2 * ROWS[0].nbytes)
    file = opened(".npz", ROWS, group=np.arange(7))
    assert [block.cells("group") for block in file.blocks(uncounted)] == [[0, 1], [2, 3], [4, 5], [6]]
    assert read_columns(file, ("group",)) == {"group": list(range(7))}


def test_an_array_of_another_length_is_refused_only_when_it_is_asked_for(opened):
    file = opened(".npz", ROWS, short=np.arange(3), wide=np.zeros((7, 2)))
    assert len(table(file)) == 7
    with pytest.raises(InvalidInput, match=r"short has 3 entries, expected 7 \(one for each vector\)"):
        read_columns(file, ("short",))
    with pytest.raises(InvalidInput, match=r"wide is of shape \(7, 2\), expected 7"):
        read_columns(file, ("wide",))


@both
@pytest.mark.parametrize(
    "array",
    [
        np.arange(3.0),
        np.zeros((2, 2, 2)),
        np.eye(3, dtype=int),
        np.asfortranarray(ROWS),
        np.zeros((4, 0)),
        np.array(1.0),
    ],
    ids=["one axis", "three axes", "integers", "by columns", "no columns", "a number"],
)
def test_anything_but_rows_of_floats_is_refused(opened, ending, array):
    with pytest.raises(InvalidInput, match=r"vectors of shape \(.*\) and type .*, expected rows of floats"):
        table(opened(ending, array))


@both
def test_rows_that_are_too_long_are_refused_by_the_header(opened, monkeypatch, ending):
    monkeypatch.setattr(vector_files, "LONGEST_VECTOR", 23)
    with pytest.raises(InvalidInput, match="vectors of 3 numbers, expected at most 23 bytes for each"):
        table(opened(ending, ROWS))


def test_a_file_that_ends_too_soon_is_refused(opened):
    file = opened(".npy", ROWS)
    file.path.write_bytes(file.path.read_bytes()[:-1])
    with pytest.raises(InvalidInput, match=r"in\.npy ends before its 7 vectors do"):
        table(file)


def test_an_archive_without_vectors_is_refused(tmp_path):
    np.savez(tmp_path / "in.npz", other=ROWS)
    file = open_data(tmp_path / "in.npz")
    assert file.names == ("other",)
    with pytest.raises(InvalidInput, match="has no column 'vectors' among its 1"):
        table(file)


@both
def test_its_size_is_what_the_header_states(opened, ending):
    file = opened(ending, ROWS)
    assert file.unpacked_bytes == ROWS.nbytes
    assert file.files == (file.path,)


def test_a_header_may_promise_more_than_memory_without_taking_it(tmp_path):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**12, 3)})
    with zipfile.ZipFile(tmp_path / "in.npz", "w") as made:
        made.writestr("vectors.npy", stream.getvalue())
    with pytest.raises(InvalidInput, match=r"in\.npz unpacks to 24000000000000 bytes, expected at most"):
        table(open_data(tmp_path / "in.npz"))


def test_a_block_shows_no_number():
    assert "0.5" not in repr(VectorBlock(np.array([[0.5]]), {}))
