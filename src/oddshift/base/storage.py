"""Stored values: a frozen dataclass of plain fields and arrays, written to one file and read back the same.

A `.json` file holds fields only; a `.npz` file also holds arrays (one `value.json` and one `.npy` member for each
array). Nothing is ever pickled. A file carries its schema version and the SHA-256 of its contents.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import io
import json
import os
import re
import secrets
import types
import typing
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union

import numpy as np

from oddshift.base.errors import InvalidInput, NotInstalled, TamperedEvidence, a_kind, named_kind

SCHEMA = 3
"""Version of stored files; since 3 the hashes inside them are fingerprints, by content."""

READABLE = (2, 3)
"""Versions that are still read; where fields have changed since, the refusal names the version."""

ADDED_LATER = "added later"
"""Metadata of a field that files of the same schema may lack: it then has its default, which is not written either, so
that the digests of older files stay."""

TYPED_BY = "typed by"
"""Metadata of a field whose type the fields before it determine: a function of their values by name. It may raise
`NotInstalled`, which `load` passes on."""

LARGEST_STORED = 2_000_000_000
"""Bytes that the members of a stored file may take together, unpacked; a larger file is refused unread."""

_VALUE = "value.json"
_ARRAY = "array"
_MOMENT = (1980, 1, 1, 0, 0, 0)  # one fixed time, so that equal values give equal bytes
_SPECIAL = {"inf": float("inf"), "-inf": float("-inf")}

Arrays = dict[str, np.ndarray[Any, Any]]


def write_atomic(path: str | Path, data: bytes, *, mode: int = 0o666) -> None:
    """Write `data` to `path` so that a reader sees the old file or the whole new one, never a part.

    `mode` says who may read it, from its first byte on; the user's mask applies.

    **Guarantee**: the bytes reach the disk under a temporary name in the same folder before one rename.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_atomic(Path(folder) / "a.txt", b"hello")
    ...     [p.name for p in Path(folder).iterdir()], (Path(folder) / "a.txt").read_bytes()
    (['a.txt'], b'hello')
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sha256(data: bytes) -> str:
    """SHA-256 of bytes in hexadecimal.

    >>> sha256(b"")[:12]
    'e3b0c44298fc'
    """
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of a dataclass: its fields as sorted JSON, then every array's name, type, shape and bytes.

    **Guarantee**: equal contents give equal digests on every machine. It identifies contents; it is not a signature.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     x: float
    >>> digest(Point(1.0)) == digest(Point(1.0)), digest(Point(1.0)) == digest(Point(2.0))
    (True, False)
    """
    arrays: Arrays = {}
    return content_digest(encode(value, arrays), arrays)


def save(path: str | Path, value: Any, *, mode: int = 0o666) -> str:
    """Write a frozen dataclass to `path` (`.json` without arrays, `.npz` with) and return its digest.

    `mode` says who may read the file, from its first byte on.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     x: float
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     name = Path(folder) / "point.json"
    ...     save(name, Point(0.1)) == digest(Point(0.1)), load(name, Point)
    (True, Point(x=0.1))
    """
    arrays: Arrays = {}
    body = encode(value, arrays)
    mark = content_digest(body, arrays)
    text = json.dumps({"schema": SCHEMA, "sha256": mark, "value": body}, indent=1, allow_nan=False).encode()
    suffix = Path(path).suffix
    if suffix == ".npz":
        text = pack(text, arrays)
    elif suffix != ".json" or arrays:
        wanted = ".npz (it holds arrays)" if arrays else ".json or .npz"
        raise InvalidInput(f"file name ends in {suffix!r}, expected {wanted}")
    write_atomic(path, text, mode=mode)
    return mark


def load(path: str | Path, *kinds: type) -> Any:
    """Read a value of one of the dataclasses `kinds`, refusing whatever `save` did not write.

    **Guarantee**: a truncated, edited or mistyped file raises TamperedEvidence; nothing in it is executed.
    """
    raw = Path(path).read_bytes()
    text, arrays = unpack(raw) if raw[:2] == b"PK" else (raw, {})
    try:
        return _open(json.loads(text, parse_constant=_no_constant), kinds, arrays)
    except (TamperedEvidence, NotInstalled):
        raise
    except (ValueError, TypeError, ArithmeticError, RecursionError) as error:
        raise TamperedEvidence(f"not a complete document ({str(error)[:100]})") from error


def _open(envelope: Any, kinds: tuple[type, ...], arrays: Arrays) -> Any:
    if not isinstance(envelope, dict) or set(envelope) != {"schema", "sha256", "value"}:
        raise TamperedEvidence("expected exactly the entries schema, sha256, value")
    stated = envelope["schema"]
    if type(stated) is not int or stated not in READABLE:
        raise TamperedEvidence(f"schema={stated!r}, expected {SCHEMA}")
    found = content_digest(envelope["value"], arrays)
    if envelope["sha256"] != found:
        raise TamperedEvidence(f"contents hash to {found[:12]}..., the file says {str(envelope['sha256'])[:12]}...")
    unnamed = set(arrays) - set(re.findall(rf'{{"{_ARRAY}": "([^"]*)"}}', json.dumps(envelope["value"])))
    if unnamed:
        raise TamperedEvidence(f"{len(unnamed)} arrays that the document does not name, expected none")
    try:
        return decode(envelope["value"], Union[kinds], arrays)  # noqa: UP007 (a union known only at run time)
    except TamperedEvidence as error:
        if stated == SCHEMA:
            raise
        raise TamperedEvidence(f"schema={stated} of an older oddshift, expected {SCHEMA} ({error})") from error


def schema_of(path: str | Path) -> int | None:
    """The version that a stored file states; None when it states none. Nothing else of the file is checked."""
    raw = Path(path).read_bytes()
    try:
        stated = json.loads(unpack(raw)[0] if raw[:2] == b"PK" else raw).get("schema")
    except (ValueError, AttributeError, RecursionError):
        return None
    return stated if type(stated) is int else None


def encode(value: Any, arrays: Arrays, where: str = "value") -> Any:
    """Plain JSON for a value; its arrays are put into `arrays` under the name of their place."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        every = _stored_fields(type(value))
        later = {f for f in every if f.metadata.get(ADDED_LATER)}
        stored = [f for f in every if f not in later or not np.array_equal(getattr(value, f.name), f.default)]  # type: ignore[arg-type]
        for f in dataclasses.fields(value):
            if f not in stored and f not in later and getattr(value, f.name) != f.default:
                raise InvalidInput(f"{where}.{f.name} is not its default, which the name of the class stands for")
        fields = {f.name: encode(getattr(value, f.name), arrays, f"{where}.{f.name}") for f in stored}
        return {"kind": type(value).__name__, **fields}
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biuf":
            raise InvalidInput(f"{where} is an array of {value.dtype}, expected numbers")
        arrays[where] = value
        return {_ARRAY: where}
    if isinstance(value, Mapping):
        return {str(key): encode(item, arrays, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item, arrays, f"{where}.{i}") for i, item in enumerate(value)]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        if np.isnan(value):
            raise InvalidInput(f"{where} is NaN, expected a number")
        return "inf" if value > 0 else "-inf"
    if value is None or isinstance(value, str | bool | int | float):
        return value
    raise InvalidInput(f"{where} is {a_kind(value)}, expected plain fields, dataclasses or arrays")


