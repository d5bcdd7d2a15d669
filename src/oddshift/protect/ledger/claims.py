"""Claiming records in a ledger: which are new, which were released before, and which are beyond their user's budget.

Everything here happens inside one transaction, before any noise is drawn. A record that is claimed is never new again.
It is claimed by every way in which it can be known, and refused if it was released by any of them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.ledger.composition import RowShare, Spending, refuse_past, spend
from oddshift.protect.ledger.sorted_runs import Words, in_order, words
from oddshift.protect.ledger.terms import (
    CRASHED,
    Claimed,
    ClaimTerms,
    KeyBatch,
    as_rows,
    counted,
    listed,
    statement_batches,
)
from oddshift.protect.ledger.transaction import Claimant, Holder, Transaction
from oddshift.protect.record_keys import WIDTH


def claim_records(db: Transaction, claimant: Claimant, terms: ClaimTerms, batches: Iterable[KeyBatch]) -> Claimed:
    """Claim records; if some may not be released, it raises and claims nothing.

    Rows without a name may repeat legitimately: more than chance explains must not have been released before.
    """
    work = _Claiming(db, claimant, terms)
    for batch in statement_batches(batches):
        work.add(batch)
    work.refuse()
    return work.result()


@dataclass(frozen=True, eq=False, repr=False)
class _Entries:
    """The keys of a batch by all ways, in order; equal ones are a group, which begins with a record's first key.

    `row` is the place in the batch that a key belongs to, `is_first` whether it is the first way of its record.
    """

    high: Words
    low: Words
    row: IntArray
    is_first: BoolArray
    starts: IntArray
    group: IntArray

    @classmethod
    def of(cls, batch: KeyBatch) -> _Entries:
        """All keys of a batch, without those that say that there is nothing."""
        count = len(batch)
        high, low = words(b"".join((batch.keys, *batch.ways)))
        order = in_order(high, low)
        high, low = high[order], low[order]
        if (high[:1] == 0).any():
            is_something = (high != 0) | (low != 0)
            high, low, order = high[is_something], low[is_something], order[is_something]
        is_new = np.ones(len(order), dtype=np.bool_)
        is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        row = order if not batch.ways else order % count
        return cls(high, low, row, order < count, np.flatnonzero(is_new), np.cumsum(is_new) - 1)


@dataclass(eq=False, repr=False)
class _Claiming:
    """A claim that is being built; its lists grow with every batch."""

    db: Transaction
    claimant: Claimant
    terms: ClaimTerms
    rows: int = 0
    records: int = 0
    composed: float = 0.0
    refused: list[int] = field(default_factory=list)
    repeated: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    found: Spending = field(default_factory=Spending)
    past_keys: dict[tuple[int, int], int] = field(default_factory=dict)
    copies: array[int] = field(default_factory=lambda: array("q"))  # row, first row, row, first row, ...
    elsewhere: array[int] = field(default_factory=lambda: array("q"))  # row, part, row there, ...
    is_crashed: bool = False
    is_by_content: bool = False
    known: dict[int, tuple[str, float]] = field(default_factory=dict)
    share: RowShare | None = None

    def add(self, batch: KeyBatch) -> None:
        """One batch: look its records up, count their users, enter what is new."""
        first = self.rows + 1
        self.rows += len(batch)
        is_released: BoolArray = np.ones(len(batch), dtype=np.bool_)
        entries = self._taken(batch, first, is_released) if self.terms.is_named else None
        if batch.users:
            left_out = ~is_released
            numbered = np.arange(first, first + len(batch))
            spent = spend(self.db, self.claimant.release, self.terms, batch.users, numbers=numbered, left_out=left_out)
            self._note_past(batch, spent, first)
            is_released = ~left_out
        rows = batch.rows if self.terms.is_named else batch.keys
        if rows:
            self.share = self.share or RowShare(self.db, self.claimant.release, self.terms)
            self.share.add(rows, is_released)
        if entries is not None:
            wanted = is_released[entries.row]
            self.db.enter(np.bincount(entries.group[wanted], minlength=len(entries.starts)).astype(np.bool_))
        self.records += int(is_released.sum())

    def _taken(self, batch: KeyBatch, first: int, is_released: BoolArray) -> _Entries:
        """Take the keys of a batch; records that hold nothing, are held or are copies are not released."""
        entries = _Entries.of(batch)
        if len(entries.starts) < len(batch) or batch.ways:
            is_named = np.zeros(len(batch), dtype=np.bool_)
            is_named[entries.row[entries.is_first]] = True
            is_released &= is_named  # the others hold nothing
        heads = entries.starts
        numbers = np.where(entries.is_first[heads], entries.row[heads] + first, 0)
        held = self.db.take(self.claimant, (entries.high[heads], entries.low[heads]), numbers)
        self._mark_held(entries, held, first, is_released)
        self._mark_copies(entries, first, is_released)
        return entries

    def _mark_held(self, entries: _Entries, held: list[Holder], first: int, is_released: BoolArray) -> None:
        """Sort the records that somebody holds by what happens to them."""
        ends = np.append(entries.starts[1:], len(entries.row))
        by_row: dict[int, list[Holder]] = {}
        ours: dict[int, Holder] = {}
        for holder in held:
            for at in range(int(entries.starts[holder.place]), int(ends[holder.place])):
                row, is_first = int(entries.row[at]), bool(entries.is_first[at])
                if holder.release != self.claimant.release:
                    if is_first or not self.terms.by_id_only:
                        by_row.setdefault(row, []).append(holder)
                        self.is_by_content |= not is_first
                elif is_first and holder.row:
                    ours[row] = holder
        kept = self._kept(entries, by_row)
        for row, holders in by_row.items():
            if row not in ours and is_released[row]:
                is_released[row] = self._judge(row + first, {one.release for one in holders}, row in kept)
        for row, holder in ours.items():
            is_released[row] = False
            if holder.part == self.claimant.part:
                self.copies.extend((row + first, holder.row))
            else:
                self.elsewhere.extend((row + first, holder.part, holder.row))

    def _kept(self, entries: _Entries, by_row: dict[int, list[Holder]]) -> set[int]:
        """The rows whose earlier release was kept."""
        if not (self.terms.is_kept and by_row):
            return set()
        at = np.flatnonzero(entries.is_first & np.isin(entries.row, list(by_row)))
        pairs = np.stack([entries.high[at], entries.low[at]], axis=1).astype(">u8")
        self.db.stage(pairs.tobytes(), entries.row[at])
        found = self.db.run(
            "SELECT g.number FROM given g JOIN kept k ON k.key = g.key WHERE k.policy = ?", (self.terms.policy,)
        )
        return {int(number) for (number,) in found}

    def _judge(self, row: int, releases: set[int], is_kept: bool) -> bool:
        """Decide what happens to a record that others hold; whether it is released."""
        known = [self._about(release) for release in releases]
        if is_kept:
            self.kept.append(row)
            return False
        if self.terms.may_repeat:
            self.repeated.append(row)
            self.composed = max(self.composed, self.terms.epsilon + sum(epsilon for _, epsilon in known))
            return True
        self.refused.append(row)
        self.is_crashed |= all(state == CRASHED for state, _ in known)
        return False

    def _about(self, release: int) -> tuple[str, float]:
        """The state of a release, and its ε."""
        if release not in self.known:
            ((state, epsilon),) = self.db.run("SELECT state, epsilon FROM release WHERE number = ?", (release,))
            self.known[release] = (state, float(epsilon))
        return self.known[release]

    def _mark_copies(self, entries: _Entries, first: int, is_released: BoolArray) -> None:
        """Equal records of one batch, all but the first of them, and copies of what was past a budget earlier."""
        if self.past_keys:
            for at in np.flatnonzero(entries.is_first & is_released[entries.row]).tolist():
                before = self.past_keys.get((int(entries.high[at]), int(entries.low[at])))
                if before is not None:
                    self.copies.extend((int(entries.row[at]) + first, before))
                    is_released[entries.row[at]] = False
        is_later = entries.is_first.copy()
        is_later[entries.starts] = False
        for at in np.flatnonzero(is_later).tolist():
            row, source = int(entries.row[at]), int(entries.row[entries.starts[entries.group[at]]])
            if is_released[row] and is_released[source]:
                self.copies.extend((row + first, source + first))
        later = entries.row[is_later]
        is_released[later] = False

    def _note_past(self, batch: KeyBatch, spent: Spending, first: int) -> None:
        """Remember the records beyond a budget: they are not entered, and their copies share what becomes of them."""
        self.found.past.extend(spent.past)
        self.found.noisier.extend(spent.noisier)
        for row in spent.past if self.terms.is_named else ():
            high, low = words(batch.keys[(row - first) * WIDTH : (row - first + 1) * WIDTH])
            self.past_keys[int(high[0]), int(low[0])] = row

    def refuse(self) -> None:
        """Refuse the whole input when one of its records may not be released."""
        if self.refused:
            hint = "--take-over claims those of a release that died, " if self.is_crashed else ""
            if self.is_by_content:
                hint += "some are known by a text: with --id-only equal texts under new ids are other records, "
            raise InvalidInput(
                f"{counted(self.refused, self.rows)} released before, and releases of a record add up "
                f"({hint}--allow-repeat adds one): {listed(self.refused)}"
            )
        if self.share is not None and not self.terms.by_id_only:
            self.share.refuse()
        refuse_past(self.found.past, self.rows, self.terms)

    def result(self) -> Claimed:
        """What was found; a copy of a record that is past the limit is past it too."""
        copies = np.frombuffer(self.copies, dtype=np.int64).reshape(-1, 2)
        copies = copies[np.argsort(copies[:, 0])]
        past = as_rows(self.found.past)
        is_past = np.isin(copies[:, 1], past)
        past = np.union1d(past, copies[is_past, 0])
        repeated = np.setdiff1d(as_rows(self.repeated), np.concatenate([copies[:, 0], past]))
        share, more, composed = self.share, 0, max(self.composed, self.terms.epsilon if self.records else 0.0)
        if share is not None and share.is_again and not self.terms.by_id_only:
            more, composed = max(0, share.repeated - len(repeated)), max(composed, share.composed)
        return Claimed(
            release=self.claimant.release,
            records=self.records,
            repeated=repeated,
            kept=as_rows(self.kept),
            copies=copies[~is_past],
            past=past,
            noisier=as_rows(self.found.noisier),
            composed=composed,
            share=0.0 if share is None else share.share,
            chance=0.0 if share is None else share.chance,
            rows_again=more,
            elsewhere=np.frombuffer(self.elsewhere, dtype=np.int64).reshape(-1, 3),
        )
