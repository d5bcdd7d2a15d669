"""Roles of columns: what the columns of a file seem to be, from their names and from counts over their cells.

A guess by stated rules, to be read and corrected in the configuration that is written from it. No cell is kept.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from oddshift.app.init.columns import (
    LATITUDE,
    LONGITUDE,
    MOST_CATEGORIES,
    MOVERS,
    PEOPLE,
    TEXT,
    TIME,
    TRIP,
    USER,
    WEAK_TEXT,
    Column,
    columns_of_group,
    counted,
    key_by_runs,
    plain_number,
)
from oddshift.app.init.places import IN_ORDER, PlaceSteps, is_in_order, moving_along, place_steps
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceSettings
from oddshift.data.dataset import FrameColumns
from oddshift.data.formats import FORMATS, VECTORS, open_data, read_columns
from oddshift.data.formats import TEXT as PLAIN

FEWEST_GROUPS = 30
"""Groups below which a column of a long table that is not named as a key is a category, however it is named."""

MOST_ROWS = 50
"""Average number of rows of one value up to which few values of a column that is named for people are people."""

OFTEN_MISSING = 0.05
"""Share of missing cells of a column from which on their absence says something, and is a secret value."""

FEW_ROWS = 10
"""Rows below which a column of one value is a secret like any other."""

MOST_MARKED = 200
"""Rows up to which a table in which nothing repeats is protected: too few for any noise to be certified."""

STRUCTURED = 3
"""A file with remarks is a table when it has this many columns of numbers, dates and categories; remarks are masked."""

FEWEST_YEARS = 3
"""Columns that are named by years that follow each other, from which on these are names and not cells."""

_LONGEST_NAME = 60  # characters; a longer "name" is a cell of a file without a header row


@dataclass(frozen=True, kw_only=True)
class Roles:
    """What a file seems to hold: `kind` is text, table, location or vectors; the rest are names of columns.

    `left_out` has the columns without a role and why, `masked` those that are left empty on release and why, `wide`
    those of more than MOST_CATEGORIES categories, `once` those that belong to a group of rows, `blank` those that are
    often missing, `movers` those that might say whose fixes these are, `steps` how finely places are divided, `remark`
    what should be looked at. A role that no column has is empty.
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
    remark: str = ""


def roles_of(path: Path) -> Roles:
    """What the file or folder seems to hold."""
    file = open_data(path)
    only_kind = FORMATS[path.suffix].only_kind if path.is_file() else "text"
    if only_kind == "text":
        return Roles(kind="text", rows=len(read_columns(file, [PLAIN], at_least=1)[PLAIN]))
    if only_kind == "vectors" or (path.suffix == ".parquet" and VECTORS in file.names):
        return Roles(kind="vectors", rows=0)
    _refuse_data_as_names(path, file.names)
    cells = read_columns(file, file.names, at_least=1)
    return roles_of_columns(cells, path.name)


def roles_of_columns(columns: FrameColumns, source: str) -> Roles:
    """What columns in memory seem to hold."""
    counts = [counted(name, cells) for name, cells in columns.items()]
    found = guess(counts, source)
    if found.kind == "table" and not found.user and (key := key_by_runs(columns, counts)):
        found = guess(counts, source, key)
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
        masked = tuple((name, why) for name, why in found.masked if not user or name != user)
        alone = not (user or found.timestamp) and is_in_order(columns, settings)
        found = replace(found, user=user, masked=masked, remark=IN_ORDER if alone else "")
        settings = replace(settings, user=user)
    return replace(found, steps=place_steps(columns, settings))


def guess(columns: Sequence[Column], source: str, key: str = "") -> Roles:
    """Roles by name first, then by counts: places, else texts, else a table; `key` groups rows if nothing else does."""
    lat, lon = (_named([c for c in columns if c.is_number], names) for names in (LATITUDE, LONGITUDE))
    rows = columns[0].rows
    user, why = _grouping(columns, (*USER, *MOVERS) if lat and lon else USER, fewest=1 if lat and lon else 3)
    if lat and lon and not _are_people(columns, (lat, lon)):
        found = _places(columns, (lat, lon), user)
    elif texts := _texts(columns):
        found = Roles(kind="text", rows=rows, text=texts, user=user, user_why=why)
    else:
        user, why = _few_groups(columns, user, why)
        if key and not user:
            user, why = key, "rows of one value follow each other, and agree in several other columns"
        found = _table(columns, user, why, tuple(filter(None, (lat, lon))))
        if not (found.numeric or found.categorical or found.dates):
            raise InvalidInput(
                f"{source}: no column of text, places, numbers, dates or categories that repeat has two values"
            )
    masked = {name for name, _ in found.masked}
    used = {*found.text, found.user, *found.numeric, *found.categorical, *found.dates}
    used |= {lat, lon, found.timestamp, found.trip} if found.kind == "location" else set()
    used = (used - {""}) | masked  # a role that no column has is "", and so is the name of an index
    left = tuple((c.name, _why_not(c)) for c in columns if c.name not in used)
    return replace(found, left_out=left)


def _places(columns: Sequence[Column], where: tuple[str, str], user: str) -> Roles:
    """Fixes: a column of fractions is never a trip (aircraft call their heading a track)."""
    time, trip = _named(columns, TIME), _named([c for c in columns if not c.has_fractions], TRIP)
    used = {*where, user, time, trip} - {""}
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


