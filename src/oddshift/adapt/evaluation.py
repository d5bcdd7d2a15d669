"""An experiment with scales: everything that stays fixed while they change, and what some scales do.

The same documents, the same uniforms (common random numbers) and the same attacker, read under each mechanism without
being trained again: two scales differ in what they do, not by chance.

Measuring many scales: each once, spread over workers, and kept so that interrupted work continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from oddshift.adapt.release_form import Form, KeptForms, KindForm
from oddshift.adapt.repaired_forms import MEASURED, DocumentRepair, RepairChoice, Repaired
from oddshift.adapt.result import ScaledOutcome, Scales, TierOutcome
from oddshift.adapt.settings import AdaptSettings, FormChoice
from oddshift.adapt.tier_forms import ChosenForm, TierOption, chosen_form, formed, outputs_law, tier_options
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.paired_log_score import choosing_units, gain, standard_error, units_of
from oddshift.audit.calibration import joint_scan, joint_scores
from oddshift.audit.scan import Budget, Scan, Scores
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.execution import SERIAL, Execution, Progress, run, silent
from oddshift.base.identity import fingerprint
from oddshift.base.storage import load, save
from oddshift.mechanisms import Mask
from oddshift.mechanisms.forms import Formed
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.named import Family
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import constant_of_each_kind, constant_output
from oddshift.model.records import Records
from oddshift.model.release import Release, perturb_with
from oddshift.model.tiers import Tiers

Reader = Callable[[Knowledge], Attacker]
"""The attacker against a mechanism: `attacker.against`, or a new fit where scales are adapted as in the paper."""


@dataclass(frozen=True, eq=False, repr=False)
class Situation:
    """Some scales, the form of the release under them, and what attackers know of what is released."""

    scales: Scales
    form: ChosenForm
    known: Knowledge


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """Documents with one uniform for each position, a family of mechanisms, and what is asked.

    `known` is what attackers know at scales 1; its prior also weighs the utility loss. `asked` says for each tier what
    it may be released as; without it every tier keeps its noise. With a `repair` tiers are repaired where that costs
    less; `modes` fix which.
    """

    known: Knowledge
    family: Family
    records: Records
    uniforms: FloatArray
    settings: AdaptSettings
    forms: KeptForms = field(default_factory=KeptForms)
    asked: tuple[FormChoice, ...] = ()
    repair: DocumentRepair | None = None
    modes: tuple[str, ...] | None = None

    def like(self, outcome: ScaledOutcome) -> Experiment:
        """The same with the forms and the repair of an outcome: nothing of them is chosen on other documents."""
        return self if self.repair is None else replace(self, asked=outcome.forms, modes=outcome.repair)

    @property
    def without_forms(self) -> Experiment:
        """The same with noise alone."""
        return replace(self, asked=(), repair=None, modes=None)

    def at(self, scales: Scales, *, remap: bool | None = None) -> Situation:
        """The situation when these scales are released, remapped as the settings say unless `remap` says otherwise."""
        tiers, form = self._tiers_at(scales), self.form(scales, remap=remap)
        return Situation(scales, form, replace(self.known, tiers=tiers, mechanism=form.form.channel))

    def form(self, scales: Scales, *, remap: bool | None = None) -> ChosenForm:
        """The form of the release there, with its utility and without a matrix."""
        plain = self._plain(scales)
        others = bool(self.asked) and isinstance(plain, KindForm)
        noise = chosen_form(plain, self.settings, lambda: np.inf if others else self.constant_loss, remap)
        asked: tuple[FormChoice, ...] = self.asked or tuple("noise" for _ in self.known.tiers.names)
        made = self.forms, self.settings.mark_cost
        if self.repair is None:
            return formed(noise, asked, self.known.tiers, *made)
        known = replace(self.known, tiers=self._tiers_at(scales))
        choice = RepairChoice(self.repair, noise, asked, known, *made)
        if (scales, remap) not in self._repaired:
            some = self.part(MEASURED)
            self._repaired[scales, remap] = (
                choice.chosen(some.records, some.uniforms)
                if self.modes is None
                else choice.fixed(self.modes, some.records, some.uniforms)
            )
        return choice.made(*self._repaired[scales, remap])

    @cached_property
    def _repaired(self) -> dict[tuple[Scales, bool | None], Repaired]:
        """What was found to be repaired, by scales."""
        return {}

    def _plain(self, scales: Scales) -> Form:
        """The noise as it is drawn."""
        return self.forms.of(self.family(self._tiers_at(scales)), self.weights, self.settings.cost_name)

    def options(self, scales: Scales, *, remap: bool) -> tuple[TierOption, ...]:
        """Everything that each tier could be released as there, with what it costs."""
        noise = self.without_forms.form(scales, remap=remap).form
        return tier_options(noise, self.known.tiers, self.forms, self.settings.mark_cost)

    def is_moved(self, scales: Scales) -> bool:
        """Whether remapping changes the release there: not where every kind would collapse and is released as drawn."""
        return self.settings.remap == "always" or not self._plain(scales).collapses

    def part(self, most: int) -> Experiment:
        """The same with at most this number of its documents, evenly chosen, with the uniforms that they have."""
        if len(self.records) <= most:
            return self
        documents, inside = self._inside(most)
        return replace(self, records=self.records.take(documents), uniforms=self.uniforms[inside])

    def part_of(self, found: Scan, most: int) -> Scan:
        """What a scan of these documents found in those of `part`: what attackers say depends on one document alone."""
        return found if len(self.records) <= most else found.at(self._inside(most)[1])

    def _inside(self, most: int) -> tuple[IntArray, BoolArray]:
        """The documents of a part, and which positions lie in them."""
        documents = np.round(np.linspace(0, len(self.records) - 1, most)).astype(np.int64)
        return documents, np.isin(self.records.document_of_position, documents)

    def _tiers_at(self, scales: Scales) -> Tiers:
        return self.known.tiers.with_scales(scales, ordered=False)

    def released(self, scales: Scales, *, remap: bool) -> Mechanism:
        """The mechanism as it is released, with its own name and claim: for a policy, not for measuring."""
        chosen = self.form(scales, remap=remap)
        if set(chosen.forms) == {"mark"}:
            return Mask(self.known.mechanism.space)
        noise = self._noise(scales, remap=remap)
        if set(chosen.forms) == {"noise"}:
            return noise
        return Formed(noise, self.known.tiers.with_scales(scales), chosen.forms, outputs_law(chosen))

    def _noise(self, scales: Scales, *, remap: bool) -> Mechanism:
        """The noise that is drawn there, and what follows it."""
        mechanism = self.family(self.known.tiers.with_scales(scales))
        if not remap:
            return mechanism
        cost = self.settings.cost_name
        moved = Remap(mechanism, self.weights, cost)
        if self.settings.remap == "always":
            return moved
        destination, drawn = moved.destination.copy(), self.forms.of(mechanism, self.weights, cost).as_drawn
        destination[drawn] = drawn
        return Remap.stored(mechanism, self.weights, cost, destination)

    def scales_of(self, levels: Sequence[float]) -> Scales:
        """The scale of every tier from one for each level of sensitivity."""
        return self.known.tiers.scales_of_levels(levels)

    @cached_property
    def constant_loss(self) -> float:
        """The loss of the best output that ignores the secret, of each kind where outputs keep their kind."""
        mechanism, cost = self.known.mechanism, self.settings.cost_name
        if mechanism.output_kinds is not None:
            return constant_of_each_kind(mechanism.space, self.weights, cost, mechanism.output_kinds)[1]
        return constant_output(mechanism.space, self.weights, cost, mechanism.outputs)[1]

    @property
    def constant_outputs(self) -> int:
        """How many outputs that constant release has: one, or one of each kind."""
        kinds = self.known.mechanism.output_kinds
        return 1 if kinds is None else len(np.unique(kinds))

    @property
    def weights(self) -> FloatArray:
        """π of every point, from the fit documents."""
        return self.known.weights

    def measure(self, known: Knowledge, attacker: Attacker) -> Scan:
        """Release the documents under `known` and scan what the attacker finds, under the chosen law."""
        return self.measure_all(known, [attacker])[0]

    def measure_all(self, known: Knowledge, attackers: Sequence[Attacker]) -> list[Scan]:
        """The same of several attackers in one pass."""
        rng = np.random.default_rng([self.settings.seed, 21])
        released, law = self.release(known), self.settings.law
        return joint_scan(attackers, released, self.records, self.budget(known), rng, law=law)

    def scores(self, known: Knowledge, attackers: Sequence[Attacker]) -> list[Scores]:
        """Release the documents under `known` and score the attackers; they are chosen by this score."""
        return joint_scores(attackers, self.release(known), self.records, self.budget(known))

    def release(self, known: Knowledge) -> Release:
        """The documents as released under `known`, from the experiment's own uniforms."""
        return perturb_with(self.records, known.mechanism, known.tiers, self.uniforms)

    def budget(self, known: Knowledge) -> Budget:
        """What leakage is measured against."""
        return Budget(known.mechanism, known.tiers, self.settings.epsilon)

    def outcome(self, scales: Scales, read: Reader, *, remap: bool | None = None) -> ScaledOutcome:
        """What these scales do, as released."""
        situation = self.at(scales, remap=remap)
        return self.measured(situation, self.measure(situation.known, read(situation.known)))

    def measured(self, situation: Situation, found: Scan) -> ScaledOutcome:
        """Averages over the units of a scan, together with the exact utility of the mechanism."""
        form, by_position = situation.form, found.scores
        joint = gain(by_position.own_score, by_position.log_score, choosing_units(self.records))
        return ScaledOutcome(
            scales=situation.scales,
            admissible=is_admissible(situation.scales),
            tiers=self._tiers(found, situation.known.tiers, form.form.by_point),
            loss=form.form.loss,
            plain_loss=form.plain.loss,
            effective_outputs=form.form.effective_outputs,
            gain=joint.mean,
            gain_error=joint.error,
            remapped=form.remapped,
            forms=form.forms,
            repair=form.modes,
        )

    def loss(self, scales: Scales, *, remap: bool | None = None) -> float:
        """The expected loss as released."""
        return self.form(scales, remap=remap).form.loss

    def _tiers(self, found: Scan, tiers: Tiers, by_point: FloatArray) -> tuple[TierOutcome, ...]:
        units, labels = units_of(self.records), self.records.tier_of_position(tiers)
        rows = []
        for tier in np.unique(labels):
            keep = labels == tier
            by_position = (found.rate(self.settings.law), found.hit, found.prior_hit)
            rate, hit, before = (units.means(values, keep) for values in by_position)
            inside = self.weights * (tiers.labels == tier)
            rows.append(
                TierOutcome(
                    tier=tiers.names[tier],
                    rate=float(rate.mean()),
                    rate_error=standard_error(rate),
                    top1=float(hit.mean()),
                    top1_error=standard_error(hit),
                    loss=float(inside @ by_point / inside.sum()),
                    before=float(before.mean()),
                )
            )
        return tuple(rows)


