"""Risks of a released table: can a person be singled out, linked, or have a value inferred from it?

The three criteria of the Article 29 Working Party as attacks with a baseline (Giomi et al. 2023, Anonymeter), small and
without its dependencies. They say what simple attackers do with one table, next to what certificates bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput

ATTACKS = 500
"""Number of attacks of each kind."""

NEIGHBOURS = 5
"""Number of nearest released rows that linking compares on either side."""

TOLERANCE = 0.05
"""A guessed number counts as right when it is off by at most this share of the true one."""

INFERRING = "inferring column "
"""How the name of an inference risk begins; the number of the column follows."""

_Z = 1.959963984540054  # 95 %
_COLUMNS = 3  # that a predicate over several columns uses
_ATTEMPTS = 10  # predicates tried for each one that is needed
_HALVINGS = 4  # ways to cut the columns into halves: which columns an attacker holds matters
_BLOCK = 64  # rows compared at once; a performance setting


@dataclass(frozen=True, eq=False, repr=False)
class MixedTable:
    """Cells (rows, columns) as numbers, NaN where missing; `is_number` is false for columns of codes of categories."""

    cells: FloatArray
    is_number: BoolArray

    def __post_init__(self) -> None:
        """Check the shape."""
        if self.cells.ndim != 2 or self.cells.shape[1] != len(self.is_number) or len(self.cells) < 2:
            raise InvalidInput(
                f"cells have shape {self.cells.shape}, expected at least 2 rows and a kind for each column"
            )

    def __repr__(self) -> str:
        """Sizes only."""
        return f"MixedTable{self.cells.shape}"


@dataclass(frozen=True, kw_only=True)
class Risk:
    """How often one kind of attack succeeds, and how often its baseline does, each with a 95 % Wilson interval."""

    name: str
    rate: float
    interval: tuple[float, float]
    baseline: float
    baseline_interval: tuple[float, float]
    attacks: int

    @property
    def excess(self) -> float:
        """The rate beyond the baseline."""
        return self.rate - self.baseline


def table_risks(
    original: MixedTable,
    released: MixedTable,
    rng: np.random.Generator,
    attacks: int = ATTACKS,
    *,
    secret: int | None = None,
    inferred: Sequence[int] | None = None,
) -> tuple[Risk, ...]:
    """Singling out by one and by several columns, linking two halves of the columns, and inferring a column.

    The last is the column with the largest excess, among the first `secret` columns or the `inferred` ones; the halves
    are those with the largest excess of a few. `attacks` are drawn for each kind.
    """
    if original.cells.shape[1] != released.cells.shape[1]:
        raise InvalidInput(
            f"the tables have {original.cells.shape[1]} and {released.cells.shape[1]} columns, expected the same"
        )
    width = original.cells.shape[1]
    found = [
        _singling_out("singling out by one column", original, released, width=1, attacks=attacks, rng=rng),
        _singling_out(
            "singling out by several columns", original, released, width=min(_COLUMNS, width), attacks=attacks, rng=rng
        ),
    ]
    if width > 1:
        linked = [_linking(original, released, attacks, rng) for _ in range(_HALVINGS)]
        found.append(max(linked, key=lambda risk: risk.excess))
        columns = range(width if secret is None else secret) if inferred is None else inferred
        guessed = [_inference(original, released, column, attacks, rng) for column in columns]
        found.append(max(guessed, key=lambda risk: risk.excess))
    return tuple(found)


def wilson(successes: int, attempts: int) -> tuple[float, float]:
    """The 95 % Wilson interval of a share.

    >>> tuple(round(bound, 3) for bound in wilson(5, 10))
    (0.237, 0.763)
    """
    if attempts <= 0:
        return 0.0, 1.0
    share, z2 = successes / attempts, _Z * _Z
    middle = (share + z2 / (2 * attempts)) / (1 + z2 / attempts)
    half = _Z / (1 + z2 / attempts) * np.sqrt(share * (1 - share) / attempts + z2 / (4 * attempts**2))
    low, high = float(middle - half), float(middle + half)
    return (0.0 if successes == 0 else low), (1.0 if successes == attempts else high)


def _risk(name: str, hits: int, base: int, attacks: int) -> Risk:
    return Risk(
        name=name,
        rate=hits / max(1, attacks),
        interval=wilson(hits, attacks),
        baseline=base / max(1, attacks),
        baseline_interval=wilson(base, attacks),
        attacks=attacks,
    )


def _singling_out(
    name: str, original: MixedTable, released: MixedTable, *, width: int, attacks: int, rng: np.random.Generator
) -> Risk:
    """The share of predicates true of exactly one released row that are true of exactly one original row too.

    The baseline draws values and comparisons at random. If only few predicates are found, the rate is over those.
    """
    middle = np.array([_median(column) for column in released.cells.T])
    ends = [_ends(released, column) for column in range(released.cells.shape[1])]
    tried = found = hits = base = 0
    while found < attacks and tried < _ATTEMPTS * attacks:
        tried += 1
        columns = rng.permutation(original.cells.shape[1])[:width]
        if width == 1:
            row, signs, holds = _alone(released, ends[columns[0]], rng)
        else:
            row = released.cells[rng.integers(len(released.cells))]
            signs = np.where(row >= middle, 1, -1)
            holds = _holds_once(released, columns, row, signs)
        if holds:
            found += 1
            hits += _holds_once(original, columns, row, signs)
            base += _holds_once(original, columns, *_anyhow(ends, columns, rng))
    return _risk(name, hits, base, found)


@dataclass(frozen=True, eq=False, repr=False)
class _Ends:
    """The values of one column, and the rows that a predicate about it alone may be true of.

    `top` is the row of the largest and of the smallest number, `rare` are those of the rarest values; `is_alone` says
    for each of the three whether such a value occurs once.
    """

    column: int
    known: FloatArray
    is_number: bool
    top: tuple[int, int]
    rare: IntArray
    is_alone: tuple[bool, bool, bool]


def _ends(table: MixedTable, column: int) -> _Ends:
    cells = table.cells[:, column]
    rows = np.flatnonzero(~np.isnan(cells))
    known, is_number = cells[rows], bool(table.is_number[column])
    if not len(rows):
        return _Ends(column, known, is_number, (0, 0), rows, (False, False, False))
    _, first, counts = np.unique(known, return_index=True, return_counts=True)
    top = int(rows[known.argmax()]), int(rows[known.argmin()])
    is_alone = bool(counts[-1] == 1), bool(counts[0] == 1), bool(counts.min() == 1)
    return _Ends(column, known, is_number, top, rows[first[counts == counts.min()]], is_alone)


def _holds_once(table: MixedTable, columns: IntArray, row: FloatArray, signs: IntArray) -> bool:
    """Whether exactly one row has these categories, and numbers at least (1), at most (−1) or exactly (0) as large."""
    holds = np.ones(len(table.cells), dtype=np.bool_)
    for c in columns:
        cells = table.cells[:, c]
        if np.isnan(row[c]):
            holds &= np.isnan(cells)
        elif not table.is_number[c] or not signs[c]:
            holds &= cells == row[c]
        else:
            holds &= cells >= row[c] if signs[c] > 0 else cells <= row[c]
    return int(holds.sum()) == 1


def _alone(table: MixedTable, ends: _Ends, rng: np.random.Generator) -> tuple[FloatArray, IntArray, bool]:
    """A released row for a predicate about one column, at an end of its numbers or with one of its rarest values; and
    whether the predicate is true of that row alone.
    """
    signs = np.zeros(table.cells.shape[1], dtype=np.int64)
    if not len(ends.rare):
        return table.cells[0], signs, False
    if ends.is_number and rng.random() < 0.5:
        is_low = int(rng.random() < 0.5)
        signs[ends.column] = -1 if is_low else 1
        return table.cells[ends.top[is_low]], signs, ends.is_alone[is_low]
    return table.cells[rng.choice(ends.rare)], signs, ends.is_alone[2]


def _anyhow(ends: Sequence[_Ends], columns: IntArray, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Random values of some columns, and random comparisons."""
    row = np.full(len(ends), np.nan)
    for column in columns:
        row[column] = _random_value(ends[column], rng)
    return row, rng.choice([-1, 1], size=len(row))


