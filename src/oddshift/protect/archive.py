"""NumPy archives: the member `vectors` read and written a few rows at a time, all other members copied."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.bounded_reading import BLOCK, Count, Released

VECTORS = "vectors"
"""The member that holds one secret a row."""

_READERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


@dataclass(frozen=True, eq=False, repr=False)
class VectorBlock:
    """Some rows of numbers, of the file's type."""

    rows: npt.NDArray[Any]

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def cells(self, name: str) -> list[FloatArray]:
        """The rows as float64."""
        return list(self.rows.astype(np.float64))

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """Released rows of the same type; a masked one is NaN."""
        masked = [np.nan] * self.rows.shape[1]
        rows = [masked if row is None else row for row in released[VECTORS]]
        return np.array(rows, dtype=self.rows.dtype).tobytes()


@dataclass(frozen=True, eq=False)
class ArchiveSource:
    """An .npz file with an array `vectors` (n, k) of floats, and any others."""

    path: Path

    @property
    def names(self) -> tuple[str, ...]:
        """The arrays."""
        with self._opened() as archive:
            return tuple(name.removesuffix(".npy") for name in archive.namelist())

    def blocks(self, count: Count) -> Iterator[VectorBlock]:
        """All rows, about BLOCK bytes at a time."""
        with self._opened() as archive, archive.open(f"{VECTORS}.npy") as member:
            (rows, width), kind = self._header(member)
            at_once = max(1, BLOCK // (width * kind.itemsize))
            for start in range(0, rows, at_once):
                size = min(at_once, rows - start) * width * kind.itemsize
                data = member.read(size)
                if len(data) != size:
                    raise InvalidInput(f"{self.path.name} ends before its {rows} vectors do")
                yield VectorBlock(np.frombuffer(data, dtype=kind).reshape(-1, width))
                count(size)

    @contextmanager
    def sink(self, path: Path) -> Iterator[Callable[[bytes], object]]:
        """A new archive that only its owner can read."""
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made, self._opened() as archive:
                with made.open(f"{VECTORS}.npy", "w", force_zip64=True) as member:
                    with archive.open(f"{VECTORS}.npy") as old:
                        shape, kind = self._header(old)
                    described = {"descr": kind.str, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_1_0(member, described)
                    yield member.write
                for name in archive.namelist():
                    if name != f"{VECTORS}.npy":
                        with archive.open(name) as old, made.open(name, "w", force_zip64=True) as new:
                            shutil.copyfileobj(old, new, BLOCK)
            stream.flush()
            os.fsync(stream.fileno())

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self.path)
        except zipfile.BadZipFile as error:
            raise InvalidInput(f"{self.path.name} is not an .npz file") from error

    def _header(self, member: IO[bytes]) -> tuple[tuple[int, int], np.dtype[Any]]:
        """Shape and type of the vectors; what is no table of floats, row by row, is refused."""
        try:
            shape, is_fortran, kind = _READERS[np.lib.format.read_magic(member)](member)
        except (KeyError, ValueError) as error:
            raise InvalidInput(f"{self.path.name}: {VECTORS} is not an array without pickles") from error
        if len(shape) != 2 or is_fortran or kind.kind != "f" or not shape[1]:
            raise InvalidInput(f"{self.path.name}: {VECTORS} of shape {shape} and type {kind}, expected rows of floats")
        return shape, kind
