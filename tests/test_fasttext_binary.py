"""fastText models: read from a file written here by the published layout, pieces of words included."""

import gzip
import struct

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.fasttext_binary import hashed
from oddshift.data.codecs.text.vectors import read_vectors

WORDS = ["</s>", "ann", "bœb"]
BUCKETS = 7


def model(rows, *, version=12, pieces=(2, 3), quantised=False, pruned=-1, words=tuple(WORDS)):
    """A model's bytes: magic, arguments, dictionary, input matrix, output matrix."""
    arguments = [rows.shape[1], 5, 5, 1, 5, 1, 2, 1, BUCKETS, *pieces, 100]
    data = struct.pack("<ii12id", 793712314, version, *arguments, 1e-4)
    data += struct.pack("<iiiqq", len(words), len(words), 0, 100, pruned)
    for word in words:
        data += (word if isinstance(word, bytes) else word.encode()) + b"\0" + struct.pack("<qb", 3, 0)
    data += struct.pack("<?qq", quantised, *rows.shape) + rows.astype("<f4").tobytes()
    return data + struct.pack("<?qq", False, 1, 1) + b"\0\0\0\0"


def oracle(word, row, rows, least, most):
    """The mean of the word's row and of its pieces', spelled out."""
    whole = f"<{word}>"
    taken = [rows[row]]
    for start in range(len(whole)):
        for size in range(least, most + 1):
            piece = whole[start : start + size]
            if len(piece) == size and piece not in ("<", ">"):
                taken.append(rows[len(WORDS) + hashed(piece.encode()) % BUCKETS])
    return np.mean(taken, axis=0)


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(len(WORDS) + BUCKETS, 4)).astype(np.float32)


@pytest.mark.parametrize("pieces", [(2, 3), (1, 2), (3, 6)])
def test_a_vector_is_the_mean_of_the_word_and_its_pieces(tmp_path, rows, pieces):
    (tmp_path / "m.bin").write_bytes(model(rows, pieces=pieces))
    vectors = read_vectors(tmp_path / "m.bin")
    assert vectors.words == ("ann", "bœb")
    for row, word in ((1, "ann"), (2, "bœb")):
        np.testing.assert_allclose(vectors.vectors[row - 1], oracle(word, row, rows, *pieces), atol=1e-6)


def test_without_pieces_a_vector_is_the_row(tmp_path, rows):
    (tmp_path / "m.bin").write_bytes(model(rows[:3], pieces=(0, 0)))
    np.testing.assert_array_equal(read_vectors(tmp_path / "m.bin", ["ann"]).vectors, rows[1:2])


def test_packed_and_selected(tmp_path, rows):
    (tmp_path / "m.bin.gz").write_bytes(gzip.compress(model(rows)))
    (tmp_path / "m.bin").write_bytes(model(rows))
    packed, plain = (read_vectors(tmp_path / name, ["bœb", "cy"]) for name in ("m.bin.gz", "m.bin"))
    assert packed.words == plain.words == ("bœb",)
    np.testing.assert_array_equal(packed.vectors, plain.vectors)


def test_signed_bytes_are_hashed_as_fasttext_does():
    assert hashed(b"a") == 0xE40C292C  # FNV-1a's published value
    plain = ((2166136261 ^ 0xC5) * 16777619) & 0xFFFFFFFF
    assert hashed(b"\xc5") == ((2166136261 ^ 0xFFFFFFC5) * 16777619) & 0xFFFFFFFF != plain


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 11}, "version 11, expected 12"),
        ({"quantised": True}, "expected a plain fastText model"),
        ({"pruned": 2}, "pruned fastText model"),
        ({"words": (b"\xff", "a", "b")}, "not UTF-8"),
    ],
)
def test_other_models_are_refused(tmp_path, rows, change, message):
    (tmp_path / "m.bin").write_bytes(model(rows, **change))
    with pytest.raises(InvalidInput, match=message) as refusal:
        read_vectors(tmp_path / "m.bin")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("size", [10, 60, 90, 100, 140, 200])
def test_a_model_that_ends_early_is_refused(tmp_path, rows, size):
    (tmp_path / "m.bin").write_bytes(model(rows)[:size])
    with pytest.raises(InvalidInput, match=r"m\.bin ends|ends or breaks"):
        read_vectors(tmp_path / "m.bin")


def test_a_gensim_pickle_is_never_read(tmp_path):
    import pickle

    (tmp_path / "v.kv").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(InvalidInput, match=r"v\.kv is a pickle.*save_word2vec_format") as refusal:
        read_vectors(tmp_path / "v.kv")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["v.kv", "v.model", "v.txt"])
def test_word2vec_is_known_by_its_content(tmp_path, name):
    rows = {"the": [0.5, -1.0], "cat": [1e-30, 3.0]}
    body = b"".join(word.encode() + b" " + np.array(row, dtype="<f4").tobytes() + b"\n" for word, row in rows.items())
    (tmp_path / name).write_bytes(b"2 2\n" + body)
    assert read_vectors(tmp_path / name).vectors.tolist() == np.array(list(rows.values()), dtype=np.float32).tolist()
    (tmp_path / name).write_text("2 2\n" + "".join(f"{w} {r[0]} {r[1]}\n" for w, r in rows.items()))
    assert read_vectors(tmp_path / name).words == ("the", "cat")
