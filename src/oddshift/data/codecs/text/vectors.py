"""Word vectors read from the files in which they are published, only for the words that are needed.

GloVe `.txt` (plain, `.gz`, `.zip`), fastText `.vec`, word2vec text and `.bin` (what gensim's
`save_word2vec_format` writes), and `.npz` with `words` and `vectors`. Files are read line by line; a line that does not
fit is named by its number. Gensim's own `.kv` files are pickles, which can run code and are never read.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats.data_file import reading_archive, whole_array

Float32Array = npt.NDArray[np.float32]

LARGEST_VECTORS = 1 << 32
"""Bytes of the largest array of word vectors that is read from an .npz file."""

_HEAD = 512  # bytes that are read to recognise the format
_WRITTEN = frozenset(b"0123456789+-.eEinfatyNIFATY \t\r")  # what written numbers consist of
_LONGEST_LINE = 1 << 20  # bytes, a line break included
_FASTTEXT = b"\xba\x16\x4f\x2f"  # the first bytes of fastText's own format
_LONGEST_WORD = 4096  # bytes; a longer word in a .bin file means that the file is something else


@dataclass(frozen=True, eq=False, repr=False)
class WordVectors:
    """Distinct words and one float32 row each."""

    words: tuple[str, ...]
    vectors: Float32Array

    def __post_init__(self) -> None:
        """Check that there is one finite row for each word."""
        if self.vectors.ndim != 2 or len(self.words) != len(self.vectors):
            raise InvalidInput(
                f"{len(self.words)} words and vectors of shape {self.vectors.shape}, expected as many rows"
            )
        if not np.isfinite(self.vectors).all():
            row = int(np.flatnonzero(~np.isfinite(self.vectors).all(axis=1))[0])
            raise InvalidInput(f"vector {row} has a number that is not finite")

    def __len__(self) -> int:
        """Number of words."""
        return len(self.words)

    def __repr__(self) -> str:
        """Size only."""
        return f"WordVectors({len(self)} words, {self.vectors.shape[1]} dimensions)"

    @cached_property
    def row(self) -> dict[str, int]:
        """The row of each word; the first one when a word is there twice."""
        return {word: i for i, word in reversed(list(enumerate(self.words)))}

    def rows_of(self, words: Sequence[str]) -> IntArray:
        """The row of each given word; −1 without a vector. A name of several words has none here."""
        return np.array([self.row.get(word, -1) for word in words], dtype=np.int64)

    def look_up(self, words: Sequence[str]) -> tuple[Float32Array, BoolArray]:
        """A vector (n, k) for each word and whether it has one; a name of several words without one has the mean."""
        rows = [[self.row.get(part, -1) for part in ([word] if word in self.row else word.split())] for word in words]
        known = np.array([bool(r) and min(r) >= 0 for r in rows], dtype=np.bool_)
        table = np.zeros((len(words), self.vectors.shape[1]), dtype=np.float32)
        for i in np.flatnonzero(known):
            table[i] = self.vectors[rows[i]].mean(axis=0)
        return table, known


def data_folder() -> Path:
    """Return the folder of real data: `ODDSHIFT_DATA`; without it ../shared/data, here or next to a clone; or ./data.

    An installed package has no data next to it, so that what is not found is expected in ./data.
    """
    given = os.environ.get("ODDSHIFT_DATA")
    if given:
        return Path(given)
    near = (Path("../shared/data"), Path(__file__).resolve().parents[5] / "shared" / "data")
    return next((folder for folder in near if folder.is_dir()), Path("data"))


def read_vectors(path: str | Path, words: Collection[str] | None = None) -> WordVectors:
    """Read the vectors of `words` (all when None) from a file.

    Words that the file lacks are simply absent.
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path.name} is empty (0 bytes), expected word vectors")
    needed = None if words is None else frozenset(words)
    if path.suffix == ".npz":
        return _from_npz(path, needed)
    with _opened(path) as stream:
        head = stream.peek(_HEAD)[:_HEAD]
        if head.startswith(_FASTTEXT):
            raise InvalidInput(
                f"{path.name} is a fastText model, expected its vectors: the .vec file published next to it, or "
                "model.get_word_vector(word) of the words you need, written to a .vec file"
            )
        if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
            raise InvalidInput(
                f"{path.name} is a pickle (gensim's own format), which is never read because it can run code; expected "
                "word2vec's format: KeyedVectors.load(...).save_word2vec_format('vectors.bin', binary=True)"
            )
        if path.name.endswith((".bin", ".bin.gz")) or _is_binary(head):
            return _from_word2vec(stream, path.name, needed)
        return _from_lines(stream, path.name, needed)


def _is_binary(head: bytes) -> bool:
    """Whether a file that starts with 'words width' goes on with raw numbers instead of written ones."""
    first, _, rest = head.partition(b"\n")
    numbers = rest.lstrip(b"\n").partition(b" ")[2].partition(b"\n")[0]
    return _is_header(first.strip()) and any(byte not in _WRITTEN for byte in numbers)


