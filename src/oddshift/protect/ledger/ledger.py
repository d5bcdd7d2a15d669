"""The ledger: which records were released with a policy, in a file next to it or on a PostgreSQL server.

Releasing a record twice leaks more than was certified, so records are claimed in one transaction *before* their noise
is drawn, and a claimed record is not released again unless that is allowed. Records are known by keyed hashes: see
`record_keys`.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.embedded import EmbeddedEngine
from oddshift.protect.ledger.postgres import PostgresEngine
from oddshift.protect.ledger.releases import (
    LedgerTotals,
    StagedFolder,
    begin,
    claim_once,
    dropped,
    expect_state,
    found_before,
    move,
    noted,
    refuse_epsilon,
    state_of,
    totals_of,
)
from oddshift.protect.ledger.store import LEDGER
from oddshift.protect.ledger.terms import (
    ABANDONED,
    CLAIMED,
    CRASHED,
    FINISHED,
    PREPARING,
    PUBLISHING,
    Claimed,
    ClaimTerms,
    KeyBatch,
)
from oddshift.protect.ledger.transaction import Claimant, Engine, Transaction
from oddshift.protect.record_keys import WIDTH, RecordKeys

Watch = Callable[[Callable[[], Claimed]], Claimed]

KeptValue = tuple[bytes, str]
"""The key of a record, and what was released for it."""


@dataclass(frozen=True)
class Ledger:
    """Which records were released; every method is one transaction, safe across threads and processes.

    `path` is the file of an embedded ledger, or the address of a PostgreSQL server (`postgresql://…`, `service=…`),
    which also is safe across machines. How to log in is left to libpq: its service file, its password file, its
    environment.
    """

    path: Path | str
    opened: Engine | None = field(default=None, compare=False, repr=False)
    watch: Watch = field(default=lambda claim: claim(), compare=False, repr=False)

    def __post_init__(self) -> None:
        """A path is a path, also as a string."""
        if not is_address(self.path):
            object.__setattr__(self, "path", Path(self.path))

    def __repr__(self) -> str:
        """The file or the server, never a password."""
        return f"Ledger({self.engine.name})"

    @classmethod
    def beside(cls, policy: str | Path) -> Ledger:
        """The ledger of a policy.json (or of the folder that holds one): links lead to the one of the policy itself."""
        place = Path(policy).resolve()
        return cls((place if place.is_dir() else place.parent) / LEDGER)

    @cached_property
    def engine(self) -> Engine:
        """What keeps it."""
        if self.opened is not None:
            return self.opened
        if isinstance(self.path, Path):
            return EmbeddedEngine(self.path)
        return PostgresEngine(self.path)

    @contextmanager
    def kept_open(self) -> Iterator[Ledger]:
        """The same ledger for a service that claims record by record: it is opened once for all claims.

        Each claim is still a transaction of its own, and on disk when it returns.
        """
        engine = self.engine.kept_open()
        try:
            yield Ledger(self.path, engine, self.watch)
        finally:
            engine.close()

    def watched(self, watch: Watch) -> Ledger:
        """The same ledger; `watch` makes each claim of this process, and may time and count them."""
        return Ledger(self.path, self.opened, watch)

    @property
    def exists(self) -> bool:
        """Whether anything was ever claimed here."""
        return self.engine.exists

    @property
    def is_shared(self) -> bool:
        """Whether workers on several machines may claim for themselves."""
        return self.engine.is_shared

    def keys(self) -> RecordKeys:
        """The function that turns records and users into keys of this ledger."""
        return RecordKeys(self.engine.secret)

    def prepare(self, terms: ClaimTerms, staged: StagedFolder) -> int:
        """Note the folder of a new release before anything is written into it; returns the number of the release."""
        return self.engine.write(lambda db: begin(db, terms, staged, PREPARING))

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
        refuse_epsilon(terms)
        given = list(batches) if self.is_shared else batches  # a lost connection needs them again
        token = f"{socket.gethostname()} {secrets.token_hex(16)}"

        def work(db: Transaction) -> Claimed:
            before = found_before(db, token)
            if before is not None:
                return before
            state, number = FINISHED if is_final else CLAIMED, release
            if number is None:
                number = begin(db, terms, staged, state)
            else:
                move(db, number, (PREPARING,), state)
            return noted(db, token, claim_once(db, Claimant(number, 0, terms.may_take_over), given, terms))

        return self.watch(lambda: self.engine.write(work))

    def claim_part(self, batches: Iterable[KeyBatch], terms: ClaimTerms, release: int, part: int) -> Claimed:
        """Claim the records of one part (from 1) of a prepared release; a part that was claimed is not claimed again.

        Parts are claimed at once by many processes. Until `all_claimed`, no noise may be drawn.
        """
        refuse_epsilon(terms)
        given, token = list(batches), f"{release} part {part}"

        def work(db: Transaction) -> Claimed:
            before = found_before(db, token)
            if before is None:
                expect_state(db, release, (PREPARING,))
                before = noted(db, token, claim_once(db, Claimant(release, part, terms.may_take_over), given, terms))
            return before

        return self.watch(lambda: self.engine.write(work))

    def all_claimed(self, release: int) -> None:
        """Note that all parts of a release are claimed: noise may be drawn from now on."""

        def work(db: Transaction) -> None:
            if expect_state(db, release, (PREPARING, CLAIMED, PUBLISHING)) == PREPARING:
                move(db, release, (PREPARING,), CLAIMED)

        self.engine.write(work)

    def preview(self, batches: Iterable[KeyBatch], terms: ClaimTerms) -> Claimed:
        """What `claim` would return or raise; nothing is claimed."""
        found: list[Claimed] = []
        given = list(batches)

        def work(db: Transaction) -> None:
            number = begin(db, terms, None, CLAIMED)
            found.append(claim_once(db, Claimant(number, 0, terms.may_take_over), given, terms))
            raise _NothingClaimed

        with suppress(_NothingClaimed):
            self.engine.write(work)
        return found[-1]

    def publishing(self, release: int) -> None:
        """Note that a release is about to become visible."""
        self.engine.write(lambda db: move(db, release, (CLAIMED,), PUBLISHING))

    def finish(self, release: int, kept: Iterable[KeptValue] = (), *, clear: Callable[[], None] = lambda: None) -> None:
        """Note that a release is visible; `kept` is what was released for each of its records, to be given again.

        `clear` empties the folder of the release before this is noted: afterwards nothing would look for it.
        """
        values = list(kept) if self.is_shared else kept

        def work(db: Transaction) -> None:
            ((policy,),) = db.run("SELECT policy FROM release WHERE number = ?", (release,)) or [("",)]
            db.many(_KEEP, ((key, policy, cells) for key, cells in values if any(key)))
            clear()
            move(db, release, (CLAIMED, PUBLISHING, FINISHED), FINISHED)
            db.run("DELETE FROM claim WHERE release = ?", (release,))

        self.engine.write(work)

    def abandon(self, release: int) -> None:
        """Withdraw a claim: nothing of the release was ever visible, and what was drawn for it is deleted."""

        def work(db: Transaction) -> None:
            if not dropped(db, release):
                move(db, release, (CLAIMED, PUBLISHING), ABANDONED)

        self.engine.write(work, is_withdrawal=True)

    def restart(self, release: int) -> int:
        """Withdraw the claim of a release for which no noise was drawn yet; returns the number that claims again."""

        def work(db: Transaction) -> int:
            if expect_state(db, release, (PREPARING, CLAIMED)) == PREPARING:
                return release
            made = db.run(
                "INSERT INTO release (policy, epsilon, state, started, folder, device, inode, machine) "
                "SELECT policy, epsilon, ?, started, folder, device, inode, machine FROM release WHERE number = ? "
                "RETURNING number",
                (PREPARING, release),
            )
            move(db, release, (CLAIMED,), ABANDONED)
            return int(made[0][0])

        return self.engine.write(work)

    def unfinished(self) -> list[tuple[int, StagedFolder, bool]]:
        """Releases that are being made, or whose process died: number, folder, and whether one was becoming visible."""
        if not self.exists:
            return []
        found = self.engine.read(
            lambda db: db.run(
                "SELECT number, state, folder, device, inode, machine FROM release "
                "WHERE state IN (?, ?, ?) AND folder IS NOT NULL ORDER BY number",
                (PREPARING, CLAIMED, PUBLISHING),
            )
        )
        return [(number, StagedFolder(*folder), state == PUBLISHING) for number, state, *folder in found]

    def settle(self, release: int, is_visible: Callable[[], bool]) -> None:
        """End a release whose process died: it is finished when it became visible; its claims stay in any case."""

        def work(db: Transaction) -> None:
            state = state_of(db, release)
            if state == PREPARING:
                dropped(db, release)
            elif state in (CLAIMED, PUBLISHING):
                move(db, release, (state,), FINISHED if state == PUBLISHING and is_visible() else CRASHED)

        self.engine.write(work)

    def kept_cells(self, keys: bytes, policy: str) -> list[str | None]:
        """What was released for each record with a policy, where it was kept."""
        one = "SELECT cells FROM kept WHERE key = ? AND policy = ?"
        cut = [keys[at : at + WIDTH] for at in range(0, len(keys), WIDTH)]
        found = self.engine.read(lambda db: [db.run(one, (key, policy)) for key in cut])
        return [str(rows[0][0]) if rows else None for rows in found]

    def totals(self) -> LedgerTotals:
        """What the ledger holds, in numbers."""
        return self.engine.read(totals_of)

    def check(self) -> list[str]:
        """What is wrong with the database, line by line; a database that was replaced by an older copy is refused."""
        return self.engine.read(lambda db: db.problems())


def is_address(place: Path | str) -> bool:
    """Whether a ledger is named by the address of a server: a URL of PostgreSQL, or a service of libpq.

    >>> is_address("postgresql:///ledger"), is_address("service=ledger"), is_address("run/releases.db")
    (True, True, False)
    """
    return isinstance(place, str) and place.startswith(("postgresql://", "postgres://", "service="))


def refuse_address(place: str) -> None:
    """Refuse anything but the address of a server, and an address that holds a password."""
    if not is_address(place):
        raise InvalidInput(f"ledger={place!r}, expected postgresql://HOST/DATABASE or service=NAME")
    PostgresEngine(place)


class _NothingClaimed(Exception):
    """Raised to leave a ledger unchanged."""


_KEEP = "INSERT INTO kept VALUES (?, ?, ?) ON CONFLICT (key, policy) DO UPDATE SET cells = excluded.cells"
