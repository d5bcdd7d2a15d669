"""The identity of a value: a SHA-256 over its type and its content, the same in every process and on every machine.

Certificates, policies and kept work name what they are about by it. Two values share a fingerprint when their types
have one name and their contents are equal; nothing that only affects speed, and no address in memory, enters.
A fingerprint is not a signature, and anyone who can guess a complete value can confirm the guess.

A round trip: would a value be read back from a file as it was written?

Asked of dataclasses of other packages, whose fields may be of types that no file keeps.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import Arrays, content_digest, decode, digest, encode

VERSION = 1
"""Of the way in which contents are written down; part of every fingerprint."""

_PACKAGE = __name__.split(".")[0]
_DIGITS = 64
_POINTERS = 16  # bytes of an object for its attributes and its weak references


class _Sink(Protocol):
    """What bytes are written to."""

    def update(self, data: Any, /) -> None:
        """Take some bytes."""


def fingerprint(value: Any) -> str:
    """SHA-256 in hexadecimal of the type and content of a value; its own `fingerprint`, when it has one, wins.

    Arrays count by kind, shape and bytes; dataclasses and plain objects by their fields; mappings and sets in any
    order; functions by their module and name, which must lead back to them; torch modules by their weights.

    **Guarantee**: equal contents give equal fingerprints in every process and on every machine. What has no content
    that could be written down (a local function, a generator, an open file, a path) is refused.

    >>> fingerprint((1, "a")) == fingerprint((1, "a")), fingerprint(1) == fingerprint(1.0)
    (True, False)
    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    """
    own = _own(value)
    if own is not None:
        return own
    write = _writer(value) or _feed_other
    return _hashed(lambda sink: write(sink, value))


def content(value: Any, without: Iterable[str] = ()) -> str:
    """The fingerprint of an object by its fields, for its own `fingerprint`; some of them may be left out."""
    left_out = frozenset(without)
    return _hashed(lambda sink: _feed_fields(sink, value, left_out))


def type_name(kind: type) -> str:
    """The name of a class: its own for those of this package, wherever they are kept, otherwise with its module."""
    own = kind.__module__.split(".")[0] == _PACKAGE
    return kind.__qualname__ if own else f"{kind.__module__}.{kind.__qualname__}"


def _hashed(write: Callable[[_Sink], None]) -> str:
    total = hashlib.sha256(f"oddshift {VERSION}\n".encode())
    try:
        write(total)
    except RecursionError as error:
        raise InvalidInput("the value contains itself or is nested too deeply, expected a finite content") from error
    return total.hexdigest()


def _own(value: Any) -> str | None:
    """What the value says of itself, as 64 hexadecimal digits; None when it says nothing."""
    if isinstance(value, type) or _is_plain(value):
        return None
    said = getattr(value, "fingerprint", None)
    if not isinstance(said, str):
        return None
    if len(said) == _DIGITS and not set(said) - set("0123456789abcdef"):
        return said
    return _hashed(lambda sink: _feed_sequence(sink, ("own", type_name(type(value)), said)))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bytes | int | float | tuple | list | dict | np.ndarray)


def _tag(sink: _Sink, *words: object) -> None:
    """A line that says what follows: words never hold a newline, and the parts behind it state their length."""
    sink.update((" ".join(str(word) for word in words) + "\n").encode())


def _text(sink: _Sink, text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    _tag(sink, "str", len(data))
    sink.update(data)


def _feed(sink: _Sink, value: Any) -> None:
    """Write one value down; every branch is free of prefixes, so no two contents are written in the same way."""
    write = _PLAIN.get(type(value)) or (_writer(value) if _own(value) is None else None)
    if write is not None:
        write(sink, value)
    else:  # an object stands for its fingerprint, wherever that comes from
        _tag(sink, "value", fingerprint(value))


def _writer(value: Any) -> Callable[[_Sink, Any], None] | None:
    return next((write for kinds, write in _WRITERS if isinstance(value, kinds)), None)


def _feed_number(sink: _Sink, value: Any) -> None:
    shown = float(value).hex() if isinstance(value, float) else repr(value)
    _tag(sink, type(value).__name__ if type(value) in (bool, int, float) else type_name(type(value)), shown)


def _feed_bytes(sink: _Sink, value: Any) -> None:
    data = bytes(value)
    _tag(sink, "bytes", len(data))
    sink.update(data)


def _feed_sequence(sink: _Sink, value: Any) -> None:
    plain = type(value) in (tuple, list)
    _tag(sink, type(value).__name__ if plain else type_name(type(value)), len(value))
    for item in value:
        _feed(sink, item)


def _feed_mapping(sink: _Sink, value: Mapping[Any, Any]) -> None:
    _tag(sink, "mapping", len(value))
    for mark, item in sorted(((fingerprint(key), item) for key, item in value.items()), key=lambda pair: pair[0]):
        _tag(sink, mark)
        _feed(sink, item)


def _feed_set(sink: _Sink, value: Any) -> None:
    _tag(sink, "set", len(value))
    for mark in sorted(fingerprint(item) for item in value):
        _tag(sink, mark)


def _feed_array(sink: _Sink, value: np.ndarray[Any, Any]) -> None:
    kind = value.dtype.kind
    if kind in "OSU":  # text has no fixed width that would be part of its content
        _tag(sink, "array", "items", value.shape)
        _feed_sequence(sink, value.ravel().tolist())
        return
    if kind not in "biufcmM":
        raise InvalidInput(f"an array of {value.dtype} has no fingerprint, expected numbers or text")
    portable = value.dtype.newbyteorder("<")
    _tag(sink, "array", portable.str, value.shape)
    whole = value.flags.c_contiguous or value.ndim < 2
    for part in (value,) if whole else value:  # a view is copied row by row
        plain = np.ascontiguousarray(part).astype(portable, copy=False)
        sink.update(plain.reshape(-1).view(np.uint8).data)


def _feed_scalar(sink: _Sink, value: Any) -> None:
    """A number of numpy's is the number; a moment keeps its unit."""
    if value.dtype.kind in "mMV":
        _feed_array(sink, np.asarray(value))
    else:
        _feed(sink, value.item())


