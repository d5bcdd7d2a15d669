"""A data file: records in order, read as a whole or block by block, and written again with some cells replaced.

The same object is used to examine a file (`read_columns`) and to release it (`blocks` and `sink`). So the records that
are audited are those that are protected, and what cannot be read is refused in both cases.

Bounded streams: UTF-8 text read block by block, bytes written to new files that only their owner can read.

Members of an archive: whatever a damaged, encrypted or hostile one provokes becomes one refusal that names the file.

An array that is read as a whole is refused by the size that its header states, before any memory is taken for it.
"""

from __future__ import annotations

import codecs
import lzma
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput

Count = Callable[[int], None]
"""Called with every number of bytes that was read."""

BLOCK = 1 << 20
"""Bytes read at once; a performance setting."""

LONGEST_RECORD = 1 << 24
"""Length of the longest record that is accepted: a quote that is never closed must not fill the memory."""

BYTE_ORDER_MARK = "\ufeff"
"""What some systems put in front of a UTF-8 text."""


def texts_of(
    path: Path, count: Count, *, skip_mark: bool = False, span: tuple[int, int] | None = None
) -> Iterator[tuple[str, bool]]:
    """The text of a UTF-8 file in blocks, and whether each is the last; with or without a byte-order mark.

    `span` is the first byte and the end of a range that is read instead of the whole file.
    """
    refuse_wide(path)
    decoder = codecs.getincrementaldecoder("utf-8")()
    skipped = len(BYTE_ORDER_MARK.encode()) if skip_mark and starts_with_mark(path) else 0
    start, end = (skipped, path.stat().st_size) if span is None else span
    with path.open("rb") as stream:
        stream.seek(start)
        data = stream.read(min(BLOCK, end - start))
        while data:
            following = stream.read(min(BLOCK, max(0, end - stream.tell())))
            try:
                text = decoder.decode(data, not following)
            except UnicodeDecodeError:  # its message quotes the file
                raise InvalidInput(_not_utf8(path)) from None
            yield text, not following
            count(len(data))
            data = following


def starts_with_mark(path: Path) -> bool:
    """Whether a file starts with a byte-order mark."""
    mark = BYTE_ORDER_MARK.encode()
    with path.open("rb") as stream:
        return stream.read(len(mark)) == mark


def whole_text(path: Path) -> str:
    """The text of one UTF-8 file that is a single record."""
    if path.stat().st_size > LONGEST_RECORD:
        raise InvalidInput(f"{path.name} has over {LONGEST_RECORD} characters, expected shorter records")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidInput(_not_utf8(path)) from None


def _not_utf8(path: Path) -> str:
    """The place of the first bytes that are not UTF-8, and a command that makes them so."""
    with path.open("rb") as stream:
        is_wide = b"\0" in stream.read(64)
        stream.seek(0)
        for row, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                way_out = _converted(path, is_wide)
                return f"{path.name} line {row} is not UTF-8 (byte {error.start} of the line); {way_out}"
    return f"{path.name} is not UTF-8; {_converted(path, is_wide)}"


def _converted(path: Path, is_wide: bool) -> str:
    coding = "UTF-16" if is_wide else "WINDOWS-1252"
    return f"it may be {coding}: iconv -f {coding} -t UTF-8 {path.name} > utf8-{path.name}"


