"""Roles of columns: what the columns of a file seem to be, from their names and from counts over their cells.

A guess by stated rules, to be read and corrected in the configuration that is written from it. No cell is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import FORMATS, VECTORS, open_data, read_columns
from oddshift.data.formats import TEXT as PLAIN
from oddshift.data.frames import Columns

TEXT = ("text", "body", "message", "content", "comment", "review", "description", "note", "notes", "title", "subject")
USER = (
    *("user", "userid", "uid", "author", "sender", "customer", "client", "patient", "person", "account", "member"),
    *("device", "driver", "vehicle", "taxi", "household"),
)
LATITUDE, LONGITUDE = ("lat", "latitude"), ("lon", "lng", "long", "longitude")
TIME = ("timestamp", "time", "datetime", "date", "when", "ts")
TRIP = ("trip", "tripid", "journey", "track", "trajectory", "session", "route")

MOST_CATEGORIES = 50
"""Number of distinct values above which a column is not a category."""

_LONGEST_NAME = 60  # characters; a longer "name" is a cell of a file without a header row


@dataclass(frozen=True)
class Column:
    """Counts over the cells of one column, and how its name reads without marks and endings such as `_id`."""

    name: str
    rows: int
    distinct: int
    missing: int
    is_number: bool
    is_running: bool
    words: float

    @property
    def stem(self) -> str:
        """The name in small letters, without blanks and marks, without a final `id`."""
        parts = [part for part in re.split(r"[^a-z0-9]+", self.name.lower()) if part]
        return "".join(parts[:-1] if len(parts) > 1 and parts[-1] == "id" else parts)

    @property
    def is_identifier(self) -> bool:
        """Named as one, a running number, or words that differ in most rows."""
        named = re.fullmatch(r"(.*[^a-z])?(id|uuid|index|key)", self.name.lower()) is not None
        return named or self.is_running or (not self.is_number and self.distinct > self.rows / 2)


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What a file seems to hold: `kind` is text, table, location or vectors; the rest are names of columns.

    `left_out` has the columns without a role and why. A role that no column has is empty.
    """

    kind: str
    rows: int
    text: tuple[str, ...] = ()
    user: str = ""
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    lat: str = ""
    lon: str = ""
    timestamp: str = ""
    trip: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


def roles_of(path: Path) -> Roles:
    """What the file or folder seems to hold."""
    file = open_data(path)
    only_kind = FORMATS[path.suffix].only_kind if path.is_file() else "text"
    if only_kind == "text":
        return Roles(kind="text", rows=len(read_columns(file, [PLAIN], at_least=3)[PLAIN]))
    if only_kind == "vectors" or (path.suffix == ".parquet" and VECTORS in file.names):
        return Roles(kind="vectors", rows=0)
    _refuse_data_as_names(path, file.names)
    cells = read_columns(file, file.names, at_least=3)
    return guess([_counted(name, cells[name]) for name in file.names], path.name)


def roles_of_columns(columns: Columns, source: str) -> Roles:
    """What columns in memory seem to hold."""
    return guess([_counted(name, cells) for name, cells in columns.items()], source)


def guess(columns: Sequence[Column], source: str) -> Roles:
    """Roles by name first, then by counts: places, else texts, else a table."""
    whole = [c for c in columns if not c.missing]
    lat, lon = (_named([c for c in whole if c.is_number], names) for names in (LATITUDE, LONGITUDE))
    user = _named([c for c in whole if 3 <= c.distinct < c.rows], USER)
    rows = columns[0].rows
    if lat and lon:
        time, trip = _named(whole, TIME), _named(whole, TRIP)
        if not (user or time or trip):
            raise InvalidInput(f"{source} has places but no user, time or trip: which rows belong together?")
        found = Roles(kind="location", rows=rows, lat=lat, lon=lon, user=user, timestamp=time, trip=trip)
    elif texts := tuple(c.name for c in columns if _is_text(c)):
        found = Roles(kind="text", rows=rows, text=texts, user=user)
    else:
        found = _table(whole, user, rows)
        if not (found.numeric or found.categorical):
            raise InvalidInput(
                f"{source}: no column of text, of places, of numbers or of at most {MOST_CATEGORIES} categories"
            )
    used = {*found.text, found.user, *found.numeric, *found.categorical, lat, lon, found.timestamp, found.trip}
    left = tuple((c.name, _why_not(c)) for c in columns if c.name not in used)
    return Roles(**{**vars(found), "left_out": left})


def _table(columns: Sequence[Column], user: str, rows: int) -> Roles:
    secret = [c for c in columns if c.name != user and not c.is_identifier and c.distinct > 1]
    numeric = tuple(c.name for c in secret if c.is_number and c.distinct > 2)
    few = [c.name for c in secret if c.name not in numeric and c.distinct <= min(MOST_CATEGORIES, c.rows / 5)]
    return Roles(kind="table", rows=rows, user=user, numeric=numeric, categorical=tuple(few))


def _named(columns: Sequence[Column], names: Collection[str]) -> str:
    return next((c.name for c in columns if c.stem in names), "")


def _is_text(column: Column) -> bool:
    """Whether cells hold several words: two on average if the name suggests text, otherwise five."""
    if column.is_number or column.missing == column.rows:
        return False
    return column.words >= (2.0 if column.stem in TEXT else 5.0)


def _why_not(column: Column) -> str:
    if column.missing:
        return f"{column.missing} of {column.rows} cells are empty"
    if column.distinct == 1:
        return "it has one value"
    return "it looks like an identifier" if column.is_identifier else "no role was found for it"


def _counted(name: str, cells: Sequence[Any]) -> Column:
    values = [str(cell).strip() for cell in cells if cell is not None and str(cell).strip()]
    numbers = [_number(value) for value in values]
    known = [number for number in numbers if number is not None]
    is_number = bool(values) and len(known) == len(values)
    return Column(
        name=name,
        rows=len(cells),
        distinct=len(set(values)),
        missing=len(cells) - len(values),
        is_number=is_number,
        is_running=is_number and all(b - a == 1 for a, b in pairwise(known)),
        words=sum(len(value.split()) for value in values) / max(1, len(values)),
    )


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _refuse_data_as_names(path: Path, names: Sequence[str]) -> None:
    """A first row that cannot be names is data: refuse it, and quote nothing."""
    if not any(name.strip() for name in names):
        raise InvalidInput(f"{path.name} has no header row: it is empty, or its first line is")
    mark = next((mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]), None)
    if mark is not None:
        raise InvalidInput(f"the cells of {path.name} seem to be separated by {mark!r}, expected commas")
    odd = [n for n in names if not n.strip() or _number(n) is not None or len(n) > _LONGEST_NAME or "@" in n]
    if odd or len(set(names)) < len(names) or not names:
        raise InvalidInput(
            f"the first row of {path.name} is not a list of distinct column names, expected a header row"
        )
