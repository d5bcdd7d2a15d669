"""The state of a watch: a SQLite database in the run folder, to which a whole window is added or nothing.

A window is known by its content, so that it counts once, however often it is given and whenever a process dies.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.private_database import private_database, transaction
from oddshift.bounds.streams import ShiftStream

STATE = "watch.db"
"""Name of the database in a run folder; only its owner can read it."""

WAIT = 300.0
"""Seconds to wait for another process."""

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS window (
    number INTEGER PRIMARY KEY, content TEXT NOT NULL UNIQUE, name TEXT NOT NULL, units INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS series (
    window INTEGER NOT NULL, name TEXT NOT NULL, vals BLOB NOT NULL, windows INTEGER NOT NULL, log_e REAL NOT NULL,
    log_peak REAL NOT NULL, log_wealths TEXT NOT NULL, PRIMARY KEY (window, name)
) WITHOUT ROWID
"""


@dataclass(frozen=True, eq=False, repr=False)
class KeptWindow:
    """One window that was counted: its number, the name of its file, its units, and its series by name."""

    number: int
    name: str
    units: int
    values: Mapping[str, FloatArray]
    log_e: Mapping[str, float]
    log_peak: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class NewWindow:
    """A window that was measured and is not yet counted."""

    content: str
    name: str
    units: int
    values: Mapping[str, FloatArray]


Grow = Callable[[str, FloatArray, list[FloatArray], Mapping[str, Any]], ShiftStream]
"""From the name of a series, its new values, its earlier values and the fields of its evidence (none at first) to the
evidence after the window.
"""


@contextmanager
def watch_state(folder: Path, question: Mapping[str, str]) -> Iterator[sqlite3.Connection]:
    """The database of a run folder; it is refused when it was begun with another baseline or level."""
    path = folder / STATE
    with private_database(path, "the state of a watch is kept there", wait=WAIT) as db:
        db.execute("PRAGMA synchronous = FULL")
        with transaction(db):
            for statement in _TABLES.split(";"):
                db.execute(statement)
            db.executemany("INSERT OR IGNORE INTO meta VALUES (?, ?)", list(question.items()))
            known = dict(db.execute("SELECT name, value FROM meta"))
        for name, value in question.items():
            if known[name] != value:
                raise InvalidInput(f"{path} was begun with another {name}, expected the same one")
        yield db


def is_counted(db: sqlite3.Connection, content: str) -> bool:
    """Whether a window with this content was counted."""
    return db.execute("SELECT 1 FROM window WHERE content = ?", (content,)).fetchone() is not None


def count_window(db: sqlite3.Connection, new: NewWindow, grow: Grow) -> bool:
    """Add a window with its evidence, in one transaction; False when another process was faster.

    **Guarantee**: when it returns, the window is on disk as a whole; when the process dies before, nothing of it is.
    """
    with transaction(db):
        if is_counted(db, new.content):
            return False
        number = 1 + int(db.execute("SELECT count(*) FROM window").fetchone()[0])
        db.execute("INSERT INTO window VALUES (?, ?, ?, ?)", (number, new.content, new.name, new.units))
        for name, values in new.values.items():
            rows = db.execute(
                "SELECT vals, windows, log_peak, log_wealths FROM series WHERE name = ? ORDER BY window", (name,)
            ).fetchall()
            earlier = [_floats(row[0]) for row in rows]
            after = grow(name, values, earlier, _evidence(rows[-1]) if rows else {})
            state = (after.windows, after.log_e, after.log_peak, json.dumps(after.log_wealths))
            stored = np.ascontiguousarray(values, dtype="<f8").tobytes()
            db.execute("INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?)", (number, name, stored, *state))
    return True


def counted_windows(db: sqlite3.Connection) -> tuple[KeptWindow, ...]:
    """Every window so far, in the order in which they were counted."""
    found: dict[int, KeptWindow] = {}
    for number, name, units in db.execute("SELECT number, name, units FROM window ORDER BY number"):
        found[number] = KeptWindow(number, name, units, {}, {}, {})
    for number, name, values, log_e, peak in db.execute("SELECT window, name, vals, log_e, log_peak FROM series"):
        kept = found[number]
        for part, value in ((kept.values, _floats(values)), (kept.log_e, log_e), (kept.log_peak, peak)):
            part[name] = value  # type: ignore[index]
    return tuple(found.values())


def _evidence(row: tuple[bytes, int, float, str]) -> dict[str, Any]:
    return {"windows": row[1], "log_peak": row[2], "log_wealths": tuple(json.loads(row[3]))}


def _floats(stored: bytes) -> FloatArray:
    return np.frombuffer(stored, dtype="<f8").astype(np.float64)
