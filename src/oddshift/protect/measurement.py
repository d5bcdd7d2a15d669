"""What leaves a table, measured: a released table next to the original, and what ε means in each column.

An audit and an adaptation measure a release that is drawn for this and thrown away; `protect` measures the one that it
writes.

A sample of the rows of a table before and after release, so that what was released can be measured.

Rows are taken at equal steps through the file; the step doubles whenever the sample grows too large.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oddshift.audit.released_table import ReleasedTable, compare_tables
from oddshift.audit.table_risks import MixedTable
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.data.codecs import Codec, Columns
from oddshift.data.codecs.table.cells import column_numbers
from oddshift.data.codecs.table.domains import ColumnDomain
from oddshift.data.formats import Block
from oddshift.mechanisms import Mechanism
from oddshift.mechanisms.forms import Formed
from oddshift.model.records import Records, numbered
from oddshift.protect.overrides import Shown

MOST_ROWS = 4_000
"""Number of rows of the table that are examined."""

FEW_ROWS = 200
"""Number of rows on which the cost of that is measured where time is limited."""


def drawn_release(
    codec: Codec,
    columns: Columns,
    mechanism: Mechanism,
    rng: np.random.Generator,
    most: int = MOST_ROWS,
    *,
    shown: Callable[[Records], IntArray] | None = None,
) -> ReleasedTable | None:
    """A release of at most `most` rows; None where whole rows are secrets, or only a mask is released.

    `shown` gives what comes out of records where that is more than a draw of the mechanism.
    """
    size = len(columns[codec.settings.secret[0]])
    if not codec.domains or mechanism.n_outputs != len(codec.space) or size < 2:
        return None
    chosen = np.sort(rng.permutation(size)[:most]).tolist()
    some = {name: [cells[row] for row in chosen] for name, cells in columns.items()}
    encoded = codec.encode(some)
    points = encoded.records.points
    masked = mechanism.marked[points] if isinstance(mechanism, Formed) else False
    outputs = mechanism.sample(points, rng) if shown is None else shown(encoded.records)
    return measured_release(codec, some, encoded.decode(outputs, masked=masked), rng)


def measured_release(codec: Codec, original: Columns, released: Columns, rng: np.random.Generator) -> ReleasedTable:
    """Some rows and what they were released as; public columns, if there are any, count for the risks."""
    before, after, kinds = [], [], []
    for domain in codec.domains:
        kinds.append(domain.type is not None)
        one, two = _both(domain, original, released)
        before.append(one)
        after.append(two)
    names = [domain.name for domain in codec.domains]
    for name in codec.settings.public:
        if name in original:
            codes, _ = _codes(original[name], ())
            kinds.append(False)
            before.append(codes)
            after.append(codes)
    is_number: BoolArray = np.array(kinds, dtype=np.bool_)
    was, is_now = (MixedTable(np.stack(side, axis=1), is_number) for side in (before, after))
    return compare_tables(was, is_now, names, rng)


def column_odds(codec: Codec, mechanism: Mechanism) -> Iterator[str]:
    """What ε means in each column, in its own units: the odds between two of its values after one release, at most."""
    if not codec.domains or mechanism.n_outputs != len(codec.space):
        return
    said, start = [], 0
    for domain in codec.domains:
        values = np.arange(start, start + len(domain))
        start += len(domain)
        if len(values) > 1:
            said.append(_odds_of(domain, _log_ratios(mechanism, values)))
    if said:
        yield f"one release shifts the odds between two values at most by: {'; '.join(said)}"


def _log_ratios(mechanism: Mechanism, values: IntArray) -> FloatArray:
    """For every two values the largest log ratio that an output of their column gives them, (values, values)."""
    found = mechanism.log_columns(values)[:, values]
    found = found[np.isfinite(found).any(axis=1)]
    with np.errstate(invalid="ignore"):
        gaps = np.abs(found[:, :, None] - found[:, None, :])
    return np.asarray(np.nan_to_num(gaps, nan=0.0, posinf=np.inf).max(axis=0, initial=0.0))


def _odds_of(domain: ColumnDomain, ratios: FloatArray) -> str:
    count = len(domain.values)
    if domain.type is None:
        return f"{domain.name} {_odds(ratios.max())} between its {len(domain)} values"
    near = float(np.diagonal(ratios, offset=1)[: max(1, count - 1)].max())
    steps = np.diff(np.array(domain.values, dtype=np.float64))
    unit = " days" if domain.type.family == "date" else ""
    is_even = len(steps) > 0 and np.allclose(steps, steps[0])
    apart = f"values {steps[0]:g}{unit} apart" if is_even else "neighbouring values"
    return f"{domain.name} {_odds(near)} between {apart}, {_odds(ratios[0, count - 1])} across its range"


def _odds(budget: float) -> str:
    return f"{np.exp(budget):.3g}:1" if budget < 15 else "over a million:1"


def _both(domain: ColumnDomain, original: Columns, released: Columns) -> tuple[FloatArray, FloatArray]:
    """One column of both tables as numbers, with the same number for the same category."""
    name, kind = domain.name, domain.type
    if kind is None:
        return _codes(original[name], released[name])
    return column_numbers(original, name, kind), column_numbers(released, name, kind)


def _codes(one: Sequence[Any], two: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    codes: IntArray = numbered([str(cell) for cell in (*one, *two)])[0]
    return codes[: len(one)].astype(np.float64), codes[len(one) :].astype(np.float64)


_Row = tuple[tuple[Any, ...], tuple[Any, ...]]


@dataclass(eq=False, repr=False)
class ReleaseSample:
    """Every `step`-th row of a table, by its number: its cells as they came and as they were released.

    `held` are the columns that the file has.
    """

    codec: Codec
    held: Collection[str]
    step: int = 1
    rows: dict[int, _Row] = field(default_factory=dict)

    @property
    def is_wanted(self) -> bool:
        """Whether this kind of data is measured: a table that is released cell by cell."""
        return bool(self.codec.domains)

    @property
    def names(self) -> tuple[str, ...]:
        """The secret columns, and the public ones that an attacker reads."""
        settings = self.codec.settings
        return tuple(name for name in (*settings.secret, *settings.public) if name in self.held)

    def add(self, block: Block, shown: Shown, first: int) -> None:
        """Some rows of one more block, none of which is left out; `first` is the number of its first row."""
        if not self.is_wanted or any(len(column) != len(block) for column in shown.values()):
            return
        while len(block) > MOST_ROWS * self.step:  # a large block alone would make the step longer
            self._thin()
        cells = [block.cells(name) for name in self.names]
        released = [shown.get(name) for name in self.names]
        for row in range(-(first - 1) % self.step, len(block), self.step):
            came = tuple(column[row] for column in cells)
            went = tuple(came[c] if column is None else column[row] for c, column in enumerate(released))
            self.rows[first - 1 + row] = (came, went)
        while len(self.rows) > MOST_ROWS:
            self._thin()

    def _thin(self) -> None:
        """Keep every other row, and take as few of the later ones."""
        self.step *= 2
        self.rows = {number: row for number, row in self.rows.items() if number % self.step == 0}

    def measured(self) -> ReleasedTable | None:
        """The released rows next to the original ones; None where there is nothing to measure."""
        if not self.is_wanted or len(self.rows) < 2:
            return None
        before, after = (dict(zip(self.names, self._columns(side), strict=True)) for side in (0, 1))
        return measured_release(self.codec, before, after, np.random.default_rng(0))

    def _columns(self, side: int) -> Iterator[list[Any]]:
        return (list(column) for column in zip(*(row[side] for row in self.rows.values()), strict=True))
