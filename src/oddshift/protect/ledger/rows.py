"""Rows without a name: two people may legitimately have the same row, so a share decides, not a single row.

The chance that a new row of the same population is already in a ledger is estimated by Good and Turing: 1 − f₁/N, where
f₁ of N released rows occur once. An input whose share of released rows exceeds that beyond chance is the same data.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.terms import Claimed, ClaimTerms, KeyBatch, as_rows, number_rows, statement_batches
from oddshift.protect.ledger.user_budget import Spending, refuse_past, spend
from oddshift.protect.record_keys import WIDTH

LEVEL = 0.01
"""How unlikely a share must be by chance before an input is refused."""

_CUT = f"substr(?1, n.i * {WIDTH} + 1, {WIDTH})"

_SEEN = f"""
SELECT n.i, total(l.epsilon) FROM numbers n CROSS JOIN content c ON c.key = {_CUT}
JOIN release l ON l.number = c.release WHERE n.i < ?2 AND c.release <> ?3 GROUP BY n.i
"""

_INSERT = f"""
INSERT INTO content
SELECT {_CUT}, ?3, CAST(CAST(substr(?4, n.i * 12 + 1, 12) AS TEXT) AS INTEGER) FROM numbers n WHERE n.i < ?2
ON CONFLICT DO UPDATE SET copies = copies + excluded.copies
"""


def claim_rows(db: sqlite3.Connection, release: int, terms: ClaimTerms, batches: Iterable[KeyBatch]) -> Claimed:
    """Claim rows that may repeat legitimately; raises when more were released before than chance explains."""
    chance = seen_by_chance(db)
    rows, repeated, composed, found = 0, 0, 0.0, Spending()
    for part in statement_batches(batches):
        number_rows(db, len(part))
        given = np.frombuffer(part.keys, dtype=f"S{WIDTH}")
        if part.users:
            left_out = np.zeros(len(part), dtype=np.bool_)
            numbers = np.arange(rows + 1, rows + len(part) + 1)
            spent_now = spend(db, release, terms, part.users, numbers, left_out)
            found.past.extend(spent_now.past)
            found.noisier.extend(spent_now.noisier)
            given = given[~left_out]
        keys, counts = np.unique(given, return_counts=True)
        for place, spent in db.execute(_SEEN, (keys.tobytes(), len(keys), release)):
            repeated += int(counts[place])
            composed = max(composed, spent + terms.epsilon)
        db.execute(_INSERT, (keys.tobytes(), len(keys), release, counts.astype("S12").tobytes()))
        rows += len(part)
    share = repeated / max(rows, 1)
    is_again = repeated > 0 and tail(repeated, rows, chance) < LEVEL
    if is_again and not terms.may_repeat:
        raise InvalidInput(
            f"{repeated:,} of {rows:,} rows ({share:.1%}) were released before with this ledger, {chance:.1%} are "
            "expected by chance, and releases add up; name an id column, or --allow-repeat adds a release"
        )
    refuse_past(found.past, rows, terms)
    nothing = as_rows([])
    return Claimed(
        release=release,
        records=rows - len(found.past),
        repeated=nothing,
        kept=nothing,
        copies=nothing.reshape(-1, 2),
        past=as_rows(found.past),
        noisier=as_rows(found.noisier),
        composed=composed if is_again else terms.epsilon,
        share=share,
        chance=chance,
        rows_again=repeated if is_again else 0,
    )


def seen_by_chance(db: sqlite3.Connection) -> float:
    """The estimated share of rows of a new sample that the ledger holds already, of rows without a name.

    Releases that were the same data again are left out: they would make every repeat look like chance.
    """
    total, once = db.execute(
        "SELECT total(copies), total(copies = 1) FROM (SELECT sum(c.copies) AS copies FROM content c "
        "JOIN release l ON l.number = c.release WHERE NOT l.is_again GROUP BY c.key)"
    ).fetchone()
    return float((total - once + 1.0) / (total + 2.0)) if total else 0.0


def tail(count: int, of: int, chance: float) -> float:
    """Pr[K ≥ count] for K binomial over `of` trials: the probability that chance alone gives as many.

    >>> round(tail(2, 2, 0.5), 12), tail(0, 5, 0.1)
    (0.25, 1.0)
    """
    if count == 0:
        return 1.0
    from scipy.special import betainc  # a third of the time in which the commands start, and rarely needed

    return float(betainc(count, of - count + 1, chance))
