"""Statistics of the original from its release: counts, shares and means by inverting the known channel.

Pr[y] = Σ_x Pr[x]·Π_c M_c(y_c|x_c), so the counts of released cells, put through the inverse of every column's channel,
are unbiased for those of the original (Warner, randomised response). Intervals by bootstrap over rows or units. The key
is the public half of a policy: channels and the values that can come out; noise needs no secrecy.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import write_atomic
from oddshift.data.dataset import columns_of
from oddshift.protect.policies.policy import Policy

KEY = "key.json"
"""The file next to a policy that its recipients may have."""

LAYOUT = 1

RESAMPLES = 500
"""Resamples of the bootstrap."""

MOST_CELLS = 20_000
"""Largest cross table."""

WORST_CONDITION = 1e6
"""A channel that is nearer to singular than that says nothing about some directions."""

CONFIDENTIAL_KIND = "the values of a policy for {} are the words or places of private records: it has no public half"


@dataclass(frozen=True)
class Cell:
    """One combination of values: its estimated count and share among the rows, each with an interval."""

    values: tuple[Any, ...]
    count: float
    low: float
    high: float
    share: float


@dataclass(frozen=True)
class Mean:
    """The estimated mean of a column of numbers, with its interval."""

    column: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """Counts of the original by some columns, and the means of those that hold numbers.

    **Guarantee**: where cells were drawn by the channels of the key, counts and means are unbiased before they are cut
    at 0, and intervals cover at the stated level as far as the bootstrap does. Post-processing: nothing more leaks.
    """

    by: tuple[str, ...]
    rows: int
    level: float
    cells: tuple[Cell, ...]
    means: tuple[Mean, ...]

    def __repr__(self) -> str:
        """A table of the counts."""
        lines = [f"{', '.join(self.by)}: count of the original, {self.level:.0%} interval, share ({self.rows} rows)"]
        lines += [
            f"{', '.join(map(str, c.values))}: {c.count:.0f} [{c.low:.0f}, {c.high:.0f}], {c.share:.1%}"
            for c in self.cells
        ]
        lines += [f"mean of {m.column}: {m.mean:.4g} [{m.low:.4g}, {m.high:.4g}]" for m in self.means]
        return "\n".join(lines)


def public_key(policy: Policy) -> dict[str, Any]:
    """Return the public half of a policy: columns, the values that come out, and the channel of each.

    Refused where the values are themselves confidential, and for whole rows, whose points are rows of private data.
    """
    codec = policy.codec
    if policy.kind != "table":
        raise InvalidInput(CONFIDENTIAL_KIND.format(policy.kind))
    if not codec.domains:
        raise InvalidInput("the points of this policy are whole rows of private records: it has no public half")
    mechanism, columns, first = policy.mechanism(), [], 0
    repair = policy.terms.repair
    for number, domain in enumerate(codec.domains):
        points = np.arange(first, first + len(domain))
        first += len(domain)
        tier = int(policy.tiers.labels[points[0]])
        mode = "drawn" if repair is None else repair.modes[tier]
        mode = "mark" if policy.marked[points].any() else mode
        only_a_mark = mechanism.n_outputs != len(policy.space)  # then nothing comes out that could be counted
        channel = np.eye(1, len(points)).repeat(len(points), axis=0)
        channel = channel if only_a_mark else np.exp(mechanism.log_likelihood(points)[:, points])
        if np.abs(channel.sum(axis=1) - 1.0).max() > 1e-9:
            raise InvalidInput(f"column {number + 1} may be released as another one's value, expected outputs = 'tier'")
        values = [value.item() if isinstance(value, np.generic) else value for value in domain.shown(as_text=False)]
        columns.append({"name": domain.name, "values": values, "channel": channel.tolist(), "mode": mode})
    groups = bool(codec.settings.group)
    return {"layout": LAYOUT, "policy": policy.sha256, "columns": columns, "has_groups": groups}


def write_key(folder: str | Path, policy: Policy) -> Path:
    """Write the public half next to a policy."""
    place = Path(folder) / KEY
    write_atomic(place, json.dumps(public_key(policy), default=str).encode())
    return place


def estimate(
    released: Any,
    key: str | Path | Mapping[str, Any],
    by: Sequence[str],
    *,
    unit: str = "",
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return counts of the original by some columns of a release, with intervals, and means where there are numbers.

    `released` is a frame or columns; `unit` names the column of what was read together, where rows belong to groups.
    Rows in which one of the columns is empty are left out.

    **Guarantee**: as that of `Estimate`.

    >>> flip = {"name": "a", "values": ["no", "yes"], "channel": [[0.75, 0.25], [0.25, 0.75]], "mode": "drawn"}
    >>> key = {"layout": 1, "columns": [flip]}
    >>> [round(cell.count) for cell in estimate({"a": ["yes"] * 600 + ["no"] * 400}, key, ["a"]).cells]
    [300, 700]
    """
    known, table = _key(key), columns_of(released)
    if not by or len(set(by)) != len(by):
        raise InvalidInput(f"by={list(by)}, expected one or more different columns")
    if known.get("has_groups") and not unit:
        raise InvalidInput("rows of this release share draws within groups, expected unit = the column of the group")
    parts = [_column(known, name) for name in by]
    for name in (*by, *((unit,) if unit else ())):
        if name not in table:
            raise InvalidInput(f"the release has no column {name!r}")
    sizes = tuple(len(part["values"]) for part in parts)
    if np.prod(sizes) > MOST_CELLS:
        raise InvalidInput(f"{int(np.prod(sizes))} combinations of values, expected at most {MOST_CELLS}")
    codes = np.stack([_codes(table[name], part) for name, part in zip(by, parts, strict=True)])
    whole = np.flatnonzero((codes >= 0).all(axis=0))
    if len(whole) < 2:
        raise InvalidInput(f"{len(whole)} rows with a value in every column, expected at least 2")
    flat = np.ravel_multi_index(tuple(codes[:, whole]), sizes)
    units = None if not unit else np.unique([str(table[unit][row]) for row in whole], return_inverse=True)[1]
    inverses = [_inverse(part) for part in parts]
    draws = _resampled(flat, units, int(np.prod(sizes)), np.random.default_rng(seed))
    counts = np.bincount(flat, minlength=int(np.prod(sizes))).astype(np.float64)
    found = _inverted(np.vstack([counts, draws]), sizes, inverses)
    return _estimate(tuple(by), parts, found, level)


