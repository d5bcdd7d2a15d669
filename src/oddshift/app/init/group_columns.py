"""Columns that belong to a group of rows rather than to a row: the sex of a patient, the region of a household."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby, islice
from typing import Any

from oddshift.app.init.counted_columns import Column
from oddshift.data.codecs import Columns
from oddshift.data.formats.cell_types import is_missing

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
