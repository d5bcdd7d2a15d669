"""JSON lines: each line is a record, a JSON object in which the values of some keys are replaced."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.data.formats.data_file import Count, DataFile, Released, is_writable, shown, uncounted
from oddshift.data.formats.plain_text import lines_of

_EDGES = "\ufeff \t\r\n"
_BLANKS = frozenset(_EDGES)
_BLANK = re.compile(r"[ \t\r\n\ufeff]*")
_DECODER = json.JSONDecoder()
_HALF = "half of a surrogate pair"

Place = tuple[int, int, Any]
"""Where a value begins and ends in its line, and the value."""


@dataclass(frozen=True, eq=False, repr=False)
class JsonLinesBlock:
    """JSON objects, one on each line; empty lines are kept."""

    lines: list[str]
    source: str
    first: int

    def __len__(self) -> int:
        """Lines with an object."""
        return len(self._values)

    @cached_property
    def _filled(self) -> list[tuple[int, str]]:
        """The number of each line that holds something, and the line."""
        return [(n, line) for n, line in enumerate(self.lines, self.first) if line.strip(_EDGES)]

    @cached_property
    def _values(self) -> list[tuple[int, dict[str, Any]]]:
        """The number of each line that holds an object, and its values: faster than where they are."""
        return [(n, _object(line, f"{self.source} line {n}")) for n, line in self._filled]

    @cached_property
    def _rows(self) -> list[dict[str, list[Place]]]:
        """Where the values of each object are."""
        return [_members(line, f"{self.source} line {n}") for n, line in self._filled]

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the first object."""
        return tuple(self._values[0][1]) if self._values else ()

    @property
    def all_keys(self) -> dict[str, int]:
        """Every key of every object, and the number of the line where it first occurs."""
        found: dict[str, int] = {}
        for line, values in self._values:
            for key in values:
                found.setdefault(key, line)
        return found

    def cells(self, name: str) -> list[Any]:
        """The values under one key; the last one where a key occurs twice."""
        for line, values in self._values:
            if name not in values:
                raise InvalidInput(f"{self.source} line {line} has no column {name!r}")
            value = values[name]
            if isinstance(value, str) and not is_writable(value):
                raise InvalidInput(f"{self.source} line {line} has {_HALF} in column {name!r}, expected characters")
        return [values[name] for _, values in self._values]

    def render(self, released: Released, keep: BoolArray | None) -> bytes:
        """The lines with other values under some keys."""
        rows = iter(self._rows)
        cells = {name: iter(values) for name, values in released.items()}
        kept = iter([True] * len(self) if keep is None else keep.tolist())
        written: list[str] = []
        for line in self.lines:
            if not line.strip(_EDGES):
                written.append(line)
                continue
            members = next(rows)
            if next(kept):
                new = [(place, next(values)) for name, values in cells.items() for place in members[name][-1:]]
                written.append(_spliced(line, new, [p for name in cells for p in members[name][:-1]]))
        return "".join(written).encode()


@dataclass(frozen=True, eq=False)
class JsonLinesFile(DataFile):
    """A file of JSON objects, one on each line; or those in some range of its bytes, which are whole lines."""

    path: Path
    span: tuple[int, int] | None = None

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The keys of the first object."""
        return next((block.keys for block in self.blocks(uncounted) if len(block)), ())

    @property
    def unpacked_bytes(self) -> int:
        """The size of the file, or of the range."""
        return self.path.stat().st_size if self.span is None else self.span[1] - self.span[0]

    def blocks(self, count: Count) -> Iterator[JsonLinesBlock]:
        """All objects, a block at a time."""
        first = 1
        source = f"{self.path.name} from byte {self.span[0]}" if self.span and self.span[0] else self.path.name
        for lines in lines_of(self.path, count, self.span):
            yield JsonLinesBlock(lines, source, first)
            first += len(lines)


def _object(line: str, where: str) -> dict[str, Any]:
    """The values of a JSON object by key; whatever is wrong with the line is said by the reader of places."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(map(is_writable, found)):
        return {key: places[-1][2] for key, places in _members(line, where).items()}
    return found


def _members(line: str, where: str) -> dict[str, list[Place]]:
    """The places of the values of a JSON object in its line, by key."""
    found: dict[str, list[Place]] = {}
    try:
        at = _skipped(line, 0)
        if line[at] != "{":
            raise _not_an_object(line, where)
        at = _skipped(line, at + 1)
        while line[at] != "}":
            _expected(line, at, '"')
            key, at = _DECODER.raw_decode(line, at)
            if not is_writable(key):
                raise InvalidInput(f"{where} has {_HALF} in a key, expected characters")
            at = _skipped(line, _expected(line, _skipped(line, at), ":"))
            value, end = _DECODER.raw_decode(line, at)
            found.setdefault(key, []).append((at, end, value))
            at = _skipped(line, end)
            if line[at] == ",":
                at = _skipped(line, at + 1)
                _expected(line, at, '"')
        if _skipped(line, at + 1) != len(line):
            raise IndexError
    except InvalidInput:
        raise
    except (IndexError, ValueError, RecursionError) as error:  # their messages quote the line
        raise _unreadable(error, where) from None
    return found


def _unreadable(error: Exception, where: str) -> InvalidInput:
    """Why a line cannot be read."""
    if isinstance(error, RecursionError):
        return InvalidInput(f"{where} is nested too deeply, expected plain values")
    if isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError):
        return InvalidInput(f"{where} has a number of over {sys.get_int_max_str_digits()} digits, expected fewer")
    return InvalidInput(f"{where} is not a JSON document")


def _not_an_object(line: str, where: str) -> InvalidInput:
    """What a line without an object is: another JSON value, or no JSON at all."""
    try:
        found = a_kind(json.loads(line.strip(_EDGES)))
    except (ValueError, RecursionError) as error:
        return _unreadable(error, where)
    return InvalidInput(f"{where} is {found}, expected an object")


def _skipped(line: str, at: int) -> int:
    if line[at : at + 1] not in _BLANKS:  # mostly so, and much faster than an expression
        return at
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
        return shown(value)
    return json.dumps(value, ensure_ascii=raw.isascii())
