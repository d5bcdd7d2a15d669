"""Members of an archive: sizes are judged by the header, and any damage becomes one line that names the file."""

import io
import zipfile

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.data_file import array_header, reading_archive, stated_bytes, whole_array


@pytest.fixture
def archive(tmp_path):
    """An archive of some arrays, or of some raw members."""

    def write(members=None, **arrays):
        path = tmp_path / "in.npz"
        if members is None:
            np.savez_compressed(path, **arrays)
            return path
        with zipfile.ZipFile(path, "w") as made:
            for name, data in members.items():
                made.writestr(name, data)
        return path

    return write


def header_of(shape, kind="<f8", version=(1, 0)):
    stream = io.BytesIO()
    described = {"descr": kind, "fortran_order": False, "shape": shape}
    write = np.lib.format.write_array_header_1_0 if version == (1, 0) else np.lib.format.write_array_header_2_0
    write(stream, described)
    return stream.getvalue()


@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.array(["Ann", "Bo"]), np.zeros((0, 4)), np.array(5), np.array([True, False])],
    ids=["floats", "text", "empty", "scalar", "truth values"],
)
def test_an_array_comes_back_with_shape_and_type(archive, array):
    found = whole_array(archive(a=array), "a")
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert np.array_equal(found, array)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_headers_of_both_versions_are_read(version):
    shape, is_fortran, kind = array_header(io.BytesIO(header_of((3, 2), "<f4", version)))
    assert (shape, is_fortran, kind) == ((3, 2), False, np.dtype("<f4"))


def test_a_size_beyond_any_memory_is_a_whole_number():
    assert stated_bytes((10**12, 10**12), np.dtype("<f8")) == 8 * 10**24
    assert stated_bytes((), np.dtype("<f4")) == 4
    assert stated_bytes((0, 5), np.dtype("<f4")) == 0


def test_a_large_array_is_refused_by_its_header_before_it_is_read(archive):
    path = archive({"a.npy": header_of((10**12,))})
    with pytest.raises(InvalidInput, match=r"in\.npz: a of 8000000000000 bytes, expected at most 1073741824"):
        whole_array(path, "a")


def test_the_largest_array_that_is_asked_for_is_read(archive):
    path = archive(a=np.arange(4.0))
    assert whole_array(path, "a", largest=32).tolist() == [0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="a of 32 bytes, expected at most 31"):
        whole_array(path, "a", largest=31)


def test_pickles_are_refused_and_never_run(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("a pickle ran",))

    np.savez(tmp_path / "in.npz", a=np.array([Bomb()], dtype=object))
    with pytest.raises(InvalidInput, match="a is not an array without pickles"):
        whole_array(tmp_path / "in.npz", "a")


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({}, "an array is missing"),
        ({"b.npy": b""}, "an array is missing"),
        ({"a.npy": b""}, "it is damaged"),
        ({"a.npy": b"not an array"}, "it is damaged"),
        ({"a.npy": header_of((2,))[:20]}, "it is damaged"),
        ({"a.npy": header_of((2,)) + b"\0" * 8}, "it is damaged"),
        ({"a.npy": b"\x93NUMPY\x07\x00" + header_of((2,))[8:]}, "it is damaged"),
        ({"a.npy": header_of((2,)).replace(b"(2,)", b"(-2,)")}, "it is damaged"),
    ],
    ids=["no members", "another", "empty", "text", "half a header", "half its numbers", "version", "below zero"],
)
def test_a_damaged_member_is_one_line_that_quotes_nothing(archive, members, reason):
    with pytest.raises(InvalidInput) as refused:
        whole_array(archive(members), "a")
    assert str(refused.value) == f"in.npz is not a complete .npz file ({reason})"


def test_a_flipped_byte_is_a_wrong_checksum(archive):
    path = archive({"a.npy": header_of((64,)) + bytes(512)})
    data = bytearray(path.read_bytes())
    data[300] ^= 1
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"not a complete \.npz file \(its checksum is wrong\)"):
        whole_array(path, "a")


def test_an_encrypted_member_is_said_to_be_one(archive):
    path = archive({"a.npy": header_of((1,)) + bytes(8)})
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag in the member's own header
    data[data.index(b"PK\x01\x02") + 8] |= 1  # and in the list of members
    path.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"\(it is encrypted\)"):
        whole_array(path, "a")


@pytest.mark.parametrize(
    "error", [FileNotFoundError("x"), PermissionError("x"), InvalidInput("x"), KeyboardInterrupt()]
)
def test_what_is_not_damage_stays_what_it_is(error, tmp_path):
    with pytest.raises(type(error)) as raised, reading_archive(tmp_path / "in.npz"):
        raise error
    assert raised.value is error


@pytest.mark.parametrize("error", [EOFError, ValueError, OverflowError, OSError, SyntaxError, NotImplementedError])
def test_damage_of_any_kind_names_the_file(error, tmp_path):
    with (
        pytest.raises(InvalidInput, match=r"^in\.npz is not a complete \.npz file"),
        reading_archive(tmp_path / "in.npz"),
    ):
        raise error("Ann's secret")


def test_an_archive_that_is_not_there_is_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError):
        whole_array(tmp_path / "none.npz", "a")
