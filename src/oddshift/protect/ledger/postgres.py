"""The PostgreSQL engine of a ledger: one ledger for many machines, whose workers claim for themselves.

Keys that nobody holds are copied straight into the table of keys, which is partitioned by their hash. Where somebody
holds one, they are copied into a temporary table and claimed by one INSERT ... ON CONFLICT DO NOTHING, in order. Claims
of the same keys wait for each other; those that would wait for ever are tried again, in that order.
How to log in is left to libpq: service file, password file, environment or certificates. An address with a password is
refused, because it would end up in logs.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput, NotInstalled
from oddshift.protect.ledger.sorted_runs import Words
from oddshift.protect.ledger.terms import ABANDONED, CRASHED
from oddshift.protect.ledger.transaction import (
    FEWER,
    SHARED_TABLES,
    Claimant,
    Holder,
    Holders,
    Made,
    Row,
    Transaction,
)
from oddshift.protect.record_keys import WIDTH

if TYPE_CHECKING:
    import psycopg

PARTITIONS = 16
"""Into how many tables the keys are divided by their hash."""

PATIENCE = 60.0
"""Seconds for which a lost connection is tried again, from when it is lost."""

_HOPELESS = ("DiskFull", "OutOfMemory", "InvalidPassword", "InvalidAuthorizationSpecification")  # at another try, too
_VERSION, _KEY = "2", f"V{WIDTH}"
_FLUSHED = "current_setting('fsync'), current_setting('synchronous_commit')"
_LOCK = 0x0DD5_41F7  # of those who make the tables at once

_TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);"
    + SHARED_TABLES.format(
        serial="INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY", real="DOUBLE PRECISION", key="BYTEA", flat=""
    )
    + """
