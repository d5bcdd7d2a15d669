"""Claiming records in a ledger: which are new, which were released before, and which are beyond their user's budget.

Everything here happens inside one transaction, before any noise is drawn. A record that is claimed is never new again.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.terms import (
    CRASHED,
    NOTHING,
    Claimed,
    ClaimTerms,
    KeyBatch,
    as_rows,
    counted,
    listed,
    number_rows,
    statement_batches,
)
from oddshift.protect.ledger.user_budget import refuse_past, spend
from oddshift.protect.record_keys import WIDTH

Keys = np.ndarray[tuple[int], np.dtype[np.bytes_]]


def claim_named(db: sqlite3.Connection, release: int, terms: ClaimTerms, batches: Iterable[KeyBatch]) -> Claimed:
    """Claim records that are known by id or content; if some may not be released, it raises and claims nothing."""
    work = _Claiming(db, release, terms)
    for batch in statement_batches(batches):
        work.add(batch)
    work.refuse()
    return work.result()


_CUT = f"substr(?1, n.i * {WIDTH} + 1, {WIDTH})"

_FIND = f"""
SELECT n.i, r.release, r.row, l.state, l.epsilon, EXISTS (SELECT 1 FROM kept k WHERE k.key = r.key AND k.policy = ?3)
FROM numbers n CROSS JOIN record r ON r.key = {_CUT} JOIN release l ON l.number = r.release
WHERE n.i < ?2 ORDER BY n.i, r.release
"""

_DIGITS = 12

_INSERT = f"""
INSERT INTO record
SELECT {_CUT}, ?3, CAST(CAST(substr(?4, n.i * {_DIGITS} + 1, {_DIGITS}) AS TEXT) AS INTEGER)
FROM numbers n WHERE n.i < ?2
"""


@dataclass(eq=False, repr=False)
class _Claiming:
    """A claim that is being built; its lists grow with every batch."""

    db: sqlite3.Connection
    release: int
    terms: ClaimTerms
    rows: int = 0
    records: int = 0
    composed: float = 0.0
    refused: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    past: list[int] = field(default_factory=list)
    noisier: list[int] = field(default_factory=list)
    past_keys: dict[bytes, int] = field(default_factory=dict)
    copies: array[int] = field(default_factory=lambda: array("q"))  # row, first row, row, first row, ...
    is_crashed: bool = False

    def add(self, batch: KeyBatch) -> None:
        """One batch: look its records up, count their users, insert what is new."""
        number_rows(self.db, len(batch))
        given: Keys = np.frombuffer(batch.keys, dtype=f"S{WIDTH}")
        order = np.argsort(given, kind="stable")  # neighbours in the tree, and equal records next to each other
        keys, rows = given[order], order + self.rows + 1
        self.rows += len(batch)
        left_out = self._look_up(keys, rows) | (keys == NOTHING)
        self._mark_past(keys, rows, left_out)
        self._mark_copies(keys, rows, left_out)
        if batch.users:
            found = spend(self.db, self.release, self.terms, batch.users, rows, left_out)
            is_past = np.flatnonzero(np.isin(rows, found.past))
            self.past_keys.update((keys[place], int(rows[place])) for place in is_past)
            self.past += found.past
            self.noisier += found.noisier
        if left_out.any():
            keys, rows = keys[~left_out], rows[~left_out]
        numbers = rows.astype(f"S{_DIGITS}").tobytes()
        self.db.execute(_INSERT, (keys.tobytes(), len(keys), self.release, numbers))
        self.records += len(keys)

    def _look_up(self, keys: Keys, rows: IntArray) -> BoolArray:
        """Which records must not be inserted; those in the ledger are sorted by what happens to them."""
        left_out = np.zeros(len(keys), dtype=np.bool_)
        held: dict[int, list[tuple[int, int, str, float, int]]] = {}
        for place, *rest in self.db.execute(_FIND, (keys.tobytes(), len(keys), self.terms.policy)):
            held.setdefault(place, []).append(tuple(rest))
        for place, releases in held.items():
            left_out[place] = self._judge(int(rows[place]), bytes(keys[place]).ljust(WIDTH, b"\0"), releases)
        return left_out

    def _judge(self, row: int, key: bytes, releases: list[tuple[int, int, str, float, int]]) -> bool:
        """Decide what happens to a record that the ledger holds; True when it is not inserted."""
        terms = self.terms
        if terms.may_take_over:
            for release, _, state, _, _ in releases:
                if state == CRASHED:
                    self.db.execute("DELETE FROM record WHERE key = ? AND release = ?", (key, release))
            releases = [one for one in releases if one[2] != CRASHED]
        own = [first for release, first, *_ in releases if release == self.release]
        if own:
            self.copies.extend((row, own[0]))
        elif terms.is_kept and releases and releases[0][4]:
            self.kept.append(row)
        elif terms.may_repeat or not releases:
            if releases:
                self.repeated.append(row)
                self.composed = max(self.composed, terms.epsilon + sum(one[3] for one in releases))
            return False
        else:
            self.refused.append(row)
            self.is_crashed |= all(one[2] == CRASHED for one in releases)
        return True

    def _mark_past(self, keys: Keys, rows: IntArray, left_out: BoolArray) -> None:
        """Copies of a record that was past its user's budget in an earlier batch."""
        if self.past_keys:
            for place in np.flatnonzero(~left_out).tolist():
                if keys[place] in self.past_keys:
                    self.copies.extend((int(rows[place]), self.past_keys[keys[place]]))
                    left_out[place] = True

    def _mark_copies(self, keys: Keys, rows: IntArray, left_out: BoolArray) -> None:
        """Equal records of one batch: all but the first are copies."""
        first = 0
        for place in (np.flatnonzero((keys[1:] == keys[:-1]) & ~left_out[1:]) + 1).tolist():
            if not left_out[place - 1]:
                first = int(rows[place - 1])
            self.copies.extend((int(rows[place]), first))
            left_out[place] = True

    def refuse(self) -> None:
        """Refuse the whole input when one of its records may not be released."""
        if self.refused:
            hint = "--take-over claims those of a release that died, " if self.is_crashed else ""
            raise InvalidInput(
                f"{counted(self.refused, self.rows)} released before, and releases of a record add up "
                f"({hint}--allow-repeat adds one): {listed(self.refused)}"
            )
        refuse_past(self.past, self.rows, self.terms)

    def result(self) -> Claimed:
        """What was found; a copy of a record that is past the limit is past it too."""
        copies = np.frombuffer(self.copies, dtype=np.int64).reshape(-1, 2)
        copies = copies[np.argsort(copies[:, 0])]
        past = as_rows(self.past)
        is_past = np.isin(copies[:, 1], past)
        past = np.union1d(past, copies[is_past, 0])
        return Claimed(
            release=self.release,
            records=self.records,
            repeated=np.setdiff1d(as_rows(self.repeated), np.concatenate([copies[:, 0], past])),
            kept=as_rows(self.kept),
            copies=copies[~is_past],
            past=past,
            noisier=as_rows(self.noisier),
            composed=max(self.composed, self.terms.epsilon if self.records else 0.0),
        )
