"""Columns in counts: how many cells, how many distinct ones, what they look like; the cells themselves are not kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from math import isfinite
from typing import Any

from oddshift.app.init.column_names import CONTACTS, NAMES, TIME
from oddshift.data.formats.cell_types import MOSTLY, date_form, is_missing

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
        return self.is_key or self.is_running or (not self.is_number and self.appearance != "date" and many)

    @property
    def is_contact(self) -> bool:
        """Whether it names people or says how to reach them, judging by its name or its cells."""
        named = self.stem in NAMES and self.distinct > min(MOST_CATEGORIES, self.rows / 5)
        return named or self.stem in CONTACTS or self.appearance in {"e-mail addresses", "phone numbers"}


def counted(name: str, cells: Sequence[Any]) -> Column:
    """Counts over the cells of a column, from its distinct cells: a long column has far fewer of them."""
    kinds = [(cell, count) for cell, count in _kinds(cells).items() if not is_missing(cell)]
    values = [(str(cell).strip(), count) for cell, count in kinds]
    known = [(number, count) for value, count in values if (number := plain_number(value)) is not None]
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


def plain_number(value: str) -> float | None:
    """A finite number that is written plainly, if it is one."""
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None
