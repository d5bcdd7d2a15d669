"""Sorted runs: the keys of a ledger in sorted arrays inside its database, which merge as they grow (a log-structured
merge tree).

A claim of many records writes one run, in order, instead of one leaf of a tree for every record. A run is cut into
pages by the leading bits of its keys, so that few records need few pages. `FAN` runs of one size become one of the
next, hence every key is written a logarithmic number of times. Claims of few records go into a table, and from there
into a run. All of it is part of the transaction of the claim.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.protect.record_keys import WIDTH

Words = np.ndarray[tuple[int], np.dtype[np.uint64]]

FAN = 16
"""How many runs of one size become one of the next; a performance setting, as the following are."""

PAGE = 1 << 14
"""About how many keys a page holds."""

FEW = 1 << 12
"""A claim of fewer keys is written into the table."""

LOOSE = 1 << 16
"""How many keys of the table become a run."""

TABLES = """
CREATE TABLE run (number INTEGER PRIMARY KEY, level INTEGER NOT NULL, bits INTEGER NOT NULL, keys INTEGER NOT NULL);
CREATE TABLE page (place INTEGER PRIMARY KEY, high BLOB NOT NULL, rest BLOB NOT NULL);
CREATE TABLE record (
    key BLOB NOT NULL, release INTEGER NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (key, release)
) WITHOUT ROWID;
"""

_PLACES = 32  # bits of the number of a page within its run
_REST = np.dtype([("low", "<u8"), ("release", "<u4"), ("row", "<u4")])


@dataclass(frozen=True, eq=False, repr=False)
class Entries:
    """Keys as two words each, in order of the first, the release that claimed each, and its row there (0 for none)."""

    high: Words
    rest: np.ndarray[tuple[int], np.dtype[np.void]]

    def __len__(self) -> int:
        """How many keys."""
        return len(self.high)

    @classmethod
    def of(cls, high: Words, low: Words, release: int | IntArray, row: IntArray) -> Entries:
        """Entries from their columns."""
        if len(row) and int(row.max()) >= 1 << 32:
            raise InvalidInput(f"row {int(row.max()):,} of one release, expected fewer than 2^32: release it in parts")
        rest = np.empty(len(high), dtype=_REST)
        rest["low"], rest["release"], rest["row"] = low, release, row
        return cls(high, rest)

    def some(self, chosen: slice | np.ndarray) -> Entries:
        """Some of the entries."""
        return Entries(self.high[chosen], self.rest[chosen])


def words(keys: bytes) -> tuple[Words, Words]:
    """Keys of WIDTH bytes, one after the other, as two words each: their order is that of the bytes."""
    pairs = np.frombuffer(keys, dtype=">u8").reshape(-1, 2)
    return pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)


def in_order(high: Words, low: Words) -> IntArray:
    """The stable order of keys; the first word almost always decides."""
    order = np.argsort(high)
    one = high[order]
    if not (one[1:] == one[:-1]).any():
        return order
    order = np.argsort(high, kind="stable")  # equal keys stay in their order
    one, two = high[order], low[order]
    return np.lexsort((low, high)) if ((one[1:] == one[:-1]) & (two[1:] != two[:-1])).any() else order


def as_bytes(high: int, low: int) -> bytes:
    """A key from its words."""
    return int(high).to_bytes(8, "big") + int(low).to_bytes(8, "big")


Hit = tuple[int, int, int]
"""Place of a key that was looked up, a release that holds it, and its row there."""


def look_up(db: sqlite3.Connection, high: Words, low: Words) -> Iterator[Hit]:
    """Who holds some keys, which are in order."""
    yield from _in_table(db, high, low)
    asked = _Asked.of(high)
    for run, bits, keys in db.execute("SELECT number, bits, keys FROM run ORDER BY number").fetchall():
        edges = _edges(high, bits)
        wanted = np.flatnonzero(edges[1:] > edges[:-1])
        for page, found in _pages(db, run, wanted, is_most=len(wanted) * 4 * PAGE > keys):
            start, end = int(edges[page]), int(edges[page + 1])
            if asked.may_share(found, start, end):
                places = start + np.flatnonzero(np.isin(high[start:end], found))
                yield from _matches(db, run << _PLACES | page, found, (high, low), places)


@dataclass(frozen=True, eq=False, repr=False)
class _Asked:
    """Words that are looked up, in order, and a filter that spares most of the search: a table over their leading bits
    with the next seven (plus 1), 0 where there is no word, and _SEVERAL where there are several.

    It passes one in 2,000 of other words; as all are in order, it is read from one end to the other.
    """

    high: Words
    shift: int
    table: np.ndarray[tuple[int], np.dtype[np.uint8]]

    @classmethod
    def of(cls, high: Words) -> _Asked:
        """The filter of some words."""
        size = (16 * len(high)).bit_length()
        table = np.zeros(1 << size, dtype=np.uint8)
        slots = high >> np.uint64(64 - size)
        table[slots] = _next_bits(high, 64 - size)
        table[slots[1:][slots[1:] == slots[:-1]]] = _SEVERAL
        return cls(high, 64 - size, table)

    def may_share(self, found: Words, start: int, end: int) -> bool:
        """Whether some words of a page, in order, are among those from `start` to before `end`."""
        few, many = self.high[start:end], found
        if len(few) * 4 > len(found):
            held = self.table.take((found >> np.uint64(self.shift)).view(np.int64))
            some = np.flatnonzero(held)
            passed, held = found[some], held[some]
            few, many = passed[(held == _next_bits(passed, self.shift)) | (held == _SEVERAL)], few
        at = np.searchsorted(many, few)
        return bool((many[np.minimum(at, len(many) - 1)] == few).any())


_SEVERAL = 255


def _next_bits(high: Words, shift: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return (high >> np.uint64(shift - 7) & np.uint64(127)).astype(np.uint8) + np.uint8(1)


def _in_table(db: sqlite3.Connection, high: Words, low: Words) -> Iterator[Hit]:
    loose = db.execute("SELECT value FROM meta WHERE name = 'loose'").fetchone()[0]
    if not loose:
        return
    if len(high) * 4 < loose:
        for place, pair in enumerate(zip(high.tolist(), low.tolist(), strict=True)):
            for release, row in db.execute("SELECT release, row FROM record WHERE key = ?", (as_bytes(*pair),)):
                yield place, release, row
        return
    held = _table(db)
    starts, ends = np.searchsorted(held.high, high), np.searchsorted(held.high, high, side="right")
    for place in np.flatnonzero(ends > starts).tolist():
        for one in held.rest[starts[place] : ends[place]]:
            if one["low"] == low[place]:
                yield place, int(one["release"]), int(one["row"])


def _matches(
    db: sqlite3.Connection, place: int, found: Words, asked: tuple[Words, Words], places: IntArray
) -> Iterator[Hit]:
    """The entries of a page whose keys are equal to some of those that were asked for."""
    high, low = asked
    rest = np.frombuffer(db.execute("SELECT rest FROM page WHERE place = ?", (place,)).fetchone()[0], dtype=_REST)
    starts, ends = np.searchsorted(found, high[places]), np.searchsorted(found, high[places], side="right")
    for one, start, end in zip(places.tolist(), starts.tolist(), ends.tolist(), strict=True):
        for entry in rest[start:end]:
            if entry["low"] == low[one]:
                yield one, int(entry["release"]), int(entry["row"])


def _edges(high: Words, bits: int, first: int = 0, last: int = 0) -> IntArray:
    """Where the keys of the pages from `first` to before `last` (default: of all) begin and end, by leading bits."""
    inner = np.arange(first + 1, last or 1 << bits, dtype=np.uint64)
    starts = inner << np.uint64(64 - bits) if bits else inner
    return np.concatenate([[0], np.searchsorted(high, starts), [len(high)]]).astype(np.int64)


def _pages(db: sqlite3.Connection, run: int, wanted: IntArray, *, is_most: bool) -> Iterator[tuple[int, Words]]:
    """The first words of some pages of a run."""
    first = run << _PLACES
    if is_most and len(wanted):
        asked = set(wanted.tolist())
        between = (first + int(wanted[0]), first + int(wanted[-1]))
        rows: Iterable[tuple[int, bytes]] = db.execute(
            "SELECT place, high FROM page WHERE place BETWEEN ? AND ? ORDER BY place", between
        )
        yield from ((place - first, np.frombuffer(data, dtype="<u8")) for place, data in rows if place - first in asked)
        return
    for page in wanted.tolist():
        found = db.execute("SELECT high FROM page WHERE place = ?", (first + page,)).fetchone()
        if found is not None:
            yield page, np.frombuffer(found[0], dtype="<u8")


def add(db: sqlite3.Connection, entries: Entries) -> None:
    """Note some entries, which are in order; runs that have become too many are merged."""
    if not len(entries):
        return
    if len(entries) < FEW:
        pairs = zip(entries.high.tolist(), entries.rest.tolist(), strict=True)
        rows = [(as_bytes(high, low), release, row) for high, (low, release, row) in pairs]
        db.executemany("INSERT INTO record VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)
        loose = "UPDATE meta SET value = value + ? WHERE name = 'loose' RETURNING value"
        if db.execute(loose, (len(rows),)).fetchone()[0] < LOOSE:
            return
        entries = _table(db)
        db.execute("DELETE FROM record")
        db.execute("UPDATE meta SET value = 0 WHERE name = 'loose'")
    _write(db, iter([(0, entries)]), len(entries), 0)
    _merge(db)


def every(db: sqlite3.Connection) -> Iterator[Entries]:
    """All entries, page by page."""
    yield _table(db)
    for high, rest in db.execute("SELECT high, rest FROM page"):
        yield Entries(np.frombuffer(high, dtype="<u8"), np.frombuffer(rest, dtype=_REST))


def problems(db: sqlite3.Connection) -> Iterator[str]:
    """Runs that are not in order, or lack keys."""
    for run, keys in db.execute("SELECT number, keys FROM run").fetchall():
        count, last = 0, 0
        for place, high, rest in db.execute(
            "SELECT place, high, rest FROM page WHERE place BETWEEN ? AND ? ORDER BY place",
            (run << _PLACES, (run + 1 << _PLACES) - 1),
        ):
            found = np.frombuffer(high, dtype="<u8")
            count += len(found)
            if len(rest) != len(found) * _REST.itemsize or (found[1:] < found[:-1]).any() or int(found[0]) < last:
                yield f"page {place} is not in order"
            last = int(found[-1])
        if count != keys:
            yield f"a run has {count:,} keys, expected {keys:,}"


def _table(db: sqlite3.Connection) -> Entries:
    """What is in the table, in order."""
    found = db.execute("SELECT key, release, row FROM record ORDER BY key").fetchall()
    high, low = words(b"".join(key for key, _, _ in found))
    columns = np.array([(release, row) for _, release, row in found], dtype=np.int64).reshape(-1, 2)
    return Entries.of(high, low, columns[:, 0], columns[:, 1])


def _write(db: sqlite3.Connection, parts: Iterator[tuple[int, Entries]], size: int, given: int) -> None:
    """A new run of about `size` keys, from parts that are in order: their `given` leading bits, and their entries."""
    bits = max(given, (size - 1).bit_length() - (PAGE - 1).bit_length())
    run = 1 + db.execute("SELECT coalesce(max(number), 0) FROM run").fetchone()[0]
    count = 0
    for leading, entries in parts:
        count += len(entries)
        finer = bits - given
        first = leading << finer
        edges = _edges(entries.high, bits, first, first + (1 << finer))
        for page in np.flatnonzero(edges[1:] > edges[:-1]).tolist():
            one = entries.some(slice(edges[page], edges[page + 1]))
            row = (run << _PLACES | first + page, one.high.tobytes(), one.rest.tobytes())
            db.execute("INSERT INTO page VALUES (?, ?, ?)", row)
    level = max(0, (count // FEW).bit_length() - 1) // (FAN.bit_length() - 1)
    db.execute("INSERT INTO run VALUES (?, ?, ?, ?)", (run, level, bits, count))


def _merge(db: sqlite3.Connection) -> None:
    """Merge the runs of a level while there are FAN of them, and leave out what no release holds any more."""
    most = "SELECT level FROM run GROUP BY level HAVING count(*) >= ? ORDER BY level LIMIT 1"
    while level := db.execute(most, (FAN,)).fetchone():
        runs = db.execute("SELECT number, bits, keys FROM run WHERE level = ?", level).fetchall()
        dead = np.array([n for (n,) in db.execute("SELECT number FROM release WHERE state = 'abandoned'")], np.int64)
        bits = max(bits for _, bits, _ in runs)
        size = sum(keys for _, _, keys in runs)
        parts = ((part, _together(db, [run[:2] for run in runs], part, bits, dead)) for part in range(1 << bits))
        _write(db, parts, size, bits)
        for run, _, _ in runs:
            db.execute("DELETE FROM page WHERE place BETWEEN ? AND ?", (run << _PLACES, (run + 1 << _PLACES) - 1))
            db.execute("DELETE FROM run WHERE number = ?", (run,))


def _together(db: sqlite3.Connection, runs: list[tuple[int, int]], part: int, bits: int, dead: IntArray) -> Entries:
    """The entries of several runs whose keys begin with some leading bits, in order."""
    found = []
    for run, own in runs:
        page = part >> bits - own
        finer, first = bits - own, page << bits - own
        row = db.execute("SELECT high, rest FROM page WHERE place = ?", (run << _PLACES | page,)).fetchone()
        if row is not None:
            high = np.frombuffer(row[0], dtype="<u8")
            edges = _edges(high, bits, first, first + (1 << finer))
            where = slice(edges[part - first], edges[part - first + 1])
            found.append((high[where], np.frombuffer(row[1], dtype=_REST)[where]))
    high = np.concatenate([one for one, _ in found] or [np.zeros(0, np.uint64)])
    rest = np.concatenate([two for _, two in found] or [np.zeros(0, _REST)])
    if len(dead) and len(rest):
        stays = ~np.isin(rest["release"], dead)
        high, rest = high[stays], rest[stays]
    order = np.argsort(high, kind="stable")
    return Entries(high[order], rest[order])


assert WIDTH == 2 * 8
