"""Bounded streams: UTF-8 text read block by block, bytes written to new files that only their owner can read."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.data_file import Count

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
    """The place of the first bytes that are not UTF-8."""
    with path.open("rb") as stream:
        for row, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"{path.name} line {row} is not UTF-8 (byte {error.start} of the line); expected UTF-8"
    return f"{path.name} is not UTF-8; expected UTF-8"


@contextmanager
def byte_sink(path: Path) -> Iterator[Callable[[bytes], object]]:
    """A new file that only its owner can read; what was written is on disk when it closes."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        yield stream.write
        stream.flush()
        os.fsync(stream.fileno())


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