def decode(data: Any, hint: Any, arrays: Mapping[str, np.ndarray[Any, Any]], where: str = "value") -> Any:
    """The value of type `hint` that `encode` turned into `data`; anything else raises TamperedEvidence."""
    origin = typing.get_origin(hint)
    if origin in (Union, types.UnionType):
        return _decode_union(data, typing.get_args(hint), arrays, where)
    if dataclasses.is_dataclass(hint):
        return _decode_fields(data, hint, arrays, where)
    if origin is np.ndarray:
        return _decode_array(data, hint, arrays, where)
    if origin is tuple:
        return _decode_tuple(data, typing.get_args(hint), arrays, where)
    if origin in (dict, Mapping):
        _expect(isinstance(data, dict), where, data, "a mapping")
        return {key: decode(item, typing.get_args(hint)[1], arrays, f"{where}.{key}") for key, item in data.items()}
    return _decode_plain(data, hint, where)


def _decode_plain(data: Any, hint: Any, where: str) -> Any:
    if typing.get_origin(hint) is Literal:
        _expect(data in typing.get_args(hint), where, data, f"one of {typing.get_args(hint)}")
        return data
    if hint is type(None):
        _expect(data is None, where, data, "nothing")
        return None
    if hint is float:
        data = _SPECIAL.get(data, data) if isinstance(data, str) else data
        _expect(isinstance(data, int | float) and not isinstance(data, bool), where, data, "a number")
        return float(data)
    _expect(type(data) is hint, where, data, f"{getattr(hint, '__name__', hint)}")
    return data


def _decode_union(data: Any, options: tuple[Any, ...], arrays: Mapping[str, np.ndarray[Any, Any]], where: str) -> Any:
    for option in options:
        try:
            return decode(data, option, arrays, where)
        except _NotThis as error:
            last = error
    raise last


