"""Windows of new data: whole files, or files cut into windows of equal size, each window known by its content.

One window of new data under the standing policy: a fresh release, and what the attackers of the run find in it.

Nothing is fitted. Every series has one value for each independent unit (a document, a user) of the window.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.paired_log_score import units_of
from oddshift.audit.scan import Budget, Scan, scan
from oddshift.audit.settings import AuditSettings
from oddshift.audit.worst_pair import worst_of_release
from oddshift.base.arrays import FloatArray, IntArray, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.data.codecs import Codec, Columns, Encoded
from oddshift.data.dataset import Dataset, named_columns, read_dataset
from oddshift.data.preparation import first_of_each, merged_units, read_together
from oddshift.model.records import Records
from oddshift.model.release import perturb


@dataclass(frozen=True, eq=False, repr=False)
class DataWindow:
    """Rows that are counted together, the name that a page shows, and what they are known by."""

    data: Dataset
    name: str

    @property
    def content(self) -> str:
        """The same rows have the same name, whichever file they are in."""
        return fingerprint(("window", {name: list(cells) for name, cells in self.data.columns.items()}))


def read_window_data(source: str | Path | Dataset, settings: Any) -> Dataset:
    """New data, read as the codec of the run reads them."""
    if not isinstance(source, Dataset):
        return read_dataset(source, settings)
    if source.kind != settings.kind:
        raise InvalidInput(f"the new data are of kind {source.kind}, expected {settings.kind} as in the run")
    wanted = settings.wanted(tuple(source.columns))
    return Dataset(named_columns(source.columns, wanted, source.source), settings, source.source)


def cut_windows(data: Dataset, rows: int) -> Iterator[DataWindow]:
    """A data set as one window, or as windows of `rows` rows; rows that fill no window are left for later."""
    if not whole(rows, "window", 0):
        yield DataWindow(data, data.source)
        return
    units, by = data.settings.units(data.columns)
    starts = np.arange(0, len(data) - rows + 1, rows)
    if len(np.unique(units)) < len(units):
        raise InvalidInput(f"{data.source} has several rows of one {by}, expected a file for each window: none is cut")
    for start in starts.tolist():
        chosen = np.zeros(len(data), dtype=np.bool_)
        chosen[start : start + rows] = True
        name = f"{data.source}, rows {start + 1} to {start + rows}"
        yield DataWindow(replace(data, columns=data.rows(chosen)), name)


RATE, LOG_SCORE, UNKNOWN, RECALL = "rate", "log score", "unknown values", "planted names found"
"""What is watched."""

PLANTED = 100
"""Names that are planted into the texts of a window, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Watcher:
    """What a window is measured with: the codec and the mechanism of the policy, and the attackers of the run."""

    codec: Codec
    budget: Budget
    attackers: tuple[Attacker, ...]
    settings: AuditSettings

    @property
    def rate_names(self) -> tuple[str, ...]:
        """A series for each tier and attacker."""
        return tuple(rate_name(tier, attacker) for attacker in self.attackers for tier in self.budget.tiers.names)


@dataclass(frozen=True, eq=False, repr=False)
class WindowValues:
    """The independent units of a window, and the values of every series, by its name."""

    units: int
    values: Mapping[str, FloatArray]


def rate_name(tier: str, attacker: Attacker) -> str:
    """The name of a series of rates."""
    return f"{RATE}, {tier}, {attacker.name}"


def window_values(watcher: Watcher, data: Dataset, rng: np.random.Generator) -> WindowValues:
    """Release a window, attack the release and compare it with the truth."""
    with data.naming():
        encoded = watcher.codec.encode(data.columns)
        units, by = data.settings.units(data.columns)
        units, copies = merged_units(data, units, by)
    records = _records(watcher.codec, encoded, units if copies else None)
    values: dict[str, FloatArray] = {}
    if len(records.points):
        values |= _attacked(watcher, records, rng)
    values |= _unknown(watcher.codec, encoded, data.columns, units)
    values |= _recall(watcher.codec, data.columns, rng)
    return WindowValues(len(np.unique(units)), values)


def _records(codec: Codec, encoded: Encoded, units: IntArray | None) -> Records:
    """The secrets of a window as attackers read them, near copies as one unit."""
    records, joint_by = encoded.records, getattr(codec.settings, "joint_by", "document")
    if joint_by == "column":
        return records
    if units is not None:
        records = replace(records, sources=first_of_each(units)[encoded.rows])
    return read_together(records, joint_by, codec.drawn_once)


def _attacked(watcher: Watcher, records: Records, rng: np.random.Generator) -> dict[str, FloatArray]:
    """The rates of every attacker in every tier, and the log score of the first, the strongest."""
    budget, asked = watcher.budget, watcher.settings
    release = perturb(records, budget.mechanism, budget.tiers, rng)
    units, labels = units_of(records), records.tier_of_position(budget.tiers)
    values: dict[str, FloatArray] = {}
    for attacker in watcher.attackers:
        laws = () if asked.law == "worst" else (asked.law,)
        found: Scan = scan(attacker, release, records, budget, rng, laws=laws, detailed=False)
        if asked.law == "worst":
            worst = worst_of_release(attacker, release, records, budget, most=asked.worst_positions, rng=rng)
            rates = {tier: worst[tier] for tier in worst}
        else:
            share = found.rate(asked.law)
            rates = {int(tier): units.means(share, labels == tier) for tier in np.unique(labels)}
        values |= {rate_name(budget.tiers.names[tier], attacker): rate for tier, rate in rates.items()}
        values.setdefault(LOG_SCORE, units.means(found.scores.log_score))
    return values


def _unknown(codec: Codec, encoded: Encoded, columns: Columns, units: IntArray) -> dict[str, FloatArray]:
    """For every unit that has secrets, the share of them that the vocabulary does not have."""
    found = codec.unknown_values(encoded, columns)
    if found is None or not len(found.rows):
        return {}
    _, unit = np.unique(units[found.rows], return_inverse=True)
    return {UNKNOWN: np.bincount(unit, weights=found.is_unknown) / np.bincount(unit)}


def _recall(codec: Codec, columns: Columns, rng: np.random.Generator) -> dict[str, FloatArray]:
    """1 for every planted name that was found and 0 for every other, in random order; nothing where there are none."""
    found = codec.planted_recall(columns, rng, PLANTED)
    if found is None:
        return {}
    return {RECALL: rng.permutation(np.repeat([1.0, 0.0], [found.found, found.planted - found.found]))}
