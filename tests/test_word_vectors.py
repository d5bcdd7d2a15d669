"""Word vectors: the same table out of every layout, only the words that are asked for, and words that are looked up."""

import gzip
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

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


LINES = "the 0.5 -1 2\ncat 1e-3 0 0.25\ndog 3 4 5\n"


def _write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def test_words_that_hold_blanks_and_repeat(tmp_path):
    path = _write(tmp_path, "v.txt", "the 1 2\n. . . 3 4\nthe 5 6\n")
    vectors = read_vectors(path)
    assert vectors.words == ("the", ". . .")
    assert vectors.vectors.tolist() == [[1, 2], [3, 4]]


def _refusal(path, **options):
    with pytest.raises(InvalidInput) as refusal:
        read_vectors(path, **options)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


def test_mixed_width_is_found_even_in_words_that_are_not_needed(tmp_path):
    path = _write(tmp_path, "a.txt", "the 1 2\ncat 1 2 3\n")
    assert "line 2 has 3 numbers" in _refusal(path, words=["the"])


def test_bad_files(tmp_path):
    assert "holds no vectors" in _refusal(_write(tmp_path, "b.vec", "3 3\n"))
    assert "not a complete .gz file" in _refusal(_write(tmp_path, "c.gz", LINES))
    assert "not a complete .zip file" in _refusal(_write(tmp_path, "d.zip", LINES))
    assert "not a complete .npz file" in _refusal(_write(tmp_path, "e.npz", LINES))
    np.savez(tmp_path / "i.npz", words=np.array(["a"]))
    assert "has no array 'vectors'; it has words" in _refusal(tmp_path / "i.npz")
    two = _zipped(tmp_path / "j.zip", {"a.txt": LINES, "b.txt": LINES})
    assert "holds a.txt, b.txt; expected one file of vectors" in _refusal(two)


def test_the_excerpt_loads(data):
    vectors = read_vectors(data / "glove.6B.100d.npz")
    assert vectors.vectors.shape == (53_505, 100)
    row = vectors.vectors[vectors.row["the"]][:3]
    np.testing.assert_allclose(row, [-0.038194, -0.24487, 0.72812], atol=1e-6)


BIG = """
import sys, time
from oddshift.data.codecs.text.vectors import read_vectors
start = time.process_time()
vectors = read_vectors(sys.argv[1], {f"w{i}" for i in range(0, 360_000, 6)})
spent = time.process_time() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # ru_maxrss keeps the parent's
print(len(vectors), spent, int(peak.split()[1]) / 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="peak memory is read from /proc")
def test_sixty_thousand_of_four_hundred_thousand(tmp_path):
    rows = np.random.default_rng(0).normal(size=(1_000, 100)).round(5)
    lines = [" ".join(map(str, row)) for row in rows.tolist()]
    with (tmp_path / "glove.txt").open("w") as stream:
        stream.writelines(f"w{i} {lines[i % 1_000]}\n" for i in range(400_000))
    done = subprocess.run(
        [sys.executable, "-c", BIG, str(tmp_path / "glove.txt")], capture_output=True, text=True, check=True
    )
    words, seconds, megabytes = map(float, done.stdout.split())
    assert words == 60_000
    assert seconds < 20
    assert megabytes < 600


def test_a_width_other_than_the_header_says_is_refused(tmp_path):
    path = tmp_path / "a.vec"
    path.write_text("2 3\nann 1 2\nbob 3 4\n")
    with pytest.raises(InvalidInput, match=r"a\.vec line 2 has 2 numbers, expected 3"):
        read_vectors(path)


def test_word2vec_as_published_is_packed(tmp_path):
    data = b"1 2\nann " + np.array([1, 2], dtype="<f4").tobytes() + b"\n"
    (tmp_path / "a.bin.gz").write_bytes(gzip.compress(data))
    assert read_vectors(tmp_path / "a.bin.gz").vectors.tolist() == [[1.0, 2.0]]
