"""Cells that are not drawn: copies of a record, kept releases, and records beyond the budget of their user.

A record has one released value within an input, however often it occurs there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.claim_terms import Claimed
from oddshift.protect.kept_cells import Cells, KeptCells

Shown = dict[str, list[Any]]
"""Released cells by column, one for each record that is shown."""


@dataclass(frozen=True, eq=False, repr=False)
class Overrides:
    """What a claim says about the rows of an input.

    `earlier` gives the kept release of a row, `empty` is the cell of a masked record, `is_dropping` leaves out records
    beyond the budget, `is_keeping` notes everything that is released in `cells`.
    """

    claimed: Claimed
    cells: KeptCells
    earlier: Callable[[int], Cells]
    empty: str | None
    is_dropping: bool = False
    is_keeping: bool = False

    def apply(
        self,
        first: int,
        rows: int,
        shown: Shown,
        keep: BoolArray | None,
        *,
        noisier: Callable[[], Shown] | None = None,
    ) -> tuple[Shown, BoolArray | None]:
        """The cells of one block as they are released, and which of its rows are; `first` numbers the first row.

        `noisier` draws the cells of all rows of the block once more, with more noise; it is called if a row needs it.
        """
        claimed = self.claimed
        kept, past = _within(claimed.kept, first, rows), _within(claimed.past, first, rows)
        loud = _within(claimed.noisier, first, rows)
        start, end = np.searchsorted(claimed.copies[:, 0], [first, first + rows])
        copies = claimed.copies[start:end]
        firsts = _within(self._firsts, first, rows)
        if not (len(kept) or len(past) or len(loud) or len(copies) or len(firsts) or self.is_keeping):
            return shown, keep
        block = _Block(first, shown, np.ones(rows, dtype=np.bool_) if keep is None else keep.copy())
        if len(loud) and noisier is not None:
            drawn = _Block(first, noisier(), block.keep.copy())
            for row in loud.tolist():
                block.give(row, drawn.cells(row))
        for row in kept.tolist():
            block.give(row, self.earlier(row))
        for row in past.tolist():
            block.give(row, None if self.is_dropping else dict.fromkeys(shown, self.empty))
        left_out = set(past.tolist()) | set(kept.tolist()) | set(copies[:, 0].tolist())
        noted = range(first, first + rows) if self.is_keeping else firsts.tolist()
        self.cells.put((row, block.cells(row)) for row in noted if row not in left_out)
        for row, source in copies.tolist():
            same = self.cells.get(source)
            if same is not None:
                block.give(row, same)
        return block.shown, block.keep

    @cached_property
    def _firsts(self) -> IntArray:
        return np.unique(self.claimed.copies[:, 1])


@dataclass(eq=False, repr=False)
class _Block:
    """Released cells of some rows, which may be changed row by row."""

    first: int
    shown: Shown
    keep: BoolArray

    def cells(self, row: int) -> Cells:
        """What is released for a row."""
        if not self.keep[row - self.first]:
            return None
        place = self._place(row)
        return {name: column[place] for name, column in self.shown.items()}

    def give(self, row: int, cells: Cells) -> None:
        """Release these cells for a row, or leave it out; a row that the policy leaves out stays so."""
        if not self.keep[row - self.first]:
            return
        place = self._place(row)
        if cells is None:
            self.shown = {name: column[:place] + column[place + 1 :] for name, column in self.shown.items()}
            self.keep[row - self.first] = False
            return
        for name, column in self.shown.items():
            if name not in cells:
                raise InvalidInput(
                    f"row {row} was released before without its column {name!r}, expected the same columns"
                )
            column[place] = cells[name]

    def _place(self, row: int) -> int:
        """The place of a row among those that are shown."""
        return int(np.count_nonzero(self.keep[: row - self.first]))


def _within(rows: IntArray, first: int, count: int) -> IntArray:
    start, end = np.searchsorted(rows, [first, first + count])
    return rows[start:end]