def _from_npz(path: Path, needed: frozenset[str] | None) -> WordVectors:
    with reading_archive(path), zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
    for name in ("words", "vectors"):
        if name not in names:
            raise InvalidInput(f"{path.name} has no array {name!r}; it has {', '.join(names)}")
    words, vectors = whole_array(path, "words").tolist(), whole_array(path, "vectors", LARGEST_VECTORS)
    is_table = vectors.ndim == 2 and vectors.dtype.kind in "fiu"
    if not is_table or not isinstance(words, list) or len(words) != len(vectors):
        raise InvalidInput(f"{path.name}: expected one word for each row of vectors, got shape {vectors.shape}")
    if needed is not None:
        keep = [i for i, word in enumerate(words) if word in needed]
        words, vectors = [words[i] for i in keep], vectors[keep]
    return WordVectors(tuple(map(str, words)), vectors.astype(np.float32))


def _from_lines(stream: IO[bytes], name: str, needed: frozenset[str] | None) -> WordVectors:
    """GloVe and fastText: a word and k numbers on each line; fastText's first line gives both sizes."""
    wanted = None if needed is None else {word.encode() for word in needed}
    found: dict[bytes, Float32Array] = {}
    width = stated = 0
    for number, line in enumerate(_lines(stream, name), start=1):
        line = line.strip(b"\r\n ")  # noqa: PLW2901 (the bare line is never needed again)
        blanks = line.count(b" ")
        if number == 1 and _is_header(line):
            stated = int(line.split(b" ")[1])
            continue
        width = width or stated or blanks
        if blanks == width:
            word, _, rest = line.partition(b" ")
        else:
            word, rest = _odd_line(line, width, f"{name} line {number}")
        if not word or not width:
            raise InvalidInput(f"{name} line {number} does not hold a word and numbers; expected a word, then numbers")
        if (wanted is None or word in wanted) and word not in found:
            found[word] = _parsed(rest, f"{name} line {number}")
    if not width:
        raise InvalidInput(f"{name} holds no vectors")
    return _collected(found, width, name)


def _lines(stream: IO[bytes], name: str) -> Iterator[bytes]:
    """The lines of a file, none of them longer than a vector can be: a packed file could hold one without an end."""
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise InvalidInput(f"{name} line {number} has over {_LONGEST_LINE - 1} bytes, expected a word and numbers")
        yield line


def _odd_line(line: bytes, width: int, where: str) -> tuple[bytes, bytes]:
    """A line with another number of blanks: a word that holds blanks itself, or a vector of another width."""
    parts = line.rsplit(b" ", width)
    inside = parts[0].split(b" ")
    if len(parts) <= width or any(_is_number(part) for part in inside[1:]):
        raise InvalidInput(f"{where} has {line.count(b' ')} numbers, expected {width}")
    return parts[0], b" ".join(parts[1:])


def _parsed(rest: bytes, where: str) -> Float32Array:
    try:
        values = np.array(list(map(float, rest.split(b" "))), dtype=np.float32)
    except ValueError as error:
        raise InvalidInput(f"{where} holds something that is not a number") from error
    if not np.isfinite(values).all():
        raise InvalidInput(f"{where} holds a number that is not finite")
    return values


def _from_word2vec(stream: IO[bytes], name: str, needed: frozenset[str] | None) -> WordVectors:
    """word2vec's binary layout: a header line `words width`, then each word, a blank, and its float32 numbers."""
    header = stream.readline(100)
    if not _is_header(header.strip()):
        raise InvalidInput(f"{name} does not start with 'words width'; expected word2vec's binary layout")
    total, width = (int(part) for part in header.split())
    if not 0 < 4 * width < _LONGEST_LINE:
        raise InvalidInput(f"{name} says that its vectors have {width} numbers, expected up to {_LONGEST_LINE // 4}")
    wanted = None if needed is None else {word.encode() for word in needed}
    found: dict[bytes, Float32Array] = {}
    for number in range(1, total + 1):
        word = _word_before_blank(stream)
        data = stream.read(4 * width)
        if len(data) != 4 * width or not word:
            raise InvalidInput(f"{name} ends or breaks at word {number} of {total}; expected {width} numbers for each")
        if (wanted is None or word in wanted) and word not in found:
            found[word] = np.frombuffer(data, dtype="<f4").copy()
    return _collected(found, width, name)


def _word_before_blank(stream: IO[bytes]) -> bytes:
    letters = bytearray()
    while len(letters) < _LONGEST_WORD:
        letter = stream.read(1)
        if letter in (b" ", b""):
            return bytes(letters)
        if letter != b"\n" or letters:  # some writers end each vector with a line break
            letters += letter
    return b""


def _collected(found: dict[bytes, Float32Array], width: int, name: str) -> WordVectors:
    try:
        words = tuple(word.decode("utf-8") for word in found)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} holds a word that is not UTF-8") from error
    rows: Iterable[Float32Array] = found.values()
    table = np.vstack(list(rows)) if found else np.zeros((0, width), dtype=np.float32)
    return WordVectors(words, table)


def _is_header(line: bytes) -> bool:
    parts = line.split(b" ")
    return len(parts) == 2 and all(part.isdigit() and len(part) < 19 for part in parts)


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """The bytes of a file, unpacked when it is a .gz or a .zip."""
    with reading_archive(path):
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as stream:
                yield io.BufferedReader(stream)
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(_only_member(archive, path.name)) as inner:
                yield inner
        else:
            with path.open("rb", buffering=1 << 20) as plain:
                yield plain


def _only_member(archive: zipfile.ZipFile, name: str) -> str:
    names = archive.namelist()
    if len(names) != 1:
        raise InvalidInput(
            f"{name} holds {', '.join(names)}; expected one file of vectors: unpack the one that you need"
        )
    return names[0]
