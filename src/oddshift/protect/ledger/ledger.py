"""The ledger: which records were released with a policy, kept in the policy's folder so that they move together.

Releasing a record twice leaks more than was certified, so records are claimed in one transaction *before* their noise
is drawn, and a claimed record is not released again unless that is allowed. Records are known by keyed hashes: see
`record_keys`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.claims import claim_named
from oddshift.protect.ledger.rows import claim_rows
from oddshift.protect.ledger.store import LEDGER, KeptOpen, identity, reading, secret_key, writing
from oddshift.protect.ledger.terms import (
    CLAIMED,
    CRASHED,
    FINISHED,
    PREPARING,
    PUBLISHING,
    Claimed,
    ClaimTerms,
    KeyBatch,
)
from oddshift.protect.ledger.user_budget import WEIGHT
from oddshift.protect.record_keys import WIDTH, RecordKeys


@dataclass(frozen=True)
class StagedFolder:
    """A folder in which a release is being made: its path, and its identity, in case something else takes its place."""

    path: str
    device: int
    inode: int


@dataclass(frozen=True, kw_only=True)
class LedgerTotals:
    """What a ledger holds, in numbers: no record, user or key can be read from it.

    `releases` counts by state; `most_composed` and `user_most_spent` are the largest metric budgets of one record and
    one user, `repeated` the records that were released more than once.
    """

    releases: dict[str, int]
    records: int
    repeated: int
    unnamed_rows: int
    kept: int
    users: int
    user_releases: int
    user_most_spent: float
    most_composed: float
    changes: int


@dataclass(frozen=True)
class Ledger:
    """A database in one file; every method is one transaction, safe across threads and processes.

    `kept` are connections that stay open between claims (see `kept_open`).
    """

    path: Path
    kept: KeptOpen | None = field(default=None, compare=False, repr=False)

    @classmethod
    def beside(cls, policy: str | Path) -> Ledger:
        """The ledger of a policy.json, or of the folder that holds one."""
        place = Path(policy)
        return cls((place if place.is_dir() else place.parent) / LEDGER)

    @contextmanager
    def kept_open(self) -> Iterator[Ledger]:
        """The same ledger for a service that claims record by record: its file is opened once for all claims.

        Each claim is still a transaction of its own, and on disk when it returns.
        """
        with closing(KeptOpen()) as kept:
            yield replace(self, kept=kept)

    @property
    def exists(self) -> bool:
        """Whether anything was ever claimed here."""
        return self.path.is_file() and self.path.stat().st_size > 0

    def keys(self) -> RecordKeys:
        """The function that turns records and users into keys of this ledger."""
        if self.exists:
            with reading(self.path) as db:
                return RecordKeys(secret_key(db))
        with writing(self.path) as db:
            return RecordKeys(secret_key(db))

    def prepare(self, terms: ClaimTerms, staged: StagedFolder) -> int:
        """Note the folder of a new release before anything is written into it; returns the number of the release."""
        with writing(self.path) as db:
            return _begin(db, terms, staged, PREPARING)

    def claim(
        self,
        batches: Iterable[KeyBatch],
        terms: ClaimTerms,
        staged: StagedFolder | None = None,
        *,
        release: int | None = None,
        is_final: bool = False,
    ) -> Claimed:
        """Claim the records of an input for a release, all of them or, when it raises, none.

        `release` is a prepared release; without it a new one is made. `is_final` says that nothing has to become
        visible later: the release counts as finished.

        **Guarantee**: when it returns, the claim is on disk, and no other claim in this or another process finds
        these records new.
        """
        if not terms.epsilon >= 0.0:
            raise InvalidInput(f"epsilon={terms.epsilon} of a release, expected >= 0")
        with writing(self.path, self.kept) as db:
            state = FINISHED if is_final else CLAIMED
            if release is None:
                release = _begin(db, terms, staged, state)
            else:
                _move(db, release, (PREPARING,), state)
            return _claim(db, release, batches, terms)

    def preview(self, batches: Iterable[KeyBatch], terms: ClaimTerms) -> Claimed:
        """What `claim` would return or raise; nothing is claimed."""
        found: list[Claimed] = []
        with suppress(_NothingClaimed), writing(self.path) as db:
            found.append(_claim(db, _begin(db, terms, None, CLAIMED), batches, terms))
            raise _NothingClaimed
        return found[0]

    def publishing(self, release: int) -> None:
        """Note that a release is about to become visible."""
        self._change(release, CLAIMED, PUBLISHING)

    def finish(self, release: int, kept: Path | None = None, *, clear: Callable[[], None] = lambda: None) -> None:
        """Note that a release is visible; `kept` is a database of what was released for each row (see `KeptCells`).

        `clear` empties the folder of the release before this is noted: afterwards nothing would look for it.
        """
        with writing(self.path) as db:
            if kept is not None:
                _keep(db, release, kept)
            clear()
            _move(db, release, (CLAIMED, PUBLISHING, FINISHED), FINISHED)

    def abandon(self, release: int) -> None:
        """Withdraw a claim: nothing of the release was ever visible, and what was drawn for it is deleted."""
        with writing(self.path) as db:
            if _dropped(db, release):
                return
            _move(db, release, (CLAIMED, PUBLISHING), "abandoned")
            _forget(db, release)

    def restart(self, release: int) -> None:
        """Withdraw the claim of a release for which no noise was drawn yet, so that it can claim again."""
        with writing(self.path) as db:
            _move(db, release, (PREPARING, CLAIMED), PREPARING)
            _forget(db, release)

    def unfinished(self) -> list[tuple[int, StagedFolder, bool]]:
        """Releases that are being made, or whose process died: number, folder, and whether one was becoming visible."""
        if not self.exists:
            return []
        with reading(self.path) as db:
            found = db.execute(
                "SELECT number, folder, device, inode, state FROM release "
                "WHERE state IN (?, ?, ?) AND folder IS NOT NULL",
                (PREPARING, CLAIMED, PUBLISHING),
            ).fetchall()
        return [(n, StagedFolder(path, device, inode), state == PUBLISHING) for n, path, device, inode, state in found]

    def settle(self, release: int, is_visible: Callable[[], bool]) -> None:
        """End a release whose process died: it is finished when it became visible; its claims stay in any case."""
        with writing(self.path) as db:
            if _dropped(db, release):
                return
            row = db.execute("SELECT state FROM release WHERE number = ?", (release,)).fetchone()
            if row and row[0] in (CLAIMED, PUBLISHING):
                _move(db, release, (row[0],), FINISHED if row[0] == PUBLISHING and is_visible() else CRASHED)

    def kept_cells(self, keys: bytes, policy: str) -> list[str | None]:
        """What was released for each record with a policy, where it was kept."""
        with reading(self.path) as db:
            one = "SELECT cells FROM kept WHERE key = ? AND policy = ?"
            found = [db.execute(one, (keys[i : i + WIDTH], policy)).fetchone() for i in range(0, len(keys), WIDTH)]
        return [None if row is None else str(row[0]) for row in found]

    def totals(self) -> LedgerTotals:
        """What the ledger holds, in numbers."""
        with reading(self.path) as db:
            states = dict(db.execute("SELECT state, count(*) FROM release GROUP BY state ORDER BY state"))
            records, repeated = db.execute(
                "SELECT count(*), total(times > 1) FROM (SELECT count(*) AS times FROM record GROUP BY key)"
            ).fetchone()
            users, number, most = db.execute(
                "SELECT count(*), total(number), max(spent) FROM ("
                f"SELECT sum(p.records + p.noisier) AS number, sum({WEIGHT} * l.epsilon) AS spent "
                "FROM person p JOIN release l ON l.number = p.release GROUP BY p.key)"
            ).fetchone()
            composed = db.execute("SELECT max(composed) FROM release WHERE state <> 'abandoned'").fetchone()[0]
            return LedgerTotals(
                releases=states,
                records=records,
                repeated=int(repeated),
                unnamed_rows=int(db.execute("SELECT total(copies) FROM content").fetchone()[0]),
                kept=db.execute("SELECT count(*) FROM kept").fetchone()[0],
                users=users,
                user_releases=int(number),
                user_most_spent=float(most or 0.0),
                most_composed=float(composed or 0.0),
                changes=identity(db)[1],
            )

    def check(self) -> list[str]:
        """What is wrong with the database, line by line; a database that was replaced by an older copy is refused."""
        with reading(self.path) as db:
            lines = [str(row[0]) for row in db.execute("PRAGMA integrity_check")]
            lost = db.execute(
                "SELECT count(*) FROM record WHERE release NOT IN "
                "(SELECT number FROM release WHERE state <> 'abandoned')"
            ).fetchone()[0]
        return [line for line in lines if line != "ok"] + ([f"{lost} records of no release"] if lost else [])

    def _change(self, release: int, before: str, after: str) -> None:
        with writing(self.path) as db:
            _move(db, release, (before,), after)


class _NothingClaimed(Exception):
    """Raised to leave a ledger unchanged."""


def _claim(db: sqlite3.Connection, release: int, batches: Iterable[KeyBatch], terms: ClaimTerms) -> Claimed:
    claimed = (claim_named if terms.is_named else claim_rows)(db, release, terms, batches)
    db.execute(
        "UPDATE release SET records = ?, composed = ?, is_again = ? WHERE number = ?",
        (claimed.records, claimed.composed, claimed.rows_again > 0, release),
    )
    return claimed


def _begin(db: sqlite3.Connection, terms: ClaimTerms, staged: StagedFolder | None, state: str) -> int:
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    place = (None, None, None) if staged is None else (staged.path, staged.device, staged.inode)
    made = db.execute(
        "INSERT INTO release (policy, epsilon, state, started, folder, device, inode) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (terms.policy, terms.epsilon, state, moment, *place),
    )
    assert made.lastrowid is not None
    return made.lastrowid


def _forget(db: sqlite3.Connection, release: int) -> None:
    """Delete what a release claimed."""
    for table in ("record", "content", "person"):
        db.execute(f"DELETE FROM {table} WHERE release = ?", (release,))


def _dropped(db: sqlite3.Connection, release: int) -> bool:
    """Forget a release that was only prepared: it holds no records, and no noise was drawn for it."""
    gone = db.execute("DELETE FROM release WHERE number = ? AND state = ?", (release, PREPARING))
    return gone.rowcount > 0


def _move(db: sqlite3.Connection, release: int, before: tuple[str, ...], after: str) -> None:
    known = db.execute("SELECT state FROM release WHERE number = ?", (release,)).fetchone()
    if known is None or known[0] not in before:
        raise InvalidInput(f"release {release} is {known[0] if known else 'unknown'}, expected {' or '.join(before)}")
    db.execute("UPDATE release SET state = ? WHERE number = ?", (after, release))


def _keep(db: sqlite3.Connection, release: int, kept: Path) -> None:
    """Copy what was released for each row from the database of the release."""
    with closing(sqlite3.connect(kept)) as other:
        rows = other.execute("SELECT row, cells FROM cells")
        db.execute("CREATE TEMP TABLE shown (row INTEGER PRIMARY KEY, cells TEXT)")
        db.executemany("INSERT INTO shown VALUES (?, ?)", rows)
    db.execute(
        "INSERT OR REPLACE INTO kept SELECT r.key, l.policy, s.cells FROM record r JOIN shown s ON s.row = r.row "
        "JOIN release l ON l.number = r.release WHERE r.release = ?",
        (release,),
    )
