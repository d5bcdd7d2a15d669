"""Cells that were released, by row: for copies of a record within an input, and for releases that are kept.

They are kept in a small database inside the hidden folder of a release, so that memory does not grow with the input.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
