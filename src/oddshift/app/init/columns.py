"""Names of columns that suggest a role, in small letters, without marks and endings such as `_id`.

Columns in counts: how many cells, how many distinct ones, what they look like; the cells themselves are not kept.

Columns that belong to a group of rows rather than to a row: the sex of a patient, the region of a household.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from math import isfinite
from typing import Any

from oddshift.data.codecs import Columns
from oddshift.data.formats.cells import COMPACT, MOSTLY, date_form, is_missing, number_form, number_of

WEAK_TEXT = ("comment", "comments", "description", "note", "notes", "remark", "remarks")
TEXT = ("text", "body", "message", "content", "comment", "review", "description", "note", "notes", "title", "subject")
PEOPLE = (
    *("user", "userid", "uid", "customer", "client", "patient", "person", "participant", "respondent", "student"),
    *("employee", "subject", "subjid", "individual", "pupil", "worker", "nr", "hhid", "idcode"),
)
"""Names of columns that stand for people: few of them are few people, and not a category."""
USER = (
    *PEOPLE,
    *("author", "sender", "account", "member", "device", "driver", "vehicle", "taxi", "household", "family"),
    *("article", "school", "clinic", "hospital", "ward"),
)
NAMES = re.compile(
    r"name|sur|login|((first|last|full|user|customer|client|patient|person|employee|contact|author|student|member|nick|"
    r"maiden|middle|given|family|guest|owner|teacher|doctor)_?)?(name|surname)s?|(first|last)_?names?"
)
FEW_NAMES = 10
"""Values up to which a column that is just called `name` names kinds of things, as species, and not people."""

NUMBERED = re.compile(
    r"unnamed: ?\d+|row_?(names?|num(ber)?|no|id)|x(\.\d)?|v1|"
    r"(.*[^a-z])?(p|s|u|c|case|subj|pat|cust|emp|row|rec|obs|mem|acct|account|person|patient)?"
    r"(id|nr|no|num|number|idnum|idno|idnr|seqn?|serial)(num|no|nr)?"
)
"""Names of columns that number rows, where all of their values differ."""
CONTACTS = (
    *("email", "mail", "emailaddress", "phone", "phonenumber", "telephone", "mobile", "address", "street", "ssn"),
    *("passport", "iban", "url", "website", "ip", "ipaddress"),
)
LATITUDE, LONGITUDE = ("lat", "latitude"), ("lon", "lng", "long", "longitude")
TIME = ("timestamp", "time", "datetime", "date", "when", "ts")
TRIP = ("trip", "tripid", "journey", "track", "trajectory", "session", "route", "voyage", "ride")

MOVERS = (
    *("icao24", "icao", "mmsi", "imo", "imei", "vessel", "ship", "aircraft", "truck", "bus", "car", "bike"),
    *("plate", "licenseplate", "licenceplate", "tailnumber", "callsign", "animal", "individual", "bird", "object"),
    *("objectid", "mover", "tracker", "phone"),
)
"""Names of columns that say whose fixes these are, in addition to those that say whose rows a table has."""


MOST_CATEGORIES = 50
"""Number of distinct values above which only the most frequent categories of a column are kept."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_PHONE = re.compile(r"\+?\(?\d[\d\s().-]{6,}\d")
_SAMPLE = 200  # cells whose form is examined


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
        differ = self.distinct == self.rows - self.missing > 1 and not self.has_fractions and self.appearance != "date"
        if differ and NUMBERED.fullmatch(self.name.strip().lower()):
            return True
        return self.is_key or self.is_running or (not self.is_number and self.appearance != "date" and many)

    @property
    def is_contact(self) -> bool:
        """Whether it names people or says how to reach them, judging by its name or its cells."""
        plain = re.sub(r"[^a-z]+", "_", self.name.strip().lower())
        named = NAMES.fullmatch(plain) is not None and not self.is_number
        named &= plain != "name" or self.distinct > FEW_NAMES
        return named or self.stem in CONTACTS or self.appearance in {"e-mail addresses", "phone numbers"}


def counted(name: str, cells: Sequence[Any]) -> Column:
    """Counts over the cells of a column, from its distinct cells: a long column has far fewer of them."""
    kinds = [(cell, count) for cell, count in _kinds(cells).items() if not is_missing(cell)]
    values = [(str(cell).strip(), count) for cell, count in kinds]
    form = number_form([value for value, _ in values[:_SAMPLE]])
    known = [(number, count) for value, count in values if (number := plain_number(value, form)) is not None]
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
    if form is not None and (not is_number or form == COMPACT or any(word in name.lower() for word in TIME)):
        return "date"
    if is_number:
        return ""
    for look, pattern in (("e-mail addresses", _EMAIL), ("phone numbers", _PHONE)):
        if sum(pattern.fullmatch(value) is not None for value in values) > len(values) / 2:
            return look
    return ""


def plain_number(value: str, form: str = "") -> float | None:
    """A finite number that is written in one of NUMBER_FORMS, if it is one."""
    number = number_of(value, form)
    return number if isfinite(number) else None


AGREE = 0.95
"""A column belongs to the group when at least this share of the groups of several rows agree in it."""

FEWEST = 30
"""Smallest number of groups of several rows for this count."""

LARGEST = 20.0
"""Largest average number of rows in a group: larger groups do not belong to one person."""

FEWEST_ROWS = 1.5
"""Smallest average number of rows of a key that is found by its runs."""

SEVERAL = 2
"""Columns in which the rows of such a key agree, at least."""

BY_CHANCE = 0.75
"""A column in which two rows agree at least this often by chance says nothing about a key."""

SAMPLE = 10_000
"""Rows from which that is estimated."""


def columns_of_group(columns: Columns, group: str, names: Sequence[str]) -> tuple[str, ...]:
    """The columns among `names` in which the rows of nearly every group agree."""
    rows: dict[Any, list[int]] = defaultdict(list)
    for row, cell in enumerate(columns[group]):
        if not is_missing(cell):
            rows[cell].append(row)
    several = [place for place in rows.values() if len(place) > 1]
    if len(several) < FEWEST or sum(map(len, several)) > LARGEST * len(several):
        return ()
    return tuple(name for name in names if _agreeing(columns[name], several) >= AGREE * len(several))


def key_by_runs(columns: Columns, counts: Sequence[Column]) -> str:
    """A key that no name gives away: rows of one value follow each other, and agree in several columns; "" for none.

    Of several such columns, the one with most values. A column in which nearly all rows agree anyway does not count.
    """
    varied = [c.name for c in counts if c.distinct > 1 and _by_chance(columns[c.name]) < BY_CHANCE]
    candidates = [c for c in counts if _may_group(c) and _is_in_runs(columns[c.name], c.distinct)]
    for column in sorted(candidates, key=lambda c: -c.distinct):
        others = [name for name in varied if name != column.name]
        if len(columns_of_group(columns, column.name, others)) >= SEVERAL:
            return column.name
    return ""


def _may_group(column: Column) -> bool:
    if column.missing or column.has_fractions or column.appearance or column.distinct < FEWEST:
        return False
    return FEWEST_ROWS <= column.rows / column.distinct <= LARGEST


def _is_in_runs(cells: Sequence[Any], distinct: int) -> bool:
    return sum(1 for _ in groupby(cells)) == distinct


def _by_chance(cells: Sequence[Any]) -> float:
    """How often two rows agree that have nothing to do with each other, a missing cell being a value."""
    count = Counter(map(str, islice(cells, SAMPLE)))
    total = sum(count.values())
    return sum(n * n for n in count.values()) / max(1, total * total)


def _agreeing(cells: Sequence[Any], groups: Sequence[Sequence[int]]) -> int:
    return sum(len({str(cells[row]) for row in place}) == 1 for place in groups)
