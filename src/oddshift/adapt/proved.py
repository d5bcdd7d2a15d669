"""What needs no documents: tiers with too few units to certify, and releases whose guarantee is proved.

A form that ignores the secret says nothing beyond what is public and which positions are equal. Noise is proved where
its worst case is within ε, whatever the law of the secrets: for a secret l among those read together
mPL(a, b) ≤ ε_l + Σ_{t≠l} ε_t·D_t/d(a, b), with D_t the largest distance in the tier of t (`leakage.upper`, diameter).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from oddshift.adapt.evaluation import Experiment
from oddshift.adapt.goals import Goals, known_epsilon
from oddshift.adapt.result import Scales, TierRelease
from oddshift.adapt.settings import AdaptSettings, FormChoice
from oddshift.adapt.tier_forms import ChosenForm
from oddshift.attackers.paired_log_score import units_of
from oddshift.attackers.repair import DRAWN, LEAST
from oddshift.audit.claims import by_tier
from oddshift.audit.proven import ROUNDED_UP, reach_of_tiers
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.bounds import METHODS, zero_failures
from oddshift.mechanisms.forms import IGNORING, TierForm
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records, Split
from oddshift.model.tiers import Tiers

MOST_POINTS = 5_000
"""Points up to which noise with a proved worst case is looked for: the distances of all pairs are read."""

MOST_TIERS = 40
"""Tiers up to which each is tried as the only one with noise."""

PROVED_WORTH = 0.95
"""The share of the loss of what ignores the secret that noise with a proved worst case, or next to empty cells, may
cost at most: more needs to be said about it."""

FINEST = 0.01
"""The smallest scale, and the step of scales, at which noise is proved."""


@dataclass(frozen=True)
class Countable:
    """Which tiers can be certified: the units to certify on in each, those needed, and what each may be released as.

    `learned` counts the units of the fit part in each tier, from which its values come.
    """

    units: tuple[int, ...]
    needed: int
    named: tuple[FormChoice, ...]
    learned: tuple[int, ...]

    @property
    def allowed(self) -> tuple[FormChoice, ...]:
        """The forms that were named; a mark for a tier without one whose values come from fewer than LEAST units.

        A surrogate or noise could hand out what only one of few people has.
        """
        rows = zip(self.named, self.learned, strict=True)
        return tuple("mark" if form == "auto" and learned < LEAST else form for form, learned in rows)

    @property
    def asked(self) -> tuple[FormChoice, ...]:
        """The forms that may be tried: a tier with too few units needs one that is proved, unless noise was named."""
        rows = zip(self.allowed, self.units, strict=True)
        return tuple("proved" if form == "auto" and units < self.needed else form for form, units in rows)

    @property
    def is_possible(self) -> bool:
        """Whether some tier may have noise that is counted."""
        return any(form in ("auto", "noise") for form in self.asked)

    def is_few(self, tier: int) -> bool:
        """Whether a tier has too few units."""
        return self.units[tier] < self.needed


def countable(settings: AdaptSettings, tiers: Tiers, fit: Records, certify: Records) -> Countable:
    """The units of every tier among the documents to certify on, against those without which nothing is certified."""
    needed = zero_failures(settings.delta, settings.alpha, settings.method)
    counts, learned = _units_by_tier(certify, tiers), _units_by_tier(fit, tiers)
    if settings.objective == "weighted":
        return Countable(counts, needed, tuple("noise" for _ in counts), learned)
    named: tuple[FormChoice, ...] = tuple(form or "auto" for form in by_tier(settings.forms, tiers, "forms"))
    return Countable(counts, needed, named, learned)


def _units_by_tier(records: Records, tiers: Tiers) -> tuple[int, ...]:
    """How many independent units have a secret of each tier."""
    units, labels = units_of(records), records.tier_of_position(tiers)
    return tuple(units.count(labels == tier) for tier in range(len(tiers)))


def check_documents(plan: Countable, tiers: Tiers, settings: AdaptSettings) -> None:
    """Refuse a δ that no documents could certify for a tier whose noise was asked for, saying what would help."""
    rows = [(units, tier) for tier, units in enumerate(plan.units) if plan.asked[tier] == "noise"]
    has, tier = min(rows, default=(plan.needed, 0))
    if has < plan.needed and not (settings.objective == "weighted" and not has):
        raise InvalidInput(
            f"delta={settings.delta:g} cannot be certified in tier {tiers.names[tier]}: {settings.method} needs "
            f"{plan.needed} independent units there at level {settings.alpha:.2g}, the certify split has {has}; "
            f"{smallest_delta(has, settings.alpha, settings.method)}"
        )


def smallest_delta(units: int, alpha: float, method: str) -> str:
    """The smallest δ that a number of units certifies at a level, rounded up: it does so when it is tried."""
    least = METHODS[method].upper(np.zeros(units), alpha) if units else 1.0
    rounded = ceil(least * 1e4) / 1e4
    if not rounded < 1.0:
        return "no delta can be certified on so few, only more data help"
    return f"the smallest delta they can certify is {rounded:.4f} at that level; more data or a larger delta help"


@dataclass(frozen=True)
class Proved:
    """A release that is proved: scales, forms, expected loss, and the worst-case bound where some tiers keep noise."""

    scales: Scales
    asked: tuple[FormChoice, ...]
    forms: tuple[TierForm, ...]
    loss: float
    bound: float
    most: int

    @property
    def sentence(self) -> str:
        """What is proved, in words."""
        if "noise" in self.forms:
            return (
                f"whatever the law of the secrets, all of at most {self.most} secrets that are read together shift no "
                f"odds by more than {self.bound:.4g} per unit of distance"
            )
        return (
            "no released value depends on the secret that it stands for, so a release says nothing beyond what is "
            "public and which values are equal"
        )


def proved_release(
    experiment: Experiment, plan: Countable, split: Split, goals: Goals, *, has_marks: bool
) -> Proved | None:
    """The proved release of least expected loss; None where noise was named for a tier: that is counted.

    Without `has_marks` every value is made up where nothing has noise: a file of empty cells is of no use to anybody.
    """
    if "noise" in plan.named:
        return None
    plain = _ignoring(experiment, plan.allowed, "proved" if has_marks else "surrogate")
    limit = PROVED_WORTH * (plain.loss if has_marks else min(plain.loss, experiment.constant_loss))
    noisy: tuple[Proved, ...] = ()
    if len(experiment.known.mechanism.space) <= MOST_POINTS:
        noisy = tuple(_proved_noise(experiment, plan.allowed, split, goals))
    return min((plain, *(one for one in noisy if one.loss <= limit)), key=lambda one: one.loss)


def _ignoring(experiment: Experiment, named: Sequence[FormChoice], unnamed: FormChoice) -> Proved:
    """A form that ignores the secret in every tier."""
    scales = (max(experiment.settings.grid),) * len(named)
    asked: tuple[FormChoice, ...] = tuple(unnamed if form in ("auto", "proved") else form for form in named)
    chosen = replace(experiment, asked=asked).form(scales)
    return Proved(scales, asked, chosen.forms, chosen.form.loss, 0.0, 0)


def _proved_noise(experiment: Experiment, named: Sequence[FormChoice], split: Split, goals: Goals) -> Iterator[Proved]:
    """Noise in all tiers, or in one of them, at the largest scale whose worst case is within ε."""
    tiers = experiment.known.tiers
    free = [tier for tier, form in enumerate(named) if form in ("auto", "proved")]
    try:
        worst = DiameterBound(tiers, reach_of_tiers(experiment.known), together(split, tiers))
    except InvalidInput:  # no two values to tell apart
        return
    alone = [[tier] for tier in free] if tiers.is_public and 1 < len(free) <= MOST_TIERS else []
    for some in [free, *alone] if free else []:
        asked: tuple[FormChoice, ...] = tuple(
            "auto" if tier in some else ("proved" if form == "auto" else form) for tier, form in enumerate(named)
        )
        found = _largest(replace(experiment, asked=asked), worst, goals)
        if found is not None and "noise" in found.forms:
            yield found


def _largest(experiment: Experiment, worst: DiameterBound, goals: Goals) -> Proved | None:
    """The largest common scale whose worst case is proved to keep every goal; the bound grows about like the scale."""
    tiers, epsilon = experiment.known.tiers, experiment.settings.epsilon
    limit = max(experiment.settings.grid)
    asked = ["noise" if form == "auto" else form for form in experiment.asked]
    scale, tried = limit, 0
    while scale >= FINEST and tried < 8:
        scales = (scale,) * len(tiers)
        mechanism = experiment.family(tiers.with_scales(scales))
        bound, shift = worst.of(mechanism, scales, asked)
        over = max(bound / epsilon, _over_caps(shift, goals))
        if over <= 1.0:
            chosen = experiment.form(scales)
            return Proved(scales, experiment.asked, chosen.forms, chosen.form.loss, bound, worst.most)
        scale, tried = float(np.floor(100.0 * min(scale / over, scale - FINEST) + 1e-9) / 100.0), tried + 1
    return None


def _over_caps(shift: float, goals: Goals) -> float:
    """How far a shift of all odds by at most e^shift may exceed what caps allow: guesses gain at most tanh(shift/2)."""
    caps = [cap for each in goals.caps.values() for cap in (each.advantage, each.success) if cap is not None]
    return float(shift / (2.0 * np.arctanh(min(caps)))) if caps else 0.0


@dataclass(frozen=True, eq=False, repr=False)
class DiameterBound:
    """What bounds the leakage of a release whatever the law: distances by tier, and how many secrets are read together.

    `reach` has the smallest and the largest distance of comparable points in every tier, `counts` a row for each
    composition of a document: how many secrets of every tier it holds.
    """

    tiers: Tiers
    reach: FloatArray
    counts: IntArray

    @property
    def most(self) -> int:
        """The most secrets that are read together."""
        return int(self.counts.sum(axis=1).max(initial=1))

    def of(self, mechanism: Mechanism, scales: Scales, forms: Sequence[str]) -> tuple[float, float]:
        """A bound on the joint leakage per unit of distance, and on the shift of any log odds, rounded up."""
        share = np.array(scales) / max(scales)
        exact = known_epsilon(mechanism)
        own = np.minimum(mechanism.claimed_epsilon * share, np.inf if exact is None else exact)
        own = np.where(np.isin(forms, (*IGNORING, "proved")), 0.0, own)
        near, far = self.reach.T
        spread = own * np.where(np.isfinite(far), far, 0.0)
        largest, shift = 0.0, 0.0
        for counts in self.counts:
            here = np.flatnonzero(counts)
            others = counts @ spread - spread[here]
            largest = max(largest, float((own[here] + others / near[here]).max(initial=0.0)))
            shift = max(shift, float(counts @ spread))
        return largest * ROUNDED_UP, shift * ROUNDED_UP


def together(split: Split, tiers: Tiers) -> IntArray:
    """Every composition of a document of the data: how many secrets of each tier it holds."""
    rows = []
    for part in split.parts:
        labels, document = part.tier_of_position(tiers), part.document_of_position
        table = np.zeros((len(part), len(tiers)), dtype=np.int64)
        np.add.at(table, (document[labels >= 0], labels[labels >= 0]), 1)
        rows.append(np.unique(table, axis=0))
    return np.unique(np.concatenate(rows), axis=0)


def tier_releases(
    experiment: Experiment, plan: Countable, scales: Scales, chosen: ChosenForm
) -> tuple[TierRelease, ...]:
    """What each tier is released as under a choice, what its forms would cost, and why it has this one."""
    options, weights = experiment.options(scales, remap=chosen.remapped), experiment.weights
    rows = []
    for tier, (name, form) in enumerate(zip(experiment.known.tiers.names, chosen.forms, strict=True)):
        losses: dict[str, float] = {option.form: option.loss for option in options if option.tier == name}
        mode = chosen.modes[tier] if chosen.modes else DRAWN
        if mode != DRAWN:
            inside = weights * (experiment.known.tiers.labels == tier)
            losses[mode] = float(inside @ chosen.form.by_point / inside.sum())
        rows.append(
            TierRelease(
                tier=name,
                form=form,
                losses=losses,
                units=plan.units[tier],
                needed=plan.needed,
                repair=mode,
                is_named=plan.named[tier] != "auto",
                is_rare=plan.learned[tier] < LEAST,
            )
        )
    return tuple(rows)
