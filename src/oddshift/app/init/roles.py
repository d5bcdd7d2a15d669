"""Roles of columns: what the columns of a file seem to be, from their names and from counts over their cells.

A guess by stated rules, to be read and corrected in the configuration that is written from it. No cell is kept.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from oddshift.app.init.column_names import (
    CONTACTS,
    LATITUDE,
    LONGITUDE,
    MOVERS,
    NAMES,
    TEXT,
    TIME,
    TRIP,
    USER,
    WEAK_TEXT,
)
from oddshift.app.init.group_columns import columns_of_group
from oddshift.app.init.movers import moving_along
from oddshift.app.init.place_steps import PlaceSteps, place_steps
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceSettings
from oddshift.data.formats import FORMATS, VECTORS, open_data, read_columns
from oddshift.data.formats import TEXT as PLAIN
from oddshift.data.formats.cell_types import MOSTLY, date_form, is_missing
from oddshift.data.frames import Columns

MOST_CATEGORIES = 50
"""Number of distinct values above which only the most frequent categories of a column are kept."""

FEWEST_GROUPS = 30
"""Groups below which a column of a long table that is not named as a key is a category, however it is named."""

OFTEN_MISSING = 0.05
"""Share of missing cells of a column from which on their absence says something, and is a secret value."""

STRUCTURED = 3
"""A file with remarks is a table when it has this many columns of numbers, dates and categories; remarks are masked."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PHONE = re.compile(r"\+?\(?\d[\d\s().-]{6,}\d")
_SAMPLE = 200  # cells whose form is examined
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
    appearance: str = ""
    has_fractions: bool = False

    @property
    def stem(self) -> str:
        """The name in small letters, without blanks and marks, without a final `id`."""
        parts = [part for part in re.split(r"[^a-z0-9]+", self.name.lower()) if part]
        return "".join(parts[:-1] if len(parts) > 1 and parts[-1] == "id" else parts)

    @property
    def is_key(self) -> bool:
        """Whether its name says that it identifies rows; a column without a name is an index."""
        return not self.name or re.fullmatch(r"(.*[^a-z])?(id|uuid|index|key)", self.name.lower()) is not None

    @property
    def is_identifier(self) -> bool:
        """Whether it is named as one, is a running number, or holds words that differ in most rows."""
        many = self.distinct > (self.rows - self.missing) / 2
        return self.is_key or self.is_running or (not self.is_number and self.appearance != "date" and many)

    @property
    def is_contact(self) -> bool:
        """Whether it names people or says how to reach them, judging by its name or its cells."""
        named = self.stem in NAMES and self.distinct > min(MOST_CATEGORIES, self.rows / 5)
        return named or self.stem in CONTACTS or self.appearance in {"e-mail addresses", "phone numbers"}


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What a file seems to hold: `kind` is text, table, location or vectors; the rest are names of columns.

    `left_out` has the columns without a role and why, `masked` those that are left empty on release and why, `wide`
    those of more than MOST_CATEGORIES categories, `once` those that belong to a group of rows, `blank` those that are
    often missing, `movers` those that might say whose fixes these are, `steps` how finely places are divided. A role
    that no column has is empty.
    """

    kind: str
    rows: int
    text: tuple[str, ...] = ()
    user: str = ""
    numeric: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    wide: tuple[str, ...] = ()
    lat: str = ""
    lon: str = ""
    timestamp: str = ""
    trip: str = ""
    left_out: tuple[tuple[str, str], ...] = ()
    masked: tuple[tuple[str, str], ...] = ()
    user_why: str = ""
    once: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    movers: tuple[str, ...] = ()
    steps: PlaceSteps = field(default_factory=PlaceSteps)


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
    return roles_of_columns(cells, path.name)


def roles_of_columns(columns: Columns, source: str) -> Roles:
    """What columns in memory seem to hold."""
    found = guess([_counted(name, cells) for name, cells in columns.items()], source)
    if found.kind == "table" and found.user:
        secret = (*found.numeric, *found.dates, *found.categorical)
        return replace(found, once=columns_of_group(columns, found.user, secret))
    if found.kind != "location":
        return found
    settings = PlaceSettings(
        lat=found.lat, lon=found.lon, user=found.user, timestamp=found.timestamp, trip=found.trip, every=0
    )
    if not (found.user or found.trip):
        user = moving_along(columns, settings, found.movers)
        masked = tuple((name, why) for name, why in found.masked if name != user)
        found, settings = replace(found, user=user, masked=masked), replace(settings, user=user)
    return replace(found, steps=place_steps(columns, settings))


def guess(columns: Sequence[Column], source: str) -> Roles:
    """Roles by name first, then by counts: places, else texts, else a table."""
    lat, lon = (_named([c for c in columns if c.is_number], names) for names in (LATITUDE, LONGITUDE))
    rows = columns[0].rows
    user, why = _grouping(columns, (*USER, *MOVERS) if lat and lon else USER)
    if lat and lon:
        found = _places(columns, (lat, lon), user)
    elif texts := _texts(columns):
        found = Roles(kind="text", rows=rows, text=texts, user=user, user_why=why)
    else:
        user, why = _few_groups(columns, user, why)
        found = _table(columns, user, why)
        if not (found.numeric or found.categorical or found.dates):
            raise InvalidInput(
                f"{source}: no column of text, places, numbers, dates or categories that repeat has two values"
            )
    masked = {name for name, _ in found.masked}
    used = {*found.text, found.user, *found.numeric, *found.categorical, *found.dates, *masked}
    used |= {lat, lon, found.timestamp, found.trip} if found.kind == "location" else set()
    left = tuple((c.name, _why_not(c)) for c in columns if c.name not in used)
    return replace(found, left_out=left)


def _places(columns: Sequence[Column], where: tuple[str, str], user: str) -> Roles:
    """Fixes: a column of fractions is never a trip (aircraft call their heading a track)."""
    time, trip = _named(columns, TIME), _named([c for c in columns if not c.has_fractions], TRIP)
    used = {*where, user, time, trip}
    others = [c for c in columns if c.name not in used]
    movers = [c.name for c in others if 3 <= c.distinct <= c.rows / 3 and not c.has_fractions and not c.appearance]
    return Roles(
        kind="location",
        rows=columns[0].rows,
        lat=where[0],
        lon=where[1],
        user=user,
        timestamp=time,
        trip=trip,
        masked=tuple((c.name, _why_not_clear(c)) for c in others),
        movers=tuple(movers),
    )


def _texts(columns: Sequence[Column]) -> tuple[str, ...]:
    """The columns of text; none where they are remarks next to a table."""
    texts = [c for c in columns if _is_text(c)]
    others = [c for c in columns if c not in texts and c.distinct > 1 and not (c.is_contact or c.is_identifier)]
    is_table = len(others) >= STRUCTURED and all(c.stem in WEAK_TEXT or c.stem not in TEXT for c in texts)
    return () if is_table else tuple(c.name for c in texts)


def _table(columns: Sequence[Column], user: str, why: str) -> Roles:
    hidden = [c for c in columns if c.is_contact or c.is_identifier or _is_text(c) or _says_little(c)]
    secret = [c for c in columns if c not in hidden and c.name != user and c.distinct > 1]
    dates = tuple(c.name for c in secret if c.appearance == "date")
    numeric = tuple(c.name for c in secret if c.is_number and c.distinct > 2 and c.name not in dates)
    categorical = [c for c in secret if c.name not in (*numeric, *dates)]
    return Roles(
        kind="table",
        rows=columns[0].rows,
        user=user,
        user_why=why,
        numeric=numeric,
        dates=dates,
        categorical=tuple(c.name for c in categorical),
        wide=tuple(c.name for c in categorical if c.distinct > MOST_CATEGORIES),
        masked=tuple((c.name, _why_masked(c)) for c in hidden),
        blank=tuple(c.name for c in secret if c.missing >= OFTEN_MISSING * c.rows),
    )


def _grouping(columns: Sequence[Column], names: Sequence[str]) -> tuple[str, str]:
    """The column that says which rows belong together, by the first of the names, and the reason for choosing it."""
    repeating = [c for c in columns if 3 <= c.distinct < c.rows - c.missing and c.appearance != "date"]
    named = next((c for name in names for c in repeating if c.stem == name), None)
    key = next((c for c in repeating if c.is_key and c.distinct <= 0.9 * c.rows), None)
    chosen = named or key
    if chosen is None:
        return "", ""
    each = (chosen.rows - chosen.missing) / chosen.distinct
    reason = "its name suggests whose rows these are" if chosen is named else "it is a key that repeats"
    return chosen.name, f"{reason}, and each of its {chosen.distinct} values has {each:.1f} rows on average"


def _few_groups(columns: Sequence[Column], user: str, why: str) -> tuple[str, str]:
    """The column that groups the rows of a table, unless it has so few values that it is a category (six schools)."""
    chosen = next((c for c in columns if c.name == user), None)
    is_category = chosen is not None and not chosen.is_key and chosen.distinct < FEWEST_GROUPS < chosen.rows / 5
    return ("", "") if is_category else (user, why)


def _says_little(column: Column) -> bool:
    """Whether it has one value in some rows and none in others, so that there is nothing else to release."""
    return column.distinct == 1 and column.missing > 0


def _why_masked(column: Column) -> str:
    if column.is_contact:
        return (
            f"it holds {column.appearance}"
            if "e-mail" in column.appearance or "phone" in column.appearance
            else "it names people"
        )
    if _is_text(column):
        return "it is free text, which a configuration of its own protects"
    return "it has one value or none" if _says_little(column) else "it looks like an identifier"


def _why_not_clear(column: Column) -> str:
    """Why a column next to places is left empty: it may say where somebody was."""
    hidden = column.is_contact or column.is_identifier or _is_text(column)
    return _why_masked(column) if hidden else "it may say where somebody was, as speeds and names of stops do"


def _named(columns: Sequence[Column], names: Collection[str]) -> str:
    return next((c.name for c in columns if c.stem in names), "")


def _is_text(column: Column) -> bool:
    """Whether cells hold several words: two on average if the name suggests text, otherwise five."""
    if column.is_number or column.missing == column.rows:
        return False
    return column.words >= (2.0 if column.stem in TEXT else 5.0)


def _why_not(column: Column) -> str:
    if column.missing == column.rows:
        return "all of its cells are empty"
    if column.distinct == 1:
        return "it has one value"
    return "it looks like an identifier" if column.is_identifier else "no role was found for it"


def _counted(name: str, cells: Sequence[Any]) -> Column:
    """Counts over one column, from its distinct cells: a long column has far fewer of them."""
    kinds = [(cell, count) for cell, count in _kinds(cells).items() if not is_missing(cell)]
    values = [(str(cell).strip(), count) for cell, count in kinds]
    known = [(number, count) for value, count in values if (number := _number(value)) is not None]
    present = sum(count for _, count in values)
    is_number = present > 0 and sum(count for _, count in known) >= MOSTLY * present
    some = list(islice((cell for cell in cells if not is_missing(cell)), _SAMPLE))
    return Column(
        name=name,
        rows=len(cells),
        distinct=len({value for value, _ in values}),
        missing=len(cells) - present,
        is_number=is_number,
        is_running=len(known) == present > 1 and all(b - a == 1 for (a, _), (b, _) in pairwise(known)),
        words=sum(count * len(value.split()) for value, count in values) / max(1, present),
        appearance=_appearance(name, some, [str(cell).strip() for cell in some], is_number=is_number),
        has_fractions=is_number and any(number % 1 for number, _ in known),
    )


def _kinds(cells: Sequence[Any]) -> Counter[Any]:
    try:
        return Counter(cells)
    except TypeError:  # a cell that cannot be a key
        return Counter(map(str, cells))


def _appearance(name: str, cells: Sequence[Any], values: Sequence[str], *, is_number: bool) -> str:
    """`date`, `e-mail addresses` or `phone numbers` where half of some cells (nearly all, for dates) look like it."""
    form = date_form(cells, MOSTLY)
    if form is not None and (not is_number or any(word in name.lower() for word in TIME)):
        return "date"
    if is_number:
        return ""
    for look, pattern in (("e-mail addresses", _EMAIL), ("phone numbers", _PHONE)):
        if sum(pattern.fullmatch(value) is not None for value in values) > len(values) / 2:
            return look
    return ""


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
    named = names[1:] if len(names) > 1 and not names[0].strip() else names  # the index column that pandas writes
    odd = [n for n in named if not n.strip() or _number(n) is not None or len(n) > _LONGEST_NAME or "@" in n]
    if odd or len(set(names)) < len(names) or not names:
        raise InvalidInput(
            f"the first row of {path.name} is not a list of distinct column names, expected a header row"
        )
