"""The verdict of an audit: what all attackers that count prove together on the certify documents, with the evidence.

The worst pair: whether any two candidates of a position exceed ε, without comparing all of them.

Saturation: whether the attackers that a verdict rests on would find much more with more documents to learn from.

Each is fitted again on a quarter and on half of the fit documents and measured on the same releases, under the pair law
of the verdict. One that still improves certifies nothing beyond itself: its claims are withheld, although it may still
show a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.completeness import Completeness, completeness
from oddshift.attackers.learning_size import LearningOfSize, SizeStep, smaller_fits
from oddshift.attackers.paired_log_score import choosing_units, gain, units_of
from oddshift.audit.calibration import joint_scan, recalibrated_judges
from oddshift.audit.claims import INDEPENDENT, Barred, ClaimBuilder, TierValues, values_by_tier
from oddshift.audit.measurement import AuditReleases, Measurement, worst_of_units
from oddshift.audit.proven import Proven
from oddshift.audit.scan import Scan, Scores, scan, scores
from oddshift.audit.settings import AuditSettings
from oddshift.audit.verdict import (
    Basis,
    GuessValues,
    Judgement,
    Part,
    Rule,
    Seen,
    Standing,
    basis_of,
    standing,
    vacuous_reason,
)
from oddshift.base.arrays import FloatArray
from oddshift.evidence.certificates import Evidence, certify, evidence_of
from oddshift.leakage.mpl import PAIR_LAWS
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers

PROVEN = "a proven bound on the joint leakage is at most epsilon"
"""What a rate verdict rests on when no attacker learned anything, in the words of a certificate."""


@dataclass(frozen=True, eq=False, repr=False)
class AuditTrials:
    """Every attacker of an audit with what was measured of it, and which of them the verdict rests on.

    `null` and `own` are the first two. `worst` holds, for the attackers it was computed for, one value for each unit by
    tier.
    """

    attackers: tuple[Attacker, ...]
    measured: tuple[Measurement, ...]
    releases: AuditReleases
    claims: ClaimBuilder
    basis: Basis
    worst: dict[int, dict[int, FloatArray]]
    learning: dict[int, LearningOfSize] = field(default_factory=dict)
    completeness: Completeness | None = None

    @property
    def strongest(self) -> Attacker:
        """The one whose numbers are shown first."""
        return self.attackers[self.basis.strongest]

    @property
    def counting(self) -> list[Attacker]:
        """Those that the verdict rests on; the strongest where none counts."""
        return [self.attackers[place] for place in self.basis.counting or (self.basis.strongest,)]

    @property
    def standings(self) -> list[Standing]:
        """How everyone stands on the select documents."""
        units = choosing_units(self.releases.select)
        return [standing(found.select, units) for found in self.measured]

    def seen(self, place: int, law: str) -> Seen:
        """One attacker's values under one pair law, and its guesses."""
        found = self.measured[place]
        return Seen(self.attackers[place], self._rates(place, law), self._guesses(found))

    @property
    def rule(self) -> Rule:
        """The rule of the verdict."""
        return Rule(self.claims, self.releases.budget.tiers, self.basis, self.gate)

    def gate(self, place: int) -> Barred | None:
        """Why an attacker certifies nothing: the release is vacuous, there is more to learn, or it learns from more."""
        if self._vacuous:
            return Barred(self._vacuous)
        if self.completeness is not None and self.completeness.reason:
            return Barred(self.completeness.reason)
        learning, delta = self.learning.get(place), self.releases.settings.delta
        if learning is None or delta is None or learning.is_saturated(delta):
            return None
        return Barred(learning.reason(delta), learning.steps[-1].documents)

    @cached_property
    def _vacuous(self) -> str:
        """Whether some attacker guesses nearly every value of a tier, in the words of a claim."""
        everyone = (self.seen(place, "anchored") for place in range(1, len(self.attackers)))
        return vacuous_reason(everyone, self.releases.budget.tiers.names, self.releases.settings.vacuous)

    def _rates(self, place: int, law: str) -> tuple[TierValues, ...]:
        if law == "worst":
            return self.worst_rates(self.worst[place])
        return self.position_rates(self.measured[place].certify.rate(law))

    def position_rates(self, values: FloatArray) -> tuple[TierValues, ...]:
        """One value for each unit and tier, from one for each position."""
        return tuple(self.claims.values(values, self.releases.certify, self.releases.budget.tiers))

    def worst_rates(self, worst: Mapping[int, FloatArray]) -> tuple[TierValues, ...]:
        """The same under the law `worst`, from the units that were examined."""
        truth, tiers = self.releases.certify, self.releases.budget.tiers
        units, labels = units_of(truth), truth.tier_of_position(tiers)
        without = {tier: units.total - units.count(labels == tier) for tier in worst}
        return tuple(self.claims.in_order(TierValues(tier, values, without[tier])) for tier, values in worst.items())

    def _guesses(self, found: Measurement) -> tuple[GuessValues, ...]:
        truth, tiers = self.releases.certify, self.releases.budget.tiers
        sides = (self.claims.values(v, truth, tiers) for v in (found.certify.hit, found.certify.prior_hit))
        return tuple(GuessValues(after, before) for after, before in zip(*sides, strict=True))


