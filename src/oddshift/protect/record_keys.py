"""How a ledger knows a record: by a keyed hash of its id, or of its content without the details of a format.

The hash is BLAKE2b with a random key that stays in the ledger, because a plain hash of a short record could be undone
by guessing the record. Equal records get equal keys, whatever file, format or order they come in.
"""

from __future__ import annotations

import hashlib
import math
import numbers
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from oddshift.base.errors import InvalidInput

WIDTH = 16
"""Bytes of a key."""

_EMPTY = frozenset(("", "\x1f"))  # what a record without a first cell begins with
_BETWEEN = "\x1f"  # normalised cells hold no control character of this kind


@dataclass(frozen=True, repr=False)
class RecordKeys:
    """Keys of records and users under one secret; `repr` does not show it."""

    secret: bytes

    def ids(self, cells: Sequence[Any], name: str, first: int = 1) -> bytes:
        """The keys of some ids, one after the other; an empty one is refused with its row."""
        return self._named(b"id", cells, name, first)

    def users(self, cells: Sequence[Any], name: str, first: int = 1) -> bytes:
        """The keys of some users."""
        return self._named(b"person", cells, name, first)

    def trips(self, names: Iterable[tuple[str, object]]) -> bytes:
        """The keys of some trips, each named by its user and what tells the user's trips apart."""
        return self._hashed(b"trip", (f"{user}{_BETWEEN}{trip}" for user, trip in names))

    def contents(self, columns: Iterable[Sequence[Any]]) -> bytes:
        """The keys of some records by the content of the given columns."""
        rows = zip(*map(_normal_cells, columns), strict=True)
        return self._hashed(b"record", map(_BETWEEN.join, rows))

    def rows(self, columns: Iterable[Sequence[Any]]) -> bytes:
        """The keys of rows that may honestly repeat, by the content of the given columns."""
        rows = zip(*map(_normal_cells, columns), strict=True)
        return self._hashed(b"row", map(_BETWEEN.join, rows))

    def _named(self, use: bytes, cells: Sequence[Any], name: str, first: int) -> bytes:
        normal = [normal_name(cell) for cell in cells]
        if "" in normal:
            raise InvalidInput(f"column {name!r} at row {first + normal.index('')} is empty, expected a name or number")
        return self._hashed(use, normal)

    def _hashed(self, use: bytes, texts: Iterable[str]) -> bytes:
        start = hashlib.blake2b(key=self.secret, digest_size=WIDTH, person=use)
        found, copy, nothing = [], start.copy, bytes(WIDTH)
        for text in texts:
            if text[:1] in _EMPTY and not text.strip(_BETWEEN):
                found.append(nothing)  # nothing in it to release
                continue
            one = copy()
            one.update(text.encode("utf-8", "surrogatepass"))
            found.append(one.digest())
        return b"".join(found)


def _normal_cells(column: Sequence[Any]) -> list[str]:
    """Every cell as `normal_text` gives it; one that occurs often is normalised once."""
    if set(map(type, column)) != {str}:  # equal cells of several types may read otherwise: 1 and True
        return list(map(normal_text, column))
    known = {cell: _short_text(cell) if len(cell) < _LONGEST else normal_text(cell) for cell in set(column)}
    return list(map(known.__getitem__, column))


@lru_cache(maxsize=1 << 16)
def _short_text(cell: str) -> str:
    """`normal_text` of a short cell, which other blocks of a table are likely to hold too."""
    return normal_text(cell)


def normal_text(cell: Any) -> str:
    """A cell as a reader sees it: without case, hidden characters, and without spaces, punctuation and signs except
    between digits.

    A cell that is a number counts by its value.

    >>> normal_text(7.0), normal_text(" 7.0 "), normal_text("Ann\\n met, 3.5!"), normal_text(None)
    ('7', '7', 'annmet3.5', '')
    """
    if cell is not None and not isinstance(cell, str) and hasattr(cell, "__iter__"):
        return " ".join(map(normal_text, cell))
    if isinstance(cell, str) and cell.isascii() and not _APART.search(cell):
        bare = cell.lower().translate(_SIGNS)
        if len(bare) >= _LONGEST:  # and so no number
            return bare
    plain = normal_name(cell).casefold()
    bare = _SPACE.sub("", _MARK.sub(_without_sign, plain))
    return _number(plain) or _number(bare) or bare or plain


def normal_name(cell: Any) -> str:
    """A name as its visible characters, in which capitals and leading zeros count, or a typed number as its value.

    >>> normal_name(7.0), normal_name("007"), normal_name("12e3"), normal_name("aB  c"), normal_name(None)
    ('7', '007', '12e3', 'aB c', '')
    """
    if cell is None:
        return ""
    text = cell if isinstance(cell, str) else _typed(cell)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    plain = " ".join(text.split())
    if plain.isascii() and plain.isprintable():
        return plain
    return " ".join(unicodedata.normalize("NFKC", plain.translate(_VISIBLE)).split())


_STARTS = frozenset("+-.0123456789")
_LONGEST = 40  # characters of a number
_MARK = re.compile(r"(?<!\d)[^\w\s]|[^\w\s](?!\d)|_")
_SPACE = re.compile(r"(?<!\d)\s+|\s+(?!\d)")
_APART = re.compile(r"\d[\W_]+\d", re.ASCII)
_SIGNS = {code: None for code in range(128) if not chr(code).isalnum()}
_FLOAT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII)


_UNSEEN = (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2065, 0x3164, 0xFFA0, 0xFFFC, 0x1D159)
"""Letters and marks without a picture, next to control characters and variation selectors."""


class _Visible(dict[int, int | None]):
    """Characters that no reader sees, for `str.translate`: each is looked up once."""

    def __missing__(self, code: int) -> int | None:
        one = chr(code)
        is_hidden = unicodedata.category(one) in ("Cc", "Cf") and not one.isspace()
        is_hidden = is_hidden or code in _UNSEEN or 0xFE00 <= code <= 0xFE0F or 0x180B <= code <= 0x180F
        is_hidden = is_hidden or 0xE0000 <= code <= 0xE0FFF or code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
        self[code] = None if is_hidden else 0x20 if code == _BLANK else code
        return self[code]


_BLANK = 0x2800  # a Braille pattern without dots
_VISIBLE = _Visible()


def _without_sign(found: re.Match[str]) -> str:
    return (
        ""
        if unicodedata.category(found[0]) in ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sc", "Sk", "Sm")
        else found[0]
    )


def _typed(cell: Any) -> str:
    """A value of a typed column: a whole number reads the same as an integer and as a float."""
    if isinstance(cell, numbers.Rational) or not isinstance(cell, numbers.Real):
        return str(cell)
    value = float(cell)
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else str(cell)


def _number(text: str) -> str:
    """The shortest way to write a finite number, and "" for any other text; whole numbers keep every digit."""
    if text[:1] not in _STARTS or len(text) >= _LONGEST:
        return ""
    if text.isascii() and text.isdecimal():
        return text.lstrip("0") or "0"
    if not _FLOAT.fullmatch(text):
        return ""
    value = float(text)
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
