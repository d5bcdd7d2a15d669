"""A released table next to the original: what is unchanged, which real rows it repeats, its risks and its quality.

Counts and shares only, never a value of a cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshift.audit.table_quality import table_quality
from oddshift.audit.table_risks import INFERRING, MixedTable, Risk, table_risks
from oddshift.audit.vacuous import is_vacuous
from oddshift.base.arrays import BoolArray, FloatArray

ABOVE_BASELINE = 0.05
"""A risk is named when it lies above its baseline by more than this."""


@dataclass(frozen=True, kw_only=True)
class ReleasedTable:
    """What was measured on `rows` of a table and their release.

    `unchanged` has for each secret column the share of cells that came out as they were, `commonest` the share of its
    most frequent value. `unchanged_rows` and `equal_rows` count released rows that equal their own row, and any row of
    the data, in all secret columns. `quality` is between 0 and 1 (`table_quality`). Risks are those of the rows as they
    are, and of the released ones.
    """

    rows: int
    unchanged: Mapping[str, float]
    commonest: Mapping[str, float]
    unchanged_rows: int
    equal_rows: int
    quality: float
    before: tuple[Risk, ...]
    after: tuple[Risk, ...]

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
        quality=table_quality(
            MixedTable(one, original.is_number[:secret]), MixedTable(two, original.is_number[:secret])
        ),
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
    empty = f"VACUOUS in {', '.join(found.vacuous)}, which came out nearly unchanged; " * bool(found.vacuous)
    return (
        f"The released table: {empty}{cells:.0%} of the cells and {found.unchanged_rows / found.rows:.1%} of the rows "
        f"unchanged, {found.equal_rows} of {found.rows} rows equal to a real one, quality {found.quality:.2f} of 1; "
        f"{ends}."
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
