"""A sample of the rows of a table before and after release, so that what was released can be measured.

Rows are taken at equal steps through the file; the step doubles whenever the sample grows too large.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oddshift.audit.released_table import ReleasedTable
from oddshift.data.codecs import Codec, TableCodec
from oddshift.data.formats import Block
from oddshift.protect.measured_release import MOST_ROWS, measured_release
from oddshift.protect.overrides import Shown

_Row = tuple[tuple[Any, ...], tuple[Any, ...]]


@dataclass(eq=False, repr=False)
class ReleaseSample:
    """Every `step`-th row of a table, by its number: its cells as they came and as they were released.

    `held` are the columns that the file has.
    """

    codec: Codec
    held: Collection[str]
    step: int = 1
    rows: dict[int, _Row] = field(default_factory=dict)

    @property
    def is_wanted(self) -> bool:
        """Whether this kind of data is measured: a table that is released cell by cell."""
        return isinstance(self.codec, TableCodec) and self.codec.settings.unit == "cell"

    @property
    def names(self) -> tuple[str, ...]:
        """The secret columns, and the public ones that an attacker reads."""
        settings = self.codec.settings
        return tuple(name for name in (*settings.secret, *settings.public) if name in self.held)

    def add(self, block: Block, shown: Shown, first: int) -> None:
        """Some rows of one more block, none of which is left out; `first` is the number of its first row."""
        if not self.is_wanted or any(len(column) != len(block) for column in shown.values()):
            return
        while len(block) > MOST_ROWS * self.step:  # a large block alone would make the step longer
            self._thin()
        cells = [block.cells(name) for name in self.names]
        released = [shown.get(name) for name in self.names]
        for row in range(-(first - 1) % self.step, len(block), self.step):
            came = tuple(column[row] for column in cells)
            went = tuple(came[c] if column is None else column[row] for c, column in enumerate(released))
            self.rows[first - 1 + row] = (came, went)
        while len(self.rows) > MOST_ROWS:
            self._thin()

    def _thin(self) -> None:
        """Keep every other row, and take as few of the later ones."""
        self.step *= 2
        self.rows = {number: row for number, row in self.rows.items() if number % self.step == 0}

    def measured(self) -> ReleasedTable | None:
        """The released rows next to the original ones; None where there is nothing to measure."""
        if not isinstance(self.codec, TableCodec) or len(self.rows) < 2:
            return None
        before, after = (dict(zip(self.names, self._columns(side), strict=True)) for side in (0, 1))
        return measured_release(self.codec, before, after, np.random.default_rng(0))

    def _columns(self, side: int) -> Iterator[list[Any]]:
        return (list(column) for column in zip(*(row[side] for row in self.rows.values()), strict=True))
