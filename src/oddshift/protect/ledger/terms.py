"""The terms of a claim: what a release is about, what was allowed, and what the claim found.

A claim says, before any noise is drawn, which records a release is about to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.record_keys import WIDTH

SHOWN = 20
"""How many row numbers a refusal lists."""

AT_ONCE = 1 << 20
"""Number of records that one statement looks up and inserts; a performance setting."""

PREPARING, CLAIMED, PUBLISHING, FINISHED, CRASHED, ABANDONED = (
    *("preparing", "claimed", "publishing", "finished", "crashed", "abandoned"),
)
"""The states of a release: it has a folder and may claim; noise may be drawn; it is becoming visible; it is visible;
its process died before it was; it was withdrawn, and what it claimed is free."""


@dataclass(frozen=True)
class KeyBatch:
    """The keys of some consecutive records, one after the other, and of their users where users are counted.

    `ways` are further keys by which the same records can be known, `rows` those of their content where it may be equal
    by chance.
    """

    keys: bytes
    users: bytes = b""
    ways: tuple[bytes, ...] = ()
    rows: bytes = b""

    def __len__(self) -> int:
        """How many records."""
        return len(self.keys) // WIDTH


NOISIER = 8
"""By how much the ε of a record beyond its user's budget is divided, where more noise is asked for."""

PAST = ("refuse", "mask", "drop", "noise")
"""What can happen to a record beyond its user's budget."""


@dataclass(frozen=True, kw_only=True)
class UserLimit:
    """The largest composed metric budget of a user, and what happens to a record beyond it (one of PAST).

    With `noise` a record is drawn with NOISIER times the noise, and masked when not even that fits into the budget.
    """

    budget: float
    past: str = "refuse"

    def __post_init__(self) -> None:
        """Refuse a budget that is not positive."""
        if not self.budget > 0:
            raise InvalidInput(f"budget={self.budget}, expected > 0 for the budget of a user")
        if self.past not in PAST:
            raise InvalidInput(f"past={self.past!r}, expected one of {', '.join(PAST)}")


def smaller_limit(asked: UserLimit | None, stated: UserLimit | None) -> UserLimit | None:
    """What users may spend: what was asked for, and never more than the policy states."""
    if asked is None or stated is None:
        return asked or stated
    if asked.budget > stated.budget:
        raise InvalidInput(f"a budget of {asked.budget:g} for users, expected at most the policy's {stated.budget:g}")
    return asked


@dataclass(frozen=True, kw_only=True)
class ClaimTerms:
    """What a release is about, and what was allowed.

    `epsilon` is the metric budget that the release of one record spends. `may_repeat` allows records to be
    released again, `is_kept` gives records their earlier release, `may_take_over` claims the records of a release whose
    process died before anything of it was visible. `is_named` says that equal keys are one record; rows without
    a name may be equal by chance. `by_id_only` claims every way in which records can be known, and refuses them only by
    the first.
    """

    policy: str
    epsilon: float
    may_repeat: bool = False
    is_kept: bool = False
    may_take_over: bool = False
    is_named: bool = True
    by_id_only: bool = False
    limit: UserLimit | None = None


@dataclass(frozen=True, eq=False)
class Claimed:
    """What a claim found, by row number from 1.

    `repeated` rows are released again, `kept` rows get their earlier release, `copies` are pairs (row,
    earlier row of this input with the same record), `past` rows would exceed their user's budget, `noisier` rows are
    drawn with more noise to stay within it. `elsewhere` are copies of records of other parts of the release: row, part
    and row there. `composed` is the largest metric budget that any record has spent, this
    release included. `share` and `chance` belong to rows without a name: the share of them that was released before,
    and the share that would be expected of other rows.
    """

    release: int
    records: int
    repeated: IntArray
    copies: IntArray
    kept: IntArray
    past: IntArray
    composed: float
    share: float = 0.0
    chance: float = 0.0
    rows_again: int = 0
    noisier: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    elsewhere: IntArray = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))

    @property
    def repeats(self) -> int:
        """How many records are released again; of rows without a name, those beyond what chance explains."""
        return len(self.repeated) + self.rows_again


def statement_batches(batches: Iterable[KeyBatch]) -> Iterator[KeyBatch]:
    """The same records in batches as large as one statement can take.

    Keys are inserted in order within a statement, and those of many small files in one go take half of the time.
    """
    waiting: list[KeyBatch] = []
    count = 0
    for batch in batches:
        if waiting and (count + len(batch) > AT_ONCE or _form(batch) != _form(waiting[0])):
            yield _joined(waiting)
            waiting, count = [], 0
        for start in range(0, len(batch), AT_ONCE):
            part = _cut(batch, start, start + AT_ONCE)
            waiting.append(part)
            count += len(part)
            if count >= AT_ONCE:
                yield _joined(waiting)
                waiting, count = [], 0
    if waiting:
        yield _joined(waiting)


def _form(batch: KeyBatch) -> tuple[bool, int, bool]:
    return bool(batch.users), len(batch.ways), bool(batch.rows)


def _cut(batch: KeyBatch, start: int, end: int) -> KeyBatch:
    where = slice(start * WIDTH, end * WIDTH)
    return KeyBatch(batch.keys[where], batch.users[where], tuple(way[where] for way in batch.ways), batch.rows[where])


def _joined(batches: list[KeyBatch]) -> KeyBatch:
    if len(batches) == 1:
        return batches[0]
    ways = zip(*(batch.ways for batch in batches), strict=True)
    return KeyBatch(
        b"".join(batch.keys for batch in batches),
        b"".join(batch.users for batch in batches),
        tuple(map(b"".join, ways)),
        b"".join(batch.rows for batch in batches),
    )


def as_rows(rows: Iterable[int]) -> IntArray:
    """Row numbers in order."""
    return np.array(sorted(rows), dtype=np.int64)


def counted(rows: list[int], total: int) -> str:
    """How many of how many records."""
    return f"{len(rows):,} of {total:,} records {'was' if len(rows) == 1 else 'were'}"


def listed(rows: list[int]) -> str:
    """The first row numbers, and how many there are beyond them."""
    shown = sorted(rows)[:SHOWN]
    more = len(rows) - len(shown)
    return f"{'row' if len(rows) == 1 else 'rows'} {', '.join(map(str, shown))}{f' and {more:,} more' if more else ''}"
