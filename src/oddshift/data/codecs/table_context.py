"""The public side of a table: columns that are released as they are, and which cells are missing, as context W.

Public numbers of many values are cut into shares, so that attackers meet each symbol often enough to learn from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns
from oddshift.data.codecs.table_points import TableVocabulary
from oddshift.data.codecs.table_settings import TableSettings
from oddshift.data.formats.cell_types import number_cells
from oddshift.model.records import MASKED, SLOT, Context, numbered, offsets_of

MOST_SYMBOLS = 50
"""Smallest number of distinct values for a public column of numbers to be cut."""

_SHARES = 12


def public_steps(settings: TableSettings, columns: Columns) -> dict[str, FloatArray]:
    """Where public columns of many numbers are cut: at equal shares of some rows."""
    found = {}
    for name in settings.public:
        numbers = _numbers(columns, name) if len(set(map(str, columns[name]))) > MOST_SYMBOLS else None
        if numbers is not None and not np.isnan(numbers).all():
            edges = np.quantile(numbers[~np.isnan(numbers)], np.arange(1, _SHARES) / _SHARES)
            found[name] = np.unique(edges)
    return found


def table_context(
    settings: TableSettings,
    vocabulary: TableVocabulary,
    columns: Columns,
    rows: IntArray,
    cells: tuple[BoolArray, Mapping[str, Mapping[int, Any]]],
    *,
    sizes: IntArray,
) -> Context | None:
    """For every row its public cells as symbols `column=value`, then its slots; None where nothing is public.

    `cells` says for every cell, in the order of `rows`, whether it is a secret, and holds the missing ones of each
    column.
    """
    is_secret, kept = cells
    public = [name for name in settings.public if name in columns]
    may_be_missing = [d.name for d in vocabulary.domains if d.keeps_missing]
    if settings.joint_by == "column" or not (public or may_be_missing or any(kept.values())):
        return None
    words = [word for name in public for word in _words(vocabulary, columns, name)]
    number, symbols = numbered([*words, *(f"{name} is missing" for name in kept)])
    table = np.hstack(
        [
            number[: len(words)].reshape(len(public), len(rows)).T[rows],
            _slots(is_secret, list(kept.values()), rows, number[len(words) :]),
        ]
    )
    breaks = np.zeros(table.shape, dtype=np.bool_)
    breaks[:, 0] = True
    offsets = offsets_of(sizes * table.shape[1])
    return Context(tokens=table.ravel(), offsets=offsets, symbols=tuple(map(str, symbols)), breaks=breaks.ravel())


def _slots(is_secret: BoolArray, kept: list[Mapping[int, Any]], rows: IntArray, symbol: IntArray) -> IntArray:
    """A slot for each secret, the symbol of its column for a missing cell, a mask for any other."""
    slots = np.where(is_secret, SLOT, MASKED)
    for column, missing in enumerate(kept):
        if missing:
            slots[np.isin(rows, list(missing)), column] = symbol[column]
    return slots


def _words(vocabulary: TableVocabulary, columns: Columns, name: str) -> list[str]:
    edges = vocabulary.steps.get(name)
    if edges is None:
        return [f"{name}={value}" for value in columns[name]]
    numbers = _numbers(columns, name)
    if numbers is None:
        raise InvalidInput(f"column {name!r} has cells that are not numbers, unlike the rows learned from")
    step = np.searchsorted(edges, numbers)
    return [f"{name} is missing" if np.isnan(n) else f"{name} in share {s}" for s, n in zip(step, numbers, strict=True)]


def _numbers(columns: Columns, name: str) -> FloatArray | None:
    try:
        return number_cells(columns, name)
    except InvalidInput:
        return None
