"""The budget of users: how many of their records were released, and the metric budget that these spend together.

Releases compose: records of one user at ε each may all be about one secret, so together they spend the sum of their ε.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.terms import NOISIER, ClaimTerms, listed
from oddshift.protect.record_keys import WIDTH

WEIGHT = f"(p.records + p.noisier / {NOISIER}.0)"
"""How many releases of full ε the records of a user count for, of the table person as p."""

_SPENT = f"SELECT total({WEIGHT} * l.epsilon) FROM person p JOIN release l ON l.number = p.release WHERE p.key = ?"

_ADD = (
    "INSERT INTO person (key, release, records, noisier) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "records = records + excluded.records, noisier = noisier + excluded.noisier"
)

_ROUNDING = 1.0 + 1e-12  # ten releases of .1 stay within a budget of 1


@dataclass(frozen=True)
class Spending:
    """Rows beyond the limit of their user, and rows that are drawn with more noise to stay within it."""

    past: list[int] = field(default_factory=list)
    noisier: list[int] = field(default_factory=list)


def spend(
    db: sqlite3.Connection, release: int, terms: ClaimTerms, users: bytes, rows: IntArray, left_out: BoolArray
) -> Spending:
    """Count one release for the user of every record that is not left out; returns the rows beyond the limit.

    `users` holds the keys in the order of the row numbers, `rows` the row numbers in any order. Rows beyond the limit
    are marked in `left_out`; those that are drawn with more noise are not.
    """
    order = np.argsort(rows)
    spent: dict[bytes, float] = {}
    counts: dict[bytes, list[int]] = {}
    found = Spending()
    less = terms.epsilon / NOISIER if terms.limit is not None and terms.limit.past == "noise" else np.inf
    budget = np.inf if terms.limit is None else terms.limit.budget * _ROUNDING
    for position, place in enumerate(order.tolist()):
        if left_out[place]:
            continue
        user = users[position * WIDTH : (position + 1) * WIDTH]
        if user not in spent:
            spent[user] = float(db.execute(_SPENT, (user,)).fetchone()[0])
        count = counts.setdefault(user, [0, 0])
        if spent[user] + terms.epsilon <= budget:
            spent[user] += terms.epsilon
            count[0] += 1
        elif spent[user] + less <= budget:
            spent[user] += less
            count[1] += 1
            found.noisier.append(int(rows[place]))
        else:
            found.past.append(int(rows[place]))
            left_out[place] = True
    db.executemany(_ADD, [(user, release, *count) for user, count in counts.items() if any(count)])
    return found


def refuse_past(past: list[int], total: int, terms: ClaimTerms) -> None:
    """Refuse the whole input if a record is beyond its user's budget and a refusal was asked for."""
    if terms.limit is not None and terms.limit.past == "refuse" and past:
        verb = "records is" if len(past) == 1 else "records are"
        raise InvalidInput(
            f"{len(past):,} of {total:,} {verb} beyond the budget {terms.limit.budget:g} of their user: {listed(past)}"
        )
