"""A ledger that stays open between claims: opening and closing the database costs more than a claim.

For services that claim one record at a time. A file that was replaced while it was open is noticed.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from oddshift.base.errors import InvalidInput


@dataclass(eq=False, repr=False)
class _Opened:
    """A connection, and what tells its files from others of the same names; the log is there after the first change."""

    connection: sqlite3.Connection
    database: tuple[int, int]
    log: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False, repr=False)
class KeptOpen:
    """Connections to one database, one for each thread that uses it, until `close`."""

    _open: dict[int, _Opened] = field(default_factory=dict)

    def connection(self, path: Path, make: Callable[[], sqlite3.Connection]) -> sqlite3.Connection:
        """The connection of this thread, made where there is none."""
        thread = threading.get_ident()
        if thread not in self._open:
            self._open[thread] = _Opened(make(), _file(path))
        self.check(path)
        return self._open[thread].connection

    def check(self, path: Path) -> None:
        """Refuse files that are not those that this thread opened: what is written to them would be lost."""
        own, log = self._open[threading.get_ident()], _file(path.with_name(f"{path.name}-wal"))
        if own.log is None and log != _NOTHING:
            own.log = log
        if _file(path) != own.database or own.log not in (None, log):
            raise InvalidInput(f"{path} was replaced while it was in use, expected the ledger that was opened")

    def close(self) -> None:
        """Close all connections."""
        while self._open:
            self._open.popitem()[1].connection.close()


_NOTHING = (0, 0)


def _file(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return _NOTHING
    return found.st_dev, found.st_ino
