"""Parquet files: row groups read a few rows at a time, some columns replaced, schema and other columns as they were."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats import data_file
from oddshift.data.formats.data_file import Count, DataFile, Released

_FEWEST, _MOST = 16, 65_536  # rows of one block

GROUP_BYTES = 1 << 24
"""About how many bytes of rows a written row group has; a performance setting."""


@dataclass(frozen=True, eq=False, repr=False)
class ParquetBlock:
    """Some rows as an Arrow table."""

    table: Any

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    def cells(self, name: str) -> list[Any]:
        """One column."""
        import pyarrow as pa

        try:
            cells: list[Any] = self.table.column(name).to_pylist()
        except (pa.ArrowException, ValueError, OverflowError):  # its message may quote a cell
            raise InvalidInput(f"column {name!r} holds something else than its type says, or is damaged") from None
        return cells

    def render(self, released: Released, keep: BoolArray | None) -> Any:
        """The rows with other cells in some columns, of the same types (whole columns take rounded numbers)."""
        import pyarrow as pa

        table = self.table if keep is None else self.table.filter(pa.array(keep))
        for name, cells in released.items():
            place = table.schema.get_field_index(name)
            field = table.schema.field(place)
            whole = pa.types.is_integer(field.type)
            values = [round(c) if whole and isinstance(c, float) else c for c in cells]
            try:
                table = table.set_column(place, field, _array(values, field.type))
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise InvalidInput(
                    f"column {name!r} is of type {field.type}, which released values do not fit"
                ) from error
        return table


@dataclass(frozen=True, eq=False)
class ParquetFile(DataFile):
    """A Parquet file, or some of its row groups, by number; `columns` are those that are read, by default all."""

    path: Path
    groups: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self._file.schema_arrow.names)

    @cached_property
    def _file(self) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        try:
            return parquet.ParquetFile(self.path, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{self.path.name} is not a Parquet file") from error

    @property
    def unpacked_bytes(self) -> int:
        """What the row groups state."""
        return sum(self.group_bytes)

    @property
    def group_bytes(self) -> tuple[int, ...]:
        """About how many bytes each row group takes once it is unpacked."""
        return tuple(max(0, group.total_byte_size) for group in self._groups())

    @property
    def schema(self) -> str:
        """The columns and their types in one line."""
        return ", ".join(f"{field.name} {field.type}" for field in self._file.schema_arrow)

    def _groups(self) -> list[Any]:
        meta = self._file.metadata
        return [meta.row_group(group) for group in (range(meta.num_row_groups) if self.groups is None else self.groups)]

    def blocks(self, count: Count) -> Iterator[ParquetBlock]:
        """All rows, about bounded_streams.BLOCK bytes at a time."""
        import pyarrow as pa

        rows = max(1, sum(group.num_rows for group in self._groups()))
        at_once = min(max(_FEWEST, data_file.BLOCK * rows // max(1, self.unpacked_bytes)), _MOST)
        share = self.path.stat().st_size / max(1, self._file.metadata.num_rows)
        chosen, columns = (None if some is None else list(some) for some in (self.groups, self.columns))
        schema = self._file.schema_arrow if columns is None else None  # with the notes that other systems left
        try:
            for batch in self._file.iter_batches(at_once, row_groups=chosen, columns=columns, use_threads=False):
                yield ParquetBlock(pa.Table.from_batches([batch], schema))
                count(round(batch.num_rows * share))
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(f"{self.path.name} is not a Parquet file, or is damaged") from error

    @contextmanager
    def sink(self, path: Path) -> Iterator[Callable[[Any], object]]:
        """Row groups of a new file that only its owner can read."""
        import pyarrow as pa
        from pyarrow import parquet

        held: list[Any] = []
        room = [GROUP_BYTES]

        def flush() -> None:
            if held:
                writer.write_table(pa.concat_tables(held))
                held.clear()
                room[0] = GROUP_BYTES

        def write(table: Any) -> None:
            held.append(table)
            room[0] -= table.nbytes
            if room[0] <= 0:
                flush()

        with data_file.new_file(path) as stream, parquet.ParquetWriter(stream, self._file.schema_arrow) as writer:
            yield write
            flush()


def _array(values: list[Any], kind: Any) -> Any:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.array(values, type=kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_string(kind) and all(type(value) is str for value in values):
        return _strings(values)
    return pa.array(values, type=kind)


def _strings(values: list[str]) -> Any:
    """The array that `pa.array` makes, which would import pandas first: a fifth of a second in every worker."""
    import pyarrow as pa

    cells = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, cells)], dtype=np.int64)
    if ends[-1] > np.iinfo(np.int32).max:
        return pa.array(values, type=pa.string())
    return pa.StringArray.from_buffers(len(cells), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(cells)))
