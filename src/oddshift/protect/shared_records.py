"""Records that several parts of a data set have: every part draws the same outputs for them.

A record has one released value within an input. Where its copies are in different parts, the uniform of each of its
secrets is a keyed hash of record and secret, so that parts need not wait for one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.data.codecs import Encoded, EncodedPlaces, EncodedText
from oddshift.model.repeats import draw_once
from oddshift.protect.sanitizer import Sanitizer

_RANK_BYTES = 4


@dataclass(frozen=True, eq=False, repr=False)
class SharedRecords:
    """Row numbers (from 1, in order) of records that other parts have too, and the key of each."""

    rows: IntArray
    key_of: Callable[[int], bytes]

    def redraw(self, sanitizer: Sanitizer, encoded: Encoded, outputs: IntArray, first: int, rows: int) -> None:
        """Draw the secrets of shared records of one block again, by keyed hashes; `first` numbers its first row.

        Where secrets are drawn once for each user or trip, all parts draw them equally already.
        """
        start, end = np.searchsorted(self.rows, [first, first + rows])
        if start == end or _is_keyed(encoded, sanitizer.codec.settings):
            return
        here = self.rows[start:end] - first
        row_of = _row_of_position(encoded)
        positions = np.flatnonzero(np.isin(row_of, here))
        if len(positions):
            groups = _groups(encoded, sanitizer.codec.settings)[positions]
            units = _units(row_of[positions] + first, encoded.records.points[positions], groups, self.key_of)
            sanitizer.redraw(encoded, outputs, positions, list(units))


def _is_keyed(encoded: Encoded, settings: Any) -> bool:
    """Whether every uniform is a keyed hash already."""
    if isinstance(encoded, EncodedPlaces):
        return bool(encoded.units)
    is_by_user = isinstance(encoded, EncodedText) and settings.joint_by == "user" and encoded.users is not None
    return is_by_user and settings.repeats == "once"


def _row_of_position(encoded: Encoded) -> IntArray:
    """The row of the block, from 0, in which each secret is."""
    if isinstance(encoded, EncodedPlaces):
        return encoded.order
    return encoded.rows[encoded.records.document_of_position]


def _groups(encoded: Encoded, settings: Any) -> IntArray:
    """A number for each secret, equal for those that share a draw."""
    records = encoded.records
    if not isinstance(encoded, EncodedText) or settings.repeats == "each":
        return np.arange(len(records.points), dtype=np.int64)
    by = "sentence" if settings.joint_by == "sentence" and records.context is not None else "document"
    return draw_once(records.joined(by)).position


def _units(rows: IntArray, points: IntArray, groups: IntArray, key_of: Callable[[int], bytes]) -> Iterator[bytes]:
    """The key of each record, and which of the draws for this secret in this record it is."""
    keys: dict[int, bytes] = {}
    seen: dict[tuple[int, int], list[int]] = {}
    for row, point, group in zip(rows.tolist(), points.tolist(), groups.tolist(), strict=True):
        draws = seen.setdefault((row, point), [])
        if group not in draws:
            draws.append(group)
        if row not in keys:
            keys[row] = key_of(row)
        yield keys[row] + draws.index(group).to_bytes(_RANK_BYTES, "little")
