"""The releases of a ledger: the states that each goes through, the folder it is made in, and all of them in numbers."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import Arrays, decode, encode, pack, unpack
from oddshift.protect.ledger.claims import claim_records
from oddshift.protect.ledger.composition import WEIGHT
from oddshift.protect.ledger.terms import ABANDONED, PREPARING, Claimed, ClaimTerms, KeyBatch
from oddshift.protect.ledger.transaction import Claimant, Transaction

_STATES = "SELECT state, count(*) FROM release GROUP BY state ORDER BY state"


@dataclass(frozen=True)
class StagedFolder:
    """A folder in which a release is being made: its path, its identity, in case something else takes its place, and
    the machine that made it."""

    path: str
    device: int
    inode: int
    machine: str = ""

    @property
    def is_here(self) -> bool:
        """Whether this machine made it."""
        return self.machine in ("", socket.gethostname())


@dataclass(frozen=True, kw_only=True)
class LedgerTotals:
    """What a ledger holds, in numbers: no record, user or key can be read from it.

    `releases` counts by state; `most_composed` and `user_most_spent` are the largest metric budgets of one record and
    one user, `repeated` the releases of records that had been released before, as each was found when it was claimed:
    when the first of two releases is withdrawn, the other one still counts there and not in `records`.
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


def refuse_epsilon(terms: ClaimTerms) -> None:
    """Refuse a release without a meaningful ε."""
    if not terms.epsilon >= 0.0:
        raise InvalidInput(f"epsilon={terms.epsilon} of a release, expected >= 0")


def claim_once(db: Transaction, claimant: Claimant, batches: Iterable[KeyBatch], terms: ClaimTerms) -> Claimed:
    """Claim for a release inside a transaction, and note what was found."""
    claimed = claim_records(db, claimant, terms, batches)
    most = "CASE WHEN composed < ? THEN ? ELSE composed END"
    records = claimed.records if terms.is_named else 0
    db.run(
        f"UPDATE release SET records = records + ?, repeated = repeated + ?, composed = {most}, "
        "is_again = CASE WHEN ? THEN 1 ELSE is_again END WHERE number = ?",
        (records, len(claimed.repeated), claimed.composed, claimed.composed, claimed.rows_again > 0, claimant.release),
    )
    return claimed


def noted(db: Transaction, token: str, claimed: Claimed) -> Claimed:
    """Keep what a claim found until its release is finished: who asks again after a lost answer is told the same."""
    if db.is_repeatable:
        arrays: Arrays = {}
        body = encode(claimed, arrays)
        db.run("INSERT INTO claim VALUES (?, ?, ?)", (token, claimed.release, pack(json.dumps(body).encode(), arrays)))
    return claimed


def found_before(db: Transaction, token: str) -> Claimed | None:
    """What a claim found whose answer was lost."""
    found = db.run("SELECT found FROM claim WHERE token = ?", (token,)) if db.is_repeatable else []
    if not found:
        return None
    text, arrays = unpack(bytes(found[0][0]))
    made: Claimed = decode(json.loads(text), Claimed, arrays)
    return made


def begin(db: Transaction, terms: ClaimTerms, staged: StagedFolder | None, state: str) -> int:
    """A new release; returns its number."""
    moment = datetime.now(UTC).isoformat(timespec="seconds")
    place: tuple[Any, ...] = (None, None, None, None)
    if staged is not None:
        place = (staged.path, staged.device, staged.inode, staged.machine)
    made = db.run(
        "INSERT INTO release (policy, epsilon, state, started, folder, device, inode, machine) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING number",
        (terms.policy, terms.epsilon, state, moment, *place),
    )
    return int(made[0][0])


def dropped(db: Transaction, release: int) -> bool:
    """Withdraw a release for which no noise was drawn: what its parts claimed, if anything, is free."""
    held = db.run("SELECT records FROM release WHERE number = ? AND state = ?", (release, PREPARING))
    if held and not held[0][0]:
        db.run("DELETE FROM release WHERE number = ?", (release,))
    elif held:
        move(db, release, (PREPARING,), ABANDONED)
    return bool(held)


def state_of(db: Transaction, release: int) -> str:
    """The state of a release."""
    known = db.run("SELECT state FROM release WHERE number = ?", (release,))
    return str(known[0][0]) if known else "unknown"


def expect_state(db: Transaction, release: int, states: tuple[str, ...]) -> str:
    """The state of a release, which must be one of some."""
    state = state_of(db, release)
    if state not in states:
        raise InvalidInput(f"release {release} is {state}, expected {' or '.join(states)}")
    return state


def move(db: Transaction, release: int, before: tuple[str, ...], after: str) -> None:
    """Change the state of a release; a repeated try may find that it is changed already."""
    expect_state(db, release, (*before, after) if db.is_again else before)
    db.run("UPDATE release SET state = ? WHERE number = ?", (after, release))


def totals_of(db: Transaction) -> LedgerTotals:
    """What a ledger holds, in numbers."""
    live = f"state <> '{ABANDONED}'"
    ((records, repeated, composed),) = db.run(
        f"SELECT coalesce(sum(records - repeated), 0), coalesce(sum(repeated), 0), coalesce(max(composed), 0) "
        f"FROM release WHERE {live}"
    )
    ((users, number, most),) = db.run(
        "SELECT count(*), coalesce(sum(number), 0), coalesce(max(spent), 0) FROM ("
        f"SELECT sum(p.records + p.noisier) AS number, sum({WEIGHT} * l.epsilon) AS spent "
        f"FROM person p JOIN release l ON l.number = p.release WHERE l.{live} GROUP BY p.key) AS everybody"
    )
    ((rows,),) = db.run(
        f"SELECT coalesce(sum(c.copies), 0) FROM content c JOIN release l ON l.number = c.release WHERE l.{live}"
    )
    return LedgerTotals(
        releases={state: int(n) for state, n in db.run(_STATES)},
        records=int(records),
        repeated=int(repeated),
        unnamed_rows=int(rows),
        kept=int(db.run("SELECT count(*) FROM kept")[0][0]),
        users=int(users),
        user_releases=int(number),
        user_most_spent=float(most),
        most_composed=float(composed),
        changes=db.changes(),
    )
