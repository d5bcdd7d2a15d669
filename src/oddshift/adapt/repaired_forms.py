"""Repair as a form: what each tier costs when whole documents are remapped after the noise, and which tiers take it.

z = R(y_1..y_L, W) reads no secret, so whatever was certified or proved for y holds for a reader who saw y; what is
measured here is the loss of z alone, on documents that the law behind R never saw. A tier whose own output ignores the
secret can be repaired too: its values then come from the public words and from the outputs of the other tiers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oddshift.adapt.release_form import Form, KeptForms, KindForm, ReleaseForm
from oddshift.adapt.settings import AdaptSettings, FormChoice
from oddshift.adapt.tier_forms import WORTH, ChosenForm, least_form, strictest
from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.paired_log_score import units_of
from oddshift.attackers.repair import DRAWN, LEAST, DocumentLaw, Repair, fit_law, is_repaired, tier_modes
from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.mechanisms.forms import TierForm
from oddshift.model.cost import COSTS, Cost
from oddshift.model.records import Records
from oddshift.model.release import perturb_with

NOTHING = ((0.0, 0.0),)
"""The measured loss of a group that is not repaired."""

MEASURED = 1_000
"""Documents on which the loss of a repair is measured, at most; a performance setting."""


Bases = tuple[TierForm | None, ...]
"""What each group of points is repaired from, None where it is not."""

Losses = tuple[tuple[float, float], ...]
"""The loss of each group as it is repaired, and its standard error."""

Repaired = tuple[Bases, Losses]
"""What is repaired, and the loss of what comes out."""


@dataclass(frozen=True, eq=False, repr=False)
class DocumentRepair:
    """A law of documents learned from fit documents, and the mode that each tier would be repaired in.

    `is_asked` says that this mode was asked for, whatever it costs.
    """

    law: DocumentLaw
    modes: tuple[str, ...]
    cost: str
    is_asked: bool = False

    def __call__(self, known: Knowledge, records: Records, uniforms: FloatArray, modes: Sequence[str]) -> IntArray:
        """What documents become when they are released under `known` and repaired.

        Draws have a fixed seed, so that equal questions have equal answers.
        """
        release = perturb_with(records, known.mechanism, known.tiers, uniforms)
        return Repair(self.law, tuple(modes), COSTS[self.cost])(known, release, np.random.default_rng(0))


def document_repair(known: Knowledge, settings: AdaptSettings, *, are_names: bool = False) -> DocumentRepair | None:
    """The repair that settings ask for, learned from the fit documents; None where nothing may be repaired.

    **Guarantee**: every count behind the law is that of at least LEAST fit documents. The most sensitive tiers stay as
    drawn (`tier_modes`); with secret tiers of several levels nothing is repaired.
    """
    tiers, asked = known.tiers, settings.repair
    if asked == "never" or settings.objective == "weighted" or units_of(known.fit).total < LEAST:
        return None
    modes = tier_modes(tiers.levels, "best" if asked == "auto" else asked, are_names=are_names)
    if not is_repaired(modes) or (not tiers.is_public and DRAWN in modes):
        return None
    return DocumentRepair(fit_law(known, LEAST), modes, settings.cost_name, asked != "auto")


@dataclass(frozen=True, eq=False, repr=False)
class RepairChoice:
    """One choice of scales, for which the tiers that are repaired are looked for on some documents.

    `noise` is the release without repair, `asked` what each tier may be, and `known` holds the scales.
    """

    repair: DocumentRepair
    noise: ChosenForm
    asked: tuple[FormChoice, ...]
    known: Knowledge
    kept: KeptForms
    mark_cost: float | None

    def chosen(self, records: Records, uniforms: FloatArray) -> Repaired:
        """What is repaired at least loss on these documents: each tier where that costs less than its other forms.

        A tier that noise does not serve is repaired from the other tiers and the public words alone, if that is worth
        it. A tier that leaves the repair is not taken back, so few rounds are enough.
        """
        bases: Bases = tuple(self._first(group) for group in self.groups)
        while any(bases):
            losses = self._losses(bases, records, uniforms)
            after: Bases = tuple(map(self._next, self.groups, bases, losses))
            if after == bases:
                return bases, losses
            bases = after
        return bases, NOTHING * len(bases)

    def fixed(self, modes: Sequence[str], records: Records, uniforms: FloatArray) -> Repaired:
        """What these modes repair, of the forms that are asked, and the loss on these documents."""
        bases: Bases = tuple(
            None
            if not modes or modes[max(group.tier, 0)] == DRAWN
            else "noise"
            if group.asked == "noise"
            else "surrogate"
            for group in self.groups
        )
        return bases, self._losses(bases, records, uniforms) if any(bases) else NOTHING * len(bases)

    @cached_property
    def groups(self) -> tuple[_Group, ...]:
        """The kinds one by one where outputs keep their kind, otherwise everything together."""
        labels, noise = self.known.tiers.labels, self.noise.form
        if isinstance(noise, ReleaseForm):
            ignoring = self.kept.ignoring(noise, self.mark_cost)
            return (_Group(0, np.arange(len(labels)), strictest(self.asked), noise, ignoring),)
        found = []
        for members, part in zip(noise.members, noise.parts, strict=True):
            tier, ignoring = int(labels[members[0]]), self.kept.ignoring(part, self.mark_cost)
            found.append(_Group(tier, members, self.asked[tier] if tier >= 0 else "noise", part, ignoring))
        return tuple(found)

    def _first(self, group: _Group) -> TierForm | None:
        """What a group is repaired from at first: its noise if it may have noise."""
        if group.tier < 0 or self.repair.modes[group.tier] == DRAWN:
            return None
        bases: dict[FormChoice, TierForm] = {"auto": "noise", "noise": "noise", "proved": "surrogate"}
        return bases.get(group.asked)

    def _next(self, group: _Group, base: TierForm | None, measured: tuple[float, float]) -> TierForm | None:
        """What a group is repaired from after a look at its loss; None where another form may serve it as well."""
        if base is None or self.repair.is_asked:
            return base
        asked = group.asked
        ignoring = min(form.loss for form in group.ignoring.values())
        noise = np.inf if asked == "proved" else group.noise.loss
        instead = min(noise, ignoring) if base == "surrogate" else group.form(None)[1].loss
        if sum(measured) <= WORTH * instead:
            return base
        return "surrogate" if base == "noise" and asked == "auto" and ignoring <= noise else None

    def _losses(self, bases: Bases, records: Records, uniforms: FloatArray) -> Losses:
        """The loss of every group, measured next to that of its constant output, whose exact loss is known."""
        release = self.made(bases, NOTHING * len(bases))
        known = replace(self.known, mechanism=release.form.channel)
        outputs = self.repair(known, records, uniforms, release.modes)
        group_of = np.full(len(self.known.tiers.labels), -1, dtype=np.int64)
        for number, group in enumerate(self.groups):
            group_of[group.members] = number
        found, labels = [], group_of[records.points]
        for number, group in enumerate(self.groups):
            mine = labels == number
            found.append(self._loss(group, records.points[mine], outputs[mine]) if bases[number] else NOTHING[0])
        return tuple(found)

    def _loss(self, group: _Group, points: IntArray, outputs: IntArray) -> tuple[float, float]:
        """The exact loss of the group's constant output times the measured share of it, and the error of that."""
        cost = COSTS[self.repair.cost]
        constant = group.constant
        mine, base = (costs_of(group, points, shown, cost) for shown in (outputs, np.full_like(points, constant[0])))
        if not base.sum() > 0.0:
            return constant[1], 0.0
        share = mine.sum() / base.sum()
        error = np.sqrt(np.square(mine - share * base).sum()) / base.sum()
        return constant[1] * float(share), constant[1] * float(error)

    def made(self, bases: Bases, losses: Losses) -> ChosenForm:
        """The release in which some groups are repaired from noise or from what ignores the secret."""
        tiers, noise = self.known.tiers, self.noise
        forms: list[TierForm] = ["mark"] * len(tiers)  # of a tier without a point nothing is released
        modes, parts = [DRAWN] * len(tiers), []
        for group, base, (loss, _) in zip(self.groups, bases, losses, strict=True):
            form, part = group.form(base)
            parts.append(part if base is None else replace(part, fixed=loss))
            for tier in range(len(tiers)) if isinstance(noise.form, ReleaseForm) else [group.tier] * (group.tier >= 0):
                forms[tier] = form
                modes[tier] = DRAWN if base is None else self.repair.modes[tier]
        whole: Form = replace(noise.form, parts=tuple(parts)) if isinstance(noise.form, KindForm) else parts[0]
        reason = noise.reason
        if set(modes) != {DRAWN}:
            reason = (
                f"repaired from all that is read together: loss {whole.loss:.4f} "
                f"instead of {noise.form.loss:.4f} by noise alone"
            )
        return ChosenForm(whole, noise.plain, noise.remapped, reason, tuple(forms), tuple(modes))


