"""The verdict of an audit: what all attackers that count prove together on the certify documents, with the evidence.

The worst pair: whether any two candidates of a position exceed ε, without comparing all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.completeness import Completeness, completeness
from oddshift.attackers.learning_size import LearningOfSize
from oddshift.attackers.paired_log_score import choosing_units, one_document_each, units_of
from oddshift.audit.beliefs import tier_beliefs
from oddshift.audit.choice import Standing, standing
from oddshift.audit.claims import INDEPENDENT, Barred, ClaimBuilder, TierCaps, TierValues, caps_of_tiers
from oddshift.audit.joint_scan import joint_scan
from oddshift.audit.measurement import AuditReleases, Measurement
from oddshift.audit.proven import Proven
from oddshift.audit.recalibration import recalibrated
from oddshift.audit.scan import Budget
from oddshift.audit.settings import AuditSettings
from oddshift.audit.vacuous import vacuous_reason
from oddshift.audit.verdict_rule import (
    Basis,
    GuessValues,
    Judgement,
    Part,
    Seen,
    basis_of,
    judged,
    rate_parts,
    success_parts,
)
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.evidence.certificates import Evidence, certify, evidence_of
from oddshift.leakage.mpl import PAIR_LAWS, shift_limit
from oddshift.model.records import Records, gather
from oddshift.model.release import Release
from oddshift.model.space import Space
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

    def bar(self, place: int) -> Barred | None:
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
    settings, basis = trials.releases.settings, trials.basis
    capped = [part for place in range(1, len(trials.attackers)) for part in _success(trials, place)]
    shown = [part for law in PAIR_LAWS for part in _rate(trials, basis.strongest, law, accuses=False)]
    if settings.delta is None:
        counted = [part for k in basis.counting for part in _rate(trials, k, settings.law, accuses=False)]
        return None, _evidence((*shown, *counted, *_before(trials), *capped), trials)
    deciding = list(_deciding(trials))
    found = judged([*deciding, *(part for part in capped if part.claim.limit is not None)], trials.claims)
    return found, _evidence((*shown, *deciding, *_before(trials), *capped), trials)


def _deciding(trials: AuditTrials) -> Iterator[Part]:
    """The rate claims that the verdict rests on; every attacker accuses, and only after its own recalibration."""
    basis, law, names = trials.basis, trials.releases.settings.law, trials.releases.budget.tiers.names
    judges = _judges(trials)
    for place in basis.counting or (basis.strongest,):
        yield from _rate(trials, place, law, accuses=place not in judges)
    for place, seen in zip(judges, _judged(trials, list(judges.values())), strict=True):
        yield from rate_parts(seen, law, trials.claims, names, basis, accuses=True, bar=trials.bar(place))


def _judges(trials: AuditTrials) -> dict[int, Attacker]:
    """By place, attackers that count as recalibrated on select documents, where that changes them."""
    releases, basis = trials.releases, trials.basis
    if basis.carrier:
        return {}
    made = {
        place: recalibrated(trials.attackers[place], releases.select_release, releases.select, releases.budget)
        for place in basis.counting
    }
    return {place: judge for place, judge in made.items() if judge is not trials.attackers[place]}


def _judged(trials: AuditTrials, judges: Sequence[Attacker]) -> list[Seen]:
    """What recalibrated attackers find under the law of the verdict; all of them in one pass."""
    releases, law = trials.releases, trials.releases.settings.law
    if law == "worst":
        return [Seen(judge, trials.worst_rates(worst_of_units(judge, releases))) for judge in judges]
    if not judges:
        return []
    rng = releases.stream(len(trials.attackers))
    scans = joint_scan(judges, releases.certify_release, releases.certify, releases.budget, rng, law=law)
    return [Seen(judge, trials.position_rates(found.rate(law))) for judge, found in zip(judges, scans, strict=True)]


def _rate(trials: AuditTrials, place: int, law: str, *, accuses: bool) -> list[Part]:
    names, seen, bar = trials.releases.budget.tiers.names, trials.seen(place, law), trials.bar(place)
    return rate_parts(seen, law, trials.claims, names, trials.basis, accuses=accuses, bar=bar)


def _success(trials: AuditTrials, place: int) -> list[Part]:
    tiers = trials.releases.budget.tiers
    caps = caps_of_tiers(trials.releases.settings, tiers)
    return success_parts(trials.seen(place, "anchored"), caps, trials.claims, tiers.names, every_tier=True)


def _before(trials: AuditTrials) -> list[Part]:
    """What was guessed before any release, as the control `null`: shown, never capped."""
    tiers = trials.releases.budget.tiers
    own = trials.seen(1, "anchored")
    before = Seen(trials.attackers[0], (), tuple(GuessValues(row.before, row.before) for row in own.guesses))
    return success_parts(before, [TierCaps()] * len(tiers), trials.claims, tiers.names, every_tier=True)


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


def worst_of_units(attacker: Attacker, releases: AuditReleases) -> dict[int, FloatArray]:
    """For each tier, whether any pair exceeds ε at one uniform position of one document of a unit.

    At most `worst_positions` units are examined, drawn at random; two documents of one unit are not independent.
    """
    asked, rng = releases.settings.worst_positions, releases.stream(99)
    return worst_of_release(attacker, releases.certify_release, releases.certify, releases.budget, most=asked, rng=rng)


def worst_of_release(
    attacker: Attacker, release: Release, truth: Records, budget: Budget, *, most: int, rng: np.random.Generator
) -> dict[int, FloatArray]:
    """The same for any release, at most `most` units of each tier."""
    chosen = _one_position_each(truth, budget.tiers, most, rng)
    documents = np.unique(truth.document_of_position[np.concatenate(list(chosen.values()))])
    some, secrets = release.take(documents), truth.take(documents)
    everyone = np.flatnonzero(np.isin(truth.document_of_position, documents))  # the positions that were taken
    spaces = budget.spaces(truth)
    shifts = {tier: np.empty((len(chosen[tier]), len(part))) for tier, part in spaces.items()}
    for block in tier_beliefs(attacker, some, secrets, budget.tiers):
        keep = np.flatnonzero(np.isin(everyone[block.positions], chosen[block.tier]))
        rows = np.searchsorted(chosen[block.tier], everyone[block.positions[keep]])
        shifts[block.tier][rows] = block.shift[keep]
    return {
        tier: worst_exceeds(shifts.pop(tier), part, np.arange(len(part)), budget.epsilon).astype(np.float64)
        for tier, part in spaces.items()
    }


def _one_position_each(truth: Records, tiers: Tiers, most: int, rng: np.random.Generator) -> dict[int, IntArray]:
    """For each tier one uniform position of one document of a unit, in at most `most` units."""
    labels, found = truth.tier_of_position(tiers), {}
    for tier in np.unique(labels):
        having = np.unique(truth.document_of_position[labels == tier])
        documents = one_document_each(having, truth, rng)[:most]
        inside, _ = gather(truth.offsets, documents)
        order = rng.permutation(inside[labels[inside] == tier])
        _, first = np.unique(truth.document_of_position[order], return_index=True)
        found[int(tier)] = np.sort(order[first])
    return found


_AT_ONCE = 400_000  # entries of shifts or distances that are compared together


def worst_exceeds(shift: FloatArray, space: Space, index: IntArray, epsilon: float) -> BoolArray:
    """Whether any pair of candidates exceeds ε, for each row of `shift` (positions, candidates).

    The higher end of such a pair lies above the row's lowest shift by more than ε times the distance to its nearest
    neighbour; only those ends are compared with all others, the most extreme first, so the answer is exact.
    """
    found = np.zeros(len(shift), dtype=bool)
    lowest, part = shift.min(axis=1), space.part(index)
    everyone = [np.arange(some.start, some.stop) for some in blocks(len(index), max(len(index), len(shift)), _AT_ONCE)]
    nearest = np.concatenate([_limits(part, anchors, epsilon).min(axis=1) for anchors in everyone])
    reach = np.concatenate([(shift[:, anchors] - lowest[:, None]).max(axis=0) for anchors in everyone])
    order = np.argsort(nearest - reach, kind="stable")
    for anchors in (order[some] for some in everyone):
        left = np.flatnonzero(~found)
        high = shift[np.ix_(left, anchors)] - lowest[left, None] > nearest[anchors]
        rows = np.flatnonzero(high.any(axis=1))
        if not len(rows):
            continue
        limit = _limits(part, anchors, epsilon)
        for row in rows:
            ends, mine = np.flatnonzero(high[row]), shift[left[row]]
            found[left[row]] = bool((mine[anchors[ends], None] - mine > limit[ends]).any())
    return found


def _limits(part: Space, anchors: IntArray, epsilon: float) -> FloatArray:
    """The difference of shifts beyond which each anchor and each candidate exceed ε; infinite with itself."""
    distance = part.between(anchors)
    distance[np.arange(len(anchors)), anchors] = np.inf
    return shift_limit(epsilon, distance)
