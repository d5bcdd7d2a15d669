"""Types of cells: whole numbers, decimals of some precision and dates, read as numbers and written in their original
form.

A date counts in days since 1970. Messages never quote a cell; rows are counted from 1, without the header.

Cells as numbers, texts or categories, with refusals that name column and row.

Messages never quote a cell. Rows are counted from 1, without the header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from math import floor, isnan, log10
from typing import Any, Literal, TypeVar

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.base.errors import InvalidInput

T = TypeVar("T")

MISSING_WORDS = frozenset({"", "na", "n/a", "null", "nan"})
"""What a missing cell may contain, in any casing and surrounded by blanks."""

DATE_FORMATS = (
    *("%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d"),
    *("%d/%m/%Y", "%d/%m/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y"),
    *("%d/%m/%y", "%m/%d/%y", "%d.%m.%y", "%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y", "%m/%d/%Y %H:%M"),
    *(
        "%m/%d/%Y %I:%M %p",
        "%Y-%m-%dT%H:%M:%S%z",
        "%Y-%m-%d %H:%M:%S%z",
        "%Y-%m-%dT%H:%M:%S.%fZ",
        "%Y-%m-%d %H:%M:%S.%f",
    ),
    *("%H:%M", "%H:%M:%S", "%Y%m%d"),
)
"""Dates and times of day as text; where a column fits several, the first is taken: the day stands before the month."""

EPOCHS = {"seconds": 1.0, "milliseconds": 1e3}
"""Dates as numbers since 1970: for each unit, how many make a second."""

COMPACT = "%Y%m%d"
"""Dates without marks, which may be whole numbers."""

NUMBER_FORMS = {"": ("", "."), "1,000.5": (",", "."), "0,5": ("", ","), "1.000,5": (".", ",")}
"""How numbers are written as text: what stands between thousands, and before the decimals."""

MOSTLY = 0.95
"""A column holds numbers or dates when at least this share of its cells does; the others are named as bad cells."""

MOST_DIGITS = 6
"""Decimals that a released number has at most."""

_DAY = 86_400.0
_START = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class CellType:
    """What the cells of a column of numbers or dates are, so that released ones look the same.

    `digits` are the decimals of a number. `form` is the form of a date: one of DATE_FORMATS, of EPOCHS, or `date` and
    `datetime` for objects; of a number it is one of NUMBER_FORMS.
    """

    family: Literal["integer", "decimal", "date"]
    digits: int = 0
    form: str = ""

    @property
    def resolution(self) -> float:
        """The smallest step between two values: one, a digit, a day, or a minute where dates have times."""
        if self.family != "date":
            return 10.0**-self.digits
        return 1.0 if self.form in {"date", *DATE_FORMATS} and ":" not in self.form else 1.0 / 1440.0

    def written(self, value: float, *, as_text: bool) -> Any:
        """A number as a cell of this type."""
        if self.family == "date":
            shown = _written_date(value, self.form)
            return shown if as_text or self.form != COMPACT else int(shown)
        if not as_text:
            return round(value) if self.family == "integer" else round(value, self.digits)
        groups, mark = NUMBER_FORMS[self.form]
        return f"{value:{',' if groups else ''}.{self.digits}f}".translate({44: groups, 46: mark})


def is_missing(cell: Any) -> bool:
    """Whether a cell says that there is no value."""
    if cell is None:
        return True
    if isinstance(cell, float):
        return isnan(cell)
    return isinstance(cell, str) and (not cell or (len(cell) < 8 and cell.strip().lower() in MISSING_WORDS))


def missing_cells(cells: Sequence[Any]) -> BoolArray:
    """Which cells are missing."""
    return np.fromiter(_by_distinct(is_missing, cells), dtype=np.bool_, count=len(cells))


def _by_distinct(function: Callable[[Any], T], cells: Sequence[Any]) -> Iterator[T]:
    """The function of every cell, computed once for each distinct one, of which a long column has few."""
    try:
        known = {cell: function(cell) for cell in set(cells)}
    except TypeError:  # a cell that cannot be a key
        return map(function, cells)
    return map(known.__getitem__, cells)


def number_cells(
    columns: Mapping[str, Sequence[Any]], name: str, *, first: int = 1, form: str | None = None
) -> FloatArray:
    """A column as finite numbers, NaN where a cell is missing; the rows that are neither are named.

    `form` is one of NUMBER_FORMS; without one it is the one that most cells have.
    """
    cells = columns[name]
    values = _numbers(cells)
    if values.ndim != 1:
        values = _numbers(["nan" if gone else cell for cell, gone in zip(cells, missing_cells(cells), strict=True)])
    if values.ndim != 1:
        chosen = number_form(cells) if form is None else form
        values = np.array(list(_by_distinct(lambda cell: number_of(cell, chosen), cells)), dtype=np.float64)
        refuse_rows(name, np.isnan(values) & ~missing_cells(cells), first, "not a number", "numbers")
    refuse_rows(name, np.isinf(values), first, "infinite", "finite numbers")
    return values


NAMED_ROWS = 5
"""Bad cells of a column whose rows are named; all of them are counted."""


def refuse_rows(name: str, bad: BoolArray, first: int, what: str, expected: str) -> None:
    """Refuse the marked cells of a column, if any, with their number and the first few rows."""
    rows = (np.flatnonzero(bad) + first).tolist()
    if not rows:
        return
    if len(rows) == 1:
        raise InvalidInput(f"column {name!r} at row {rows[0]} is {what}, expected {expected} or an empty cell")
    more = "" if len(rows) <= NAMED_ROWS else f" and {len(rows) - NAMED_ROWS:,} more"
    named = ", ".join(map(str, rows[:NAMED_ROWS]))
    bad_cells = f"column {name!r} has {len(rows):,} cells that are {what} (rows {named}{more})"
    raise InvalidInput(f"{bad_cells}, expected {expected} or empty cells")


def number_form(cells: Sequence[Any]) -> str:
    """The form of NUMBER_FORMS in which most text cells are numbers; the plain one where none fits better."""
    known = {cell for cell in cells if isinstance(cell, str) and not is_missing(cell)}
    fits = {form: sum(not isnan(number_of(cell, form)) for cell in known) for form in NUMBER_FORMS}
    return max(fits, key=lambda form: fits[form])


def _numbers(cells: Sequence[Any]) -> FloatArray:
    """Cells as numbers; an array of two axes where they are not."""
    try:
        return np.array(cells, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.zeros((0, 0))


def date_cells(columns: Mapping[str, Sequence[Any]], name: str, form: str, *, first: int = 1) -> FloatArray:
    """A column of dates of one form in days since 1970, NaN where a cell is missing."""
    if form in EPOCHS:
        return number_cells(columns, name, first=first) / (_DAY * EPOCHS[form])
    read, cells = _reader(form), columns[name]
    days = np.array(list(_by_distinct(lambda cell: None if is_missing(cell) else read(cell), cells)), dtype=np.float64)
    refuse_rows(name, np.isnan(days) & ~missing_cells(cells), first, "not a date", f"dates like the others ({form})")
    return days


def number_type(cells: Sequence[Any], values: FloatArray) -> CellType:
    """Whole numbers, or as many decimals as the cells have (at most MOST_DIGITS); 3.0 keeps its decimal."""
    known = values[~np.isnan(values)]
    is_whole = bool((known == np.round(known)).all())
    texts = {cell.strip().lower() for cell in cells if isinstance(cell, str) and not is_missing(cell)}
    if texts:
        form = number_form(list(texts))
        mark = NUMBER_FORMS[form][1]
        digits = max((len(t.partition(mark)[2]) for t in texts if "e" not in t), default=0 if is_whole else MOST_DIGITS)
        if not digits and is_whole:
            return CellType(family="integer", form=form)
        return CellType(family="decimal", digits=min(max(digits, 1), MOST_DIGITS), form=form)
    if is_whole:
        is_float = any(isinstance(cell, float) and not isnan(cell) for cell in cells)
        return CellType(family="decimal" if is_float else "integer")
    for digits in range(1, MOST_DIGITS):
        if np.allclose(known, np.round(known, digits), rtol=0.0, atol=10.0 ** (-digits - 3)):
            return CellType(family="decimal", digits=digits)
    return CellType(family="decimal", digits=_significant(known))


def date_form(cells: Sequence[Any], mostly: float = 1.0) -> str | None:
    """The form that all cells share as dates, or at least a share `mostly` of them; None if they are not dates."""
    known = [cell for cell in cells if not is_missing(cell)]
    if not known:
        return None
    enough = mostly * len(known)
    if sum(isinstance(cell, date) for cell in known) >= enough:
        first = next(cell for cell in known if isinstance(cell, date))
        return "datetime" if isinstance(first, datetime) else "date"
    return next((form for form in DATE_FORMATS if _fits(known, form, enough)), None) or _epoch(known, enough)


def _fits(known: Sequence[Any], form: str, enough: float) -> bool:
    """Whether enough cells are dates of this form; given up as soon as too many are not."""
    read, left = _reader(form), len(known) - enough
    for cell in known:
        left -= read(cell) is None
        if left < 0:
            return False
    return True


def _epoch(known: Sequence[Any], enough: float) -> str | None:
    """The unit in which enough cells are numbers since 1970."""
    try:
        numbers = np.array(known, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    spans = {"seconds": (1e8, 1e10), "milliseconds": (1e11, 1e13)}  # between 1973 and 2286
    return next((unit for unit, (a, b) in spans.items() if ((numbers >= a) & (numbers < b)).sum() >= enough), None)


def _significant(known: FloatArray) -> int:
    """Decimals that keep four digits of the spread."""
    spread = float(known.std()) or 1.0
    return min(max(3 - floor(log10(spread)), 1), MOST_DIGITS)


_GROUPED = {mark: re.compile(rf"[-+]?\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+") for mark in (",", ".")}


def number_of(cell: Any, form: str) -> float:
    """A cell as a number, NaN where it is none; thousands have to be set apart throughout, or not at all."""
    if is_missing(cell):
        return float("nan")
    groups, mark = NUMBER_FORMS[form]
    if isinstance(cell, str) and form:
        whole, dot, rest = cell.strip().partition(mark)
        if groups and groups in whole:
            if not _GROUPED[groups].fullmatch(whole):
                return float("nan")
            whole = whole.replace(groups, "")
        elif "." in whole or "," in whole:
            return float("nan")
        cell = f"{whole}{'.' if dot else ''}{rest}"
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _written_date(days: float, form: str) -> Any:
    if form in EPOCHS:
        return round(days * _DAY * EPOCHS[form])
    moment = _START + timedelta(minutes=round(days * 1440.0))
    if form == "date":
        return moment.date()
    return moment.replace(tzinfo=None) if form == "datetime" else moment.strftime(form)


def _reader(form: str) -> Callable[[Any], float | None]:
    """From a cell to days since 1970; None for what is not a date of that form."""
    if form in {"date", "datetime"}:
        return _days_of_object
    if form == COMPACT:
        return lambda cell: _days_of_text(text, form) if _EIGHT.fullmatch(text := str(cell).strip()) else None
    return lambda cell: _days_of_text(cell.strip(), form) if isinstance(cell, str) else None


_EIGHT = re.compile(r"(?:19|20)\d{6}")


def _days_of_object(cell: Any) -> float | None:
    if isinstance(cell, datetime):
        moment = cell if cell.tzinfo else cell.replace(tzinfo=UTC)
        return (moment - _START).total_seconds() / _DAY
    return float((cell - _START.date()).days) if isinstance(cell, date) else None


@lru_cache(maxsize=65_536)
def _days_of_text(text: str, form: str) -> float | None:
    try:
        moment = datetime.strptime(text, form)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (moment - _START).total_seconds() / _DAY


def strings(columns: Mapping[str, Sequence[Any]], name: str, *, first: int = 1) -> list[str]:
    """A column as text; a missing value is refused, an empty string is data."""
    values = columns[name]
    for row, value in enumerate(values, start=first):
        if value is None:
            raise InvalidInput(f"column {name!r} at row {row} is missing, expected text")
    return [value if isinstance(value, str) else str(value) for value in values]


def categories(columns: Mapping[str, Sequence[Any]], name: str, *, first: int = 1) -> list[Any]:
    """A column of plain values; a list, a table or NaN is not a category."""
    try:
        if not any(isinstance(value, float) and isnan(value) for value in set(columns[name])):
            return list(columns[name])
    except TypeError:  # some cell is not a plain value, and is named below
        pass
    for row, value in enumerate(columns[name], start=first):
        if not isinstance(value, Hashable) or (isinstance(value, float) and isnan(value)):
            raise InvalidInput(f"column {name!r} at row {row} is not a category, expected a plain value")
    return list(columns[name])
