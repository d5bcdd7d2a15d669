"""Word vectors: the same table out of every layout, only the words that are asked for, and words that are looked up."""

import gzip
import struct
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.vectors import WordVectors, read_vectors

WORD = st.text(st.sampled_from("abé中'-."), min_size=1, max_size=4).filter(lambda word: word not in {"-", "."})
NUMBER = st.floats(-100, 100, width=32)


def lines(words, table, header=False):
    rows = [f"{word} {' '.join(repr(float(x)) for x in row)}" for word, row in zip(words, table, strict=True)]
    return "\n".join([f"{len(words)} {table.shape[1]}", *rows] if header else rows).encode() + b"\n"


def binary(words, table, ends=b""):
    rows = [word.encode() + b" " + row.astype("<f4").tobytes() + ends for word, row in zip(words, table, strict=True)]
    return f"{len(words)} {table.shape[1]}\n".encode() + b"".join(rows)


def packed(path, data):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("vectors.txt", data)


LAYOUTS = {
    "glove.txt": lambda path, words, table: path.write_bytes(lines(words, table)),
    "fasttext.vec": lambda path, words, table: path.write_bytes(lines(words, table, header=True)),
    "glove.txt.gz": lambda path, words, table: path.write_bytes(gzip.compress(lines(words, table))),
    "glove.zip": lambda path, words, table: packed(path, lines(words, table)),
    "word2vec.bin": lambda path, words, table: path.write_bytes(binary(words, table)),
    "lines.bin": lambda path, words, table: path.write_bytes(binary(words, table, b"\n")),
    "own.npz": lambda path, words, table: np.savez(path, words=np.array(words), vectors=table),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("vectors")


@settings(max_examples=12, deadline=None)
@given(words=st.lists(WORD, min_size=2, max_size=5, unique=True), numbers=st.lists(NUMBER, min_size=20, max_size=20))
@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_every_layout_gives_back_the_table(folder, name, words, numbers):
    table = np.array(numbers, dtype=np.float32).reshape(5, 4)[: len(words)]
    LAYOUTS[name](folder / name, words, table)
    found = read_vectors(folder / name)
    assert found.words == tuple(words)
    assert found.vectors.dtype == np.float32
    assert np.array_equal(found.vectors, table)


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_only_the_words_that_are_asked_for_are_read(folder, name):
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    LAYOUTS[name](folder / name, ["ann", "bob", "cyd"], table)
    found = read_vectors(folder / name, ["cyd", "ann", "nobody"])
    assert set(found.words) == {"ann", "cyd"}
    assert found.vectors[found.row["cyd"]].tolist() == [8, 9, 10, 11]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.txt", b"", r"a\.txt is empty \(0 bytes\), expected word vectors"),
        ("a.txt", b"ann 1 2\nbob 1\n", "line 2 has 1 numbers, expected 2"),
        ("a.txt", b"ann 1 2\nbob 1 x\n", "line 2 holds something that is not a number"),
        ("a.txt", b"ann 1 2\nbob 1 nan\n", "line 2 holds a number that is not finite"),
        ("a.txt", b"ann\n", "line 1 does not hold a word and numbers"),
        ("a.txt", b"\xff\xfe 1 2\n", "holds a word that is not UTF-8"),
        ("a.bin", b"no header", "does not start with 'words width'; expected word2vec's binary layout"),
        (
            "a.bin",
            b"2 2\nann " + struct.pack("<2f", 1, 2),
            "ends or breaks at word 2 of 2; expected 2 numbers for each",
        ),
        ("a.bin", b"1 0\nann ", "says that its vectors have 0 numbers"),
        ("a.model", b"\x80\x04rest", "is a pickle .* which is never read because it can run code"),
    ],
)
def test_a_file_of_something_else_is_one_line_that_says_where(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidInput, match=message) as refused:
        read_vectors(tmp_path / name)
    assert "\n" not in str(refused.value)
    assert "bob" not in str(refused.value)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="is not a file"):
        read_vectors(tmp_path / "none.txt")


def made(*words, width=2):
    return WordVectors(words, np.arange(len(words) * width, dtype=np.float32).reshape(-1, width))


def test_a_name_of_several_words_has_the_mean_of_its_words_unless_it_has_a_vector():
    table, known = made("new", "york", "new york").look_up(["new", "new york", "york new", "new jersey", ""])
    assert known.tolist() == [True, True, True, False, False]
    assert table.tolist() == [[0, 1], [4, 5], [1, 2], [0, 0], [0, 0]]


def test_rows_of_words_and_the_first_of_two_equal_ones():
    vectors = made("ann", "bob", "ann")
    assert vectors.rows_of(["bob", "ann", "ann bob", "cyd"]).tolist() == [1, 0, -1, -1]


@pytest.mark.parametrize(
    ("words", "table", "message"),
    [
        (("a",), np.zeros((2, 2)), r"1 words and vectors of shape \(2, 2\), expected as many rows"),
        (("a", "b"), np.zeros(2), r"2 words and vectors of shape \(2,\), expected as many rows"),
        (("a", "b"), np.array([[0.0], [np.inf]]), "vector 1 has a number that is not finite"),
    ],
)
def test_words_and_rows_that_do_not_fit_are_refused(words, table, message):
    with pytest.raises(InvalidInput, match=message):
        WordVectors(words, table.astype(np.float32))


def test_vectors_are_shown_as_sizes():
    assert repr(made("ann", "bob", width=3)) == "WordVectors(2 words, 3 dimensions)"
