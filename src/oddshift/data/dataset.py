"""A data set: raw columns, and the settings by which their codec finds the secrets in them.

It holds SECRETS in the clear; a repr shows counts only.

Values in memory: lists, NumPy arrays and Arrow data frames, read as columns and returned as the same kind.

A data frame is anything with the Arrow PyCapsule interface (pandas, Polars, PyArrow, DuckDB). None of those libraries
is imported here: a frame brings its own, and what it brings is used to build the same kind of frame again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import CODECS, Codec, Columns, WordVectors
from oddshift.data.detectors import Detector
from oddshift.data.formats import FOLDER, TEXT, open_data, read_columns
from oddshift.data.formats.plain_text import TextFile, TextFolder

FrameColumns = dict[str, list[Any]]
"""Named columns of equal length, as plain Python values; None stands for a missing value."""


def is_frame(values: Any) -> bool:
    """Whether values are a table with named columns: a mapping of columns, or an Arrow table of any library."""
    if isinstance(values, Mapping):
        return True
    return hasattr(values, "__arrow_c_stream__") and not _is_column(values)


def columns_of(frame: Any, name: str = "the table") -> FrameColumns:
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


FEWEST = 1
"""Smallest number of rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Named columns of equal length and the settings of a codec.

    `source` names where they come from in messages. `detectors` and `vectors` are objects that replace those that the
    settings name, for texts.
    """

    columns: Columns
    settings: Any
    source: str = "the values"
    detectors: tuple[Detector, ...] | None = None
    vectors: WordVectors | None = None

    def __len__(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values())))

    def __repr__(self) -> str:
        """Kind and counts; never a value."""
        return f"Dataset({self.kind}, {len(self)} rows, {len(self.columns)} columns)"

    @property
    def kind(self) -> str:
        """The kind of data: a key of `CODECS`."""
        return str(self.settings.kind)

    @property
    def fingerprint(self) -> str:
        """Names the data by their content and by how they are read."""
        parts = (dict(self.columns), self.settings, self.detectors, self.vectors)
        return fingerprint(("Dataset", *parts))

    def rows(self, chosen: BoolArray) -> Columns:
        """Some rows of all columns."""
        index = np.flatnonzero(chosen).tolist()
        return {name: [cells[row] for row in index] for name, cells in self.columns.items()}

    def fit(self, chosen: BoolArray) -> Codec:
        """The codec learned from some rows."""
        with self.naming():
            self.refuse_bad_cells()
            objects = {"detectors": self.detectors, "vectors": self.vectors}
            given = {name: value for name, value in objects.items() if value is not None}
            codec: Codec = CODECS[self.kind].fit(self.rows(chosen), self.settings, **given)
            return codec

    def refuse_bad_cells(self) -> None:
        """Name a bad cell by its row among all rows; the codec sees some of them only."""
        CODECS[self.kind].refuse_bad_cells(self.columns, self.settings)

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Refusals of cells, with the source of the data named."""
        try:
            yield
        except InvalidInput as error:
            if str(error).startswith("column "):
                raise InvalidInput(f"{self.source}: {error}") from error
            raise


def read_dataset(path: str | Path, settings: Any) -> Dataset:
    """The columns of a file or folder that the settings name."""
    place = Path(path)
    file = open_data(place, settings.kind, header=getattr(settings, "header", None))
    if isinstance(file, TextFile | TextFolder):  # which hold texts only
        label = FOLDER if FOLDER in file.names else None
        settings = replace(settings, text=(TEXT,), label=label, user=None, subgroup=None)
    columns = read_columns(file, settings.wanted(file.names), at_least=FEWEST)
    return Dataset(columns, settings, place.name)


def enough_rows(columns: Columns, source: str) -> Columns:
    """The columns, if there are enough rows to split."""
    rows = len(next(iter(columns.values()), ()))
    if rows < FEWEST:
        raise InvalidInput(f"{source} has {rows} rows, expected at least {FEWEST}")
    return columns


def named_columns(columns: Columns, wanted: Sequence[str], source: str) -> Columns:
    """The wanted columns; a missing one is refused."""
    for name in wanted:
        if name not in columns:
            raise InvalidInput(f"{source} has no column {name!r} among its {len(columns)}")
    return {name: columns[name] for name in wanted}
