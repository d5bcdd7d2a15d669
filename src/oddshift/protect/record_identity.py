"""How the records of an input are known: by an id, by their content, or, where rows may be equal by chance, row by row.

The first of two passes over an input notes the key of every record, before the second draws any noise. It also finds
the names that are released as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import PlaceSettings
from oddshift.data.formats import Block, DataFile
from oddshift.data.formats.data_file import uncounted
from oddshift.data.formats.json_lines import JsonLinesBlock
from oddshift.data.formats.parquet_file import ParquetFile
from oddshift.data.formats.streams import byte_sink
from oddshift.protect.ledger.terms import AT_ONCE, KeyBatch
from oddshift.protect.policies import Policy
from oddshift.protect.record_keys import WIDTH, RecordKeys


@dataclass(frozen=True)
class KnownBy:
    """What identifies records: the columns that count, and the column of their users where users are counted."""

    how: str
    columns: tuple[str, ...]
    user: str = ""

    @property
    def is_named(self) -> bool:
        """Whether equal keys are one record."""
        return self.how != "row"

    def batch(self, keys: RecordKeys, block: Block, first: int) -> KeyBatch:
        """The keys of a block; `first` is the number of its first record."""
        cells = [block.cells(name) for name in self.columns]
        users = keys.users(block.cells(self.user), self.user, first) if self.user else b""
        if self.how == "id":
            return KeyBatch(keys.ids(cells[0], self.columns[0], first), users)
        return KeyBatch(keys.contents(cells) if self.is_named else keys.rows(cells), users)


def known_by(policy: Policy, replaced: tuple[str, ...], *, identity: str = "", user: str = "") -> KnownBy:
    """By an id if one is named; otherwise texts and fixes are known by their content, and other rows are not known."""
    asked = policy.settings
    if identity:
        return KnownBy("id", (identity,), user)
    if policy.kind == "text":
        return KnownBy("content", replaced, user)
    if isinstance(asked, PlaceSettings) and (asked.user or asked.timestamp):
        return KnownBy("content", asked.wanted(()), user)
    return KnownBy("row", replaced, user)


@dataclass(frozen=True, eq=False, repr=False)
class Survey:
    """What the first pass found: keys of records and users (in a file, or in memory for a rehearsal) and JSON keys.

    `mark` names the input: a keyed hash of its records in their order.
    """

    place: Path | None
    mark: str
    new_keys: tuple[str, ...]
    in_memory: list[KeyBatch] = field(default_factory=list)

    def batches(self) -> Iterator[KeyBatch]:
        """The keys, as `Ledger.claim` takes them."""
        if self.place is None:
            yield from self.in_memory
            return
        path = _users(self.place)
        with ExitStack() as stack:
            keys = stack.enter_context(self.place.open("rb"))
            users = stack.enter_context(path.open("rb")) if path.exists() else None
            while part := keys.read(AT_ONCE * WIDTH):
                yield KeyBatch(part, users.read(len(part)) if users else b"")

    def key(self, row: int) -> bytes:
        """The key of one record, by its number from 1."""
        assert self.place is not None
        with self.place.open("rb") as stream:
            stream.seek((row - 1) * WIDTH)
            return stream.read(WIDTH)


def survey(file: DataFile, known: KnownBy, keys: RecordKeys, place: Path | None, *, allow_new_keys: bool) -> Survey:
    """Read every record once and note its key; a key of JSON that the first object lacks is refused unless allowed."""
    total = hashlib.blake2b(key=keys.secret, digest_size=32, person=b"input")
    new: dict[str, None] = {}
    in_memory: list[KeyBatch] = []
    first = 1
    with ExitStack() as stack:
        put = stack.enter_context(byte_sink(place)) if place else None
        put_user = stack.enter_context(byte_sink(_users(place))) if place and known.user else None
        for block in _narrowed(file, known).blocks(uncounted):
            batch = known.batch(keys, block, first)
            if isinstance(block, JsonLinesBlock):
                new.update(dict.fromkeys(_new_keys(block, file, allow_new_keys)))
            first += len(block)
            total.update(batch.keys)
            if put:
                put(batch.keys)
            else:
                in_memory.append(batch)
            if put_user:
                put_user(batch.users)
    return Survey(place, total.hexdigest(), tuple(new), in_memory)


def _narrowed(file: DataFile, known: KnownBy) -> DataFile:
    """The file without columns that say nothing about who its records are, where a format can leave them out."""
    wanted = tuple(dict.fromkeys((*known.columns, *((known.user,) if known.user else ()))))
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


def _users(place: Path) -> Path:
    return place.with_name(place.name + ".users")
