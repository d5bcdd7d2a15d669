"""fastText's `.bin` models: a word's vector is the mean of its own row and of the rows of its pieces.

Bojanowski, Grave, Joulin & Mikolov (TACL 2017). The layout is that of fastText's version 12: arguments, dictionary,
input matrix, little-endian throughout. Quantised models (`.ftz`) are not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from oddshift.base.errors import InvalidInput

Float32Array = npt.NDArray[np.float32]

MAGIC = struct.pack("<i", 793712314)
"""The first four bytes of a model."""

_VERSION = 12
_HEAD = struct.Struct("<i12id")  # version, twelve arguments, the sampling threshold
_COUNTS = struct.Struct("<iiiqq")
_AFTER_WORD = struct.Struct("<qb")
_SHAPE = struct.Struct("<?qq")
_LONGEST_WORD = 4096
_WIDEST = 1 << 18  # numbers of a vector
LARGEST_PACKED = 1 << 31
"""Bytes of the largest matrix that is read out of a packed file; an unpacked one is mapped, whatever its size."""


@dataclass(frozen=True)
class _Pieces:
    """How words are cut into pieces: their smallest and largest length, and the number of rows they share."""

    least: int
    most: int
    buckets: int


def read_fasttext(stream: IO[bytes], path: Path, needed: frozenset[str] | None) -> tuple[tuple[str, ...], Float32Array]:
    """The words of the dictionary that are `needed` (all when None) and their vectors.

    `stream` is positioned after the magic number of the file. An uncompressed model is memory-mapped, not read as a
    whole.
    """
    name = path.name
    version, width, *arguments = _HEAD.unpack(_exactly(stream, _HEAD.size, name))[:-1]
    if version != _VERSION:
        raise InvalidInput(f"{name} is a fastText model of version {version}, expected {_VERSION}")
    _ws, _epoch, _count, _neg, _grams, _loss, _model, buckets, least, most, _rate = arguments
    size, words, _labels, _tokens, pruned = _COUNTS.unpack(_exactly(stream, _COUNTS.size, name))
    entries = [_entry(stream, name) for _ in range(size)]
    if pruned > 0:
        raise InvalidInput(f"{name} is a pruned fastText model, expected one that is not quantised")
    quantised, rows, columns = _SHAPE.unpack(_exactly(stream, _SHAPE.size, name))
    if quantised or columns != width or not 0 <= words <= rows or not 0 < columns < _WIDEST or not size >= 0:
        raise InvalidInput(f"{name} is quantised or damaged, expected a plain fastText model")
    table = _matrix(stream, path, rows, columns)
    pieces = _Pieces(least, most, buckets if rows >= words + buckets else 0)
    kept = [(row, w) for row, w in enumerate(entries[:words]) if w != "</s>" and (needed is None or w in needed)]
    vectors = [table[[row, *(words + h for h in _piece_rows(word, pieces))]].mean(axis=0) for row, word in kept]
    made = np.array(vectors, dtype=np.float32).reshape(len(kept), columns)
    return tuple(word for _, word in kept), made


def _matrix(stream: IO[bytes], path: Path, rows: int, columns: int) -> Float32Array:
    """The input matrix, which starts here."""
    if path.suffix in (".gz", ".zip"):
        if 4 * rows * columns > LARGEST_PACKED:
            raise InvalidInput(f"{path.name} unpacks to over {LARGEST_PACKED} bytes, expected an unpacked file")
        data = _exactly(stream, 4 * rows * columns, path.name)
        return np.frombuffer(data, dtype="<f4").reshape(rows, columns)
    start = stream.tell()
    if path.stat().st_size < start + 4 * rows * columns:
        raise InvalidInput(f"{path.name} ends inside its vectors, expected a complete fastText model")
    return np.memmap(path, dtype="<f4", mode="r", offset=start, shape=(rows, columns))


def _entry(stream: IO[bytes], name: str) -> str:
    """A word of the dictionary: bytes up to a zero, its count and its kind."""
    letters = bytearray()
    while (letter := stream.read(1)) != b"\0":
        if not letter or len(letters) > _LONGEST_WORD:
            raise InvalidInput(f"{name} ends or breaks in its list of words")
        letters += letter
    _AFTER_WORD.unpack(_exactly(stream, _AFTER_WORD.size, name))
    try:
        return letters.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name} holds a word that is not UTF-8") from error


def _piece_rows(word: str, pieces: _Pieces) -> Iterator[int]:
    """The shared row of every piece of <word> with `least` to `most` letters; the marks alone do not count."""
    if not pieces.buckets or pieces.most < 1:
        return
    whole = f"<{word}>"
    for start in range(len(whole)):
        for stop in range(start + max(1, pieces.least), min(len(whole), start + pieces.most) + 1):
            if stop - start > 1 or 0 < start < len(whole) - 1:
                yield hashed(whole[start:stop].encode()) % pieces.buckets


def hashed(data: bytes) -> int:
    """32-bit FNV-1a, with bytes taken as signed numbers, as fastText does.

    >>> hashed(b"a")
    3826002220
    """
    h = 2166136261
    for byte in data:
        signed = byte - 256 if byte > 127 else byte
        h = ((h ^ (signed & 0xFFFFFFFF)) * 16777619) & 0xFFFFFFFF
    return h


def _exactly(stream: IO[bytes], size: int, name: str) -> bytes:
    data = stream.read(size)
    if len(data) != size:
        raise InvalidInput(f"{name} ends after {len(data)} of {size} bytes, expected a complete fastText model")
    return data
