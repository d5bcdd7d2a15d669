"""What a detector finds: labelled stretches of characters in documents.

Detectors read raw text and answer with spans, so that any tokenisation can be laid over their answers.

Spans that were found before, text by text: a slow detector reads a text once, whichever command asks for it.

They are remembered in the process and kept in a file, which holds character positions and labels under keyed hashes of
the texts, and no text. Only its owner can read it, and one that others could have written is not used. Folder:
`XDG_CACHE_HOME`, by default `~/.cache`, below `oddshift/spans`.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import sqlite3
import stat
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.private_database import private_database, transaction

FoundSpans = tuple[tuple[int, int, str], ...]
"""What was found in one text: (start, end, label)."""


@dataclass(frozen=True, eq=False, repr=False)
class Spans:
    """Spans [start, end) of characters, each in a document and with a row of `labels`.

    `is_exact` says that one match is enough (a listed word, a number of a fixed form); otherwise each match is a
    guess, and a word type needs several of them.
    """

    document: IntArray
    start: IntArray
    end: IntArray
    label: IntArray
    labels: tuple[str, ...]
    is_exact: bool

    def __post_init__(self) -> None:
        """Check that the columns fit together."""
        sizes = {len(self.document), len(self.start), len(self.end), len(self.label)}
        if len(sizes) != 1:
            raise InvalidInput(f"span columns have lengths {sorted(sizes)}, expected one length")
        if len(self) and ((self.end <= self.start).any() or self.label.max() >= len(self.labels)):
            raise InvalidInput(f"a span is empty or has a label outside [0, {len(self.labels)})")

    @classmethod
    def of(cls, found: Sequence[tuple[int, int, int, str]], *, is_exact: bool) -> Spans:
        """Spans from (document, start, end, label) rows."""
        labels = tuple(sorted({row[3] for row in found}))
        number = {label: i for i, label in enumerate(labels)}
        table = np.array([(d, s, e, number[name]) for d, s, e, name in found], dtype=np.int64).reshape(-1, 4)
        document, start, end, label = (np.ascontiguousarray(table[:, c]) for c in range(4))
        return cls(document, start, end, label, labels, is_exact)

    def __len__(self) -> int:
        """Number of spans."""
        return len(self.document)

    def __repr__(self) -> str:
        """Counts only."""
        return f"Spans({len(self)} spans, {len(self.labels)} labels)"

    def take(self, keep: IntArray | np.typing.NDArray[np.bool_]) -> Spans:
        """Some of the spans."""
        columns = (self.document[keep], self.start[keep], self.end[keep], self.label[keep])
        return Spans(*columns, labels=self.labels, is_exact=self.is_exact)

    def by_document(self, count: int) -> list[FoundSpans]:
        """The spans of each of `count` documents."""
        rows: list[list[tuple[int, int, str]]] = [[] for _ in range(count)]
        columns = (self.document.tolist(), self.start.tolist(), self.end.tolist(), self.label.tolist())
        for document, start, end, label in zip(*columns, strict=True):
            rows[document].append((start, end, self.labels[label]))
        return [tuple(mine) for mine in rows]

    def only(self, labels: Sequence[str]) -> Spans:
        """The spans of some labels."""
        wanted = np.array([label in labels for label in self.labels], dtype=np.bool_)
        return self.take(wanted[self.label]) if len(self) else self


@runtime_checkable
class Detector(Protocol):
    """Anything that finds sensitive stretches of text."""

    @property
    def name(self) -> str:
        """The name that reports show."""

    def detect(self, texts: Sequence[str]) -> Spans:
        """The spans of every text, in order of document and start."""


class DetectorSettings(Protocol):
    """How a detector is asked for: a frozen dataclass whose fields a configuration fills."""

    kind: Any

    def detector(self) -> Detector:
        """The detector itself."""


KEPT_TEXTS = 200_000
"""Texts whose spans are kept; the oldest are forgotten first."""

WAIT = 10.0
"""Seconds for which other processes that use the file are waited for."""

_LAYOUT = b"spans 3"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS salt (value BLOB NOT NULL)",
    "CREATE TABLE IF NOT EXISTS found (age INTEGER PRIMARY KEY, text BLOB NOT NULL UNIQUE, spans BLOB NOT NULL)",
)
_CHECK = 8  # bytes before the spans that say whether they are what was written
_ASKED = 500  # texts that are looked up together
_FEWEST = 32  # texts for which opening the file is worth it
_MOST_REMEMBERED = 100_000  # texts whose spans a process remembers


@dataclass(frozen=True)
class SpanMemory:
    """What a detector, known by its mark, found in texts that it has read before.

    `is_cached` looks for spans that were kept on disk, too, and `is_kept` keeps new ones there. Neither changes what is
    found: a detector answers for each text by itself.
    """

    mark: bytes
    is_cached: bool = True
    is_kept: bool = True

    def found(self, texts: Sequence[str], read: Callable[[Sequence[str]], Spans], *, is_exact: bool) -> Spans:
        """The spans of every text; `read` gives those of texts that were not read before.

        The fit texts are a part of the audited ones, and those are released later.
        """
        memory = _memory(self.mark)
        keys = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        known = {key: memory[key] for key in text_of if key in memory}
        if self.is_cached and len(text_of) - len(known) >= _FEWEST:
            asked = [key for key in text_of if key not in known]
            kept = recall(self.mark, [text_of[key] for key in asked])
            known |= {key: spans for key, spans in zip(asked, kept, strict=True) if spans is not None}
        new = [key for key in text_of if key not in known]
        if new:
            fresh = read([text_of[key] for key in new]).by_document(len(new))
            known |= dict(zip(new, fresh, strict=True))
            if self.is_cached and self.is_kept and len(new) >= _FEWEST:
                keep(self.mark, [text_of[key] for key in new], fresh)
        if len(memory) + len(known) <= _MOST_REMEMBERED:
            memory.update(known)
        return Spans.of([(d, *row) for d, key in enumerate(keys) for row in known[key]], is_exact=is_exact)


@lru_cache(maxsize=4)
def _memory(mark: bytes) -> dict[bytes, FoundSpans]:
    """What a detector found in texts known by their hashes, in this process."""
    return {}


def cache_folder() -> Path:
    """Where spans are kept."""
    root = os.environ.get("XDG_CACHE_HOME")
    return Path(root or Path.home() / ".cache") / "oddshift" / "spans"


def cache_file() -> Path:
    """The file that holds them."""
    return cache_folder() / "spans.sqlite"


@lru_cache(maxsize=64)
def detector_mark(*settings: Hashable, packages: tuple[str, ...]) -> bytes:
    """A hash of a detector's settings and of the versions of packages: under it the same text gives the same spans."""
    from importlib.metadata import version

    return hashlib.sha256(repr((_LAYOUT, settings, *map(version, packages))).encode()).digest()


