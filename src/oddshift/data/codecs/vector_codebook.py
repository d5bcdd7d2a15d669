"""Codebooks of vectors: public ones from a file, or means of cells that hold many vectors each.

Cells come from cutting at the median of the widest axis, again and again, as in a k-d tree: no cell is ever smaller
than asked for, and no iteration has to converge.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, finite
from oddshift.base.errors import InvalidInput
from oddshift.model.records import numbered


def cell_means(table: FloatArray, tier: Sequence[Any] | None, least: int) -> tuple[FloatArray, list[Any] | None]:
    """Means of cells of at least `least` rows (n, k), made within each tier, and the tier of each mean.

    **Guarantee**: every mean is over at least `least` rows; data with fewer than twice as many in a tier are refused.
    """
    labels, names = (np.zeros(len(table), dtype=np.int64), (None,)) if tier is None else numbered(list(tier))
    means: list[FloatArray] = []
    tiers: list[Any] = []
    for label, name in enumerate(names):
        mine = np.flatnonzero(labels == label)
        if len(mine) < 2 * least:
            raise InvalidInput(
                f"{len(mine)} vectors to learn from{'' if tier is None else ' in a tier'}, expected at least "
                f"{2 * least}: a released vector is the mean of {least} of them, or give a codebook"
            )
        for cell in _cells(table, mine, least):
            means.append(table[cell].mean(axis=0))
            tiers.append(name)
    return np.array(means), None if tier is None else tiers


def read_codebook(path: str) -> FloatArray:
    """The vectors of a .npy file."""
    try:
        with Path(path).open("rb") as stream:
            return finite(np.load(stream, allow_pickle=False).astype(np.float64), "codebook", 2)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} is not a .npy file of vectors, expected an array (n, k) of numbers") from error


def _cells(table: FloatArray, rows: IntArray, least: int) -> list[IntArray]:
    """The rows of each cell."""
    done: list[IntArray] = []
    waiting = [rows]
    while waiting:
        cell = waiting.pop()
        spread = table[cell].var(axis=0)
        if len(cell) < 2 * least or not spread.max() > 0:
            done.append(cell)
            continue
        order = cell[np.argsort(table[cell, int(spread.argmax())], kind="stable")]
        waiting += [order[len(order) // 2 :], order[: len(order) // 2]]
    return done
