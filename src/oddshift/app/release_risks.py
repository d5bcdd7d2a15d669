"""What goes out of a table: the share that is unchanged, rows that equal real ones, and the risks before and after.

Measured on a release that is drawn for this and thrown away; the sentences hold counts and shares, never a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.audit.table_risks import MixedTable, Risk, table_risks
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.data.codecs import Columns, TableCodec
from oddshift.data.codecs.table_cells import column_numbers
from oddshift.mechanisms import Mechanism, Tiered
from oddshift.model.records import numbered

MOST_ROWS = 4_000
"""Rows of the table that are looked at."""

VACUOUS = 0.9
"""Share of unchanged cells from which on a column counts as not protected."""


@dataclass(frozen=True, kw_only=True)
class ReleaseRisks:
    """Shares of unchanged cells by column, released rows that equal a real row, and the risks before and after."""

    rows: int
    unchanged: Mapping[str, float]
    equal_rows: int
    before: tuple[Risk, ...]
    after: tuple[Risk, ...]


def release_risks(
    codec: TableCodec, columns: Columns, mechanism: Mechanism, rng: np.random.Generator
) -> ReleaseRisks | None:
    """Risks of a release by this mechanism; None where rows are secrets, or nothing but a mask is released."""
    size = len(columns[codec.settings.secret[0]])
    if codec.settings.unit == "row" or mechanism.n_outputs != len(codec.space):
        return None
    chosen = np.sort(rng.permutation(size)[:MOST_ROWS]).tolist()
    some = {name: [cells[row] for row in chosen] for name, cells in columns.items()}
    encoded = codec.encode(some)
    shown = encoded.decode(mechanism.sample(encoded.records.points, rng))
    names = [domain.name for domain in codec.vocabulary.domains]
    as_it_was, as_released = _table(codec, some, shown)
    same = (as_it_was.cells == as_released.cells) | (np.isnan(as_it_was.cells) & np.isnan(as_released.cells))
    real = {row.tobytes() for row in np.nan_to_num(as_it_was.cells, nan=1e300)}
    return ReleaseRisks(
        rows=len(chosen),
        unchanged={name: float(same[:, c].mean()) for c, name in enumerate(names)},
        equal_rows=sum(row.tobytes() in real for row in np.nan_to_num(as_released.cells, nan=1e300)),
        before=_named(table_risks(as_it_was, as_it_was, rng), names),
        after=_named(table_risks(as_it_was, as_released, rng), names),
    )


def risk_sentences(found: ReleaseRisks) -> Iterator[str]:
    """The release in sentences, for a report."""
    most = max(found.unchanged, key=lambda name: found.unchanged[name])
    mean = float(np.mean(list(found.unchanged.values())))
    yield (
        f"in a release of {found.rows} rows, {mean:.0%} of the cells came out unchanged (most in {most}: "
        f"{found.unchanged[most]:.0%}) and {found.equal_rows} rows equal some row of the data"
    )
    vacuous = [name for name, share in found.unchanged.items() if share >= VACUOUS]
    if vacuous:
        yield f"NOT PROTECTED in substance: at least {VACUOUS:.0%} of {', '.join(vacuous)} came out unchanged"
    before = {risk.name: risk for risk in found.before}
    for risk in found.after:
        earlier = before.get(risk.name)
        was = "" if earlier is None else f" (rows as they are: {earlier.rate:.3f})"
        low, high = risk.interval
        base_low, base_high = risk.baseline_interval
        yield (
            f"risk of {risk.name}: {risk.rate:.3f} [{low:.3f}, {high:.3f}], baseline {risk.baseline:.3f} "
            f"[{base_low:.3f}, {base_high:.3f}]{was}"
        )


def column_odds(codec: TableCodec, mechanism: Mechanism) -> Iterator[str]:
    """What ε means in each column: the odds between two of its values after one release, at most."""
    epsilon = getattr(mechanism, "epsilon", None)
    if codec.settings.unit == "row" or epsilon is None:
        return
    said = []
    for tier, name in enumerate(codec.tiers.names):
        mine = np.flatnonzero(codec.tiers.labels == tier)
        if len(mine) > 1:
            apart = codec.space.between(mine)[:, mine]
            scale = mechanism.tiers.scales[tier] if isinstance(mechanism, Tiered) else 1.0
            near, far = apart[apart > 0].min(), apart.max()
            said.append(f"{name} {_odds(epsilon * scale * near)} to {_odds(epsilon * scale * far)}")
    if said:
        yield f"one release shifts the odds between two values, closest to farthest, at most by: {'; '.join(said)}"


def _odds(budget: float) -> str:
    return f"{np.exp(budget):.3g}:1" if budget < 20 else "over 10^8:1"


def _named(risks: Sequence[Risk], names: Sequence[str]) -> tuple[Risk, ...]:
    """The risks with the inferred column by its name."""
    start = "inferring column "
    return tuple(
        Risk(**{**vars(r), "name": start + names[int(r.name.removeprefix(start))]}) if r.name.startswith(start) else r
        for r in risks
    )


def _table(codec: TableCodec, original: Columns, released: Columns) -> tuple[MixedTable, MixedTable]:
    """Both tables as numbers, categories by one numbering."""
    before, after, kinds = [], [], []
    for domain in codec.vocabulary.domains:
        kinds.append(domain.type is not None)
        if domain.type is not None:
            before.append(column_numbers(original, domain.name, domain.type))
            after.append(column_numbers(released, domain.name, domain.type))
        else:
            one, two = _codes(original[domain.name], released[domain.name])
            before.append(one)
            after.append(two)
    is_number = np.array(kinds, dtype=np.bool_)
    return MixedTable(np.stack(before, axis=1), is_number), MixedTable(np.stack(after, axis=1), is_number)


def _codes(one: Sequence[Any], two: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    codes: IntArray = numbered([str(cell) for cell in (*one, *two)])[0]
    return codes[: len(one)].astype(np.float64), codes[len(one) :].astype(np.float64)
