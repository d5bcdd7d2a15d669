"""Files in bounded pieces: UTF-8 text read block by block, and how released values are written.

A source gives blocks of whole records; a block gives the cells of a column and renders itself with other cells in
their place, everything else byte for byte as it came.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput

BLOCK = 1 << 20
"""Bytes read at once; a performance setting."""

LONGEST_RECORD = 1 << 26
"""Characters of the longest record that is taken: a quote that is never closed must not fill the memory."""

Count = Callable[[int], None]
"""Called with every number of bytes that was read."""

Released = Mapping[str, Sequence[Any]]
"""New cells of some columns, one for each record that is released."""


class Block(Protocol):
    """Some records in order."""

    def __len__(self) -> int:
        """How many."""

    def cells(self, name: str) -> list[Any]:
        """The cells of one column."""

    def render(self, released: Released, keep: BoolArray | None) -> Any:
        """The records with released cells, as the sink takes them; records that are not kept are left out."""


class Source(Protocol):
    """A file of records."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns."""

    def blocks(self, count: Count) -> Iterator[Block]:
        """All records in order."""

    def sink(self, path: Path) -> AbstractContextManager[Callable[[Any], object]]:
        """A function that writes rendered blocks to `path`, a file of the same kind."""


def texts_of(path: Path, count: Count) -> Iterator[tuple[str, bool]]:
    """The text of a UTF-8 file in blocks, and whether each is the last; a byte-order mark is text like any other."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    place = 0
    with path.open("rb") as stream:
        data = stream.read(BLOCK)
        while data:
            following = stream.read(BLOCK)
            try:
                text = decoder.decode(data, not following)
            except UnicodeDecodeError:  # its message quotes the file
                raise InvalidInput(f"{path.name} is not UTF-8 near byte {place}; expected UTF-8") from None
            place += len(data)
            yield text, not following
            count(len(data))
            data = following


@contextmanager
def byte_sink(path: Path) -> Iterator[Callable[[bytes], object]]:
    """A new file that only its owner can read; what was written is on the disk when it closes."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        yield stream.write
        stream.flush()
        os.fsync(stream.fileno())


def refuse_long(rest: str, path: Path, row: int) -> None:
    """Refuse a record that does not end."""
    if len(rest) > LONGEST_RECORD:
        raise InvalidInput(f"{path.name} row {row} has over {LONGEST_RECORD} characters, expected shorter records")


def plain(value: Any) -> str:
    """A released value as a cell of text: numbers in their shortest form, nothing for a masked one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)
