"""Vectors of anyone's encoder (images, audio, time series): each row a secret, rows of one group read together.

A `.npz` or `.parquet` file with `vectors` (n, k) and, optionally, `group` and `tier` (a name for each row).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite, indices
from oddshift.base.errors import InvalidInput
from oddshift.data.formats import VECTORS, open_data, read_columns
from oddshift.model.metric import MetricLike
from oddshift.model.records import Records, numbered
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class EncodedVectors:
    """Vectors as secrets; `order` is the row of the given table behind each position."""

    records: Records
    tiers: Tiers | None
    order: IntArray

    def __repr__(self) -> str:
        """Counts only."""
        return f"EncodedVectors({self.records!r})"

    def decode(self, outputs: npt.ArrayLike) -> FloatArray:
        """A table of vectors in the order of the given rows."""
        chosen = indices(outputs, "outputs", len(self.records.space))
        if len(chosen) != len(self.order):
            raise InvalidInput(f"outputs has {len(chosen)} entries, expected {len(self.order)} (one a secret)")
        table = np.empty((len(chosen), self.records.space.points.shape[1]))
        table[self.order] = self.records.space.points[chosen]
        return table


def encode_vectors(
    vectors: npt.ArrayLike,
    *,
    group: Sequence[Hashable] | None = None,
    tier: Sequence[str] | None = None,
    is_public: bool = True,
    metric: MetricLike = "euclidean",
) -> EncodedVectors:
    """Rows (n, k) as secrets; rows of one `group` form a document, in order; equal rows share a point.

    Tier names are taken from most to least sensitive in order of first appearance. Points that two tiers share are
    refused: a tier belongs to the point.
    """
    table = _numbers(vectors, "vectors")
    space, point = Space.merged(table, metric)
    groups = np.arange(len(table)) if group is None else numbered(_as_many(group, len(table), "group"))[0]
    order = np.argsort(groups, kind="stable").astype(np.int64)
    offsets = np.append(0, np.cumsum(np.bincount(groups))).astype(np.int64)
    records = Records(space=space, points=point[order], offsets=offsets)
    return EncodedVectors(records, None if tier is None else _tiers(tier, point, len(space), is_public), order)


def read_vector_set(
    path: str | Path, *, is_public: bool = True, metric: MetricLike = "euclidean", at_least: int = 2
) -> EncodedVectors:
    """A file with `vectors` and optional `group` and `tier`; fewer rows than `at_least` are refused."""
    file = open_data(path, "vectors")
    names = [name for name in (VECTORS, "group", "tier") if name == VECTORS or name in file.names]
    columns = read_columns(file, names, at_least=at_least)
    return encode_vectors(
        _table(columns[VECTORS], file.path.name),
        group=columns.get("group"),
        tier=columns.get("tier"),
        is_public=is_public,
        metric=metric,
    )


def _table(rows: Sequence[Sequence[float]], name: str) -> FloatArray:
    widths = [len(row) if isinstance(row, Sequence | np.ndarray) else -1 for row in rows]
    odd = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        raise InvalidInput(f"{name}: vector {odd + 1} has {widths[odd]} numbers, expected {widths[0]}")
    return _numbers(rows, f"{name}: vectors")


def _numbers(rows: npt.ArrayLike, name: str) -> FloatArray:
    """Finite numbers; what is none is refused without being quoted."""
    try:
        table = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError):  # its message quotes an entry
        raise InvalidInput(f"{name}: not a table of numbers, expected rows of one width") from None
    return finite(table, name, 2)


def _tiers(tier: Sequence[str], point: IntArray, n: int, is_public: bool) -> Tiers:
    labels, names = numbered([str(t) for t in _as_many(tier, len(point), "tier")])
    of_point = np.full(n, -1, dtype=np.int64)
    of_point[point] = labels
    clash = np.flatnonzero(of_point[point] != labels)
    if len(clash):
        raise InvalidInput(f"{len(clash)} rows share a point with a row of another tier, expected one tier a point")
    return Tiers(of_point, names=tuple(str(name) for name in names), scales=(1.0,) * len(names), is_public=is_public)


def _as_many(values: Sequence[Any], n: int, name: str) -> Sequence[Any]:
    if len(values) != n:
        raise InvalidInput(f"{name} has {len(values)} entries, expected {n} (one a vector)")
    return values
