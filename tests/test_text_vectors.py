import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.text.vectors import WordVectors, read_vectors

LINES = "the 0.5 -1 2\ncat 1e-3 0 0.25\ndog 3 4 5\n"
ROWS = {"the": [0.5, -1, 2], "cat": [1e-3, 0, 0.25], "dog": [3, 4, 5]}


def _write(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _binary(rows, end=b""):
    body = b"".join(word.encode() + b" " + np.array(row, dtype="<f4").tobytes() + end for word, row in rows.items())
    return f"{len(rows)} 3\n".encode() + body


def _zipped(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def _every_format(folder):
    words, table = np.array(list(ROWS)), np.array(list(ROWS.values()), dtype=np.float32)
    np.savez(folder / "v.npz", words=words, vectors=table)
    return [
        _write(folder, "v.txt", LINES),
        _write(folder, "v.vec", "3 3\n" + LINES.replace("\n", " \n")),
        _write(folder, "v.txt.gz", gzip.compress(LINES.encode())),
        _zipped(folder / "v.zip", {"glove.txt": LINES}),
        _write(folder, "v.bin", _binary(ROWS)),
        _write(folder, "w.bin", _binary(ROWS, b"\n")),
        folder / "v.npz",
    ]


def test_every_format_gives_the_same(tmp_path):
    for path in _every_format(tmp_path):
        vectors = read_vectors(path)
        assert vectors.words == ("the", "cat", "dog"), path.name
        np.testing.assert_array_equal(vectors.vectors, np.array(list(ROWS.values()), dtype=np.float32))


def test_only_the_needed_words(tmp_path):
    for path in _every_format(tmp_path):
        vectors = read_vectors(path, ["dog", "bird"])
        assert vectors.words == ("dog",), path.name
        assert vectors.vectors.tolist() == [[3, 4, 5]]


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


def test_malformed_lines_are_named(tmp_path):
    assert _refusal(_write(tmp_path, "a.txt", "the 1 2\ncat 1\n")) == "a.txt line 2 has 1 numbers, expected 2"
    assert _refusal(_write(tmp_path, "b.txt", "the 1 2\ncat 1 2 3\n")) == "b.txt line 2 has 3 numbers, expected 2"
    assert "c.txt line 2 holds something that is not a number" in _refusal(_write(tmp_path, "c.txt", "a 1 2\nb 1 x\n"))
    assert "d.txt line 1 holds a number that is not finite" in _refusal(_write(tmp_path, "d.txt", "a nan 2\n"))
    assert "e.txt line 1 does not hold a word and numbers" in _refusal(_write(tmp_path, "e.txt", "alone\n"))


def test_mixed_width_is_found_even_in_words_that_are_not_needed(tmp_path):
    path = _write(tmp_path, "a.txt", "the 1 2\ncat 1 2 3\n")
    assert "line 2 has 3 numbers" in _refusal(path, words=["the"])


def test_bad_files(tmp_path):
    assert "is empty" in _refusal(_write(tmp_path, "a.txt", ""))
    assert "is not a file" in _refusal(tmp_path / "none.txt")
    assert "holds no vectors" in _refusal(_write(tmp_path, "b.vec", "3 3\n"))
    assert "not a complete .gz file" in _refusal(_write(tmp_path, "c.gz", LINES))
    assert "not a complete .zip file" in _refusal(_write(tmp_path, "d.zip", LINES))
    assert "not a complete .npz file" in _refusal(_write(tmp_path, "e.npz", LINES))
    assert "does not start with 'words width'" in _refusal(_write(tmp_path, "f.bin", LINES))
    assert "breaks at word 3 of 3" in _refusal(_write(tmp_path, "g.bin", _binary(ROWS)[:-4]))
    assert "not UTF-8" in _refusal(_write(tmp_path, "h.txt", b"caf\xe9 1 2\n"))
    np.savez(tmp_path / "i.npz", words=np.array(["a"]))
    assert "has no array 'vectors'; it has words" in _refusal(tmp_path / "i.npz")
    two = _zipped(tmp_path / "j.zip", {"a.txt": LINES, "b.txt": LINES})
    assert "holds a.txt, b.txt; expected member=" in _refusal(two)
    assert len(read_vectors(two, member="b.txt")) == 3


def test_vectors_are_checked_and_looked_up():
    with pytest.raises(InvalidInput, match="expected as many rows"):
        WordVectors(("a",), np.zeros((2, 3), dtype=np.float32))
    with pytest.raises(InvalidInput, match="vector 1 has a number that is not finite"):
        WordVectors(("a", "b"), np.array([[0.0], [np.nan]], dtype=np.float32))
    vectors = WordVectors(("new", "york"), np.array([[1.0, 0.0], [0.0, 3.0]], dtype=np.float32))
    assert vectors.rows_of(["york", "x"]).tolist() == [1, -1]
    table, known = vectors.look_up(["new york", "york x", " "])
    assert known.tolist() == [True, False, False]
    assert table[0].tolist() == [0.5, 1.5]
    assert repr(vectors) == "WordVectors(2 words, 2 dimensions)"


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
