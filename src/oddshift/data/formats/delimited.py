"""CSV and TSV files: records and fields cut without losing a byte, so that untouched cells keep quotes and line ends.

A quote may open a field, and then has to close it. A field such as `"ab"c` has no agreed meaning, so it is refused with
its row: a guess could move the rest of the record into another column.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import NoneType

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.data.formats.data_file import (
    BYTE_ORDER_MARK,
    Count,
    DataFile,
    Released,
    refuse_long,
    shown,
    starts_with_mark,
    texts_of,
    uncounted,
)

Record = tuple[list[str], str]
"""Fields as they are in the file, including quotes, and the line end."""

_EMPTY = [""]
_CLOSED = re.compile(r'"[^"]*(?:""[^"]*)*"[^"]')  # a quoted field and the character after it


@dataclass(frozen=True, eq=False, repr=False)
class DelimitedBlock:
    """Records of a file; `before` is what precedes them (a header, a byte-order mark), empty lines are kept.

    `is_plain` says that no field is quoted and that every line, except perhaps the last one, ends in a line feed.
    """

    names: tuple[str, ...]
    records: list[Record]
    before: str
    delimiter: str
    is_plain: bool = False

    def __len__(self) -> int:
        """Records without the empty lines."""
        return len(self._rows)

    @cached_property
    def _read(self) -> dict[str, list[str]]:
        """Columns that were asked for; several readers look at one block."""
        return {}

    @cached_property
    def _rows(self) -> list[Record]:
        return [record for record in self.records if record[0] != _EMPTY]

    @cached_property
    def _fields(self) -> list[tuple[str, ...]]:
        """The fields of every column."""
        return list(zip(*(fields for fields, _ in self._rows), strict=True)) or [()] * len(self.names)

    def cells(self, name: str) -> list[str]:
        """One column, unquoted."""
        if name not in self._read:
            cells = self._fields[self.names.index(name)]
            unquoted = cells if self.is_plain else (cell if cell[:1] != '"' else _unquoted(cell) for cell in cells)
            self._read[name] = list(unquoted)
        return self._read[name]

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """The records with other cells in some columns."""
        if self.is_plain and keep is None and self._rows and len(self._rows) == len(self.records):
            return self._rendered_by_column(released)
        columns = [(self.names.index(name), iter(cells)) for name, cells in released.items()]
        kept = iter([True] * len(self) if keep is None else keep.tolist())
        written, fresh = [self.before], dict[str, str]()
        for fields, end in self.records:
            if fields == _EMPTY:
                written.append(end)
            elif next(kept):
                new = fields.copy()
                for column, cells in columns:
                    cell, field = next(cells), fields[column]
                    text = cell if type(cell) is str else shown(cell)
                    if field[:1] == '"':
                        new[column] = _replaced(field, text, self.delimiter)
                    elif field != text:
                        new[column] = fresh.get(text) or fresh.setdefault(text, _replaced("", text, self.delimiter))
                written += [self.delimiter.join(new), end]
        return "".join(written).encode()

    def _rendered_by_column(self, released: Released) -> bytes:
        """The same for plain records that all stay, column by column, which is faster."""
        columns: list[Iterable[str]] = list(self._fields)
        for name, cells in released.items():
            is_text = {*map(type, cells)} <= {str, NoneType}  # 1 and True are equal, but not written alike
            texts = cells if is_text else [shown(cell) for cell in cells]
            fields = {text: _replaced("", shown(text), self.delimiter) for text in {*texts}}
            columns[self.names.index(name)] = map(fields.__getitem__, texts)
        lines = map(self.delimiter.join, zip(*columns, strict=True))
        return (self.before + "\n".join(lines) + self.records[-1][1]).encode()


@dataclass(frozen=True, eq=False)
class DelimitedFile(DataFile):
    """A file of fields between delimiters (quotes, UTF-8); `header` names the columns of one without a header row."""

    path: Path
    header: tuple[str, ...] | None = None
    delimiter: str = ","

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, from the header row unless they were given."""
        if self.header is not None:
            return self.header
        first = next((records[0] for records, _ in self._records(uncounted) if records), None)
        return () if first is None else tuple(_unquoted(field) for field in first[0])

    def blocks(self, count: Count) -> Iterator[DelimitedBlock]:
        """All records, a block at a time; a record of another width is refused."""
        names, row = self.names, 0
        before = BYTE_ORDER_MARK if starts_with_mark(self.path) else ""
        for number, (records, is_plain) in enumerate(self._records(count)):
            if number == 0 and self.header is None and records:
                fields, end = records.pop(0)
                before += self.delimiter.join(fields) + end
            self._check_widths(records, row)
            yield (block := DelimitedBlock(names, records, before, self.delimiter, is_plain))
            before, row = "", row + len(block)

    def _check_widths(self, records: list[Record], row: int) -> None:
        """Refuse a record of another width than the header, by its number; `row` records stand before these."""
        width = len(self.names)
        if {len(fields) for fields, _ in records} <= {width}:
            return
        for fields, _ in records:
            row += fields != _EMPTY
            if len(fields) != width and fields != _EMPTY:
                raise InvalidInput(f"{self.path.name} row {row} has {len(fields)} columns, expected {width}")

    def _records(self, count: Count) -> Iterator[tuple[list[Record], bool]]:
        """Whole records of each block of the file, and whether they are plain; the first list begins with the first."""
        rest, row = "", 0 if self.header is None else 1
        for text, is_last in texts_of(self.path, count, skip_mark=True):
            is_plain = _is_plain(rest) and _is_plain(text)
            cut = _cut_plain if is_plain else _cut
            records, rest, is_odd = cut(rest + text, is_last, self.delimiter)
            row += sum(fields != _EMPTY for fields, _ in records)
            if is_odd or (rest and is_last):
                where = "the header row" if row == 0 and self.header is None else f"row {row}"
                raise InvalidInput(
                    f"{self.path.name} {where} has a quote that is not closed or is followed by text, expected fields "
                    'such as "a ""quoted"" word"'
                )
            refuse_long(rest, self.path, row)
            if records or is_last:
                yield records, is_plain