def _feed_function(sink: _Sink, value: Any) -> None:
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is not value:
        raise InvalidInput(f"{name or 'a function'} has no fingerprint, expected a function at the top of a module")
    _tag(sink, "function", module, name)


def _feed_method(sink: _Sink, value: Any) -> None:
    _tag(sink, "method", value.__func__.__qualname__)
    _feed(sink, value.__self__)


def _feed_partial(sink: _Sink, value: functools.partial[Any]) -> None:
    _tag(sink, "partial")
    for part in (value.func, value.args, value.keywords):
        _feed(sink, part)


def _feed_enum(sink: _Sink, value: enum.Enum) -> None:
    _tag(sink, "enum", type_name(type(value)))
    _text(sink, value.name)


def _feed_type(sink: _Sink, value: type) -> None:
    _tag(sink, "type", type_name(value))


def _refuse_path(sink: _Sink, value: PurePath) -> None:
    raise InvalidInput("a path has no fingerprint, expected the content that it leads to, or its name as text")


_WRITERS: tuple[tuple[Any, Callable[[_Sink, Any], None]], ...] = (
    (enum.Enum, _feed_enum),
    (type(None), lambda sink, value: _tag(sink, "none")),
    (np.ndarray, _feed_array),
    (np.generic, _feed_scalar),
    (bool | int | float | complex, _feed_number),
    (str, _text),
    (bytes | bytearray | memoryview, _feed_bytes),
    (tuple | list, _feed_sequence),
    (Mapping, _feed_mapping),
    (frozenset | set, _feed_set),
    (PurePath, _refuse_path),
    (type, _feed_type),
    (types.MethodType, _feed_method),
    (functools.partial, _feed_partial),
    (types.FunctionType | types.BuiltinFunctionType | np.ufunc, _feed_function),
)
"""How each kind of value is written down; the first that fits."""

_PLAIN: dict[type, Callable[[_Sink, Any], None]] = {
    str: _text,
    int: _feed_number,
    float: _feed_number,
    bool: _feed_number,
}
"""The commonest kinds, found at once."""