def audit_trials(
    attackers: Sequence[Attacker],
    measured: Sequence[Measurement],
    releases: AuditReleases,
    claims: ClaimBuilder,
    proven: Proven | None,
) -> AuditTrials:
    """Which attackers count, and the worst pairs of the strongest one (of all of them under the law `worst`)."""
    units = choosing_units(releases.select)
    standings = [standing(found.select, units) for found in measured]
    basis = basis_of(standings, 1, _carrier(releases.settings, proven))
    asked = {basis.strongest, *(basis.counting if releases.settings.law == "worst" else ())}
    worst = {place: worst_of_units(attackers[place], releases) for place in sorted(asked)}
    return AuditTrials(tuple(attackers), tuple(measured), releases, claims, basis, worst)


def completed(trials: AuditTrials, known: Knowledge) -> AuditTrials:
    """With the test whether select documents depend in ways that no attacker reads which the verdict rests on."""
    counting = [trials.attackers[place] for place in trials.basis.counting]
    found = completeness(counting, known, trials.releases.select_release, trials.releases.select)
    return replace(trials, completeness=found)


def concluded(trials: AuditTrials) -> tuple[Judgement | None, tuple[Evidence, ...]]:
    """The verdict, None when no δ was stated, and the evidence of everything else that is certified."""
    settings, basis, rule = trials.releases.settings, trials.basis, trials.rule
    guessing = [trials.seen(place, "anchored") for place in range(1, len(trials.attackers))]
    capped = [part for seen in guessing for part in rule.guesses(seen, every_tier=True)]
    shown = [part for law in PAIR_LAWS for part in _rate(trials, basis.strongest, law)]
    if settings.delta is None:
        counted = [part for k in basis.counting for part in _rate(trials, k, settings.law)]
        return None, _evidence((*shown, *counted, *_before(trials), *capped), trials)
    seen = {place: trials.seen(place, settings.law) for place in rule.deciding}
    found = rule.decide(seen, _judges(trials), guessing)
    return found, _evidence((*shown, *found.parts, *_before(trials), *capped), trials)


def _judges(trials: AuditTrials) -> dict[int, Seen]:
    """By place, what recalibrated attackers find under the law of the verdict; all of them in one pass."""
    releases, law = trials.releases, trials.releases.settings.law
    select, release = releases.select, releases.select_release
    judges = recalibrated_judges(trials.attackers, trials.basis, release, select, releases.budget)
    if law == "worst":
        return {k: Seen(judge, trials.worst_rates(worst_of_units(judge, releases))) for k, judge in judges.items()}
    if not judges:
        return {}
    rng = releases.stream(len(trials.attackers))
    scans = joint_scan(list(judges.values()), releases.certify_release, releases.certify, releases.budget, rng, law=law)
    rows = zip(judges.items(), scans, strict=True)
    return {k: Seen(judge, trials.position_rates(found.rate(law))) for (k, judge), found in rows}


