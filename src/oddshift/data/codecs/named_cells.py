"""Cells that name a user or a trip: a release gives them other names, under which the same rows belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oddshift.base.arrays import IntArray
from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.place_settings import PlaceSettings


@dataclass(frozen=True, eq=False, repr=False)
class NamedCells:
    """The cells of one column that names something, and the user that each of them belongs to; `repr` shows neither.

    A trip belongs to its user, because two users may have a trip of one name. A user belongs to nobody, which is "".
    """

    column: str
    owners: tuple[str, ...]
    cells: tuple[Any, ...]

    def __repr__(self) -> str:
        """Counts only."""
        return f"NamedCells({len(self.cells)} cells)"


def named_cells(settings: PlaceSettings, columns: Columns, rows: IntArray) -> tuple[NamedCells, ...]:
    """The cells of the given rows in every column whose names are replaced on release."""
    found = []
    for name in settings.renamed:
        cells = tuple(columns[name][row] for row in rows.tolist())
        is_owned = name == settings.trip and settings.user
        owners = tuple(str(columns[settings.user][row]) for row in rows.tolist()) if is_owned else ("",) * len(cells)
        found.append(NamedCells(name, owners, cells))
    return tuple(found)