CREATE TABLE record (
    key UUID PRIMARY KEY, release INTEGER NOT NULL, part INTEGER NOT NULL, row BIGINT NOT NULL
) PARTITION BY HASH (key);
CREATE TABLE again (
    key UUID NOT NULL, release INTEGER NOT NULL, part INTEGER NOT NULL, row BIGINT NOT NULL, PRIMARY KEY (key, release)
);
CREATE TABLE budget (key BYTEA PRIMARY KEY);
"""
    + "".join(
        f"CREATE TABLE record_{n} PARTITION OF record FOR VALUES WITH (MODULUS {PARTITIONS}, REMAINDER {n});"
        for n in range(PARTITIONS)
    )
)

_CLAIM = (
    "WITH mine AS (INSERT INTO record SELECT key, %s, %s, number FROM taken ORDER BY key ON CONFLICT (key) DO NOTHING "
    "RETURNING key) SELECT i FROM taken t WHERE NOT EXISTS (SELECT 1 FROM mine WHERE mine.key = t.key)"
)

_FREE = f"""
UPDATE record r SET release = %s, part = %s, row = t.number FROM taken t, release l
WHERE r.key = t.key AND l.number = r.release AND l.state = '{ABANDONED}'
"""

_LOCKED = "SELECT 1 FROM record r JOIN taken t ON t.key = r.key ORDER BY r.key FOR UPDATE OF r"

_HELD = f"""
SELECT t.i, r.release, r.part, r.row, l.state FROM taken t JOIN record r ON r.key = t.key
JOIN release l ON l.number = r.release WHERE NOT (r.release = %s AND r.part = %s AND r.row IN (0, t.number))
UNION ALL SELECT t.i, a.release, a.part, a.row, l.state FROM taken t JOIN again a ON a.key = t.key
JOIN release l ON l.number = a.release AND l.state <> '{ABANDONED}'
"""

_AGAIN = (
    "INSERT INTO again SELECT t.key, CAST(%s AS INTEGER), CAST(%s AS INTEGER), t.number FROM taken t "
    "JOIN record r ON r.key = t.key WHERE r.release <> %s ON CONFLICT DO NOTHING"
)

_DEAD = f"t.i = ANY(%s) AND h.key = t.key AND l.number = h.release AND l.state = '{CRASHED}'"
_TAKE_OVER = f"UPDATE record h SET release = %s, part = %s, row = t.number FROM taken t, release l WHERE {_DEAD}"
_END = f"DELETE FROM again h USING taken t, release l WHERE {_DEAD}"


@dataclass(frozen=True)
class PostgresEngine:
    """A ledger in the schema `oddshift` of a database.

    **Guarantee**: safe across machines. When a claim returns, the server has it on disk; one whose `synchronous_commit`
    or `fsync` is off is refused. A claim whose answer is lost is asked for again and found.
    """

    address: str
    opened: dict[int, psycopg.Connection[Any]] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse an address that holds a secret; the message does not repeat it."""
        try:
            named = _driver().conninfo.conninfo_to_dict(self.address)
        except _driver().ProgrammingError:
            raise InvalidInput(
                "the address of the ledger cannot be read, expected postgresql://HOST/DATABASE or service=NAME"
            ) from None
        if {"password", "sslpassword"} & set(named):
            raise InvalidInput(
                "the address of the ledger holds a password, expected it in libpq's own places: a password file "
                "(~/.pgpass), a service file or the environment"
            )

    @property
    def is_shared(self) -> bool:
        """Whether workers on several machines may use it."""
        return True

    @property
    def name(self) -> str:
        """The address, which holds no password."""
        return self.address

    @property
    def exists(self) -> bool:
        """Whether the tables are there."""
        return self._work(_is_made, is_made=True)

    @cached_property
    def secret(self) -> bytes:
        """The key under which records and users are hashed."""
        return bytes.fromhex(self.write(lambda db: db.run("SELECT value FROM meta WHERE name = 'key'"))[0][0])

    def write(self, work: Callable[[Transaction], Made], *, is_withdrawal: bool = False) -> Made:
        """In one transaction, again when the connection is lost or the server chose another transaction."""
        return self._work(work, is_made=False)

    def read(self, work: Callable[[Transaction], Made]) -> Made:
        """The same."""
        if not self.exists:
            raise InvalidInput(f"{self.name} has no tables of a ledger: nothing was claimed with it yet")
        return self._work(work, is_made=True)

    def kept_open(self) -> PostgresEngine:
        """The same with a connection for each thread that stays open."""
        return replace(self, opened={})

    def close(self) -> None:
        """Close the connections."""
        while self.opened:
            self.opened.popitem()[1].close()

    def _work(self, work: Callable[[Transaction], Made], *, is_made: bool) -> Made:
        errors, tried, give_up = _driver().errors, 0, np.inf
        while True:
            began = time.monotonic()
            try:
                with self._connected() as connection, connection.transaction():
                    if not is_made:
                        _make(connection)
                    return work(PostgresTransaction(connection, is_again=tried > 0))
            except (errors.DeadlockDetected, errors.SerializationFailure):
                pass
            except _driver().Error as error:
                give_up = min(give_up, time.monotonic() + PATIENCE)
                is_lost = isinstance(error, errors.OperationalError) and type(error).__name__ not in _HOPELESS
                if began > give_up or not is_lost:
                    said, *_ = (*str(error).strip().splitlines(), type(error).__name__)
                    raise InvalidInput(f"the ledger {self.name} cannot be used: {said}") from None
            tried += 1
            time.sleep(min(2.0, 0.05 * 2**tried))

    @contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        if self.opened is None:
            with closing(self._connect()) as connection:
                yield connection
            return
        thread = threading.get_ident()
        if thread not in self.opened or self.opened[thread].closed:
            self.opened[thread] = self._connect()
        try:
            yield self.opened[thread]
        except _driver().OperationalError:
            with suppress(Exception):
                self.opened.pop(thread).close()
            raise

    def _connect(self) -> psycopg.Connection[Any]:
        options = {"connect_timeout": "10", "application_name": "oddshift"}
        given = _driver().conninfo.conninfo_to_dict(self.address)
        made = _driver().connect(self.address, autocommit=True, **{k: v for k, v in options.items() if k not in given})
        made.execute("SET search_path TO oddshift")
        return made


def _driver() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError:
        raise NotInstalled("a ledger on PostgreSQL needs psycopg: pip install 'oddshift[postgres]'") from None
    return psycopg


def _is_made(db: Transaction) -> bool:
    return bool(db.run("SELECT 1 FROM pg_tables WHERE schemaname = 'oddshift' AND tablename = 'meta'"))


def _make(connection: psycopg.Connection[Any]) -> None:
    """Make the tables where there are none; several processes may try at once."""
    db = PostgresTransaction(connection)
    if not _is_made(db):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        if not _is_made(db):
            connection.execute("CREATE SCHEMA IF NOT EXISTS oddshift")
            connection.execute(_TABLES)
            db.many("INSERT INTO meta VALUES (?, ?)", [("version", _VERSION), ("key", secrets.token_hex(32))])
    version, *flushed = db.run(f"SELECT value, {_FLUSHED} FROM meta WHERE name = 'version'")[0]
    if version != _VERSION:
        raise InvalidInput(f"the ledger is of version {version}, expected {_VERSION}")
    if "off" in flushed:
        raise InvalidInput(
            "the server of the ledger has fsync or synchronous_commit off: a power cut would undo claims"
        )


