"""Columns that belong to a group of rows rather than to a row: the sex of a patient, the region of a household."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from oddshift.data.codecs import Columns
from oddshift.data.formats.cell_types import is_missing

AGREE = 0.95
"""A column belongs to the group when at least this share of the groups of several rows agree in it."""

FEWEST = 30
"""Smallest number of groups of several rows for this count."""

LARGEST = 20.0
"""Largest average number of rows in a group: larger groups do not belong to one person."""


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


def _agreeing(cells: Sequence[Any], groups: Sequence[Sequence[int]]) -> int:
    return sum(len({str(cells[row]) for row in place}) == 1 for place in groups)
