"""A graph of our own values in one file: frozen dataclasses that share parts, with arrays and sparse matrices.

Every part is written once, after the parts it is made of, so that reading is one pass and parts that were shared are
shared again. Nothing is pickled: a class is named by its module, only frozen dataclasses of this package are made, and
none of their methods runs while they are.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.storage import Arrays, content_digest, pack, unpack, write_atomic

LAYOUT = 1
"""Version of the files."""

_PACKAGE = __name__.split(".")[0]
_SPARSE = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
_NUMBERS = "biufcU"  # kinds of arrays that are stored: numbers and text of fixed width


def save_graph(path: str | Path, value: Any, *, mode: int = 0o600) -> None:
    """Write a value and all that it is made of; only its owner may read the file.

    >>> from tempfile import TemporaryDirectory
    >>> shared = np.arange(3)
    >>> with TemporaryDirectory() as folder:
    ...     save_graph(Path(folder) / "pair.npz", (shared, shared))
    ...     left, right = load_graph(Path(folder) / "pair.npz")
    >>> left is right, left.tolist()
    (True, [0, 1, 2])
    """
    writer = _Writer()
    root = writer.item(value)
    body = {"layout": LAYOUT, "nodes": writer.nodes, "root": root}
    text = json.dumps({"sha256": content_digest(body, writer.arrays), **body}).encode()
    write_atomic(path, pack(text, writer.arrays), mode=mode)


def can_be_stored(value: Any) -> bool:
    """Whether `save_graph` takes a value: one that holds a function or a foreign object is refused."""
    try:
        _Writer().item(value)
    except InvalidInput:
        return False
    return True


def load_graph(path: str | Path) -> Any:
    """The value that `save_graph` wrote.

    **Guarantee**: a damaged or edited file raises TamperedEvidence, and so does one of a version whose classes had
    other fields. Only modules of this package are imported, and no function of theirs is called.
    """
    text, arrays = unpack(Path(path).read_bytes())
    try:
        body = json.loads(text)
        stated = body.pop("sha256")
        if body.get("layout") != LAYOUT or stated != content_digest(body, arrays):
            raise TamperedEvidence("contents do not hash to what the file says")
        return _read(body, arrays)
    except TamperedEvidence:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError) as error:
        raise TamperedEvidence(f"not a complete graph ({type(error).__name__})") from error


class _Writer:
    """Nodes in the order in which they can be read back, and the arrays that they name."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.arrays: Arrays = {}
        self._places: dict[int, int | None] = {}  # by address; None while a value is being written
        self._alive: list[Any] = []  # so that no address is used twice

    def item(self, value: Any) -> Any:
        """A plain value as it is, anything else as the place of its node."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if id(value) not in self._places:
            self._places[id(value)] = None
            self._alive.append(value)
            node = self._node(value)
            self.nodes.append(node)
            self._places[id(value)] = len(self.nodes) - 1
        place = self._places[id(value)]
        if place is None:
            raise InvalidInput(f"a {type(value).__name__} contains itself, expected values without a circle")
        return {"node": place}

    def _node(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        if kind in (tuple, list, set, frozenset):
            return {"kind": kind.__name__, "items": [self.item(part) for part in value]}
        if isinstance(value, dict | types.MappingProxyType):
            return {"kind": "dict", "items": [[self.item(k), self.item(v)] for k, v in value.items()]}
        if isinstance(value, np.ndarray | np.generic):
            return self._array(value)
        if kind.__module__.startswith("scipy.sparse") and kind.__name__ in _SPARSE:
            parts = [self.item(part) for part in (value.data, value.indices, value.indptr)]
            return {"kind": "sparse", "class": kind.__name__, "shape": list(map(int, value.shape)), "parts": parts}
        if isinstance(value, types.MethodType):
            owner = self.item(value.__self__)
            _class(f"{type(value.__self__).__module__}:{type(value.__self__).__qualname__}")
            return {"kind": "method", "of": owner, "name": value.__name__}
        name = f"{kind.__module__}:{kind.__qualname__}"
        _class(name)
        held = {field.name: self.item(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"kind": "object", "class": name, "fields": held}

    def _array(self, value: Any) -> dict[str, Any]:
        if value.dtype.kind not in _NUMBERS or (type(value) is not np.ndarray and not isinstance(value, np.generic)):
            raise InvalidInput(f"an array of {value.dtype} cannot be stored, expected numbers or text")
        name = f"a{len(self.arrays)}"
        self.arrays[name] = np.asarray(value)
        fixed = isinstance(value, np.generic)
        return {"kind": "array", "name": name, "writeable": not fixed and bool(value.flags.writeable), "scalar": fixed}


def _read(body: Mapping[str, Any], arrays: Arrays) -> Any:
    """All nodes in order; each may name earlier ones only."""
    done: list[Any] = []

    def value(item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        return float(item["float"]) if "float" in item else done[_earlier(item["node"], len(done))]

    for node in body["nodes"]:
        done.append(_READERS[node["kind"]](node, value, arrays))
    return value(body["root"])


def _earlier(place: Any, count: int) -> int:
    if type(place) is not int or not 0 <= place < count:
        raise TamperedEvidence(f"a node names node {place}, expected an earlier one")
    return place


_Value = Callable[[Any], Any]


def _mapping(node: Mapping[str, Any], value: _Value, arrays: Arrays) -> Any:
    return {value(key): value(item) for key, item in node["items"]}


def _array_of(node: Mapping[str, Any], value: _Value, arrays: Arrays) -> Any:
    found = arrays[node["name"]]
    if node["scalar"]:
        return found[()]
    found.setflags(write=bool(node["writeable"]))
    return found


def _sparse(node: Mapping[str, Any], value: _Value, arrays: Arrays) -> Any:
    import scipy.sparse

    if node["class"] not in _SPARSE:
        raise TamperedEvidence(f"{node['class']!r} is not a sparse matrix, expected one of {', '.join(_SPARSE)}")
    parts = tuple(value(part) for part in node["parts"])
    return getattr(scipy.sparse, node["class"])(parts, shape=tuple(node["shape"]))


def _method(node: Mapping[str, Any], value: _Value, arrays: Arrays) -> Any:
    owner, name = value(node["of"]), node["name"]
    found = vars(type(owner)).get(name)
    if not isinstance(found, types.FunctionType) or name.startswith("_"):
        raise TamperedEvidence(f"a {type(owner).__name__} has no method of its own that is called {name!r}")
    return types.MethodType(found, owner)


def _object(node: Mapping[str, Any], value: _Value, arrays: Arrays) -> Any:
    """An object with these fields, made without running anything of its class."""
    try:
        kind = _class(node["class"])
    except InvalidInput as error:
        raise TamperedEvidence(str(error)) from error
    if {field.name for field in dataclasses.fields(kind)} != set(node["fields"]):
        raise TamperedEvidence(f"a {kind.__name__} has other fields now")
    made = object.__new__(kind)
    for name, item in node["fields"].items():
        object.__setattr__(made, name, value(item))
    return made


_READERS: dict[str, Callable[[Mapping[str, Any], _Value, Arrays], Any]] = {
    "tuple": lambda node, value, arrays: tuple(map(value, node["items"])),
    "list": lambda node, value, arrays: list(map(value, node["items"])),
    "set": lambda node, value, arrays: set(map(value, node["items"])),
    "frozenset": lambda node, value, arrays: frozenset(map(value, node["items"])),
    "dict": _mapping,
    "array": _array_of,
    "sparse": _sparse,
    "method": _method,
    "object": _object,
}
"""How each kind of node is read."""


def _class(name: str) -> type[Any]:
    """The class of that name; anything but a frozen dataclass of this package is refused."""
    module, _, inside = name.partition(":")
    if module.split(".")[0] != _PACKAGE:
        raise InvalidInput(f"a {inside} cannot be stored, expected plain values, arrays or frozen dataclasses of ours")
    found: Any = importlib.import_module(module)
    for part in inside.split("."):
        found = getattr(found, part, None)
    is_ours = isinstance(found, type) and dataclasses.is_dataclass(found) and found.__module__ == module
    if not is_ours or not found.__dataclass_params__.frozen:
        raise InvalidInput(f"{inside} cannot be stored, expected a frozen dataclass")
    assert isinstance(found, type)
    return found