def is_admissible(scales: Sequence[float]) -> bool:
    """Whether no scale is smaller than that of a more sensitive tier."""
    return all(a <= b for a, b in pairwise(scales))


DIGITS = 2
"""Scales are rounded to this many decimals, so that the same scales are not measured twice."""

MOST_NAMED = 20
"""Scales that are written into the name of a file, at most; more of them are named by a hash."""


@dataclass(frozen=True, eq=False, repr=False)
class Measuring:
    """Outcomes by scales, measured when they are first asked for; `folder` keeps them between runs.

    A kept outcome is read again only in the same experiment with the same attacker, named by its fingerprint.
    """

    experiment: Experiment
    read: Reader
    attacker: str = ""
    execution: Execution = SERIAL
    folder: Path | None = None
    progress: Progress = silent
    known: dict[Scales, ScaledOutcome] = field(default_factory=dict)

    def outcomes(self, wanted: Iterable[Scales], what: str = "measuring scales") -> list[ScaledOutcome]:
        """The outcomes of some scales, those not yet known measured in parallel."""
        rounded = [rounded_scales(scales) for scales in wanted]
        missing = [scales for scales in dict.fromkeys(rounded) if scales not in self.known and not self._read(scales)]
        size = max(1, self.execution.workers if self.execution.kind != "serial" else 1)
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            for outcome in run(self._measure, part, self.execution):
                self._keep(outcome)
            self.progress(what, min(start + size, len(missing)), len(missing))
        return [self.known[scales] for scales in rounded]

    def outcome(self, scales: Scales) -> ScaledOutcome:
        """The outcome of one choice of scales."""
        return self.outcomes([scales])[0]

    def _measure(self, scales: Scales) -> ScaledOutcome:
        return self.experiment.outcome(scales, self.read)

    def _file(self, scales: Scales) -> Path | None:
        name = "-".join(f"{scale:.{DIGITS}f}" for scale in scales)
        if len(scales) > MOST_NAMED:  # the name of a file may not be that long
            name = fingerprint(scales)[:32]
        return None if self.folder is None else self.folder / f"outcome-{self._key}-{name}.json"

    @cached_property
    def _key(self) -> str:
        made = self.experiment
        return fingerprint((self.attacker, made.settings, made.known, made.records, made.uniforms))[:16]

    def _read(self, scales: Scales) -> bool:
        file = self._file(scales)
        if file is None or not file.is_file():
            return False
        self.known[scales] = load(file, ScaledOutcome)
        return True

    def _keep(self, outcome: ScaledOutcome) -> None:
        file = self._file(outcome.scales)
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            save(file, outcome)
        self.known[outcome.scales] = outcome


def rounded_scales(scales: Iterable[float]) -> Scales:
    """Scales as they are measured and compared."""
    return tuple(round(float(scale), DIGITS) for scale in scales)