def _estimate(by: tuple[str, ...], parts: list[Mapping[str, Any]], found: FloatArray, level: float) -> Estimate:
    """Counts and means from the inverted counts of the release and of its resamples, (1 + resamples, *sizes)."""
    from scipy.special import ndtri

    rows, axes = float(found[0].sum()), range(1, found.ndim)
    reach = float(ndtri(0.5 + level / 2.0))
    error = found[1:].std(axis=0, ddof=1) * reach
    cells = []
    for place in np.ndindex(*found.shape[1:]):
        count, wide = float(found[(0, *place)]), float(error[place])
        low, high = (min(max(edge, 0.0), rows) for edge in (count - wide, count + wide))
        count = min(max(count, 0.0), rows)
        values = tuple(part["values"][k] for part, k in zip(parts, place, strict=True))
        cells.append(Cell(values, count, low, high, count / rows))
    means = []
    for axis, (name, part) in enumerate(zip(by, parts, strict=True), start=1):
        if all(isinstance(value, int | float) for value in part["values"]):
            shares = found.sum(axis=tuple(a for a in axes if a != axis)) / found.sum(axis=tuple(axes))[:, None]
            mean = shares @ np.array(part["values"], dtype=np.float64)
            wide = float(mean[1:].std(ddof=1)) * reach
            means.append(Mean(name, float(mean[0]), float(mean[0]) - wide, float(mean[0]) + wide))
    return Estimate(by, round(rows), level, tuple(cells), tuple(means))


def _key(key: str | Path | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(key, Mapping):
        return key
    try:
        found = json.loads(Path(key).read_bytes())
    except (OSError, ValueError, UnicodeDecodeError):
        raise InvalidInput(f"{key} is not a readable key, expected the {KEY} of a policy") from None
    if not isinstance(found, dict) or found.get("layout") != LAYOUT or "columns" not in found:
        raise InvalidInput(f"{key} is not a key of this version, expected the {KEY} of a policy")
    return found


def _column(key: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part: Mapping[str, Any] | None = next((c for c in key["columns"] if c["name"] == name), None)
    if part is None:
        names = ", ".join(column["name"] for column in key["columns"])
        raise InvalidInput(f"the key has no column {name!r}, expected one of {names}")
    if part["mode"] != "drawn":
        raise InvalidInput(
            f"column {name!r} was repaired or marked ({part['mode']}) after the noise, which cannot be inverted; "
            "only a release of the values as they were drawn can"
        )
    return part


def _inverse(part: Mapping[str, Any]) -> FloatArray:
    channel = np.array(part["channel"], dtype=np.float64)
    if np.linalg.cond(channel) > WORST_CONDITION:
        raise InvalidInput(
            f"the noise of column {part['name']!r} merges values or is too strong; nobody can separate their counts"
        )
    return np.asarray(np.linalg.inv(channel))


def _codes(cells: Sequence[Any], part: Mapping[str, Any]) -> IntArray:
    """The number of every released cell among the values; −1 for an empty one."""
    place = {str(value): k for k, value in enumerate(part["values"]) if value is not None}
    empty = part["values"].index(None) if None in part["values"] else -1
    numbers = {float(v): k for k, v in enumerate(part["values"]) if isinstance(v, int | float)}
    found = np.full(len(cells), -1, dtype=np.int64)
    for row, cell in enumerate(cells):
        if cell is None or cell == "" or (isinstance(cell, float) and np.isnan(cell)):
            found[row] = empty
            continue
        known = place.get(str(cell), -1)
        if known < 0 and numbers:
            try:
                known = numbers.get(float(cell), -1)
            except (TypeError, ValueError):
                known = -1
        if known < 0:
            raise InvalidInput(f"row {row + 1} of column {part['name']!r} is a value that this policy never releases")
        found[row] = known
    return found


def _resampled(flat: IntArray, units: IntArray | None, size: int, rng: np.random.Generator) -> FloatArray:
    """Counts of resamples of the rows, or of the units that rows belong to, (resamples, size)."""
    if units is None:
        counts = np.bincount(flat, minlength=size)
        return rng.multinomial(len(flat), counts / len(flat), size=RESAMPLES).astype(np.float64)
    groups = int(units.max()) + 1
    weights = rng.multinomial(groups, np.full(groups, 1.0 / groups), size=RESAMPLES).astype(np.float64)
    return np.stack([np.bincount(flat, weights=each[units], minlength=size) for each in weights])


def _inverted(counts: FloatArray, sizes: tuple[int, ...], inverses: list[FloatArray]) -> FloatArray:
    """Counts of the secrets, (tables, *sizes): each axis through the inverse of its channel."""
    found = counts.reshape(-1, *sizes)
    for axis, inverse in enumerate(inverses, start=1):
        found = np.moveaxis(np.moveaxis(found, axis, -1) @ inverse, -1, axis)
    return found
