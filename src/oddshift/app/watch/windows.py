"""Windows of new data: whole files, or files cut into windows of equal size, each window known by its content.

One window of new data under the standing policy: a fresh release, and what the attackers of the run find in it.

Nothing is fitted. Every series has one value for each independent unit (a document, a user) of the window.

The baseline of a watch: what windows are measured with, and the certify documents of the run as window zero.

It is made once, from the data and the configuration of the run, and kept in its folder, readable by its owner alone:
the fitted attackers and the vocabulary are SECRETS. Later windows need neither the data nor any fitting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.app.attacker_choice import fit_attackers, named_attackers
from oddshift.app.configured_runs import StoredCodec
from oddshift.app.resources import Means
from oddshift.app.run import knowledge_of
from oddshift.app.run_folder import PRIVATE
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.paired_log_score import units_of
from oddshift.audit.calibration import recalibrated
from oddshift.audit.measurement import worst_of_release
from oddshift.audit.scan import Budget, Scan, scan, scores
from oddshift.audit.settings import DEFAULT_ATTACKERS, AuditSettings
from oddshift.audit.verdict import basis_of, standing
from oddshift.base.arrays import FloatArray, IntArray, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.base.safe_serialization import can_be_stored, load_graph, save_graph
from oddshift.data.codecs import Codec, Columns, Encoded
from oddshift.data.dataset import Dataset, named_columns, read_dataset
from oddshift.data.preparation import Prepared, first_of_each, merged_units, read_together
from oddshift.mechanisms import Mechanism, MechanismSettings
from oddshift.model.records import Records
from oddshift.model.release import perturb
from oddshift.protect.policies import Policy


def content_of_window(data: Dataset) -> str:
    """What the rows of a window are known by: the same rows have the same name, whichever file they are in."""
    return fingerprint(("window", {name: list(cells) for name, cells in data.columns.items()}))


def read_window_data(source: str | Path | Dataset, settings: Any) -> Dataset:
    """New data, read as the codec of the run reads them."""
    if not isinstance(source, Dataset):
        return read_dataset(source, settings)
    if source.kind != settings.kind:
        raise InvalidInput(f"the new data are of kind {source.kind}, expected {settings.kind} as in the run")
    wanted = settings.wanted(tuple(source.columns))
    return Dataset(named_columns(source.columns, wanted, source.source), settings, source.source)


def cut_windows(data: Dataset, rows: int) -> Iterator[Dataset]:
    """A data set as one window, or as windows of `rows` rows; rows that fill no window are left for later."""
    if not whole(rows, "window", 0):
        yield data
        return
    units, by = data.settings.units(data.columns)
    starts = np.arange(0, len(data) - rows + 1, rows)
    if len(np.unique(units)) < len(units):
        raise InvalidInput(f"{data.source} has several rows of one {by}, expected a file for each window: none is cut")
    for start in starts.tolist():
        chosen = np.zeros(len(data), dtype=np.bool_)
        chosen[start : start + rows] = True
        yield replace(data, columns=data.rows(chosen), source=f"{data.source}, rows {start + 1} to {start + rows}")


RATE, LOG_SCORE, UNKNOWN, RECALL = "rate", "log score", "unknown values", "planted names found"
"""What is watched."""

PLANTED = 100
"""Names that are planted into the texts of a window, at most."""


def rate_name(tier: str, attacker: Attacker) -> str:
    """The name of a series of rates."""
    return f"{RATE}, {tier}, {attacker.name}"


def window_values(baseline: Baseline, data: Dataset, rng: np.random.Generator) -> tuple[int, dict[str, FloatArray]]:
    """Release a window, attack the release and compare it with the truth.

    The number of independent units of the window, and the values of every series by its name.
    """
    codec = baseline.made_codec
    with data.naming():
        encoded = codec.encode(data.columns)
        units, by = data.settings.units(data.columns)
        units, copies = merged_units(data, units, by)
    records = _records(codec, encoded, units if copies else None)
    values: dict[str, FloatArray] = {}
    if len(records.points):
        values |= _attacked(baseline, records, rng)
    values |= _unknown(codec, encoded, data.columns, units)
    values |= _recall(codec, data.columns, rng)
    return len(np.unique(units)), values


def _records(codec: Codec, encoded: Encoded, units: IntArray | None) -> Records:
    """The secrets of a window as attackers read them, near copies as one unit."""
    records, joint_by = encoded.records, getattr(codec.settings, "joint_by", "document")
    if joint_by == "column":
        return records
    if units is not None:
        records = replace(records, sources=first_of_each(units)[encoded.rows])
    return read_together(records, joint_by, codec.drawn_once)


def _attacked(baseline: Baseline, records: Records, rng: np.random.Generator) -> dict[str, FloatArray]:
    """The rates of every attacker in every tier, and the log score of the first, the strongest."""
    budget, asked = baseline.budget, baseline.settings
    release = perturb(records, budget.mechanism, budget.tiers, rng)
    units, labels = units_of(records), records.tier_of_position(budget.tiers)
    values: dict[str, FloatArray] = {}
    for attacker in baseline.attackers:
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


WATCH = ".watch"
"""Where a run folder keeps its baseline."""

BASELINE = "baseline.npz"


@dataclass(frozen=True, eq=False, repr=False)
class Baseline:
    """What windows are measured with, in a form that a file can hold, and the values of window zero by series.

    `policy` is the digest of the standing policy, empty where a run has an audit only: then the audited mechanism
    stands. `reference` has the values of every series on the certify documents of the run.
    """

    policy: str
    codec: StoredCodec
    budget: Budget
    attackers: tuple[Attacker, ...]
    settings: AuditSettings
    notes: tuple[str, ...]
    units: int = 0
    reference: Mapping[str, FloatArray] = field(default_factory=dict)

    @cached_property
    def made_codec(self) -> Codec:
        """The codec of the run."""
        return self.codec.made(self.budget.space, self.budget.tiers)

    @property
    def rate_names(self) -> tuple[str, ...]:
        """A series for each tier and attacker."""
        return tuple(rate_name(tier, attacker) for attacker in self.attackers for tier in self.budget.tiers.names)

    @property
    def key(self) -> str:
        """Names the baseline by its content."""
        return fingerprint(("baseline", self.policy, self.budget, self.settings, dict(self.reference)))


def make_baseline(
    prepared: Prepared,
    mechanism: MechanismSettings | Mechanism,
    settings: AuditSettings,
    policy: Policy | None,
    fits: dict[str, Attacker],
) -> Baseline:
    """Fit the attackers of a run (those in `fits` are not fitted again) and measure window zero.

    Attackers that learned something on the select documents are kept, recalibrated there, the strongest first.
    """
    if prepared.codec is None or prepared.certify_rows is None:
        raise InvalidInput("the run is about records or the embedded corpus, expected data that can be read again")
    known = _known(prepared, mechanism, settings, policy)
    attackers, notes = _attackers(prepared, known, settings, fits)
    budget = Budget(known.mechanism, known.tiers, settings.epsilon)
    stands = "" if policy is None else policy.sha256
    made = Baseline(stands, StoredCodec.of(prepared.codec), budget, attackers, settings, notes)
    zero = Dataset(prepared.certify_rows, prepared.codec.settings, "the certify part")
    units, values = window_values(made, zero, np.random.default_rng([settings.seed, 31]))
    return replace(made, units=units, reference=values)


def _known(
    prepared: Prepared, mechanism: MechanismSettings | Mechanism, settings: AuditSettings, policy: Policy | None
) -> Knowledge:
    """What attackers know: the mechanism of the policy, or the audited one where there is no policy."""
    if policy is None:
        return knowledge_of(prepared, mechanism, settings.epsilon)
    if policy.space.points.tobytes() != prepared.split.fit.space.points.tobytes():
        raise InvalidInput("the policy has other points than the data of the run, expected the policy of these data")
    return knowledge(policy.mechanism(), policy.tiers, prepared.split.fit)


def _attackers(
    prepared: Prepared, known: Knowledge, settings: AuditSettings, fits: dict[str, Attacker]
) -> tuple[tuple[Attacker, ...], tuple[str, ...]]:
    """The attackers that count, recalibrated, the strongest first; the single release where none learned anything."""
    options = FitOptions(epochs=settings.epochs, paper=settings.paper)
    named, without = named_attackers(settings.attackers, prepared, settings)
    fitted = fit_attackers(named, known, prepared, settings, options, means=Means(fits=fits))
    kept, notes = [attacker for attacker in fitted if can_be_stored(attacker)], list(without)
    if len(kept) < len(fitted):
        notes.append(f"{len(fitted) - len(kept)} of {len(fitted)} attackers cannot be kept in a file and do not watch")
    if not kept:
        named, _ = named_attackers(DEFAULT_ATTACKERS, prepared, settings)
        kept = fit_attackers(named, known, prepared, settings, options, means=Means(fits=fits))
    everyone: list[Attacker] = [Own(known), *kept]
    truth, budget = prepared.split.select, Budget(known.mechanism, known.tiers, settings.epsilon)
    release = perturb(truth, known.mechanism, known.tiers, np.random.default_rng([settings.seed, 30]))
    units = units_of(truth)
    basis = basis_of([standing(scores(each, release, truth, budget), units) for each in everyone], 0, "")
    places = dict.fromkeys((basis.strongest, *basis.counting))
    if not basis.counting:
        notes.append("no attacker learned anything from reading secrets together: the single release is watched")
    return tuple(recalibrated(everyone[place], release, truth, budget) for place in places), tuple(notes)


def save_baseline(folder: Path, baseline: Baseline) -> None:
    """Keep a baseline where only its owner can read it."""
    home = folder / WATCH
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    save_graph(home / BASELINE, baseline, mode=PRIVATE)


def read_baseline(folder: Path) -> Baseline | None:
    """The baseline of a run folder; None where there is none yet."""
    path = folder / WATCH / BASELINE
    if not path.is_file():
        return None
    found = load_graph(path)
    if not isinstance(found, Baseline):
        raise InvalidInput(f"{path} holds no baseline, expected the one that watching wrote")
    return found
