"""How much a released table still looks like the original: shapes of its columns, and how pairs of columns move.

One number between 0 and 1, after the quality report of SDMetrics: the mean of the column shapes (1 − the
Kolmogorov-Smirnov distance of numbers, 1 − the total variation of categories) and of the pair trends (1 − half the
difference of the correlations of two numbers, 1 − the total variation of other pairs, numbers cut into ten shares).

A released table next to the original: what is unchanged, which real rows it repeats, its risks and its quality.

Counts and shares only, never a value of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from oddshift.audit.table_risks import INFERRING, MixedTable, Risk, table_risks
from oddshift.audit.verdict import is_vacuous
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput

SHARES = 10
"""Number of shares into which a column of numbers is cut when it is compared with categories."""


def table_quality(original: MixedTable, released: MixedTable) -> float:
    """The mean of column shapes and pair trends; 1 for a table of the same law.

    >>> cells = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 1.0]])
    >>> table = MixedTable(cells, np.array([True, False]))
    >>> table_quality(table, table)
    1.0
    """
    if original.cells.shape[1] != released.cells.shape[1]:
        raise InvalidInput(
            f"the tables have {original.cells.shape[1]} and {released.cells.shape[1]} columns, expected the same"
        )
    width = original.cells.shape[1]
    shapes = [_shape(original, released, column) for column in range(width)]
    if width == 1:
        return float(np.mean(shapes))
    codes = [_codes(original, released, column) for column in range(width)]
    trends = [_trend(original, released, pair, codes) for pair in combinations(range(width), 2)]
    return float((np.mean(shapes) + np.mean(trends)) / 2.0)


def reference_qualities(original: MixedTable, rng: np.random.Generator) -> tuple[float, float]:
    """The quality of a table with every column shuffled, and with the median or commonest value in each.

    >>> cells = np.repeat([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]], 100, axis=0)
    >>> table = MixedTable(cells, np.array([True, True]))
    >>> [round(quality, 1) for quality in reference_qualities(table, np.random.default_rng(0))]
    [0.7, 0.5]
    """
    constant = np.array(
        [_usual(column, bool(number)) for column, number in zip(original.cells.T, original.is_number, strict=True)]
    )
    tables = (rng.permuted(original.cells, axis=0), np.broadcast_to(constant, original.cells.shape))
    shuffled, constants = (table_quality(original, replace(original, cells=cells)) for cells in tables)
    return shuffled, constants


def _usual(column: FloatArray, is_number: bool) -> float:
    known = _known(column)
    if not len(known):
        return float("nan")
    values, counts = np.unique(known, return_counts=True)
    return float(np.median(known) if is_number else values[counts.argmax()])


def _shape(original: MixedTable, released: MixedTable, column: int) -> float:
    one, two = (_known(table.cells[:, column]) for table in (original, released))
    if not len(one) or not len(two):
        return float(len(one) == len(two))
    if original.is_number[column]:
        both = np.sort(np.concatenate([one, two]))
        below = [np.searchsorted(np.sort(side), both, side="right") / len(side) for side in (one, two)]
        return 1.0 - float(np.abs(below[0] - below[1]).max())
    return _overlap(*_same_codes(one, two))


def _trend(original: MixedTable, released: MixedTable, pair: tuple[int, int], codes: list[_Codes]) -> float:
    if original.is_number[list(pair)].all():
        one, two = (_correlation(table.cells[:, pair]) for table in (original, released))
        if one is not None and two is not None:
            return 1.0 - abs(one - two) / 2.0
    (first, first_size), (second, second_size) = codes[pair[0]], codes[pair[1]]
    both = first * second_size + second
    rows = len(original.cells)
    return _overlap(both[:rows], both[rows:], first_size * second_size)


_Codes = tuple[IntArray, int]


def _codes(original: MixedTable, released: MixedTable, column: int) -> _Codes:
    """Both columns below each other as numbers of categories or of shares of the original; missing cells are one."""
    one, both = original.cells[:, column], np.concatenate([original.cells[:, column], released.cells[:, column]])
    if original.is_number[column] and len(_known(one)):
        edges = np.unique(np.quantile(_known(one), np.arange(1, SHARES) / SHARES))
        values = np.where(np.isnan(both), -1, np.searchsorted(edges, both, side="right"))
    else:
        values = np.nan_to_num(both, nan=-1e300)
    _, code = np.unique(values, return_inverse=True)
    return code.astype(np.int64), int(code.max()) + 1


def _correlation(cells: FloatArray) -> float | None:
    known = cells[~np.isnan(cells).any(axis=1)]
    if len(known) < 2 or (known.std(axis=0) == 0).any():
        return None
    scaled = (known - known.mean(axis=0)) / known.std(axis=0)
    return float((scaled[:, 0] * scaled[:, 1]).mean())


def _same_codes(one: FloatArray, two: FloatArray) -> tuple[IntArray, IntArray]:
    _, code = np.unique(np.concatenate([one, two]), return_inverse=True)
    return code[: len(one)].astype(np.int64), code[len(one) :].astype(np.int64)


def _overlap(one: IntArray, two: IntArray, size: int = 0) -> float:
    """1 − the total variation between the frequencies of two lists of numbers."""
    count = max(size, int(one.max()) + 1, int(two.max()) + 1)
    shares = [np.bincount(side, minlength=count) / len(side) for side in (one, two)]
    return 1.0 - float(np.abs(shares[0] - shares[1]).sum()) / 2.0


def _known(column: FloatArray) -> FloatArray:
    found: FloatArray = column[~np.isnan(column)]
    return found


ABOVE_BASELINE = 0.05
"""A risk is named when it lies above its baseline by more than this."""


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """What was measured on `rows` of a table and their release.

    `unchanged` has for each secret column the share of cells that came out as they were, `commonest` the share of its
    most frequent value. `unchanged_rows` and `equal_rows` count released rows that equal their own row, and any row of
    the data, in all secret columns. `quality` is between 0 and 1 (`table_quality`), and `references` has that of the
    same table with every column shuffled and with every column a constant. Risks are those of the rows as they are, and
    of the released ones.
    """

    rows: int
    unchanged: Mapping[str, float]
    commonest: Mapping[str, float]
    unchanged_rows: int
    equal_rows: int
    quality: float
    before: tuple[Risk, ...]
    after: tuple[Risk, ...]
    references: tuple[float, float] | None = None

    @property
    def quality_in_words(self) -> str:
        """The quality next to that of tables that nobody needs, without which .85 can be read as good."""
        if self.references is None:
            return f"quality {self.quality:.2f} of 1"
        shuffled, constant = self.references
        return (
            f"quality {self.quality:.2f} of 1 (its columns shuffled have {shuffled:.2f}, one constant value in each "
            f"{constant:.2f})"
        )

    @property
    def vacuous(self) -> tuple[str, ...]:
        """Columns that came out nearly unchanged although their values differ."""
        return tuple(name for name, share in self.unchanged.items() if is_vacuous(share, self.commonest[name]))

    @property
    def above_baseline(self) -> tuple[Risk, ...]:
        """Risks that lie above their baselines by more than ABOVE_BASELINE."""
        return tuple(risk for risk in self.after if risk.attacks and risk.excess > ABOVE_BASELINE)


def compare_tables(
    original: MixedTable, released: MixedTable, names: Sequence[str], rng: np.random.Generator
) -> ReleasedTable:
    """Both tables, row by row; `names` are the secret columns, which come first. Other columns were left as they are.

    Risks are of the whole table: what is released in the clear helps to single out, to link and to infer.
    """
    secret = len(names)
    one, two = original.cells[:, :secret], released.cells[:, :secret]
    of_secrets = MixedTable(one, original.is_number[:secret])
    same: BoolArray = (one == two) | (np.isnan(one) & np.isnan(two))
    real = {row.tobytes() for row in _comparable(one)}
    after = table_risks(original, released, rng, secret=secret)
    inferred = [int(risk.name.removeprefix(INFERRING)) for risk in after if risk.name.startswith(INFERRING)]
    before = table_risks(original, original, rng, secret=secret, inferred=inferred)
    return ReleasedTable(
        rows=len(one),
        unchanged={name: float(same[:, c].mean()) for c, name in enumerate(names)},
        commonest={name: _commonest(one[:, c]) for c, name in enumerate(names)},
        unchanged_rows=int(same.all(axis=1).sum()),
        equal_rows=sum(row.tobytes() in real for row in _comparable(two)),
        quality=table_quality(of_secrets, MixedTable(two, of_secrets.is_number)),
        references=reference_qualities(of_secrets, rng),
        before=tuple(_named(risk, names) for risk in before),
        after=tuple(_named(risk, names) for risk in after),
    )


def release_headline(found: ReleasedTable) -> str:
    """The released table in one line: how much of it is unchanged, which rows it repeats, and its quality."""
    cells = float(np.mean(list(found.unchanged.values())))
    risks = [f"{risk.name} {risk.rate:.2f} (baseline {risk.baseline:.2f})" for risk in found.above_baseline]
    ends = (
        f"risks above their baselines: {'; '.join(risks)}"
        if risks
        else f"no risk more than {ABOVE_BASELINE:g} above its baseline"
    )
    empty = f"{', '.join(found.vacuous)} came out nearly unchanged; " * bool(found.vacuous)
    return (
        f"The released table: {empty}{cells:.0%} of the cells and {found.unchanged_rows / found.rows:.1%} of the rows "
        f"unchanged, {found.equal_rows} of {found.rows} rows equal to a real one, {found.quality_in_words}; {ends}."
    )


def release_sentences(found: ReleasedTable) -> Iterator[str]:
    """The same in detail: every column, every risk."""
    columns = ", ".join(f"{name} {share:.0%}" for name, share in found.unchanged.items())
    yield f"cells that came out unchanged, by column, in a release of {found.rows} rows: {columns}"
    before = {risk.name: risk for risk in found.before}
    for risk in found.after:
        if not risk.attacks:
            yield f"risk of {risk.name}: nothing to attack, no predicate holds for exactly one released row"
            continue
        was = f" (rows as they are: {before[risk.name].rate:.3f})" if risk.name in before else ""
        low, high = risk.interval
        base_low, base_high = risk.baseline_interval
        yield (
            f"risk of {risk.name}: {risk.rate:.3f} [{low:.3f}, {high:.3f}], baseline {risk.baseline:.3f} "
            f"[{base_low:.3f}, {base_high:.3f}]{was}"
        )


def _commonest(column: FloatArray) -> float:
    _, counts = np.unique(np.nan_to_num(column, nan=1e300), return_counts=True)
    return float(counts.max() / len(column))


def _comparable(cells: FloatArray) -> FloatArray:
    """Cells whose bytes are equal where they are: missing ones are equal, and there is no negative zero."""
    return np.ascontiguousarray(np.nan_to_num(cells, nan=1e300) + 0.0)


def _named(risk: Risk, names: Sequence[str]) -> Risk:
    """The risk with the inferred column by its name."""
    if not risk.name.startswith(INFERRING):
        return risk
    return replace(risk, name=INFERRING + names[int(risk.name.removeprefix(INFERRING))])