def _rate(trials: AuditTrials, place: int, law: str) -> list[Part]:
    return trials.rule.rates(place, trials.seen(place, law), law, accuses=False)


def _before(trials: AuditTrials) -> list[Part]:
    """What was guessed before any release, as the control `null`: shown, never capped."""
    claims, names, null = trials.claims, trials.releases.budget.tiers.names, trials.attackers[0]
    rows = [guesses.before for guesses in trials.seen(1, "anchored").guesses]
    return [Part(claims.success_claim(null, names[r.tier], None, claims.contradiction(r)), r, True) for r in rows]


def _evidence(parts: Sequence[Part], trials: AuditTrials) -> tuple[Evidence, ...]:
    """One file for each claim, even if it was asked for twice."""
    releases, asked = trials.releases, trials.claims.question
    mechanism, documents = releases.budget.mechanism.fingerprint, releases.certify.fingerprint
    found: dict[object, Evidence] = {}
    for part in parts:
        if part.claim not in found:
            certificate = certify(part.row.values, part.claim, asked.alpha, asked.method, excluded=part.row.excluded)
            found[part.claim] = evidence_of(
                certificate, part.row.values, mechanism_hash=mechanism, split_hash=documents
            )
    return tuple(found.values())


def _carrier(settings: AuditSettings, proven: Proven | None) -> str:
    """What a verdict rests on if no attacker learned anything; a proven bound is rounded up before it is compared."""
    if proven is not None and not proven.is_estimated and proven.value <= settings.epsilon:
        return PROVEN
    return INDEPENDENT if settings.independent else ""


Refit = Callable[[Knowledge], Attacker]
"""How an attacker is fitted, given what it knows."""


Worst = Mapping[int, FloatArray]
"""For each tier, whether any pair exceeds ε in each of the units that were examined."""


def learning_of_size(
    attacker: Attacker, found: Scan, known: Knowledge, releases: AuditReleases, refit: Refit, *, worst: Worst
) -> LearningOfSize:
    """One attacker at smaller sizes and, as `found` on the certify documents, at its full size.

    Under the law `worst` rates are those of the units that were examined, `worst` at the full size; the same units are
    examined again.
    """
    law, tiers = releases.settings.law, releases.budget.tiers
    place = (releases.certify_release, releases.certify, releases.budget)
    steps = []
    for documents, smaller in smaller_fits(refit, known, saturation_stream(releases.settings.seed)):
        if law == "worst":
            gained = scores(smaller, *place)
            steps.append(_worst_step(documents, gained, worst_of_units(smaller, releases), releases.certify))
        else:
            seen = scan(smaller, *place, releases.stream(96, documents), laws=(law,), detailed=False)
            steps.append(size_step(documents, seen, releases.certify, tiers, law))
    if law == "worst":
        steps.append(_worst_step(len(known.fit), found.scores, worst, releases.certify))
    else:
        steps.append(size_step(len(known.fit), found, releases.certify, tiers, law))
    labels = np.unique(releases.certify.tier_of_position(tiers))
    return LearningOfSize(attacker.name, tuple(tiers.names[tier] for tier in labels), tuple(steps))


def _worst_step(documents: int, found: Scores, worst: Worst, truth: Records) -> SizeStep:
    rates = tuple(float(worst[tier].mean()) for tier in sorted(worst))
    return SizeStep(documents, gain(found.own_score, found.log_score, units_of(truth)).mean, rates)


def saturation_stream(seed: int) -> np.random.Generator:
    """Random numbers that choose the smaller sets of fit documents, the same for an audit and an adaptation."""
    return np.random.default_rng([seed, 11, 97])


def size_step(documents: int, found: Scan, truth: Records, tiers: Tiers, law: str) -> SizeStep:
    """The joint gain and the rates of an attacker that was fitted on this number of documents."""
    gained = gain(found.scores.own_score, found.scores.log_score, units_of(truth))
    rows = values_by_tier(found.rate(law), truth, tiers)
    rates, units = (tuple(float(row.values.mean()) for row in rows), tuple(len(row.values) for row in rows))
    return SizeStep(documents, gained.mean, rates, units)
