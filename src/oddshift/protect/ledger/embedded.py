"""The embedded engine of a ledger: a file of this machine, in which the keys of records are sorted runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger import sorted_runs
from oddshift.protect.ledger.sorted_runs import Words
from oddshift.protect.ledger.store import (
    KeptOpen,
    give_room,
    identity,
    is_made,
    keep_room,
    reading,
    secret_key,
    writing,
)
from oddshift.protect.ledger.terms import ABANDONED, CRASHED
from oddshift.protect.ledger.transaction import FEWER, Claimant, Holder, Holders, Made, Row, Transaction
from oddshift.protect.record_keys import WIDTH


@dataclass(frozen=True)
class EmbeddedEngine:
    """A ledger in one file of this machine; `kept` are connections that stay open between claims.

    **Guarantee**: safe across the threads and processes of one machine. SQLite's locks do not reach other machines.
    """

    path: Path
    kept: KeptOpen | None = field(default=None, compare=False, repr=False)

    @property
    def is_shared(self) -> bool:
        """Whether workers on several machines may use it."""
        return False

    @property
    def name(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def exists(self) -> bool:
        """Whether anything was ever claimed here."""
        return is_made(self.path)

    @property
    def secret(self) -> bytes:
        """The key of a ledger, which is made if there is none."""
        return self.read(_secret) if self.exists else self.write(_secret)

    def write(self, work: Callable[[Transaction], Made], *, is_withdrawal: bool = False) -> Made:
        """In one transaction of the only writer; a withdrawal on a full disk takes the room that the ledger keeps."""
        if not is_withdrawal:
            keep_room(self.path)
        try:
            return self._written(work)
        except InvalidInput:
            if not (is_withdrawal and give_room(self.path)):
                raise
            return self._written(work)

    def _written(self, work: Callable[[Transaction], Made]) -> Made:
        with writing(self.path, self.kept) as db:
            return work(EmbeddedTransaction(db))

    def read(self, work: Callable[[Transaction], Made]) -> Made:
        """At one moment, next to a writer."""
        with reading(self.path) as db:
            return work(EmbeddedTransaction(db))

    def kept_open(self) -> EmbeddedEngine:
        """The same with its file opened once for each thread."""
        return replace(self, kept=KeptOpen())

    def close(self) -> None:
        """Close what was kept open."""
        if self.kept is not None:
            self.kept.close()


def _secret(db: Transaction) -> bytes:
    assert isinstance(db, EmbeddedTransaction)
    return secret_key(db.db)


@dataclass(eq=False, repr=False)
class EmbeddedTransaction:
    """A transaction of a connection; `taken` are the keys that were looked up last, `holders` who holds them."""

    db: sqlite3.Connection
    is_repeatable: bool = False
    is_again: bool = False
    taken: sorted_runs.Entries | None = None
    holders: Holders = field(default_factory=Holders)

    def run(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows that a statement gives."""
        return self.db.execute(statement, tuple(values)).fetchall()

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row."""
        self.db.executemany(statement, rows)

    def stage(self, keys: bytes, numbers: IntArray) -> None:
        """One statement cuts a long row of keys by a table of numbers: five times faster than one row at a time."""
        count = len(numbers)
        self.db.execute("CREATE TEMP TABLE IF NOT EXISTS numbers (i INTEGER PRIMARY KEY)")
        self.db.execute("CREATE TEMP TABLE IF NOT EXISTS given (i INTEGER PRIMARY KEY, key BLOB, number INTEGER)")
        have = self.db.execute("SELECT coalesce(max(i) + 1, 0) FROM numbers").fetchone()[0]
        self.db.execute(
            "WITH RECURSIVE n(i) AS (SELECT ?1 WHERE ?1 < ?2 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2) "
            "INSERT INTO numbers SELECT i FROM n",
            (have, count),
        )
        self.db.execute("DELETE FROM given")
        self.db.execute(
            f"INSERT INTO given SELECT n.i, substr(?1, n.i * {WIDTH} + 1, {WIDTH}), "
            "CAST(CAST(substr(?2, n.i * 12 + 1, 12) AS TEXT) AS INTEGER) FROM numbers n WHERE n.i < ?3",
            (keys, numbers.astype("S12").tobytes(), count),
        )

    def lock_users(self) -> None:
        """Nothing: there is one writer."""

    def take(self, claimant: Claimant, keys: tuple[Words, Words], rows: IntArray) -> list[Holder]:
        """Look some keys up; what a withdrawn release held is free, and with a take-over also what a dead one held."""
        high, low = keys
        self.taken, self.holders = sorted_runs.Entries.of(high, low, claimant.release, rows), Holders()
        states: dict[int, str] = {}
        for place, release, row in sorted_runs.look_up(self.db, high, low):
            if release not in states:
                state = self.db.execute("SELECT state FROM release WHERE number = ?", (release,)).fetchone()
                states[release] = state[0] if state else ABANDONED
            is_dead = states[release] == CRASHED
            if states[release] != ABANDONED and not (is_dead and self._was_taken(place, release)):
                holder = Holder(place, release, claimant.part, row)
                self.holders.add(holder, is_dead=is_dead and claimant.may_take_over)
        return self.holders.live

    def _was_taken(self, place: int, release: int) -> bool:
        one = "SELECT 1 FROM taken WHERE key = ? AND release = ?"
        return self.db.execute(one, (self._key(place), release)).fetchone() is not None

    def _key(self, place: int) -> bytes:
        assert self.taken is not None
        return sorted_runs.as_bytes(self.taken.high[place], self.taken.rest["low"][place])

    def enter(self, chosen: BoolArray) -> None:
        """Write the chosen keys."""
        assert self.taken is not None
        over = [(self._key(place), one) for place, dead in self.holders.dead.items() if chosen[place] for one in dead]
        if over:
            self.db.executemany("INSERT INTO taken VALUES (?, ?)", over)
            self.db.executemany(FEWER, self.holders.fewer(chosen & (self.taken.rest["row"] > 0)))
        sorted_runs.add(self.db, self.taken if chosen.all() else self.taken.some(chosen))

    def problems(self) -> list[str]:
        """What SQLite finds, and runs that are not in order."""
        lines = [str(row[0]) for row in self.db.execute("PRAGMA integrity_check") if row[0] != "ok"]
        known = {number for (number,) in self.db.execute("SELECT number FROM release")}
        lost = sum(int((~np.isin(part.rest["release"], list(known))).sum()) for part in sorted_runs.every(self.db))
        return [*lines, *sorted_runs.problems(self.db), *([f"{lost} records of no release"] if lost else [])]

    def changes(self) -> int:
        """The counter."""
        return identity(self.db)[1]
