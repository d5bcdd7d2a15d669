"""A SQLite database that only its owner can read, and transactions in it: everything happens, or nothing."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from oddshift.base.errors import InvalidInput


@contextmanager
def private_database(path: Path, purpose: str, *, wait: float) -> Iterator[sqlite3.Connection]:
    """The database at `path`, made where there is none; links are not followed.

    `wait` is how many seconds other processes are waited for. A database that cannot be used is refused with `purpose`,
    a clause that says what is kept there.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as db:
            yield db
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"{path} cannot be used ({reason}); {purpose}") from error


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """What is done in this block is written as a whole at its end; an error undoes all of it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
