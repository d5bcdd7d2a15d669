"""The file of a ledger: a SQLite database that only its owner can read, and a counter that shows when it was replaced
by an older copy.

Every change of the database raises its counter, and the file `releases.count` follows after the change is on disk. A
database whose counter is behind that file was replaced by an older copy. Replacing both is not noticed.

A ledger that stays open between claims: opening and closing the database costs more than a claim.

For services that claim one record at a time. A file that was replaced while it was open is noticed.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger import sorted_runs
from oddshift.protect.ledger.transaction import SHARED_TABLES

LEDGER = "releases.db"
"""Name of the ledger in the folder of a policy."""

COUNT = "releases.count"
"""Name of the file with the counter, in the same folder."""

ROOM = "releases.room"
"""Name of a file that holds a little of the disk, so that a claim can be withdrawn when the rest is full."""

_ROOM_BYTES = 1 << 18

WAIT = 300.0
"""Seconds to wait for other writers."""

_VERSION = 4

_PAGE_BYTES = 1 << 15  # runs are long: with 4 KB a claim of a million keys takes half as long again

_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    + SHARED_TABLES.format(serial="INTEGER PRIMARY KEY AUTOINCREMENT", real="REAL", key="BLOB", flat=" WITHOUT ROWID")
    + sorted_runs.TABLES
    + "CREATE TABLE taken (key BLOB NOT NULL, release INTEGER NOT NULL, PRIMARY KEY (key, release)) WITHOUT ROWID;"
)


class NotMade(InvalidInput):
    """The file was begun by a process that died before it was a ledger; the next claim makes it."""


def is_made(path: Path) -> bool:
    """Whether there is a ledger, and not only a file that a process began before it died."""
    with suppress(NotMade):
        if path.is_file() and path.stat().st_size > 0:
            with reading(path):
                return True
    return False


@contextmanager
def writing(path: Path, kept: KeptOpen | None = None) -> Iterator[sqlite3.Connection]:
    """The database, made where there is none, for one writer: either everything that is done in it happens, or nothing.

    `kept` holds a connection that stays open.

    **Guarantee**: when it ends without an error, what was written is on disk. A ledger that was replaced by an older
    copy is refused.
    """
    with _opened(path, is_new_allowed=True, kept=kept) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if not _is_made(connection):
                _create(connection, path)
            check_counter(connection, path, _read_count(path.with_name(COUNT)))
            connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'counter'")
            yield connection
            name, counter = identity(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        _raise_count(path.with_name(COUNT), name, counter)
        if kept is not None:
            kept.check(path)


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """The database as it is at one moment; there must be one."""
    with _opened(path, is_new_allowed=False) as connection:
        counted = _read_count(path.with_name(COUNT))  # first: the file may be raised while the database is looked at
        connection.execute("BEGIN")
        if not _is_made(connection):
            raise NotMade(f"{path} is empty, expected a ledger of releases: nothing was claimed with it yet")
        check_counter(connection, path, counted)
        yield connection
        connection.execute("ROLLBACK")


def keep_room(path: Path) -> None:
    """Take a little of the disk while there is some; without it everything works but a withdrawal on a full disk."""
    room = path.with_name(ROOM)
    with suppress(OSError):
        if not room.is_symlink() and (not room.exists() or room.stat().st_size < _ROOM_BYTES):
            number = os.open(room, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with open(number, "wb") as stream:
                stream.write(os.urandom(_ROOM_BYTES))


def give_room(path: Path) -> bool:
    """Give that part of the disk back; whether there was any."""
    room = path.with_name(ROOM)
    is_there = room.is_file() and not room.is_symlink()
    if is_there:
        room.unlink()
    return is_there


def _is_made(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is not None


def secret_key(connection: sqlite3.Connection) -> bytes:
    """The key under which records and users are hashed; it never leaves the ledger."""
    return bytes(connection.execute("SELECT value FROM meta WHERE name = 'key'").fetchone()[0])


def identity(connection: sqlite3.Connection) -> tuple[str, int]:
    """The random name of the ledger, and how often it was changed."""
    found = dict(connection.execute("SELECT name, value FROM meta WHERE name IN ('name', 'counter')"))
    return str(found["name"]), int(found["counter"])


def check_counter(connection: sqlite3.Connection, path: Path, counted: tuple[str, int]) -> None:
    """Refuse a database that is older than its counter file said (name and counter), or a different one."""
    version = connection.execute("SELECT value FROM meta WHERE name = 'version'").fetchone()
    if version is None or version[0] != _VERSION:
        raise InvalidInput(f"{path} is a ledger of version {version and version[0]}, expected {_VERSION}")
    name, counter = identity(connection)
    known, least = counted
    if known and known != name:
        raise InvalidInput(f"{path} is another ledger than the one that {COUNT} counts; was it replaced?")
    if least > counter:
        raise InvalidInput(
            f"{path} is older than its last release (change {counter}, expected {least} or more); bring back the newest"
        )


@contextmanager
def _opened(path: Path, *, is_new_allowed: bool, kept: KeptOpen | None = None) -> Iterator[sqlite3.Connection]:
    _prepare(path, is_new_allowed=is_new_allowed)
    try:
        if kept is not None:
            yield kept.connection(path, lambda: _connected(path))
        else:
            with closing(_connected(path)) as connection:
                yield connection
    except sqlite3.OperationalError as error:
        raise InvalidInput(f"{path} cannot be used ({error}); releases are recorded in the policy's folder") from error
    except sqlite3.DatabaseError as error:
        raise InvalidInput(f"{path} is damaged or not a ledger ({error})") from error


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=WAIT, isolation_level=None, check_same_thread=False)
    try:
        _use_log(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(path: Path, *, is_new_allowed: bool) -> None:
    """Make an empty file for its owner alone, before SQLite opens it; never follow a link."""
    if path.is_symlink():
        raise InvalidInput(f"{path} is a symbolic link, expected the ledger itself")
    if path.exists():
        return
    if not is_new_allowed:
        raise InvalidInput(f"{path} is not a file, expected a ledger of releases")
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise InvalidInput(
            f"{path} cannot be written ({error.strerror}); releases are recorded in the policy's folder"
        ) from error


def _use_log(connection: sqlite3.Connection) -> None:
    """A write-ahead log, flushed at every commit; two processes may be making the file at once."""
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # of a new file
    give_up = time.monotonic() + WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # SQLite does not wait here on its own
            is_busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_busy or time.monotonic() > give_up:
                raise
            time.sleep(0.01)
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA cache_size = -64000")


def _create(connection: sqlite3.Connection, path: Path) -> None:
    count = path.with_name(COUNT)
    if _read_count(count)[1]:
        raise InvalidInput(f"{path} is missing although {count.name} counts its releases; bring it back")
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    values = {
        "version": _VERSION,
        "key": secrets.token_bytes(32),
        "name": secrets.token_hex(8),
        "counter": 0,
        "loose": 0,
    }
    connection.executemany("INSERT INTO meta VALUES (?, ?)", list(values.items()))


def _read_count(path: Path) -> tuple[str, int]:
    """The name of the ledger and its counter according to the counter file; an empty name and 0 if there is none."""
    if not path.exists():
        return "", 0
    words = path.read_bytes().split()
    if len(words) != 2 or not words[1].isdigit():
        if not words:
            return "", 0  # made by a process that was killed before it wrote
        raise InvalidInput(f"{path} is damaged, expected the name of a ledger and a number")
    return words[0].decode("ascii", "replace"), int(words[1])


def _raise_count(path: Path, name: str, counter: int) -> None:
    """Write a larger number over a smaller one, one process at a time."""
    import fcntl  # not on every system, and needed for files only

    number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    with open(number, "r+b") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        words = stream.read().split()
        if len(words) != 2 or int(words[1]) < counter:
            stream.seek(0)
            stream.write(f"{name} {counter:020d}\n".encode())
            stream.flush()
            flush_to_disk = getattr(os, "fdatasync", os.fsync)  # the content counts, not when it was written
            flush_to_disk(stream.fileno())


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
