"""Members of an archive: whatever a damaged, encrypted or hostile one provokes becomes one refusal that names the file.

An array that is read as a whole is refused by the size that its header states, before any memory is taken for it.
"""

from __future__ import annotations

import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from oddshift.base.errors import InvalidInput

LARGEST_ARRAY = 1 << 30
"""Bytes of the largest array of an archive that is read as a whole."""

_DAMAGES = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError, SyntaxError, EOFError),
    *(ValueError, KeyError, TypeError, OverflowError, RuntimeError, NotImplementedError, OSError),
)
"""What reading an archive or the header of an array raises when the file is damaged, encrypted or something else."""

_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}

Header = tuple[tuple[int, ...], bool, np.dtype[Any]]
"""Shape, whether columns come first, and type."""


@contextmanager
def reading_archive(path: Path) -> Iterator[None]:
    """Turn whatever a damaged archive raises into one line; a file that cannot be opened stays what it is."""
    try:
        yield
    except (InvalidInput, FileNotFoundError, PermissionError):
        raise
    except _DAMAGES as error:
        raise InvalidInput(f"{path.name} is not a complete {path.suffix} file ({_reason(error)})") from error


def array_header(stream: IO[bytes]) -> Header:
    """The header of the array at the start of a stream; it must be called inside `reading_archive`."""
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError("an unknown version of its header")
    shape, is_fortran, kind = _HEADERS[version](stream)
    if any(size < 0 for size in shape):
        raise ValueError("a shape below 0")
    return shape, is_fortran, kind


def whole_array(path: Path, name: str, largest: int = LARGEST_ARRAY) -> np.ndarray[Any, Any]:
    """One array of an .npz file, without pickles; one over `largest` bytes is refused by its header."""
    with reading_archive(path), zipfile.ZipFile(path) as archive:
        with archive.open(f"{name}.npy") as member:
            shape, _, kind = array_header(member)
        size = stated_bytes(shape, kind)
        if size > largest:
            raise InvalidInput(f"{path.name}: {name} of {size} bytes, expected at most {largest}")
        if kind.hasobject:
            raise InvalidInput(f"{path.name}: {name} is not an array without pickles")
        with archive.open(f"{name}.npy") as member:
            return np.asarray(np.lib.format.read_array(member, allow_pickle=False))


def stated_bytes(shape: tuple[int, ...], kind: np.dtype[Any]) -> int:
    """The size of an array, as its header states it, in whole numbers that cannot overflow."""
    size = kind.itemsize
    for each in shape:
        size *= each
    return size


def _reason(error: BaseException) -> str:
    """What went wrong, in words that quote nothing of the file."""
    if isinstance(error, RuntimeError) and "encrypted" in str(error):
        return "it is encrypted"
    if isinstance(error, NotImplementedError):
        return "it is packed in a way that cannot be read"
    if isinstance(error, KeyError):
        return "an array is missing"
    if isinstance(error, zipfile.BadZipFile) and "CRC" in str(error):
        return "its checksum is wrong"
    return "it is damaged"
