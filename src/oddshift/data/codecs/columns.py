"""Columns read from CSV, JSON lines or Parquet, as strings or plain values, with refusals that name file and row.

Messages never quote a cell. Rows are counted from 1, without the header.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput

Columns = dict[str, list[Any]]

ENDINGS = (".csv", ".jsonl", ".parquet")
"""File name endings that can be read."""


def read_columns(
    path: str | Path, wanted: Sequence[str], *, header: Sequence[str] | None = None, at_least: int = 2
) -> Columns:
    """The wanted columns of a file; `header` names the columns of a CSV file that has no header row.

    A file with fewer than `at_least` rows is refused.
    """
    path = Path(path)
    readers = {".csv": _read_csv, ".jsonl": _read_jsonl, ".parquet": _read_parquet}
    if path.suffix not in readers:
        raise InvalidInput(f"{path.name} ends in {path.suffix!r}, expected one of {', '.join(ENDINGS)}")
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file")
    if path.stat().st_size == 0:
        raise InvalidInput(f"{path.name} is empty (0 bytes), expected at least {at_least} rows")
    columns = readers[path.suffix](path, wanted, header)
    rows = len(next(iter(columns.values()), []))
    if rows < at_least:
        raise InvalidInput(f"{path.name} has {rows} {'row' if rows == 1 else 'rows'}, expected at least {at_least}")
    return columns


def column_names(path: str | Path) -> tuple[str, ...]:
    """The names of the columns: a CSV file's header row, the keys of the first JSON line, or a Parquet schema."""
    import csv

    path = Path(path)
    if path.suffix == ".parquet":
        return _parquet_names(path)
    with _decoded(path) as stream:
        if path.suffix != ".jsonl":
            return tuple(next(csv.reader(stream), ()))
        try:
            first = json.loads(next((line for line in stream if line.strip()), "{}"))
        except ValueError:
            first = None
    if not isinstance(first, dict):
        raise InvalidInput(f"the first line of {path.name} is not a JSON object")
    return tuple(first)


def _parquet_names(path: Path) -> tuple[str, ...]:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return tuple(parquet.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{path.name} is not a Parquet file") from error


def numbers(columns: Columns, name: str, source: str) -> FloatArray:
    """A column as finite numbers; the first row that is none is named."""
    try:
        values = np.array(columns[name], dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros((0, 0))
    if values.ndim != 1:
        row = next(i for i, value in enumerate(columns[name], start=1) if not _is_number(value))
        raise InvalidInput(f"{source}: column {name!r} at row {row} is not a number")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        kind = "NaN" if np.isnan(values[bad[0]]) else "infinite"
        raise InvalidInput(f"{source}: column {name!r} at row {bad[0] + 1} is {kind}, expected a finite number")
    return values


def strings(columns: Columns, name: str, source: str) -> list[str]:
    """A column as text; a missing value is refused, an empty string is data."""
    values = columns[name]
    for row, value in enumerate(values, start=1):
        if value is None:
            raise InvalidInput(f"{source}: column {name!r} at row {row} is missing, expected text")
    return [value if isinstance(value, str) else str(value) for value in values]


def categories(columns: Mapping[str, Sequence[Any]], name: str, source: str) -> list[Any]:
    """A column of plain values; a list, a table or NaN is no category."""
    for row, value in enumerate(columns[name], start=1):
        if not isinstance(value, Hashable) or (isinstance(value, float) and isnan(value)):
            raise InvalidInput(f"{source}: column {name!r} at row {row} is no category, expected a plain value")
    return list(columns[name])


def _read_csv(path: Path, wanted: Sequence[str], header: Sequence[str] | None) -> Columns:
    import pyarrow as pa
    from pyarrow import csv

    broken: list[tuple[int, int, int]] = []

    def note(row: Any) -> str:
        broken.append((row.number or 0, row.actual_columns, row.expected_columns))
        return "skip"

    names = list(header) if header is not None else list(column_names(path))
    _require(path, wanted, names)
    try:
        table = csv.read_csv(
            path,
            read_options=csv.ReadOptions(column_names=header, use_threads=False, block_size=1 << 26),
            parse_options=csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()), include_columns=list(wanted), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise InvalidInput(_not_utf8(path)) from error
        raise InvalidInput(f"{path.name} cannot be read as CSV (quotes, separators or an empty table)") from error
    if broken:
        number, actual, expected = broken[0]
        where = number - (header is None)
        raise InvalidInput(f"{path.name} row {where} has {actual} columns, expected {expected}")
    return {name: table.column(name).to_pylist() for name in wanted}


def _read_jsonl(path: Path, wanted: Sequence[str], header: Sequence[str] | None) -> Columns:
    columns: Columns = {name: [] for name in wanted}
    with _decoded(path) as stream:
        for row, line in enumerate(stream, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except ValueError as error:
                raise InvalidInput(f"{path.name} line {row} is not a JSON document") from error
            if not isinstance(value, dict):
                raise InvalidInput(f"{path.name} line {row} is a {type(value).__name__}, expected an object")
            for name in wanted:
                if name not in value:
                    raise InvalidInput(f"{path.name} line {row} has no column {name!r}")
                columns[name].append(value[name])
    return columns


def _read_parquet(path: Path, wanted: Sequence[str], header: Sequence[str] | None) -> Columns:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        _require(path, wanted, parquet.read_schema(path).names)
        table = parquet.read_table(path, columns=list(wanted))
    except (pa.ArrowException, OSError) as error:
        raise InvalidInput(f"{path.name} is not a Parquet file") from error
    return {name: table.column(name).to_pylist() for name in wanted}


def _require(path: Path, wanted: Sequence[str], names: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            raise InvalidInput(f"{path.name} has no column {name!r}; it has {', '.join(names)}")
        if list(names).count(name) > 1:
            raise InvalidInput(f"{path.name} has several columns {name!r}, expected one")


@contextmanager
def _decoded(path: Path) -> Iterator[TextIO]:
    """Lines of a UTF-8 file; a wrong byte becomes one line that names the row."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            yield stream
        except UnicodeDecodeError:
            raise InvalidInput(_not_utf8(path)) from None  # the cause would quote the file


def _not_utf8(path: Path) -> str:
    """Where the first bytes lie that are not UTF-8."""
    with path.open("rb") as stream:
        for row, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f"{path.name} line {row} is not UTF-8 (byte {error.start} of the line); expected UTF-8"
    return f"{path.name} is not UTF-8; expected UTF-8"


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
