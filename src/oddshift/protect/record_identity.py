"""How the records of an input are known: by an id, by their content, or, where rows may be equal by chance, row by row.

Each record is claimed by every way in which it can be known, so that it is recognised when the way changes: next to its
id by each of its texts, next to the whole of several texts by each alone, and the rows of a table with ids by the share
of equal rows.

The first of two passes over an input notes the key of every record, before the second draws any noise. It also finds
the names that are released as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import Block, DataFile
from oddshift.data.formats.data_file import byte_sink, uncounted
from oddshift.data.formats.json_lines import JsonLinesBlock
from oddshift.data.formats.parquet_file import ParquetFile
from oddshift.protect.ledger.terms import AT_ONCE, KeyBatch
from oddshift.protect.policies import Policy
from oddshift.protect.record_keys import WIDTH, RecordKeys


@dataclass(frozen=True)
class KnownBy:
    """What identifies records: the columns that count, and the column of their users where users are counted.

    `ways` are the columns of each further way to know a record, `rows` those whose content may be equal by chance.
    """

    how: str
    columns: tuple[str, ...]
    user: str = ""
    ways: tuple[tuple[str, ...], ...] = ()
    rows: tuple[str, ...] = ()

    @property
    def is_named(self) -> bool:
        """Whether equal keys are one record."""
        return self.how != "row"

    @property
    def read(self) -> tuple[str, ...]:
        """Every column that is read for this."""
        users = (self.user,) if self.user else ()
        return tuple(dict.fromkeys((*self.columns, *users, *(name for way in self.ways for name in way), *self.rows)))

    @property
    def width(self) -> int:
        """Bytes that are noted of each record."""
        return WIDTH * (1 + bool(self.user) + len(self.ways) + bool(self.rows))

    def packed(self, batch: KeyBatch) -> bytes:
        """What is noted of a batch, record by record."""
        users, rows = ([batch.users] if self.user else []), ([batch.rows] if self.rows else [])
        parts = [batch.keys, *users, *batch.ways, *rows]
        return np.stack([np.frombuffer(part, dtype=f"V{WIDTH}") for part in parts], axis=1).tobytes()

    def unpacked(self, noted: bytes) -> KeyBatch:
        """The batch of some records."""
        columns = np.frombuffer(noted, dtype=f"V{WIDTH}").reshape(-1, self.width // WIDTH).T
        keys, *parts = (column.tobytes() for column in columns)
        users = parts.pop(0) if self.user else b""
        rows = parts.pop() if self.rows else b""
        return KeyBatch(keys, users, tuple(parts), rows)

    def batch(self, keys: RecordKeys, block: Block, first: int) -> KeyBatch:
        """The keys of a block; `first` is the number of its first record."""
        cells = [block.cells(name) for name in self.columns]
        users = keys.users(block.cells(self.user), self.user, first) if self.user else b""
        ways = tuple(keys.contents([block.cells(name) for name in way]) for way in self.ways)
        rows = keys.rows([block.cells(name) for name in self.rows]) if self.rows else b""
        if self.how == "id":
            return KeyBatch(keys.ids(cells[0], self.columns[0], first), users, ways, rows)
        return KeyBatch(keys.contents(cells) if self.is_named else keys.rows(cells), users, ways)


def known_by(policy: Policy, replaced: tuple[str, ...], *, identity: str = "", user: str = "") -> KnownBy:
    """By an id if one is named; otherwise texts and fixes are known by their content, and other rows are not known."""
    asked = policy.settings
    texts = tuple((name,) for name in replaced) if policy.kind == "text" else ()
    fix: tuple[str, ...] = getattr(asked, "identifying", ())
    if identity:
        ways = (fix,) if fix else texts
        return KnownBy("id", (identity,), user, ways, () if ways else replaced)
    if policy.kind == "text":
        return KnownBy("content", replaced, user, texts if len(texts) > 1 else ())
    if fix:
        return KnownBy("content", fix, user)
    return KnownBy("row", replaced, user)


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What the first pass found: keys of records and users (in a file, or in memory for a rehearsal) and JSON keys.

    `mark` names the input: a keyed hash of its records in their order.
    """

    known: KnownBy
    place: Path | None
    records: int = 0
    mark: str = ""
    new_keys: tuple[str, ...] = ()
    in_memory: list[KeyBatch] = field(default_factory=list)

    def batches(self) -> Iterator[KeyBatch]:
        """The keys, as `Ledger.claim` takes them."""
        if self.place is None:
            yield from self.in_memory
            return
        with self.place.open("rb") as stream:
            while part := stream.read(AT_ONCE * self.known.width):
                yield self.known.unpacked(part)

    def key(self, row: int) -> bytes:
        """The key of one record, by its number from 1."""
        assert self.place is not None
        with self.place.open("rb") as stream:
            stream.seek((row - 1) * self.known.width)
            return stream.read(WIDTH)


def survey(file: DataFile, known: KnownBy, keys: RecordKeys, place: Path | None, *, allow_new_keys: bool) -> Survey:
    """Read every record once and note its key; a key of JSON that the first object lacks is refused unless allowed."""
    total = hashlib.blake2b(key=keys.secret, digest_size=32, person=b"input")
    new: dict[str, None] = {}
    in_memory: list[KeyBatch] = []
    records = 0
    with nullcontext(lambda part: None) if place is None else byte_sink(place) as put:
        for block in _narrowed(file, known).blocks(uncounted):
            batch = known.batch(keys, block, records + 1)
            if isinstance(block, JsonLinesBlock):
                new.update(dict.fromkeys(_new_keys(block, file, allow_new_keys)))
            records += len(block)
            total.update(batch.keys)
            if place is None:
                in_memory.append(batch)
            else:
                put(known.packed(batch))
    return Survey(known, place, records, total.hexdigest(), tuple(new), in_memory)


def _narrowed(file: DataFile, known: KnownBy) -> DataFile:
    """The file without columns that say nothing about who its records are, where a format can leave them out."""
    wanted = known.read
    if not isinstance(file, ParquetFile) or any("." in name for name in wanted):  # a dot would name a part of a column
        return file
    return replace(file, columns=wanted)


def _new_keys(block: JsonLinesBlock, file: DataFile, is_allowed: bool) -> Iterator[str]:
    """Keys that the first object of the file lacks; they are not quoted, because they may be anything."""
    for key, line in block.all_keys.items():
        if key not in file.names:
            if not is_allowed:
                raise InvalidInput(
                    f"{file.path.name} line {line} has a key that the first line lacks, and would release it as it is; "
                    "--allow-new-keys allows it"
                )
            yield key