def _decode_fields(data: Any, kind: Any, arrays: Mapping[str, np.ndarray[Any, Any]], where: str) -> Any:
    if not isinstance(data, dict) or data.get("kind") != kind.__name__:
        found = str(data.get("kind")) if isinstance(data, dict) else type(data).__name__
        raise _NotThis(f"{where} is {named_kind(found)}, expected {named_kind(kind.__name__)}")
    hints = _hints(kind)
    fields = _stored_fields(kind)
    given = set(data) - {"kind"}
    optional = {f.name for f in fields if f.metadata.get(ADDED_LATER)}
    wrong = (given ^ {f.name for f in fields}) - (optional - given)
    if wrong:
        raise TamperedEvidence(f"{where} has entries {sorted(wrong)} missing or unknown")
    values: dict[str, Any] = {}
    for f in fields:
        if f.name in given:
            hint = f.metadata[TYPED_BY](values) if TYPED_BY in f.metadata else hints[f.name]
            values[f.name] = decode(data[f.name], hint, arrays, f"{where}.{f.name}")
    try:
        return kind(**values)
    except InvalidInput as error:
        raise TamperedEvidence(f"{where}: {error}") from error


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of the fields of a class; finding them out takes longer than reading a file."""
    return typing.get_type_hints(kind)


def _stored_fields(kind: Any) -> list[dataclasses.Field[Any]]:
    """All fields but one called `kind`, whose place the name of the class takes."""
    return [f for f in dataclasses.fields(kind) if f.name != "kind"]


def _decode_array(data: Any, hint: Any, arrays: Mapping[str, np.ndarray[Any, Any]], where: str) -> Any:
    known = isinstance(data, dict) and data.get(_ARRAY) in arrays
    _expect(known, where, data, "an array of the file")
    array = arrays[data[_ARRAY]]
    wanted = typing.get_args(typing.get_args(hint)[1])[0]
    _expect(array.dtype == wanted, where, str(array.dtype), f"an array of {wanted.__name__}")
    array.setflags(write=False)
    return array


def _decode_tuple(data: Any, items: tuple[Any, ...], arrays: Mapping[str, np.ndarray[Any, Any]], where: str) -> Any:
    _expect(isinstance(data, list), where, data, "a list")
    each = items[:1] * len(data) if items[-1] is Ellipsis else items
    _expect(len(each) == len(data), where, f"{len(data)} entries", f"{len(each)} entries")
    pairs = zip(data, each, strict=True)
    return tuple(decode(item, hint, arrays, f"{where}.{i}") for i, (item, hint) in enumerate(pairs))


class _NotThis(TamperedEvidence):
    """One option of a union does not fit; another may."""


def _expect(holds: bool, where: str, found: Any, expected: str) -> None:
    if not holds:
        raise _NotThis(f"{where} is {str(found)[:40]!r}, expected {expected}")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def content_digest(body: Any, arrays: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """SHA-256 of plain JSON, with sorted keys, and of the arrays that it names."""
    total = hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        portable = array.astype(array.dtype.newbyteorder("<"), copy=False)
        total.update(f"\n{name} {portable.dtype.str} {portable.shape}\n".encode())
        total.update(portable.data)
    return total.hexdigest()


def pack(text: bytes, arrays: Arrays) -> bytes:
    """An archive of one JSON text and the arrays that it names; equal contents give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(zipfile.ZipInfo(_VALUE, _MOMENT), text, zipfile.ZIP_DEFLATED)
        for name in sorted(arrays):
            member = io.BytesIO()
            np.save(member, arrays[name], allow_pickle=False)
            info = zipfile.ZipInfo(f"{name}.npy", _MOMENT)
            archive.writestr(info, member.getbuffer(), zipfile.ZIP_DEFLATED, compresslevel=1)
    return buffer.getvalue()


def unpack(raw: bytes) -> tuple[bytes, Arrays]:
    """The text and the arrays of an archive that `pack` wrote; anything else raises TamperedEvidence."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            total = sum(info.file_size for info in archive.infolist())
            if total > LARGEST_STORED:
                raise ValueError(f"{total} bytes unpacked, expected at most {LARGEST_STORED}")
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        text = members.pop(_VALUE)
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(data), allow_pickle=False) for name, data in members.items()
        }
    except Exception as error:  # whatever a hostile archive provokes, the answer is the same: it does not hold
        raise TamperedEvidence(f"not a complete archive ({type(error).__name__}: {error})") from error
    return text, arrays
