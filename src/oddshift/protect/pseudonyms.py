"""Pseudonyms: another name for every user and trip, so that rows stay together and nobody is named.

A pseudonym is a keyed function of the name. The key comes from the operating system and is new for every release, so
one person has one pseudonym in a release and another one in the next. Whole numbers become whole numbers by a keyed
permutation (a Feistel network over BLAKE2b), hence without collisions; any other text becomes 16 letters and digits.

Columns that a policy knows: other columns of a file of rows or places were never examined, and are not released.
"""

from __future__ import annotations

from base64 import b32encode
from collections.abc import Collection, Iterable, Sequence
from hashlib import blake2b
from typing import Any

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, NamedCells
from oddshift.data.formats.cells import is_missing

_PERSON = b"pseudonym"
_ROUNDS = 8
_RANGES = ((1 << 31, 32), (1 << 53, 54), (1 << 62, 62))  # what holds a number, and the bits that are permuted


def pseudonyms(named: Iterable[NamedCells], key: bytes) -> dict[str, list[Any]]:
    """The released cells of columns that name users and trips.

    **Guarantee**: without the key nothing about a name can be computed from its pseudonym, apart from which cells are
    equal. A missing cell stays missing; one that is neither text nor a number is left empty.

    >>> ann = NamedCells("user", ("", "", ""), ("ann", "bob", "ann"))
    >>> shown = pseudonyms([ann], b"key")["user"]
    >>> shown[0] == shown[2] != shown[1], len(shown[0])
    (True, 16)
    """
    return {some.column: _renamed(some, key) for some in named}


def _renamed(some: NamedCells, key: bytes) -> list[Any]:
    known: dict[tuple[str, type, Any], Any] = {}
    found = []
    for owner, cell in zip(some.owners, some.cells, strict=True):
        if is_missing(cell):
            found.append(cell)
            continue
        asked = (owner, type(cell), cell)
        if asked not in known:
            known[asked] = _pseudonym(cell, key, f"{some.column}\x1f{owner}".encode("utf-8", "surrogatepass"))
        found.append(known[asked])
    return found


def _pseudonym(cell: Any, key: bytes, scope: bytes) -> Any:
    """The other name of one cell, of its own type."""
    if isinstance(cell, str):
        is_plain = cell.isascii() and cell.isdecimal() and str(int(cell)) == cell and int(cell) < _RANGES[-1][0]
        return str(_number(int(cell), key, scope)) if is_plain else _letters(cell, key, scope)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    is_whole = isinstance(cell, int) or cell.is_integer()
    number = _number(int(cell), key, scope) if is_whole else _mixed(repr(cell), key, scope) >> 12
    return float(number) if isinstance(cell, float) else number


def _number(value: int, key: bytes, scope: bytes) -> int:
    """A whole number in the same range; two numbers never get the same one. Others than those are hashed."""
    limit, bits = next(((limit, bits) for limit, bits in _RANGES if 0 <= value < limit), (0, 0))
    if not limit:
        return _mixed(str(value), key, scope) >> 12
    found = _permuted(value, bits, key, scope)
    while found >= limit:
        found = _permuted(found, bits, key, scope)
    return found


def _permuted(value: int, bits: int, key: bytes, scope: bytes) -> int:
    half = bits // 2
    mask = (1 << half) - 1
    left, right = value >> half, value & mask
    for step in range(_ROUNDS):
        left, right = right, left ^ (_mixed(f"{bits} {step} {right}", key, scope) & mask)
    return left << half | right


def _mixed(text: str, key: bytes, scope: bytes) -> int:
    return int.from_bytes(_digest(text, key, scope, 8), "little")


def _letters(text: str, key: bytes, scope: bytes) -> str:
    return b32encode(_digest(text, key, scope, 10)).decode().lower()


def _digest(text: str, key: bytes, scope: bytes, size: int) -> bytes:
    start = blake2b(len(scope).to_bytes(8, "little") + scope, digest_size=size, key=key, person=_PERSON)
    start.update(text.encode("utf-8", "surrogatepass"))
    return start.digest()


def refuse_unknown_columns(codec: Codec, names: Sequence[str], allowed: Collection[str] = ()) -> None:
    """Refuse a table or places with a column that the policy says nothing about, unless it is allowed by name.

    The message names the column, because one has to know it to allow it; it never quotes a cell.
    """
    named = {name for name in allowed if name}  # a column that was not asked for is "", and so is the name of an index
    unknown = [name for name in codec.unknown_columns(names) if name not in named]
    if unknown:
        more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
        raise InvalidInput(
            f"column {unknown[0]!r}{more} is not known to the policy and would be released as it is: give it a role in "
            "the configuration, or allow it by name (--clear)"
        )


def refuse_closed_columns(codec: Codec, clear: Collection[str]) -> None:
    """Refuse to release a column as it is that the policy protects or leaves empty: nothing was certified for that."""
    named = sorted(set(codec.released) & set(clear))
    if named:
        raise InvalidInput(
            f"column {named[0]!r} is protected or left empty by the policy, expected others (--clear): what it would "
            "give away was never measured"
        )
