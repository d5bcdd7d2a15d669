"""A data file: records in order, read as a whole or block by block, and written again with some cells replaced.

The same object is used to examine a file (`read_columns`) and to release it (`blocks` and `sink`). So the records that
are audited are those that are protected, and what cannot be read is refused in both cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats.streams import Count, byte_sink

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