def fingerprint_of(pipeline: Path) -> str:
    """A hash of the names and contents of every file of a pipeline."""
    files = sorted(path for path in pipeline.rglob("*") if path.is_file() and path.suffix != ".pyc")
    state = tuple((str(f.relative_to(pipeline)), f.stat().st_size, f.stat().st_mtime_ns) for f in files)
    return _hashed(pipeline.resolve(), state)


@lru_cache(maxsize=16)
def _hashed(pipeline: Path, state: tuple[tuple[str, int, int], ...]) -> str:
    """The hash of some files; `state` changes when they do, so that unchanged files are read once."""
    total = hashlib.sha256()
    for name, _, _ in state:
        total.update(name.encode() + b"\0")
        total.update(hashlib.sha256((pipeline / name).read_bytes()).digest())
    return total.hexdigest()


def recall(mark: bytes, texts: Sequence[str]) -> list[FoundSpans | None]:
    """The spans kept for each text; None where there are none, or where they are not what was written."""
    nothing: list[FoundSpans | None] = [None] * len(texts)
    if not texts or not _is_own(cache_file()):
        return nothing
    try:
        with closing(sqlite3.connect(f"{cache_file().absolute().as_uri()}?mode=ro", uri=True, timeout=WAIT)) as db:
            (salt,) = db.execute("SELECT value FROM salt").fetchone()
            keys = [_key(salt, mark, text) for text in texts]
            kept = dict(_rows(db, keys))
            return [_read(salt, key, kept[key]) if key in kept else None for key in keys]
    except (sqlite3.Error, OSError, TypeError):
        return nothing


def keep(mark: bytes, texts: Sequence[str], found: Sequence[FoundSpans]) -> None:
    """Keep the spans of some texts; a file that cannot be written only means that nothing is kept."""
    try:
        _write(mark, texts, found)
    except InvalidInput as error:
        reason = error.__cause__
        if isinstance(reason, sqlite3.DatabaseError) and not isinstance(reason, sqlite3.OperationalError):
            cache_file().unlink(missing_ok=True)  # no database any more
            with suppress(InvalidInput):
                _write(mark, texts, found)


def _write(mark: bytes, texts: Sequence[str], found: Sequence[FoundSpans]) -> None:
    if cache_file().exists() and not _is_own(cache_file()):
        return
    with private_database(cache_file(), "spans are kept there", wait=WAIT) as db, transaction(db):
        for table in _TABLES:
            db.execute(table)
        if db.execute("SELECT value FROM salt").fetchone() is None:
            db.execute("INSERT INTO salt VALUES (?)", (secrets.token_bytes(32),))
        (salt,) = db.execute("SELECT value FROM salt").fetchone()
        keys = [_key(salt, mark, text) for text in texts]
        rows = [(key, _written(salt, key, spans)) for key, spans in zip(keys, found, strict=True)]
        db.executemany("INSERT OR REPLACE INTO found (text, spans) VALUES (?, ?)", rows)
        db.execute("DELETE FROM found WHERE age <= (SELECT max(age) FROM found) - ?", (KEPT_TEXTS,))


def _is_own(path: Path) -> bool:
    """Whether a regular file is this user's, and closed to everybody else."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(state.st_mode) and state.st_uid == os.getuid() and not state.st_mode & 0o077


def _key(salt: bytes, mark: bytes, text: str) -> bytes:
    """What a text is known by: a hash under the file's own salt, so that texts cannot be looked up from outside."""
    return hashlib.blake2b(mark + text.encode("utf-8", "surrogatepass"), key=salt, digest_size=16).digest()


def _rows(db: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for start in range(0, len(keys), _ASKED):
        some = keys[start : start + _ASKED]
        marks = ", ".join("?" * len(some))
        yield from db.execute(f"SELECT text, spans FROM found WHERE text IN ({marks})", some)


def _written(salt: bytes, key: bytes, spans: FoundSpans) -> bytes:
    data = json.dumps(spans, separators=(",", ":")).encode()
    return hashlib.blake2b(key + data, key=salt, digest_size=_CHECK).digest() + data


def _read(salt: bytes, key: bytes, stored: bytes) -> FoundSpans | None:
    data = stored[_CHECK:]
    if hashlib.blake2b(key + data, key=salt, digest_size=_CHECK).digest() != stored[:_CHECK]:
        return None
    return tuple((int(start), int(end), str(label)) for start, end, label in json.loads(data))
