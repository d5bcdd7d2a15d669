"""Cells that name a user, a trip or a group: a release gives them other names, and the same rows belong together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from oddshift.base.arrays import IntArray
from oddshift.data.codecs.codec import Columns


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


def named_cells(columns: Columns, rows: IntArray, name: str, owner: str = "") -> NamedCells:
    """Take the cells of some rows in a column whose names are replaced on release; `owner` is the column of users."""
    cells = tuple(columns[name][row] for row in rows.tolist())
    owners = tuple(str(columns[owner][row]) for row in rows.tolist()) if owner else ("",) * len(cells)
    return NamedCells(name, owners, cells)
