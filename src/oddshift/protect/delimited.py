"""CSV files: records and fields cut without losing a byte, so that untouched cells keep their quotes and line ends."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.bounded_reading import Count, Released, byte_sink, plain, refuse_long, texts_of

_FIELD = re.compile(r'("[^"]*(?:""[^"]*)*"|[^",\r\n][^,\r\n]*|)(,|\r\n|\n|\r|\Z)')
_NEEDS_QUOTES = re.compile(r'[",\r\n]')
_MARK = "\ufeff"

Record = tuple[list[str], str]
"""Fields as they stand in the file, quotes and all, and the line end."""


@dataclass(frozen=True, eq=False, repr=False)
class CsvBlock:
    """Records of a CSV file; `before` stands in front of them (a header, a byte-order mark), empty lines are kept."""

    names: tuple[str, ...]
    records: list[Record]
    before: str

    def __len__(self) -> int:
        """Records without the empty lines."""
        return len(self._rows)

    @cached_property
    def _rows(self) -> list[Record]:
        return [record for record in self.records if record[0] != [""]]

    def cells(self, name: str) -> list[str]:
        """One column, unquoted."""
        column = self.names.index(name)
        return [_unquoted(fields[column]) for fields, _ in self._rows]

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """The records with other cells in some columns."""
        columns = [(self.names.index(name), iter(cells)) for name, cells in released.items()]
        kept = iter([True] * len(self) if keep is None else keep.tolist())
        parts = [self.before]
        for fields, end in self.records:
            if fields == [""]:
                parts.append(end)
            elif next(kept):
                shown = fields.copy()
                for column, cells in columns:
                    shown[column] = _replaced(fields[column], plain(next(cells)))
                parts += [",".join(shown), end]
        return "".join(parts).encode()


@dataclass(frozen=True, eq=False)
class CsvSource:
    """A CSV file (commas, quotes, UTF-8); `header` names the columns of one without a header row."""

    path: Path
    header: tuple[str, ...] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, from the header row unless they were given."""
        if self.header is not None:
            return self.header
        first = next((records[0] for records in _records(self.path, _silent) if records), None)
        return () if first is None else tuple(_unquoted(field) for field in _unmarked(first)[0])

    def blocks(self, count: Count) -> Iterator[CsvBlock]:
        """All records, a block at a time; a record of another width is refused."""
        names, row, before = self.names, 0, ""
        for number, records in enumerate(_records(self.path, count)):
            if number == 0 and records and records[0][0][0].startswith(_MARK):
                before, records[0] = _MARK, _unmarked(records[0])
            if number == 0 and self.header is None and records:
                fields, end = records.pop(0)
                before += ",".join(fields) + end
            block = CsvBlock(names, records, before)
            for fields, _ in records:
                row += fields != [""]
                if len(fields) != len(names) and fields != [""]:
                    raise InvalidInput(f"{self.path.name} row {row} has {len(fields)} columns, expected {len(names)}")
            yield block
            before = ""

    def sink(self, path: Path) -> AbstractContextManager[Callable[[bytes], object]]:
        """Bytes."""
        return byte_sink(path)


def _records(path: Path, count: Count) -> Iterator[list[Record]]:
    """Whole records of each block of the file; the first list holds the first record."""
    rest, row = "", 1
    for text, is_last in texts_of(path, count):
        records, rest = _cut(rest + text, is_last)
        row += len(records)
        if rest and is_last:
            raise InvalidInput(f"{path.name} row {row} has a quote that is not closed or is followed by text")
        refuse_long(rest, path, row)
        if records or is_last:
            yield records


def _cut(text: str, is_last: bool) -> tuple[list[Record], str]:
    """The whole records of a text, and what is left; the last record of a block counts only when the file ends."""
    records: list[Record] = []
    fields: list[str] = []
    at = done = 0
    while (found := _FIELD.match(text, at)) and (is_last or found.end() < len(text)):
        fields.append(found[1])
        at = found.end()
        if found[2] != ",":
            records.append((fields, found[2]))
            fields, done = [], at
            if at == len(text):
                break
    return records, text[done:]


def _unmarked(record: Record) -> Record:
    fields, end = record
    return [fields[0].removeprefix(_MARK), *fields[1:]], end


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def _replaced(field: str, cell: str) -> str:
    """The cell as a field, quoted where the old one was or where it must be; the same cell is left as it was."""
    if _unquoted(field) == cell:
        return field
    if field.startswith('"') or _NEEDS_QUOTES.search(cell):
        return '"' + cell.replace('"', '""') + '"'
    return cell


def _silent(size: int) -> None:
    """Count nothing."""