@dataclass(frozen=True, eq=False, repr=False)
class _Group:
    """Points that are released among themselves: their tier, and the forms that they can have."""

    tier: int
    members: IntArray
    asked: FormChoice
    noise: ReleaseForm
    ignoring: Mapping[TierForm, ReleaseForm]

    @cached_property
    def constant(self) -> tuple[int, float]:
        """The best constant output and its expected loss, whatever a mark is said to cost."""
        mark = replace(self.ignoring["mark"], fixed=None)
        return int(self.members[mark.output_law.argmax()]), mark.loss

    def form(self, base: TierForm | None) -> tuple[TierForm, ReleaseForm]:
        """What is released: before a repair noise or a surrogate; without one the form that is asked."""
        if base is None:
            return least_form(self.noise, self.asked, self.ignoring)
        if base == "noise":
            return "noise", self.noise
        form: TierForm = "surrogate" if "surrogate" in self.ignoring else "mark"
        return form, self.ignoring[form]


def costs_of(group: _Group, points: IntArray, outputs: IntArray, cost: Cost) -> FloatArray:
    """c(x_l, z_l) of some positions of a group."""
    truth, row = np.unique(points, return_inverse=True)
    space, found = group.noise.mechanism.space, np.empty(len(points))
    local = np.searchsorted(group.members, np.stack([truth[row.ravel()], outputs]))
    for part in blocks(len(truth), len(group.members)):
        table = cost.between(space, np.searchsorted(group.members, truth[part]), space)
        here = (row.ravel() >= part.start) & (row.ravel() < part.stop)
        found[here] = table[row.ravel()[here] - part.start, local[1][here]]
    return found
