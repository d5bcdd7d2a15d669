"""Rows without a name: two people may legitimately have the same row, so a share decides, not a single row.

The chance that a new row of the same population is already in a ledger is estimated by Good and Turing: 1 − f₁/N, where
f₁ of N released rows occur once. An input whose share of released rows exceeds that beyond chance is the same data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.terms import ABANDONED, Claimed, ClaimTerms, KeyBatch, as_rows, statement_batches
from oddshift.protect.ledger.transaction import Claimant, Transaction
from oddshift.protect.ledger.user_budget import Spending, refuse_past, spend
from oddshift.protect.record_keys import WIDTH

LEVEL = 0.01
"""How unlikely a share must be by chance before an input is refused."""

_SEEN = (
    "SELECT g.i, sum(l.epsilon) FROM given g JOIN content c ON c.key = g.key JOIN release l ON l.number = c.release "
    f"WHERE c.release <> ? AND l.state <> '{ABANDONED}' GROUP BY g.i"
)

_INSERT = (
    "INSERT INTO content SELECT g.key, CAST(? AS INTEGER), g.number FROM given g WHERE true "
    "ON CONFLICT (key, release) DO UPDATE SET copies = content.copies + excluded.copies"
)


@dataclass(eq=False, repr=False)
class RowShare:
    """The share of the rows of an input that were released before; it grows with every batch."""

    db: Transaction
    release: int
    terms: ClaimTerms
    rows: int = 0
    repeated: int = 0
    composed: float = 0.0

    def __post_init__(self) -> None:
        """What chance explains, before anything is added."""
        self.chance = seen_by_chance(self.db)

    def add(self, keys: bytes, is_released: BoolArray) -> None:
        """Some more rows, of which those count that are released."""
        given = np.frombuffer(keys, dtype=f"S{WIDTH}")[is_released]
        some, counts = np.unique(given, return_counts=True)
        self.db.stage(some.tobytes(), counts)
        for place, spent in self.db.run(_SEEN, (self.release,)):
            self.repeated += int(counts[place])
            self.composed = max(self.composed, float(spent) + self.terms.epsilon)
        self.db.run(_INSERT, (self.release,))
        self.rows += len(is_released)

    @cached_property
    def is_again(self) -> bool:
        """Whether more rows were released before than chance explains; asked when all are added."""
        return self.repeated > 0 and tail(self.repeated, self.rows, self.chance) < LEVEL

    @property
    def share(self) -> float:
        """Of all rows."""
        return self.repeated / max(self.rows, 1)

    def refuse(self) -> None:
        """Refuse an input that is the same data again, unless that is allowed."""
        if self.is_again and not self.terms.may_repeat:
            raise InvalidInput(
                f"{self.repeated:,} of {self.rows:,} rows ({self.share:.1%}) were released before with this ledger, "
                f"{self.chance:.1%} are expected by chance, and releases add up; name an id column, or --allow-repeat "
                "adds a release"
            )


def claim_rows(db: Transaction, claimant: Claimant, terms: ClaimTerms, batches: Iterable[KeyBatch]) -> Claimed:
    """Claim rows that may repeat legitimately; raises when more were released before than chance explains."""
    work, found = RowShare(db, claimant.release, terms), Spending()
    for part in statement_batches(batches):
        left_out = np.zeros(len(part), dtype=np.bool_)
        if part.users:
            numbers = np.arange(work.rows + 1, work.rows + len(part) + 1)
            spent_now = spend(db, claimant.release, terms, part.users, numbers=numbers, left_out=left_out)
            found.past.extend(spent_now.past)
            found.noisier.extend(spent_now.noisier)
        work.add(part.keys, ~left_out)
    work.refuse()
    refuse_past(found.past, work.rows, terms)
    nothing = as_rows([])
    return Claimed(
        release=claimant.release,
        records=work.rows - len(found.past),
        repeated=nothing,
        kept=nothing,
        copies=nothing.reshape(-1, 2),
        past=as_rows(found.past),
        noisier=as_rows(found.noisier),
        composed=work.composed if work.is_again else terms.epsilon,
        share=work.share,
        chance=work.chance,
        rows_again=work.repeated if work.is_again else 0,
    )


def seen_by_chance(db: Transaction) -> float:
    """The estimated share of rows of a new sample that the ledger holds already, of rows without a name.

    Releases that were the same data again are left out: they would make every repeat look like chance.
    """
    ((total, once),) = db.run(
        "SELECT coalesce(sum(copies), 0), coalesce(sum(CASE WHEN copies = 1 THEN 1 ELSE 0 END), 0) FROM ("
        "SELECT sum(c.copies) AS copies FROM content c JOIN release l ON l.number = c.release "
        f"WHERE l.is_again = 0 AND l.state <> '{ABANDONED}' GROUP BY c.key) AS held"
    )
    return float((total - once + 1) / (total + 2)) if total else 0.0


def tail(count: int, of: int, chance: float) -> float:
    """Pr[K ≥ count] for K binomial over `of` trials: the probability that chance alone gives as many.

    >>> round(tail(2, 2, 0.5), 12), tail(0, 5, 0.1)
    (0.25, 1.0)
    """
    if count == 0:
        return 1.0
    from scipy.special import betainc  # a third of the time in which the commands start, and rarely needed

    return float(betainc(count, of - count + 1, chance))
