"""JSON lines and plain text: a record is a line; of a JSON object only the values of some keys are cut out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.bounded_reading import Count, Released, byte_sink, plain, refuse_long, texts_of

TEXT = "text"
"""The name of the one column of plain text."""

_EDGES = "\ufeff\r\n"
_BLANK = re.compile(r"[ \t\r\n\ufeff]*")
_DECODER = json.JSONDecoder()

Place = tuple[int, int, Any]
"""Where a value begins and ends in its line, and the value."""


@dataclass(frozen=True, eq=False, repr=False)
class TextBlock:
    """Lines of plain text."""

    lines: list[str]

    def __len__(self) -> int:
        """Number of lines."""
        return len(self.lines)

    def cells(self, name: str) -> list[str]:
        """The lines without their ends, and without a byte-order mark."""
        return [line.strip(_EDGES) for line in self.lines]

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """Other words, the same line ends."""
        pairs = zip(self.lines, self.cells(TEXT), released[TEXT], strict=True)
        return "".join(line.replace(old, new, 1) if old else line for line, old, new in pairs).encode()


@dataclass(frozen=True, eq=False)
class TextSource:
    """A plain-text file, each line a record."""

    path: Path
    names: tuple[str, ...] = (TEXT,)

    def blocks(self, count: Count) -> Iterator[TextBlock]:
        """All lines, a block at a time."""
        return (TextBlock(lines) for lines in _lines(self.path, count))

    def sink(self, path: Path) -> AbstractContextManager[Callable[[bytes], object]]:
        """Bytes."""
        return byte_sink(path)


@dataclass(frozen=True, eq=False, repr=False)
class JsonBlock:
    """JSON objects, one a line; empty lines are kept."""

    lines: list[str]
    source: str
    first: int

    def __len__(self) -> int:
        """Lines with an object."""
        return len(self._rows)

    @cached_property
    def _rows(self) -> list[tuple[str, dict[str, list[Place]]]]:
        numbered = enumerate(self.lines, self.first)
        return [
            (line, _members(line, f"{self.source} line {n}")) for n, line in numbered if line.strip("\ufeff \t\r\n")
        ]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the first object."""
        return tuple(self._rows[0][1]) if self._rows else ()

    def cells(self, name: str) -> list[Any]:
        """The values under one key; the last one where it stands twice."""
        for row, (_, members) in enumerate(self._rows):
            if name not in members:
                raise InvalidInput(f"{self.source} object {self.first + row} has no column {name!r}")
        return [members[name][-1][2] for _, members in self._rows]

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """The lines with other values under some keys."""
        rows = iter(self._rows)
        cells = {name: iter(values) for name, values in released.items()}
        kept = iter([True] * len(self) if keep is None else keep.tolist())
        parts: list[str] = []
        for line in self.lines:
            if not line.strip("\ufeff \t\r\n"):
                parts.append(line)
                continue
            members = next(rows)[1]
            if next(kept):
                new = [(place, next(values)) for name, values in cells.items() for place in members[name][-1:]]
                parts.append(_spliced(line, new, [p for name in cells for p in members[name][:-1]]))
        return "".join(parts).encode()


@dataclass(frozen=True, eq=False)
class JsonSource:
    """A file of JSON objects, one a line."""

    path: Path

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The keys of the first object."""
        return next((block.keys for block in islice(self.blocks(lambda size: None), 1)), ())

    def blocks(self, count: Count) -> Iterator[JsonBlock]:
        """All objects, a block at a time."""
        first = 1
        for lines in _lines(self.path, count):
            yield JsonBlock(lines, self.path.name, first)
            first += len(lines)

    def sink(self, path: Path) -> AbstractContextManager[Callable[[bytes], object]]:
        """Bytes."""
        return byte_sink(path)


def _lines(path: Path, count: Count) -> Iterator[list[str]]:
    """Whole lines of each block of a file, with their ends."""
    rest, row = "", 1
    for text, is_last in texts_of(path, count):
        whole, end, rest = (rest + text).rpartition("\n")
        lines = [line + "\n" for line in whole.split("\n")] if end else []
        lines += [rest] if is_last and rest else []
        row += len(lines)
        refuse_long(rest, path, row)
        if lines:
            yield lines


def _members(line: str, where: str) -> dict[str, list[Place]]:
    """Where the values of a JSON object stand in its line, by key."""
    found: dict[str, list[Place]] = {}
    try:
        at = _skipped(line, 0)
        if line[at] != "{":
            raise InvalidInput(f"{where} is no object, expected one")
        at = _skipped(line, at + 1)
        while line[at] != "}":
            _expected(line, at, '"')
            key, at = _DECODER.raw_decode(line, at)
            at = _skipped(line, _expected(line, _skipped(line, at), ":"))
            value, end = _DECODER.raw_decode(line, at)
            found.setdefault(key, []).append((at, end, value))
            at = _skipped(line, end)
            if line[at] == ",":
                at = _skipped(line, at + 1)
                _expected(line, at, '"')
        if _skipped(line, at + 1) != len(line):
            raise IndexError
    except (IndexError, json.JSONDecodeError):  # their messages quote the line
        raise InvalidInput(f"{where} is not a JSON document") from None
    return found


def _skipped(line: str, at: int) -> int:
    found = _BLANK.match(line, at)
    return at if found is None else found.end()


def _expected(line: str, at: int, mark: str) -> int:
    if line[at] != mark:
        raise IndexError
    return at + 1


def _spliced(line: str, new: list[tuple[Place, Any]], twice: list[Place]) -> str:
    """The line with new values; an earlier value under the same key is blanked, for readers that take that one."""
    changes = [(start, end, _written(line[start:end], old, value)) for (start, end, old), value in new]
    changes += [(start, end, "null") for start, end, _ in twice]
    for start, end, text in sorted(changes, reverse=True):
        line = line[:start] + text + line[end:]
    return line


def _written(raw: str, old: Any, value: Any) -> str:
    if type(old) is type(value) and old == value:
        return raw
    if isinstance(value, float) and value.is_integer():
        return plain(value)
    return json.dumps(value, ensure_ascii=raw.isascii())
