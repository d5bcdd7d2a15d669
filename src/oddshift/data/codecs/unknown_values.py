"""Unknown values: which secrets of new data the fitted vocabulary does not have.

A found word without a point, a cell outside the domain of its column, a place outside all known cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.data.codecs.codec import Codec, Columns, Encoded, rows_by_bytes
from oddshift.data.codecs.place_codec import PlaceCodec, fixes_of
from oddshift.data.codecs.places import cell_centres
from oddshift.data.codecs.table.cells import column_numbers, read_cells
from oddshift.data.codecs.table.codec import TableCodec
from oddshift.data.codecs.text.encoded import EncodedText
from oddshift.data.formats.cells import missing_cells


@dataclass(frozen=True, eq=False, repr=False)
class UnknownValues:
    """For each secret of some data the row that holds it, and whether the vocabulary does not have it."""

    rows: IntArray
    is_unknown: BoolArray


def unknown_values(codec: Codec, encoded: Encoded, columns: Columns) -> UnknownValues | None:
    """The secrets of some data that a codec does not know; None for data of which that cannot be said."""
    if isinstance(encoded, EncodedText):
        return _of_text(encoded)
    if isinstance(codec, TableCodec):
        return _of_rows(codec, columns) if codec.settings.unit == "row" else _of_cells(codec, columns)
    if isinstance(codec, PlaceCodec) and not codec.is_listed:
        return _of_places(codec, encoded, columns)
    return None


def _of_text(encoded: EncodedText) -> UnknownValues:
    """Found words without a point; each document is a row."""
    found = np.concatenate([encoded.slots, encoded.masked])
    is_unknown = np.repeat([False, True], [len(encoded.slots), len(encoded.masked)])
    return UnknownValues(np.searchsorted(encoded.tokens.offsets, found, side="right") - 1, is_unknown)


def _of_cells(codec: TableCodec, columns: Columns) -> UnknownValues:
    """Categories that a domain does not have, and numbers more than a step outside it; missing cells do not count."""
    rows, flags = [], []
    for domain in codec.vocabulary.domains:
        if domain.type is None:
            there: BoolArray = ~missing_cells(columns[domain.name])
            outside: BoolArray = read_cells(domain, columns, codec.settings, 1).values < 0
        else:
            numbers = column_numbers(columns, domain.name, domain.type)
            there, outside = ~np.isnan(numbers), domain.is_outside(numbers)
        rows.append(np.flatnonzero(there))
        flags.append(outside[there])
    return UnknownValues(np.concatenate(rows), np.concatenate(flags))


def _of_rows(codec: TableCodec, columns: Columns) -> UnknownValues:
    """Rows with a category that the fit part does not have."""
    codes = codec.vocabulary.coordinates(codec.settings, columns, 1)[len(codec.settings.numeric) :]
    size = len(next(iter(columns.values())))
    is_unknown = np.zeros(size, dtype=np.bool_)
    for code in codes:
        is_unknown |= code < 0
    return UnknownValues(np.arange(size), is_unknown)


def _of_places(codec: PlaceCodec, encoded: Encoded, columns: Columns) -> UnknownValues:
    """Fixes outside every cell in which the fit part has one."""
    known = rows_by_bytes(codec.space)
    centres = cell_centres(fixes_of(codec.settings, columns).places, codec.settings.cell_km)
    is_unknown = np.array([row.tobytes() not in known for row in np.ascontiguousarray(centres)], dtype=np.bool_)
    return UnknownValues(encoded.order, is_unknown)  # type: ignore[attr-defined]
