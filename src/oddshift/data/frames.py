"""Values in memory: lists, NumPy arrays and Arrow data frames, read as columns and returned as the same kind.

A data frame is anything with the Arrow PyCapsule interface (pandas, Polars, PyArrow, DuckDB). None of those libraries
is imported here: a frame brings its own, and what it brings is used to build the same kind of frame again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput, a_kind

Columns = dict[str, list[Any]]
"""Named columns of equal length, as plain Python values; None stands for a missing value."""


def is_frame(values: Any) -> bool:
    """Whether values are a table with named columns: a mapping of columns, or an Arrow table of any library."""
    if isinstance(values, Mapping):
        return True
    return hasattr(values, "__arrow_c_stream__") and not _is_column(values)


def columns_of(frame: Any, name: str = "the table") -> Columns:
    """The columns of a frame or of a mapping, as plain values.

    >>> columns_of({"age": (31, 44)})
    {'age': [31, 44]}
    """
    if isinstance(frame, Mapping):
        columns = {str(key): list_of(value, f"column {key!r}") for key, value in frame.items()}
    elif is_frame(frame):
        import pyarrow as pa

        table = pa.table(frame)
        if len(set(table.column_names)) < table.num_columns:
            raise InvalidInput(f"{name} has two columns of one name, expected distinct names")
        columns = {key: table.column(key).to_pylist() for key in table.column_names}
    else:
        raise InvalidInput(f"{name} is {a_kind(frame)}, expected a data frame or a mapping of columns")
    lengths = {len(column) for column in columns.values()}
    if len(lengths) != 1:
        raise InvalidInput(f"{name} has columns of lengths {sorted(lengths)}, expected one length")
    return columns


def list_of(values: Any, name: str = "values") -> list[Any]:
    """One column as plain values: a list, a tuple, an array or a series.

    >>> list_of(np.array(["a", "b"]))
    ['a', 'b']
    """
    if isinstance(values, str | bytes) or is_frame(values):
        raise InvalidInput(f"{name} is {a_kind(values)}, expected a list, an array or a series")
    if hasattr(values, "__arrow_c_stream__"):
        import pyarrow as pa

        return pa.chunked_array(values).to_pylist()
    if isinstance(values, np.ndarray):
        return values.tolist()
    if hasattr(values, "to_pylist"):
        return values.to_pylist()
    try:
        return list(values)
    except TypeError as error:
        raise InvalidInput(f"{name} is {a_kind(values)}, expected a list, an array or a series") from error


def column_like(original: Any, released: Sequence[Any]) -> Any:
    """Released values as the kind of column that came in.

    >>> column_like(("a", "b"), ["c", "d"])
    ('c', 'd')
    """
    if isinstance(original, tuple):
        return tuple(released)
    if isinstance(original, np.ndarray):
        return np.asarray(released, dtype=object if original.dtype == object else None)
    library = _library(original)
    if library == "pandas":
        kind = original.dtype
        if kind.kind in "biu" and any(value is None for value in released):
            kind = "boolean" if kind.kind == "b" else "Int64"  # the types that can be empty
        return sys.modules["pandas"].Series(released, index=original.index, name=original.name, dtype=kind)
    if library == "polars":
        return sys.modules["polars"].Series(original.name, released)
    if library == "pyarrow":
        made = sys.modules["pyarrow"].array(released)
        return sys.modules["pyarrow"].chunked_array([made]) if hasattr(original, "chunks") else made
    return list(released)


def frame_like(original: Any, released: Mapping[str, Sequence[Any]]) -> Any:
    """The frame that came in with some columns replaced; a frame of an unknown library comes back as a PyArrow table.

    >>> frame_like({"age": [31], "note": ["x"]}, {"age": [35]})
    {'age': [35], 'note': ['x']}
    """
    if isinstance(original, Mapping):
        return {**original, **{name: column_like(original[name], values) for name, values in released.items()}}
    library = _library(original)
    if library == "pandas":
        return original.assign(**{name: column_like(original[name], values) for name, values in released.items()})
    if library == "polars":
        return original.with_columns([column_like(original[name], values) for name, values in released.items()])
    import pyarrow as pa

    table = pa.table(original)
    for name, values in released.items():
        place = table.column_names.index(name)
        table = table.set_column(place, name, pa.array(values))
    return table


def _is_column(values: Any) -> bool:
    """Whether an Arrow object is one column: a series or an array has no column names."""
    return not any(hasattr(values, name) for name in ("columns", "column_names"))


def _library(values: Any) -> str:
    """The library an object comes from, which is therefore imported already."""
    return type(values).__module__.partition(".")[0]
