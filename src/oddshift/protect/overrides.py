"""Cells that are not drawn: copies of a record, kept releases, and records beyond the budget of their user.

A record has one released value within an input, however often it occurs there.

Cells that were released, by row: for copies of a record within an input, and for releases that are kept.

They are kept in a small database inside the hidden folder of a release, so that memory does not grow with the input.

Records that several parts of a data set have: every part draws the same outputs for them.

A record has one released value within an input. Where its copies are in different parts, the uniform of each of its
secrets is a keyed hash of record and secret, so that parts need not wait for one another.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Encoded
from oddshift.model.release import draw_once
from oddshift.protect.ledger.terms import Claimed
from oddshift.protect.sanitizer import Sanitizer

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


Cells = dict[str, Any] | None
"""What was released for a record, by column; None for a record that was left out."""


@dataclass(frozen=True, eq=False, repr=False)
class KeptCells:
    """A table of rows and cells; `repr` shows nothing of it."""

    db: sqlite3.Connection

    def put(self, rows: Iterable[tuple[int, Cells]]) -> None:
        """Keep what was released for some rows."""
        self.db.executemany("INSERT INTO cells VALUES (?, ?)", ((row, json.dumps(cells)) for row, cells in rows))

    def get(self, row: int) -> Cells:
        """What was released for a row; None where it was left out."""
        found = self.db.execute("SELECT cells FROM cells WHERE row = ?", (row,)).fetchone()
        return None if found is None else read_cells(found[0])


def read_cells(text: str) -> Cells:
    """Cells as they were stored."""
    cells: Cells = json.loads(text)
    return cells


@contextmanager
def kept_cells(path: Path) -> Iterator[KeptCells]:
    """A new table of cells in a file that only its owner can read; it is complete when this ends."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")  # the folder is deleted when the process dies
        db.execute("CREATE TABLE cells (row INTEGER PRIMARY KEY, cells TEXT NOT NULL)")
        db.execute("BEGIN")
        yield KeptCells(db)
        db.execute("COMMIT")


def kept_values(path: Path, key_of: Callable[[int], bytes]) -> Iterator[tuple[bytes, str]]:
    """What was released for each row, under the key of its record, as a ledger keeps it."""
    with closing(sqlite3.connect(path)) as db:
        for row, cells in db.execute("SELECT row, cells FROM cells ORDER BY row"):
            yield key_of(row), cells


_RANK_BYTES = 4


@dataclass(frozen=True, eq=False, repr=False)
class SharedRecords:
    """Row numbers (from 1, in order) of records that other parts have too, and the key of each."""

    rows: IntArray
    key_of: Callable[[int], bytes]

    def redraw(self, sanitizer: Sanitizer, encoded: Encoded, outputs: IntArray, first: int, rows: int) -> None:
        """Draw the secrets of shared records of one block again, by keyed hashes; `first` numbers its first row.

        Where secrets are drawn once for each user or trip, all parts draw them equally already.
        """
        start, end = np.searchsorted(self.rows, [first, first + rows])
        if start == end or _is_keyed(encoded, sanitizer.codec.settings):
            return
        here = self.rows[start:end] - first
        row_of = encoded.row_of_position
        positions = np.flatnonzero(np.isin(row_of, here))
        if len(positions):
            groups = _groups(encoded, sanitizer.codec.settings)[positions]
            units = _units(row_of[positions] + first, encoded.records.points[positions], groups, self.key_of)
            sanitizer.redraw(encoded, outputs, positions, list(units))


def _is_keyed(encoded: Encoded, settings: Any) -> bool:
    """Whether every uniform is a keyed hash already."""
    is_once = getattr(settings, "repeats", "each") == "once"
    return is_once and bool(encoded.units(settings.joint_by))


def _groups(encoded: Encoded, settings: Any) -> IntArray:
    """A number for each secret, equal for those that share a draw."""
    records = encoded.records
    if encoded.groups or getattr(settings, "repeats", "each") == "each":
        return np.arange(len(records.points), dtype=np.int64)
    by = "sentence" if settings.joint_by == "sentence" and records.context is not None else "document"
    return draw_once(records.joined(by)).position


def _units(rows: IntArray, points: IntArray, groups: IntArray, key_of: Callable[[int], bytes]) -> Iterator[bytes]:
    """The key of each record, and which of the draws for this secret in this record it is."""
    keys: dict[int, bytes] = {}
    seen: dict[tuple[int, int], list[int]] = {}
    for row, point, group in zip(rows.tolist(), points.tolist(), groups.tolist(), strict=True):
        draws = seen.setdefault((row, point), [])
        if group not in draws:
            draws.append(group)
        if row not in keys:
            keys[row] = key_of(row)
        yield keys[row] + draws.index(group).to_bytes(_RANK_BYTES, "little")