def delimiter_of(path: Path) -> str:
    """The delimiter: a comma, unless the first line has no comma but semicolons or tabs outside quotes."""
    with path.open("rb") as stream:
        first = re.sub(r'"[^"]*"', "", stream.readline(1 << 16).decode("utf-8", errors="replace"))
    return next((mark for mark in (",", ";", "\t") if mark in first), ",")


def _is_plain(text: str) -> bool:
    return '"' not in text and "\r" not in text


def _cut(text: str, is_last: bool, delimiter: str) -> tuple[list[Record], str, bool]:
    """The complete records of a text, the rest, and whether the rest has text after a closing quote.

    The last record of a block counts only when the file ends.
    """
    records: list[Record] = []
    fields: list[str] = []
    at = done = 0
    match = _field(delimiter).match
    while (found := match(text, at)) and (is_last or found.end() < len(text)):
        fields.append(found[1])
        at = found.end()
        if found[2] != delimiter:
            records.append((fields, found[2]))
            fields, done = [], at
            if at == len(text):
                break
    return records, text[done:], found is None and _CLOSED.match(text, at) is not None


def _cut_plain(text: str, is_last: bool, delimiter: str) -> tuple[list[Record], str, bool]:
    """The same for a text without quotes and carriage returns, faster."""
    *lines, rest = text.split("\n")
    records: list[Record] = [(line.split(delimiter), "\n") for line in lines]
    if is_last and rest:
        records.append((rest.split(delimiter), ""))
        rest = ""
    return records, rest, False


@lru_cache(maxsize=4)
def _field(delimiter: str) -> re.Pattern[str]:
    """A quoted or a bare field, and the delimiter or line end after it."""
    d = re.escape(delimiter)
    return re.compile(rf'("[^"]*(?:""[^"]*)*"|[^"{d}\r\n][^{d}\r\n]*|)({d}|\r\n|\n|\r|\Z)')


def _unquoted(field: str) -> str:
    return field[1:-1].replace('""', '"') if field.startswith('"') else field


def _replaced(field: str, cell: str, delimiter: str) -> str:
    """The cell as a field, quoted where the old one was or where it must be; the same cell is left as it was."""
    if _unquoted(field) == cell:
        return field
    if field.startswith('"') or any(mark in cell for mark in ('"', "\r", "\n", delimiter)):
        return '"' + cell.replace('"', '""') + '"'
    return cell
