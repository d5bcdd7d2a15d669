"""The budget of users: how many of their records were released, and the metric budget that these spend together.

Releases compose: records of one user at ε each may all be about one secret, so together they spend the sum of their ε.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.terms import ABANDONED, NOISIER, ClaimTerms, listed
from oddshift.protect.ledger.transaction import Transaction
from oddshift.protect.record_keys import WIDTH

WEIGHT = f"(p.records + p.noisier / {NOISIER}.0)"
"""How many releases of full ε the records of a user count for, of the table person as p."""

_SPENT = (
    f"SELECT g.i, sum({WEIGHT} * l.epsilon) FROM given g JOIN person p ON p.key = g.key "
    f"JOIN release l ON l.number = p.release WHERE l.state <> '{ABANDONED}' GROUP BY g.i"
)

_ADD = (
    "INSERT INTO person (key, release, records, noisier) VALUES (?, ?, ?, ?) ON CONFLICT (key, release) DO UPDATE SET "
    "records = person.records + excluded.records, noisier = person.noisier + excluded.noisier"
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
    everybody = np.unique(np.frombuffer(users, dtype=f"S{WIDTH}"))
    keys = everybody.tobytes()
    db.stage(keys, np.zeros(len(everybody), dtype=np.int64))
    db.lock_users()
    already = {int(place): float(epsilon) for place, epsilon in db.run(_SPENT)}
    spent = {keys[n * WIDTH : (n + 1) * WIDTH]: already.get(n, 0.0) for n in range(len(everybody))}
    counts: dict[bytes, list[int]] = {}
    found = Spending()
    less = terms.epsilon / NOISIER if terms.limit is not None and terms.limit.past == "noise" else np.inf
    budget = np.inf if terms.limit is None else terms.limit.budget * _ROUNDING
    for place in np.flatnonzero(~left_out).tolist():
        user = users[place * WIDTH : (place + 1) * WIDTH]
        count = counts.setdefault(user, [0, 0])
        if spent[user] + terms.epsilon <= budget:
            spent[user] += terms.epsilon
            count[0] += 1
        elif spent[user] + less <= budget:
            spent[user] += less
            count[1] += 1
            found.noisier.append(int(numbers[place]))
        else:
            found.past.append(int(numbers[place]))
            left_out[place] = True
    db.many(_ADD, [(user, release, *count) for user, count in counts.items() if any(count)])
    return found


def refuse_past(past: list[int], total: int, terms: ClaimTerms) -> None:
    """Refuse the whole input if a record is beyond its user's budget and a refusal was asked for."""
    if terms.limit is not None and terms.limit.past == "refuse" and past:
        verb = "records is" if len(past) == 1 else "records are"
        raise InvalidInput(
            f"{len(past):,} of {total:,} {verb} beyond the budget {terms.limit.budget:g} of their user: {listed(past)}"
        )