def _are_people(columns: Sequence[Column], where: tuple[str, str]) -> bool:
    """Whether rows with a place are people (or firms) rather than fixes: nothing moves, and other columns say more."""
    others = [c for c in columns if c.name not in where]
    if _named(others, (*TIME, *TRIP)) or _grouping(others, (*USER, *MOVERS), fewest=1)[0]:
        return False
    return sum(c.distinct > 1 and not (c.is_contact or c.is_identifier or _is_text(c)) for c in others) >= STRUCTURED


PLACES = (
    'it says where somebody is; a table leaves it empty. kind = "location" protects the places instead, and leaves '
    "the other columns empty"
)


def _table(columns: Sequence[Column], user: str, why: str, where: tuple[str, ...] = ()) -> Roles:
    hidden = [
        c for c in columns if c.is_contact or c.is_identifier or _is_text(c) or _says_little(c) or c.name in where
    ]
    secret = [c for c in columns if c not in hidden and c.name != user and _may_differ(c)]
    if not secret and columns[0].rows <= MOST_MARKED:  # nothing repeats: categories, of which marks are released
        secret = [c for c in columns if c.name not in (user, *where) and c.distinct and not _says_too_much(c)]
        hidden = [c for c in hidden if c not in secret]
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
        masked=tuple((c.name, PLACES if c.name in where else _why_masked(c)) for c in hidden),
        blank=tuple(c.name for c in secret if c.missing >= OFTEN_MISSING * c.rows),
    )


def _grouping(columns: Sequence[Column], names: Sequence[str], fewest: int = 3) -> tuple[str, str]:
    """The column that says which rows belong together, by the first of the names, and the reason for choosing it.

    `fewest` is how many values a column has at least that is named for it.
    """
    repeating = [
        c for c in columns if fewest <= c.distinct < c.rows - c.missing and c.appearance != "date" and not _is_text(c)
    ]
    named = next((c for name in names for c in repeating if c.stem == name), None)
    key = next((c for c in repeating if c.is_key and 3 <= c.distinct <= 0.9 * c.rows), None)
    chosen = named or key
    if chosen is None:
        return "", ""
    each = (chosen.rows - chosen.missing) / chosen.distinct
    reason = "its name suggests whose rows these are" if chosen is named else "it is a key that repeats"
    return chosen.name, f"{reason}, and each of its {chosen.distinct} values has {each:.1f} rows on average"


def _few_groups(columns: Sequence[Column], user: str, why: str) -> tuple[str, str]:
    """The column that groups the rows of a table, unless it has so few values that it is a category (six schools)."""
    chosen = next((c for c in columns if c.name == user), None)
    if chosen is None or chosen.is_key:
        return user, why
    if chosen.stem in PEOPLE and chosen.rows <= MOST_ROWS * chosen.distinct:
        return user, why
    return ("", "") if chosen.distinct < FEWEST_GROUPS < chosen.rows / 5 else (user, why)


def _may_differ(column: Column) -> bool:
    """Whether it has several values, or so few cells that one value says little about the others."""
    return column.distinct > 1 or (column.distinct == 1 and not column.missing and column.rows < FEW_ROWS)


def _says_too_much(column: Column) -> bool:
    """Whether its values name somebody or are texts, or it has next to none."""
    return column.is_contact or _is_text(column) or _says_little(column)


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


def _running_years(names: Sequence[str]) -> frozenset[str]:
    """Names that are years, each the one after or before that of the column before it, where there are three or more.

    >>> sorted(_running_years(["country", "1960", "1961", "1962"])), sorted(_running_years(["a", "1960", "31"]))
    (['1960', '1961', '1962'], [])
    """
    years = [(name, int(name)) for name in names if re.fullmatch(r"(?:1[5-9]|20)\d\d", name)]
    runs = all(abs(b - a) == 1 for (_, a), (_, b) in pairwise(years))
    return frozenset(name for name, _ in years) if runs and len(years) >= FEWEST_YEARS else frozenset()


def _refuse_data_as_names(path: Path, names: Sequence[str]) -> None:
    """A first row that cannot be names is data: refuse it, and quote nothing."""
    if not any(name.strip() for name in names):
        raise InvalidInput(f"{path.name} has no header row: it is empty, or its first line is")
    mark = next((mark for mark in (";", "\t", "|") if len(names) == 1 and mark in names[0]), None)
    if mark is not None:
        raise InvalidInput(f"the cells of {path.name} seem to be separated by {mark!r}, expected commas")
    is_indexed = len(names) > 1 and not names[0].strip()  # the index column that pandas writes
    place = {name: k for k, name in reversed(list(enumerate(names, start=1)))}
    years = _running_years(names)
    for k, name in enumerate(names, start=1):
        if not name.strip() and not (k == 1 and is_indexed):
            raise InvalidInput(f"column {k} of {path.name} has no name in the header row, expected one: write it there")
        if place[name] != k:
            raise InvalidInput(
                f"columns {place[name]} and {k} of {path.name} have the same name in the header row, expected distinct "
                "ones: rename one"
            )
        if (plain_number(name) is not None and name not in years) or len(name) > _LONGEST_NAME or "@" in name:
            raise InvalidInput(
                f"the first row of {path.name} is not a list of column names (field {k} looks like a value), expected "
                "a header row: write one, or name the columns with header = [...] in the configuration"
            )