def _feed_other(sink: _Sink, value: Any) -> None:
    """Objects: sparse matrices, torch's tensors and modules, dataclasses, and what keeps its state in attributes."""
    kind = type(value)
    torch: Any = sys.modules.get("torch")  # nothing is torch's before torch was imported
    if kind.__module__.startswith("scipy.sparse"):
        _feed_sparse(sink, value)
    elif torch is not None and isinstance(value, torch.Tensor):
        _feed_tensor(sink, value)
    elif torch is not None and isinstance(value, torch.nn.Module):
        _feed_module(sink, value)
    elif dataclasses.is_dataclass(value) or _keeps_attributes(kind):
        _feed_fields(sink, value, frozenset())
    else:
        raise InvalidInput(f"a {kind.__name__} has no fingerprint, expected values, arrays, dataclasses or functions")


def _keeps_attributes(kind: type) -> bool:
    """Whether all state of an object lies in its attributes: no base class in C, no slots."""
    slots = any(set(vars(base).get("__slots__", ())) - {"__dict__", "__weakref__"} for base in kind.__mro__)
    small = kind.__itemsize__ == 0 and kind.__basicsize__ <= object.__basicsize__ + _POINTERS
    return small and not slots and hasattr(kind, "__dict__") and kind.__dictoffset__ != 0


def _feed_fields(sink: _Sink, value: Any, without: frozenset[str]) -> None:
    kind = type(value)
    if dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    else:
        names = sorted(name for name in vars(value) if not _is_cache(kind, name))
    kept = [name for name in names if name not in without]
    _tag(sink, "object", type_name(kind), len(kept))
    for name in kept:
        _text(sink, name)
        _feed(sink, getattr(value, name))


def _is_cache(kind: type, name: str) -> bool:
    found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
    return isinstance(found, functools.cached_property)


def _feed_sparse(sink: _Sink, value: Any) -> None:
    """Rows in order, columns sorted, no entry twice and none of 0, whatever the format."""
    rows = value.tocsr(copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    _tag(sink, "sparse", tuple(int(size) for size in rows.shape))
    for part in (rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)):
        _feed_array(sink, part)


def _feed_tensor(sink: _Sink, value: Any) -> None:
    plain = value.detach().cpu()
    if str(plain.dtype) == "torch.bfloat16":  # which numpy does not know
        _tag(sink, "bfloat16")
        plain = plain.view(sys.modules["torch"].int16)
    _tag(sink, "tensor")
    _feed_array(sink, plain.resolve_conj().resolve_neg().numpy())


def _feed_module(sink: _Sink, value: Any) -> None:
    """Weights by name, and for every module inside its class and its plain settings (heads, activation, ...)."""
    weights = value.state_dict()
    _tag(sink, "module", len(weights))
    for name in sorted(weights):
        _text(sink, name)
        _feed(sink, weights[name])
    torch: Any = sys.modules["torch"]
    plain = (bool, int, float, str, np.ndarray, torch.Tensor)
    for name, inner in sorted(value.named_modules(), key=lambda pair: pair[0]):
        _text(sink, name)
        settings = {k: v for k, v in vars(inner).items() if k[:1] != "_" and k != "training" and isinstance(v, plain)}
        _tag(sink, "of", type_name(type(inner)))
        _feed_mapping(sink, settings)


def refuse_unreadable(value: Any, refusal: str) -> None:
    """Refuse a value that cannot be stored, or that would be read back as another; `refusal` opens the message.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Shelf:
    ...     books: list[str]
    >>> refuse_unreadable(Shelf(["a"]), "the shelf stays here")
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: the shelf stays here: value.books is "['a']", expected list
    """
    arrays: Arrays = {}
    try:
        body = json.loads(json.dumps(encode(value, arrays), allow_nan=False))
        again = decode(body, type(value), {name: array.copy() for name, array in arrays.items()})
    except InvalidInput as error:
        raise InvalidInput(f"{refusal}: {error}") from error
    if digest(again) != content_digest(body, arrays):
        raise InvalidInput(f"{refusal}: it would be read back as another value")
