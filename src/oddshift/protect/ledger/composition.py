"""What releases add up to, for users and for rows without a name.

Releases compose: records of one user at ε each may all be about one secret, so together they spend the sum of their ε.

Of rows without a name two people may legitimately have the same, so a share decides, not a single row. The chance that
a new row of the same population is already in a ledger is estimated by Good and Turing: 1 − f₁/N, where f₁ of N
released rows occur once. An input whose share of released rows exceeds that beyond chance is the same data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.terms import (
    ABANDONED,
    NOISIER,
    ClaimTerms,
    listed,
)
from oddshift.protect.ledger.transaction import Transaction
from oddshift.protect.record_keys import WIDTH

WEIGHT = f"(p.records + p.noisier / {NOISIER}.0)"
"""How many releases of full ε the records of a user count for, of the table person as p."""

_SPENT = (
    f"SELECT g.i, sum({WEIGHT} * l.epsilon) FROM given g JOIN person p ON p.key = g.key "
    f"JOIN release l ON l.number = p.release WHERE l.state <> '{ABANDONED}' GROUP BY g.i"
)

_ADD = (
    "INSERT INTO person (key, release, records, noisier) SELECT g.key, CAST(? AS INTEGER), {} FROM given g WHERE true "
    "ON CONFLICT (key, release) DO UPDATE SET records = person.records + excluded.records, "
    "noisier = person.noisier + excluded.noisier"
)

_ROUNDING = 1.0 + 1e-12  # ten releases of .1 stay within a budget of 1


@dataclass(frozen=True)
class Spending:
    """Rows beyond the limit of their user, and rows that are drawn with more noise to stay within it."""

    past: list[int] = field(default_factory=list)
    noisier: list[int] = field(default_factory=list)


def spend(
    db: Transaction, release: int, terms: ClaimTerms, users: bytes, *, numbers: IntArray, left_out: BoolArray
) -> Spending:
    """Count one release for the user of every record that is not left out; returns the rows beyond the limit.

    `users` holds the keys in the order of the row `numbers`. Rows beyond the limit are marked in `left_out`; those that
    are drawn with more noise are not. Other claims that spend for the same users wait until this one ends.
    """
    everybody, user_of = np.unique(np.frombuffer(users, dtype=f"S{WIDTH}"), return_inverse=True)
    db.stage(everybody.tobytes(), np.zeros(len(everybody), dtype=np.int64))
    db.lock_users()
    spent, normal, noisier = [0.0] * len(everybody), [0] * len(everybody), [0] * len(everybody)
    for place, epsilon in db.run(_SPENT):
        spent[place] = float(epsilon)
    found = Spending()
    less = terms.epsilon / NOISIER if terms.limit is not None and terms.limit.past == "noise" else np.inf
    budget = np.inf if terms.limit is None else terms.limit.budget * _ROUNDING
    places = np.flatnonzero(~left_out)
    for place, user in zip(places.tolist(), user_of[places].tolist(), strict=True):
        if spent[user] + terms.epsilon <= budget:
            spent[user] += terms.epsilon
            normal[user] += 1
        elif spent[user] + less <= budget:
            spent[user] += less
            noisier[user] += 1
            found.noisier.append(int(numbers[place]))
        else:
            found.past.append(int(numbers[place]))
            left_out[place] = True
    for columns, counts in (("g.number, 0", np.array(normal)), ("0, g.number", np.array(noisier))):
        if counts.any():
            db.stage(everybody[counts > 0].tobytes(), counts[counts > 0])
            db.run(_ADD.format(columns), (release,))
    return found


def refuse_past(past: list[int], total: int, terms: ClaimTerms) -> None:
    """Refuse the whole input if a record is beyond its user's budget and a refusal was asked for."""
    if terms.limit is not None and terms.limit.past == "refuse" and past:
        verb = "records is" if len(past) == 1 else "records are"
        raise InvalidInput(
            f"{len(past):,} of {total:,} {verb} beyond the budget {terms.limit.budget:g} of their user: {listed(past)}"
        )


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
