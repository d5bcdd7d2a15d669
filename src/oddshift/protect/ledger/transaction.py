"""What an engine of a ledger can do: run a transaction, and say who holds some keys.

The state of releases, users and kept values are tables that both engines have, in statements that both understand; how
the keys of records are held is their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.protect.ledger.sorted_runs import Words

Made = TypeVar("Made")
Row = tuple[Any, ...]

SHARED_TABLES = """
CREATE TABLE release (
    number {serial}, policy TEXT NOT NULL, epsilon {real} NOT NULL, state TEXT NOT NULL, started TEXT NOT NULL,
    records BIGINT NOT NULL DEFAULT 0, repeated BIGINT NOT NULL DEFAULT 0, composed {real} NOT NULL DEFAULT 0,
    is_again INTEGER NOT NULL DEFAULT 0, folder TEXT, device BIGINT, inode BIGINT, machine TEXT
);
CREATE TABLE content (
    key {key} NOT NULL, release INTEGER NOT NULL, copies BIGINT NOT NULL, PRIMARY KEY (key, release)
){flat};
CREATE TABLE person (
    key {key} NOT NULL, release INTEGER NOT NULL, records BIGINT NOT NULL, noisier BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (key, release)
){flat};
CREATE TABLE kept (
    key {key} NOT NULL, policy TEXT NOT NULL, cells TEXT NOT NULL, PRIMARY KEY (key, policy)
){flat};
CREATE TABLE claim (token TEXT PRIMARY KEY, release INTEGER NOT NULL, found {key} NOT NULL);
"""
"""The tables of both engines, with what they write differently."""


@dataclass(frozen=True)
class Holder:
    """A release that holds a key that was looked up: the place of the key, its part and row there (0: none)."""

    place: int
    release: int
    part: int
    row: int


@dataclass(frozen=True, eq=False)
class Holders:
    """Who holds the keys that were taken last: releases that count, and by place those that died and are taken over."""

    live: list[Holder] = field(default_factory=list)
    dead: dict[int, list[int]] = field(default_factory=dict)

    def add(self, holder: Holder, *, is_dead: bool) -> None:
        """One more."""
        if is_dead:
            self.dead.setdefault(holder.place, []).append(holder.release)
        else:
            self.live.append(holder)

    @property
    def places(self) -> list[int]:
        """The places of all keys that were not free."""
        return sorted({one.place for one in self.live} | self.dead.keys())

    def fewer(self, chosen: BoolArray) -> list[tuple[int, int, int]]:
        """Values for FEWER: what dead releases lose when the chosen records are taken over, in order of the release.

        Of a record's holders all but one had released it again.
        """
        counts: dict[int, list[int]] = {}
        live = {one.place for one in self.live}
        for place, releases in self.dead.items():
            for number, release in enumerate(releases if chosen[place] else []):
                count = counts.setdefault(release, [0, 0])
                count[0] += 1
                count[1] += number > 0 or place in live
        return [(records, again, release) for release, (records, again) in sorted(counts.items())]


FEWER = "UPDATE release SET records = records - ?, repeated = repeated - ? WHERE number = ?"


@dataclass(frozen=True)
class Claimant:
    """The release (and part of it) that claims; `may_take_over` says that keys of releases that died are free."""

    release: int
    part: int = 0
    may_take_over: bool = False


class Transaction(Protocol):
    """One transaction. Statements have ? for a value. `is_repeatable` says that it is tried again when its answer is
    lost; `is_again` that this is such a try, and an earlier one may have succeeded."""

    is_repeatable: bool
    is_again: bool

    def run(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows that a statement gives."""

    def many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        """Run a statement for each row."""

    def stage(self, keys: bytes, numbers: IntArray) -> None:
        """A temporary table `given` of some keys, each with its place i (from 0) and a number."""

    def lock_users(self) -> None:
        """Make other transactions wait that spend for one of the staged users."""

    def take(self, claimant: Claimant, keys: tuple[Words, Words], rows: IntArray) -> list[Holder]:
        """Claim some different keys, in order, and say who holds those that were not free."""

    def enter(self, chosen: BoolArray) -> None:
        """Say which of the keys that were taken are claimed, also next to their other holders; the rest is given back.

        It follows every `take`.
        """

    def problems(self) -> list[str]:
        """What is wrong with the database."""

    def changes(self) -> int:
        """How often it was changed, where that is counted."""


class Engine(Protocol):
    """Where a ledger is kept."""

    @property
    def is_shared(self) -> bool:
        """Whether workers on several machines may use it."""

    @property
    def name(self) -> str:
        """What messages call it: never with a password."""

    @property
    def exists(self) -> bool:
        """Whether anything was ever claimed there."""

    @property
    def secret(self) -> bytes:
        """The key under which records and users are hashed; it never leaves the ledger."""

    def write(self, work: Callable[[Transaction], Made], *, is_withdrawal: bool = False) -> Made:
        """Do all of `work` or nothing; when it returns, it is on disk. Made where there is none.

        A withdrawal must be possible on a full disk.
        """

    def read(self, work: Callable[[Transaction], Made]) -> Made:
        """The same for work that changes nothing; there must be a ledger."""

    def kept_open(self) -> Engine:
        """The same with a connection for each thread that stays open."""

    def close(self) -> None:
        """Close the connections that stay open."""
