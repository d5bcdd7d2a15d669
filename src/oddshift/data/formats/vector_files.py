"""NumPy files: the rows of `vectors` read and written a few at a time, all other arrays of an archive copied.

An .npz archive holds `vectors` (n, k) and, optionally, one value for each row under other names; an .npy file is the
vectors alone.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats import bounded_streams
from oddshift.data.formats.data_file import Count, Released

VECTORS = "vectors"
"""The array that holds one secret in each row."""

_MEMBER = f"{VECTORS}.npy"
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True, eq=False, repr=False)
class VectorBlock:
    """Some rows of numbers, of the file's type, and the values that other arrays have for them."""

    rows: npt.NDArray[Any]
    others: Mapping[str, list[Any]]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def cells(self, name: str) -> list[Any]:
        """The rows as float64, or one value of another array for each."""
        if name != VECTORS:
            return self.others[name]
        table: FloatArray = self.rows.astype(np.float64)
        return list(table)

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """Released rows of the same type; a masked one is NaN."""
        masked = [np.nan] * self.rows.shape[1]
        rows = [masked if row is None else row for row in released[VECTORS]]
        return np.array(rows, dtype=self.rows.dtype).tobytes()


@dataclass(frozen=True, eq=False)
class ArchiveFile:
    """An .npz file with an array `vectors` (n, k) of floats, and any others."""

    path: Path

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The arrays."""
        with self._opened() as archive:
            return tuple(name.removesuffix(".npy") for name in archive.namelist())

    def blocks(self, count: Count) -> Iterator[VectorBlock]:
        """All rows, about as many bytes at a time as a block of text has."""
        with self._opened() as archive, archive.open(_MEMBER) as member:
            others = _Others(self.path, self._rows)
            start = 0
            for rows in _row_blocks(member, self.path.name, count):
                end = start + len(rows)
                yield VectorBlock(rows, _Slice(others, start, end))
                start = end

    @property
    def _rows(self) -> int:
        with self._opened() as archive, archive.open(_MEMBER) as member:
            return _header(member, self.path.name)[0][0]

    @contextmanager
    def sink(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        """A new archive that only its owner can read."""
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made, self._opened() as archive:
                with made.open(_MEMBER, "w", force_zip64=True) as member:
                    with archive.open(_MEMBER) as old:
                        _write_header(member, *_header(old, self.path.name))
                    yield member.write
                for name in archive.namelist():
                    if name != _MEMBER:
                        with archive.open(name) as old, made.open(name, "w", force_zip64=True) as new:
                            shutil.copyfileobj(old, new, bounded_streams.BLOCK)
            stream.flush()
            os.fsync(stream.fileno())

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except zipfile.BadZipFile as error:
            raise InvalidInput(f"{self.path.name} is not an .npz file") from error


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """An .npy file of floats (n, k)."""

    path: Path
    names: tuple[str, ...] = (VECTORS,)

    @property
    def files(self) -> tuple[Path, ...]:
        """The file."""
        return (self.path,)

    def blocks(self, count: Count) -> Iterator[VectorBlock]:
        """All rows, about as many bytes at a time as a block of text has."""
        with self.path.open("rb") as stream:
            yield from (VectorBlock(rows, {}) for rows in _row_blocks(stream, self.path.name, count))

    @contextmanager
    def sink(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        """A new file that only its owner can read."""
        with self.path.open("rb") as old, bounded_streams.byte_sink(path) as write:
            header = _Written(write)
            _write_header(header, *_header(old, self.path.name))  # type: ignore[arg-type]
            yield write


@dataclass(frozen=True, eq=False)
class _Written:
    """A stream that can only be written to, as NumPy wants one."""

    write: Callable[[bytes], object]


class _Others(dict[str, list[Any]]):
    """The arrays of an archive with one value for each row, read when they are first asked for."""

    def __init__(self, path: Path, rows: int) -> None:
        """The archive, and how many vectors it holds."""
        super().__init__()
        self._path = path
        self._rows = rows

    def __missing__(self, name: str) -> list[Any]:
        try:
            with np.load(self._path, allow_pickle=False) as archive:
                self[name] = np.atleast_1d(archive[name]).tolist()
        except (ValueError, OSError) as error:
            raise InvalidInput(f"{self._path.name}: {name} is not an array without pickles") from error
        if len(self[name]) != self._rows:
            found = f"{name} has {len(self[name])} entries"
            raise InvalidInput(f"{self._path.name}: {found}, expected {self._rows} (one for each vector)")
        return self[name]


@dataclass(frozen=True, eq=False)
class _Slice(Mapping[str, list[Any]]):
    """Some rows of the other arrays."""

    whole: _Others
    start: int
    end: int

    def __getitem__(self, name: str) -> list[Any]:
        return self.whole[name][self.start : self.end]

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)


def _row_blocks(stream: IO[bytes], name: str, count: Count) -> Iterator[npt.NDArray[Any]]:
    (rows, width), kind = _header(stream, name)
    at_once = max(1, bounded_streams.BLOCK // (width * kind.itemsize))
    for start in range(0, rows, at_once):
        size = min(at_once, rows - start) * width * kind.itemsize
        data = stream.read(size)
        if len(data) != size:
            raise InvalidInput(f"{name} ends before its {rows} vectors do")
        yield np.frombuffer(data, dtype=kind).reshape(-1, width)
        count(size)


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, int], np.dtype[Any]]:
    """Shape and type of the vectors; anything but a table of floats, row by row, is refused."""
    try:
        shape, is_fortran, kind = _HEADERS[np.lib.format.read_magic(stream)](stream)
    except (KeyError, ValueError) as error:
        raise InvalidInput(f"{name}: {VECTORS} is not an array without pickles") from error
    if len(shape) != 2 or is_fortran or kind.kind != "f" or not shape[1]:
        raise InvalidInput(f"{name}: {VECTORS} of shape {shape} and type {kind}, expected rows of floats")
    return shape, kind


def _write_header(stream: IO[bytes], shape: tuple[int, int], kind: np.dtype[Any]) -> None:
    described = {"descr": kind.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, described)
