"""NumPy files: the rows of `vectors` read and written a few at a time, all other arrays of an archive copied.

An .npz archive holds `vectors` (n, k) and, optionally, one value for each row under other names; an .npy file is the
vectors alone.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats import data_file
from oddshift.data.formats.data_file import (
    Count,
    DataFile,
    Released,
    array_header,
    reading_archive,
    stated_bytes,
    whole_array,
)

VECTORS = "vectors"
"""The array that holds one secret in each row."""

LONGEST_VECTOR = 1 << 26
"""Bytes of the longest row that is read."""

_MEMBER = f"{VECTORS}.npy"


@dataclass(frozen=True, eq=False, repr=False)
class VectorBlock:
    """Some rows of numbers, of the file's type; `others` gives the values of another array for all rows of the file.

    `start` is the number of the first row.
    """

    rows: npt.NDArray[Any]
    others: Callable[[str], list[Any]] | None = None
    start: int = 0

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def cells(self, name: str) -> list[Any]:
        """The rows as float64, or one value of another array for each."""
        if name != VECTORS and self.others is not None:
            return self.others(name)[self.start : self.start + len(self)]
        table: FloatArray = self.rows.astype(np.float64)
        return list(table)

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """Released rows of the same type; a masked one is NaN."""
        masked = [np.nan] * self.rows.shape[1]
        rows = [masked if row is None else row for row in released[VECTORS]]
        return np.array(rows, dtype=self.rows.dtype).tobytes()


@dataclass(frozen=True, eq=False)
class ArchiveFile(DataFile):
    """An .npz file with an array `vectors` (n, k) of floats, and any others."""

    path: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The arrays."""
        with reading_archive(self.path), zipfile.ZipFile(self.path) as archive:
            return tuple(name.removesuffix(".npy") for name in archive.namelist())

    @property
    def unpacked_bytes(self) -> int:
        """What the header of the vectors states."""
        return stated_bytes(*self._header)

    def blocks(self, count: Count) -> Iterator[VectorBlock]:
        """All rows, about as many bytes at a time as a block of text has."""
        with reading_archive(self.path), zipfile.ZipFile(self.path) as archive, archive.open(_MEMBER) as member:
            others, start = cache(partial(_row_values, self.path, rows=self._header[0][0])), 0
            for rows in _row_blocks(member, self.path.name, count):
                yield VectorBlock(rows, others, start)
                start += len(rows)

    @property
    def _header(self) -> tuple[tuple[int, int], np.dtype[Any]]:
        with reading_archive(self.path), zipfile.ZipFile(self.path) as archive, archive.open(_MEMBER) as member:
            return _header(member, self.path.name)

    @contextmanager
    def sink(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        """A new archive that only its owner can read."""
        with (
            data_file.new_file(path) as stream,
            zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made,
        ):
            with made.open(_MEMBER, "w", force_zip64=True) as member:
                _write_header(member, *self._header)
                yield member.write
            self._copy_others(made)

    def _copy_others(self, made: zipfile.ZipFile) -> None:
        """All members but the vectors, as they are."""
        with reading_archive(self.path), zipfile.ZipFile(self.path) as archive:
            for name in archive.namelist():
                if name != _MEMBER:
                    with archive.open(name) as old, made.open(name, "w", force_zip64=True) as new:
                        shutil.copyfileobj(old, new, data_file.BLOCK)


@dataclass(frozen=True, eq=False)
class ArrayFile(DataFile):
    """An .npy file of floats (n, k)."""

    path: Path
    names: tuple[str, ...] = (VECTORS,)

    @property
    def unpacked_bytes(self) -> int:
        """What the header states."""
        with reading_archive(self.path), self.path.open("rb") as stream:
            return stated_bytes(*_header(stream, self.path.name))

    def blocks(self, count: Count) -> Iterator[VectorBlock]:
        """All rows, about as many bytes at a time as a block of text has."""
        with reading_archive(self.path), self.path.open("rb") as stream:
            yield from (VectorBlock(rows) for rows in _row_blocks(stream, self.path.name, count))

    @contextmanager
    def sink(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        """A new file that only its owner can read."""
        with self.path.open("rb") as old, data_file.byte_sink(path) as write:
            header = _Written(write)
            _write_header(header, *_header(old, self.path.name))  # type: ignore[arg-type]
            yield write


@dataclass(frozen=True, eq=False)
class _Written:
    """A stream that can only be written to, in the form that NumPy needs."""

    write: Callable[[bytes], object]


def _row_values(path: Path, name: str, rows: int) -> list[Any]:
    """An array of an archive with one value for each row."""
    values = whole_array(path, name)
    if values.shape != (rows,):
        found = f"has {len(values)} entries" if values.ndim == 1 else f"is of shape {values.shape}"
        raise InvalidInput(f"{path.name}: {name} {found}, expected {rows} (one for each vector)")
    return list(values.tolist())


def _row_blocks(stream: IO[bytes], name: str, count: Count) -> Iterator[npt.NDArray[Any]]:
    (rows, width), kind = _header(stream, name)
    at_once = max(1, data_file.BLOCK // (width * kind.itemsize))
    for start in range(0, rows, at_once):
        size = min(at_once, rows - start) * width * kind.itemsize
        data = stream.read(size)
        if len(data) != size:
            raise InvalidInput(f"{name} ends before its {rows} vectors do")
        yield np.frombuffer(data, dtype=kind).reshape(-1, width)
        count(size)


def _header(stream: IO[bytes], name: str) -> tuple[tuple[int, int], np.dtype[Any]]:
    """Shape and type of the vectors; anything but a table of floats, row by row, is refused."""
    shape, is_fortran, kind = array_header(stream)
    if len(shape) != 2 or is_fortran or kind.kind != "f" or not shape[1]:
        raise InvalidInput(f"{name}: {VECTORS} of shape {shape} and type {kind}, expected rows of floats")
    if shape[1] * kind.itemsize > LONGEST_VECTOR:
        raise InvalidInput(f"{name}: vectors of {shape[1]} numbers, expected at most {LONGEST_VECTOR} bytes for each")
    return (shape[0], shape[1]), kind


def _write_header(stream: IO[bytes], shape: tuple[int, int], kind: np.dtype[Any]) -> None:
    described = {"descr": kind.str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, described)