@dataclass(eq=False, repr=False)
class PostgresTransaction:
    """A transaction of a connection; `keys`, `rows` and `holders` are those of what was taken last."""

    connection: psycopg.Connection[Any]
    is_repeatable: bool = True
    is_again: bool = False
    claimant: Claimant = field(default=Claimant(0))
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=_KEY))
    rows: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    holders: Holders = field(default_factory=Holders)

    def run(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows that a statement gives."""
        done = self.connection.execute(statement.replace("?", "%s"), values)
        return done.fetchall() if done.description else []

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row."""
        with self.connection.cursor() as cursor:
            cursor.executemany(statement.replace("?", "%s"), rows)

    def stage(self, keys: bytes, numbers: IntArray) -> None:
        """Copy keys into the table `given`."""
        self._stage("given", "BYTEA", np.frombuffer(keys, dtype=_KEY), numbers, np.arange(len(numbers)))

    def _stage(self, table: str, kind: str, keys: np.ndarray, numbers: IntArray, places: IntArray) -> None:
        self.connection.execute(
            f"CREATE TEMP TABLE IF NOT EXISTS {table} (i INTEGER, key {kind}, number BIGINT) ON COMMIT DELETE ROWS"
        )
        self.connection.execute(f"TRUNCATE {table}")
        self._copy(table, places.astype(">i4"), keys[places], numbers[places].astype(">i8"))
        self.connection.execute(f"ANALYZE {table}")  # so that few keys are looked up by an index, and many are not

    def _copy(self, table: str, *columns: np.ndarray) -> None:
        """COPY in PostgreSQL's binary form, which is one array of fixed rows here."""
        pairs = [((f"size {k}", ">i4"), (f"value {k}", column.dtype)) for k, column in enumerate(columns)]
        rows = np.empty(len(columns[0]), dtype=[("fields", ">i2"), *(field for pair in pairs for field in pair)])
        rows["fields"] = len(columns)
        for k, column in enumerate(columns):
            rows[f"size {k}"], rows[f"value {k}"] = column.dtype.itemsize, column
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
            copy.write(rows.tobytes())
            copy.write(b"\xff\xff")

    def lock_users(self) -> None:
        """A row for each user, locked in order until the transaction ends."""
        self.run("INSERT INTO budget SELECT key FROM given ORDER BY key ON CONFLICT DO NOTHING")
        self.run("SELECT 1 FROM budget b JOIN given g ON g.key = b.key ORDER BY b.key FOR UPDATE OF b")

    def take(self, claimant: Claimant, keys: tuple[Words, Words], rows: IntArray) -> list[Holder]:
        """Enter the keys that are free, and ask who holds the others; who takes over locks them first."""
        self.keys = np.stack(keys, axis=1).astype(">u8").view(_KEY).ravel()
        self.claimant, self.rows, self.holders = claimant, rows, Holders()
        own = (claimant.release, claimant.part)
        if not self.is_again and self._are_all_free():
            return []
        self._stage("taken", "UUID", self.keys, rows, np.arange(len(rows)))
        held = [place for (place,) in self.run(_CLAIM, own)]
        self._stage("taken", "UUID", self.keys, rows, np.array(held, dtype=np.int64))
        self.run(_FREE, own)
        if claimant.may_take_over:
            self.run(_LOCKED)
        for *held, state in self.run(_HELD, own):
            self.holders.add(Holder(*held), is_dead=claimant.may_take_over and state == CRASHED)
        return self.holders.live

    def _are_all_free(self) -> bool:
        """Enter all keys at once: less than half of the work of asking first. Nothing is entered if one is held."""
        own = (np.full(len(self.rows), n, dtype=">i4") for n in (self.claimant.release, self.claimant.part))
        with suppress(_driver().errors.UniqueViolation), self.connection.transaction():
            self._copy("record (key, release, part, row)", self.keys, *own, self.rows.astype(">i8"))
            return True
        return False

    def enter(self, chosen: BoolArray) -> None:
        """Give back records that are not released after all, and note what is released next to others.

        Further ways to know a record stay claimed, because an earlier record may have them too.
        """
        own = (self.claimant.release, self.claimant.part)
        held = self.holders.places
        back = np.setdiff1d(np.flatnonzero(~chosen), held)
        back = back[self.rows[back] > 0]
        if len(back):
            self._stage("back", "UUID", self.keys, self.rows, back)
            self.run(
                "DELETE FROM record r USING back b "
                "WHERE r.key = b.key AND r.release = %s AND r.part = %s AND r.row = b.number",
                own,
            )
        dead = [place for place in self.holders.dead if chosen[place]]
        if dead:
            self.run(_TAKE_OVER, (*own, dead))
            self.run(_END, (dead,))
            self.many(FEWER, self.holders.fewer(chosen & (self.rows > 0)))
        also = [place for place in held if chosen[place]]
        if also:
            self._stage("taken", "UUID", self.keys, self.rows, np.array(also))
            self.run(_AGAIN, (*own, own[0]))

    def problems(self) -> list[str]:
        """Records of no release; the rest is PostgreSQL's own."""
        lost = self.run("SELECT count(*) FROM record WHERE release NOT IN (SELECT number FROM release)")[0][0]
        return [f"{lost} records of no release"] if lost else []

    def changes(self) -> int:
        """Not counted."""
        return 0