def _linking(original: MixedTable, released: MixedTable, attacks: int, rng: np.random.Generator) -> Risk:
    """Whether the nearest released rows by one half of the columns meet those by the other half."""
    order = rng.permutation(original.cells.shape[1])
    halves = order[: len(order) // 2], order[len(order) // 2 :]
    targets = rng.integers(len(original.cells), size=attacks)
    near = [_nearest(original, released, targets, half, NEIGHBOURS) for half in halves]
    hits = sum(bool(set(a) & set(b)) for a, b in zip(*(n.tolist() for n in near), strict=True))
    guesses = rng.integers(len(released.cells), size=(2, attacks, near[0].shape[1]))
    base = sum(bool(set(a) & set(b)) for a, b in zip(*guesses.tolist(), strict=True))
    return _risk("linking two halves of the columns", hits, base, attacks)


def _inference(original: MixedTable, released: MixedTable, column: int, attacks: int, rng: np.random.Generator) -> Risk:
    """Whether the nearest released row by all other columns has the right cell; the baseline takes any row."""
    others = np.delete(np.arange(original.cells.shape[1]), column)
    known = np.flatnonzero(~np.isnan(original.cells[:, column]))
    if not len(known):
        return _risk(f"{INFERRING}{column}", 0, 0, attacks)
    targets = rng.choice(known, size=attacks)
    truth = original.cells[targets, column]
    guess = released.cells[_nearest(original, released, targets, others, 1)[:, 0], column]
    anyone = released.cells[rng.integers(len(released.cells), size=attacks), column]
    slack = TOLERANCE * np.abs(truth) if original.is_number[column] else np.zeros(attacks)
    hits, base = (int((np.abs(said - truth) <= slack).sum()) for said in (guess, anyone))
    return _risk(f"{INFERRING}{column}", hits, base, attacks)


def _nearest(original: MixedTable, released: MixedTable, targets: IntArray, columns: IntArray, k: int) -> IntArray:
    """The k released rows closest to each target: differences of numbers by range, 1 for a category that differs."""
    span = np.array([_span(column) for column in released.cells.T])
    count = min(k, len(released.cells))
    found = np.empty((len(targets), count), dtype=np.int64)
    for start in range(0, len(targets), _BLOCK):
        part = targets[start : start + _BLOCK]
        apart = np.zeros((len(part), len(released.cells)))
        for c in columns:
            gap = np.abs(original.cells[part, c][:, None] - released.cells[:, c][None, :])
            gap = gap / span[c] if original.is_number[c] else (gap > 0).astype(np.float64)
            apart += np.where(np.isnan(gap), 1.0, gap)
        found[start : start + _BLOCK] = np.argpartition(apart, count - 1, axis=1)[:, :count]
    return found


def _median(column: FloatArray) -> float:
    known = column[~np.isnan(column)]
    return float(np.median(known)) if len(known) else 0.0


def _span(column: FloatArray) -> float:
    known = column[~np.isnan(column)]
    return float(known.max() - known.min()) or 1.0 if len(known) else 1.0


def _random_value(ends: _Ends, rng: np.random.Generator) -> float:
    known = ends.known
    if not len(known):
        return float("nan")
    return float(rng.uniform(known.min(), known.max())) if ends.is_number else float(rng.choice(known))