def refuse_wide(path: Path) -> None:
    """Refuse a text of two bytes a character that has no byte-order mark: every other one of its first bytes is 0."""
    with path.open("rb") as stream:
        head = stream.read(64)
    halves = (head[::2], head[1::2])
    if len(head) >= 8 and sorted(any(half) for half in halves) == [False, True] and 0 not in max(halves):
        raise InvalidInput(_not_utf8(path))


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """A new file that only its owner can read; what was written is on disk when it closes."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        yield stream
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def byte_sink(path: Path) -> Iterator[Callable[[bytes], object]]:
    """The same as a function that writes."""
    with new_file(path) as stream:
        yield stream.write


def is_writable(text: str) -> bool:
    """Whether a text can be written as UTF-8: half of a pair of surrogates, which JSON can escape, cannot.

    >>> is_writable("naïve"), is_writable("\\ud800")
    (True, False)
    """
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def refuse_long(rest: str, path: Path, row: int) -> None:
    """Refuse a record that does not end."""
    if len(rest) > LONGEST_RECORD:
        raise InvalidInput(f"{path.name} row {row} has over {LONGEST_RECORD} characters, expected shorter records")


def shown(value: Any) -> str:
    """A released value as a cell of text: numbers in their shortest form, nothing for a masked one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


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


Columns = dict[str, list[Any]]
"""The cells of some columns, in the order of the records."""

LARGEST_WHOLE = 1 << 31
"""Bytes of the largest file that is read as a whole, unpacked; files of any size are released block by block."""

Released = Mapping[str, Sequence[Any]]
"""New cells of some columns, one for each record that is released."""


class Block(Protocol):
    """Some records in order."""

    def __len__(self) -> int:
        """How many."""

    def cells(self, name: str) -> list[Any]:
        """The cells of one column."""

    def render(self, released: Released, keep: BoolArray | None) -> Any:
        """The records with released cells, in the form that the sink takes; records that are not kept are left out."""


class DataFile(Protocol):
    """Records in a file, or in a folder of files.

    **Guarantee**: whatever `render` is not told to replace is written byte for byte as it was read (Parquet: value for
    value), and blocks are of bounded size.
    """

    if TYPE_CHECKING:  # fields of a dataclass, which properties of a base would replace

        @property
        def path(self) -> Path:
            """Where it is."""

        @property
        def names(self) -> tuple[str, ...]:
            """Its columns."""

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that belongs to it."""
        return (self.path,)

    @property
    def unpacked_bytes(self) -> int:
        """About how many bytes its records take once they are unpacked: as many as the file where nothing is packed."""
        return self.path.stat().st_size

    def blocks(self, count: Count) -> Iterator[Block]:
        """All records in order."""

    def sink(self, path: Path) -> AbstractContextManager[Callable[[Any], object]]:
        """A function that writes rendered blocks to `path`, in the same format: bytes, unless it says otherwise."""
        return byte_sink(path)


def read_columns(file: DataFile, wanted: Sequence[str], *, at_least: int = 2) -> Columns:
    """The wanted columns, complete; a file with fewer records than `at_least` is refused."""
    require_columns(file, wanted)
    if file.unpacked_bytes > LARGEST_WHOLE:
        size = f"{file.path.name} unpacks to {file.unpacked_bytes} bytes"
        raise InvalidInput(f"{size}, expected at most {LARGEST_WHOLE} to be read as a whole")
    columns: Columns = {name: [] for name in wanted}
    rows = 0
    for block in file.blocks(uncounted):
        rows += len(block)
        for name in columns:
            columns[name] += block.cells(name)
    if rows < at_least:
        raise InvalidInput(
            f"{file.path.name} has {rows} {'record' if rows == 1 else 'records'}, expected at least {at_least}"
        )
    return columns


def require_columns(file: DataFile, wanted: Sequence[str]) -> None:
    """Refuse a file without some column, or with two of one name.

    The message counts the columns and does not name them: without a header row they would be somebody's data.
    """
    names = file.names
    if not names:
        raise InvalidInput(f"{file.path.name} has 0 records, expected some with columns {', '.join(wanted)}")
    for name in wanted:
        if name not in names:
            raise InvalidInput(
                f"{file.path.name} has no column {name!r} among its {len(names)}; is there a header row?"
            )
    if len(set(names)) < len(names):
        raise InvalidInput(f"{file.path.name} has columns of the same name, expected distinct ones")


def uncounted(size: int) -> None:
    """Count nothing."""
