"""Selection and certification: candidates from the select documents, frozen, then tested in turn on unused documents.

Candidates come in decreasing utility loss, each tested at the full level against every goal at once, up to the first
that does not pass; the last one before it is taken. What is tested is what is released, i.e. after remapping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from oddshift.adapt.evaluation import Experiment, Situation
from oddshift.adapt.goals import Goals, SingleRelease, goals_of
from oddshift.adapt.readers import Readers
from oddshift.adapt.result import ScaledOutcome, Tested, TierLeft
from oddshift.adapt.search import front
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Own
from oddshift.attackers.learning_size import LearningOfSize
from oddshift.attackers.paired_log_score import choosing_units
from oddshift.audit.calibration import recalibrated_judges
from oddshift.audit.claims import Barred, ClaimBuilder
from oddshift.audit.measurement import worst_of_release
from oddshift.audit.scan import Scan
from oddshift.audit.verdict import (
    Basis,
    GuessValues,
    Judgement,
    Rule,
    Seen,
    basis_of,
    standing,
    vacuous_reason,
)
from oddshift.evidence.certificates import Certificate, Claim

Refits = Mapping[str, Callable[[Knowledge], Attacker]]
"""How attackers are fitted, by their names."""

LONGEST = 10
"""Number of candidates in a sequence: each is a pass over all certify documents, so no more than come close."""

SAFER = 3
"""Number of outcomes with even more noise that are tested before them."""

SAFE, SAFE_ERRORS = 0.1, 5.0
"""A sequence begins where the select rate is at most this share of δ, and right guesses are this many standard errors
below their caps, so that the first test should pass."""

WORST = 200
"""Units of each tier in which the worst pair under the scales that were taken is looked for."""


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """One candidate on the certify documents: what was measured, which attackers counted, and what that certifies.

    The strongest attacker is that of the basis. `keeps_single` says that one release alone stays within ε, exactly.
    `vacuous` says why nothing is certified where the first guess is nearly always right. `scans` are what attackers
    found, by place. `learning` is what attackers found with fewer documents,
    where that was looked at, and `growing` says why nothing is certified where one of them still learns. `unread` says
    that the select documents depend in ways that no attacker reads under this noise.
    """

    tested: Tested
    outcome: ScaledOutcome
    basis: Basis
    judgement: Judgement
    keeps_single: bool
    vacuous: str = ""
    scans: Mapping[int, Scan] = field(default_factory=dict)
    learning: tuple[LearningOfSize, ...] = ()
    growing: str = ""
    unread: str = ""

    @property
    def is_certified(self) -> bool:
        """Whether every goal was certified."""
        return self.judgement.verdict.state == "certified"

    @property
    def passes(self) -> bool:
        """Whether it is certified, or only lacks an attacker that learned and keeps ε in a single release."""
        if self.is_certified:
            return True
        verdict, gate = self.judgement.verdict, self.basis.withheld
        rest = [part for part in verdict.parts if part.claim.withheld != gate]
        may_pass = bool(gate) and self.keeps_single and not self.vacuous and verdict.state != "violated"
        return may_pass and all(part.state == "certified" for part in rest)


def sequence(
    outcomes: Sequence[ScaledOutcome], goals: Goals, *, carried: bool = False, constant: float = inf
) -> tuple[ScaledOutcome, ...]:
    """The frozen order: a few safer outcomes, then the front where the attacker learned something.

    Where no such outcome keeps the goals, or nothing was learned anywhere, it is the front of all outcomes; it can end
    in scales that keep every goal without a rate verdict. Where the first outcome with something learned may well
    fail, those with more noise come before it, so that a failure leaves such scales. `carried` says that independence
    was declared. `constant` is the loss of an output that ignores the secret: of scales that cost more only the last is
    tested before those that cost less, and only where nothing else is left to fall back on.
    """
    usable = [p for p in outcomes if p.admissible]
    learned = [p for p in usable if p.learned or carried]
    found = _ordered(learned, goals, constant)
    if not found:
        return _ordered(usable, goals, constant)
    if _is_safe(found[0], goals):
        return found
    quiet = [p for p in usable if p not in learned and _has_more_noise(p, found[0])]
    return (*_ordered(quiet, goals, constant), *found)


def _ordered(usable: Sequence[ScaledOutcome], goals: Goals, constant: float) -> tuple[ScaledOutcome, ...]:
    near = [p for p in front(usable, goals.strain) if goals.strain(p) <= 1.0]
    safe = [k for k, p in enumerate(near) if _is_safe(p, goals)]
    near = _filled(near[max(safe, default=0) :], usable, goals)
    safer = _safer(usable, near[:1], goals)
    if near and near[0].loss < constant:
        safer = _safer([p for p in usable if p.loss < constant], near[:1], goals) or safer[-1:]
    return (*safer, *_spaced(near, LONGEST))


def _filled(near: Sequence[ScaledOutcome], usable: Sequence[ScaledOutcome], goals: Goals) -> list[ScaledOutcome]:
    """The same with what lies between its first and last in noise and loss: rates of few documents order it by chance,
    and a failure at the last must not lead back to the first."""
    if len(near) < 2:
        return list(near)
    first, last = near[0], near[-1]
    between = [p for p in usable if _has_more_noise(first, p) and _has_more_noise(p, last) and goals.strain(p) <= 1.0]
    return sorted({p.scales: p for p in (*near, *between)}.values(), key=lambda p: -p.loss)


def _is_safe(outcome: ScaledOutcome, goals: Goals) -> bool:
    """Whether a test of these scales should pass."""
    return goals.strain(outcome, share=SAFE, errors=SAFE_ERRORS) <= 1.0


def _has_more_noise(outcome: ScaledOutcome, than: ScaledOutcome) -> bool:
    """Whether it costs more and no scale is larger."""
    return outcome.loss > than.loss and all(a <= b for a, b in zip(outcome.scales, than.scales, strict=True))


def _safer(outcomes: Sequence[ScaledOutcome], first: Sequence[ScaledOutcome], goals: Goals) -> list[ScaledOutcome]:
    """At most SAFER outcomes with more noise than the first of a sequence, in decreasing loss.

    Where select rates are 0 the front ends at the most daring of them, and chance alone may fail it. They strain the
    goals no more, or should pass by themselves. They are evenly spaced in loss, so that what is chosen after a failure
    is not far from it.
    """
    found = [
        p
        for start in first
        for p in outcomes
        if _has_more_noise(p, start) and (goals.strain(p) <= goals.strain(start) or _is_safe(p, goals))
    ]
    if not found:
        return []
    wanted = np.linspace(max(p.loss for p in found), first[0].loss, SAFER + 1)[:-1]
    nearest = (min(found, key=lambda p: abs(p.loss - loss)) for loss in wanted)
    return sorted({p.scales: p for p in nearest}.values(), key=lambda p: -p.loss)


def _spaced(outcomes: Sequence[ScaledOutcome], most: int) -> list[ScaledOutcome]:
    """At most `most` of them, evenly chosen, in their order."""
    chosen = np.unique(np.round(np.linspace(0, len(outcomes) - 1, min(most, len(outcomes)))).astype(int))
    return [outcomes[k] for k in chosen]


@dataclass(frozen=True, eq=False, repr=False)
class Certification:
    """What candidates are tested with: the attackers, documents to judge them by, documents to certify on.

    `single` is used where no attacker learned anything: it says what else supports a rate verdict, and whether one
    release stays within ε. Nothing is claimed about the tiers with too `few` units, whose own release says nothing.
    """

    attackers: tuple[Attacker, ...]
    select: Experiment
    certifying: Experiment
    claims: ClaimBuilder
    readers: Readers
    single: SingleRelease
    few: frozenset[int] = frozenset()

    @cached_property
    def goals(self) -> Goals:
        """Everything that candidates must keep."""
        return goals_of(self.certifying.settings, self.certifying.known.tiers)

    def situation(self, trial: Trial) -> Situation:
        """The scales of a trial as they were tested, built again: a trial holds no mechanism, which may be large."""
        return self.certifying.like(trial.outcome).at(trial.tested.scales, remap=trial.outcome.remapped)

    def strongest(self, trial: Trial) -> Attacker:
        """The attacker of a trial whose numbers are shown first, as it was fitted."""
        place = trial.basis.strongest
        return self.attackers[place - 1] if place else Own(self.certifying.known)


def trials(candidates: Sequence[ScaledOutcome], made: Certification) -> Iterator[Trial]:
    """Candidates in their order, up to and including the first that does not pass.

    One that select documents alone rule out was not tested, so those after it still are: with less noise attackers may
    read what they do not read here.
    """
    for candidate in candidates:
        trial = _tried(candidate, made)
        yield trial
        if not trial.passes and not trial.unread:
            return


def _tried(candidate: ScaledOutcome, made: Certification) -> Trial:
    certifying = made.certifying
    situation = certifying.like(candidate).at(candidate.scales, remap=candidate.remapped)
    known = situation.known
    readers = [Own(known), *(made.readers.fitted(attacker, known) for attacker in made.attackers)]
    units = choosing_units(made.select.records)
    standings = [standing(scores, units) for scores in made.select.scores(known, readers)]
    carrier = "" if any(row.learned for row in standings) else made.single.carrier(situation)
    basis = basis_of(standings, 0, carrier)
    capped = any(caps.success is not None or caps.advantage is not None for caps in made.goals.caps.values())
    needed = {*basis.counting, basis.strongest, *(range(len(readers)) if capped else ())}
    select = made.select
    judges = recalibrated_judges(readers, basis, select.release(known), select.records, select.budget(known))
    found = certifying.measure_all(known, [*(readers[place] for place in sorted(needed)), *judges.values()])
    scans = dict(zip(sorted(needed), found, strict=False))
    seen = {place: _seen(readers[place], each, situation, made) for place, each in scans.items()}
    accused = zip(judges.items(), found[len(scans) :], strict=True)
    recalibrated = {place: _seen(judge, each, situation, made) for (place, judge), each in accused}
    empty = vacuous_reason(seen.values(), known.tiers.names, certifying.settings.vacuous)
    unread = made.readers.unread([readers[place] for place in basis.counting], known)
    bar = Barred(empty or unread) if empty or unread else None
    rule = Rule(made.claims, known.tiers, basis, lambda _: bar)
    judgement = rule.decide(seen, recalibrated, seen.values())
    outcome = certifying.measured(situation, scans[basis.strongest])
    keeps = bool(basis.withheld) and made.single.keeps(situation)
    tested = bounds_tested(candidate, judgement)
    return Trial(tested, outcome, basis, judgement, keeps, vacuous=empty, scans=scans, unread=unread)


def _seen(attacker: Attacker, found: Scan, situation: Situation, made: Certification) -> Seen:
    truth, tiers, law = made.certifying.records, situation.known.tiers, made.certifying.settings.law
    rates, after, before = (
        [row for row in made.claims.values(values, truth, tiers) if row.tier not in made.few]
        for values in (found.rate(law), found.hit, found.prior_hit)
    )
    return Seen(attacker, tuple(rates), tuple(map(GuessValues, after, before)))


def bounds_tested(candidate: ScaledOutcome | Tested, judgement: Judgement) -> Tested:
    """The largest bounds of every tier, and the goal that failed most."""
    parts = judgement.verdict.parts
    rates = _by_tier(part for part in parts if isinstance(part.claim, Claim))
    guesses = _by_tier(part for part in parts if part.claim.pair_law == "success")
    failing = [part for part in parts if part.state != "certified"]
    worst = max(failing, key=lambda part: part.upper / (part.claim.limit or 1.0), default=None)
    return Tested(
        scales=candidate.scales,
        loss=candidate.loss,
        state=judgement.verdict.state,
        upper=tuple(max(part.upper for part in rows) for rows in rates),
        lower=tuple(max(part.lower for part in rows) for rows in rates),
        guesses=tuple(max(part.upper for part in rows) for rows in guesses),
        failed="" if worst is None else failed_goal(worst),
    )


def left_to_learn(taken: Trial, made: Certification) -> tuple[TierLeft, ...]:
    """What attackers still learn under the scales that were taken, tier by tier."""
    certifying, situation = made.certifying, made.situation(taken)
    known, truth = situation.known, certifying.records
    alone = certifying.measured(situation, certifying.measure(known, Own(known)))
    rng = np.random.default_rng([certifying.settings.seed, 23])
    budget = certifying.budget(known)
    strongest = Own(known) if not taken.basis.strongest else made.readers.fitted(made.strongest(taken), known)
    worst = worst_of_release(strongest, certifying.release(known), truth, budget, most=WORST, rng=rng)
    named = {known.tiers.names[tier]: float(values.mean()) for tier, values in worst.items()}
    caps = {name: max(part.upper for part in rows) for name, rows in _success_bounds(taken).items()}
    return tuple(
        TierLeft(
            tier=mine.tier,
            before=single.before,
            public=mine.before if strongest.with_context else None,
            alone=single.top1,
            together=mine.top1,
            worst=named[mine.tier],
            upper=caps.get(mine.tier),
        )
        for mine, single in zip(taken.outcome.tiers, alone.tiers, strict=True)
    )


def left_beside(trial: Trial, made: Certification) -> tuple[TierLeft, ...]:
    """What is guessed where no release says anything: from frequencies, and from W by whom that serves best."""
    known, truth = made.certifying.known, made.certifying.records
    guessed: dict[str, dict[int, float]] = {}
    for place, scan in trial.scans.items():
        for row in made.claims.values(scan.prior_hit, truth, known.tiers):
            guessed.setdefault(known.tiers.names[row.tier], {})[place] = float(row.values.mean())
    reads = [place for place in trial.scans if place and made.attackers[place - 1].with_context]
    found = []
    for tier, by_place in guessed.items():
        before = by_place.get(0, min(by_place.values()))
        public = max((by_place[place] for place in reads), default=None)
        together = before if public is None else max(before, public)
        found.append(TierLeft(tier=tier, before=before, public=public, alone=before, together=together, worst=0.0))
    return tuple(found)


def _success_bounds(taken: Trial) -> dict[str, list[Certificate]]:
    found = [part for part in taken.judgement.verdict.parts if part.claim.pair_law == "success"]
    return {part.claim.tier: [other for other in found if other.claim.tier == part.claim.tier] for part in found}


def _by_tier(parts: Iterable[Certificate]) -> list[list[Certificate]]:
    found: dict[str, list[Certificate]] = {}
    for part in parts:
        found.setdefault(part.claim.tier, []).append(part)
    return list(found.values())


def failed_goal(part: Certificate) -> str:
    """Which goal was not certified, and by how much."""
    claim = part.claim
    if claim.withheld:
        return f"{claim.quantity} in tier {claim.tier}: {claim.withheld}"
    limit = f"{claim.stated(claim.limit or 1.0):g}"
    return (
        f"{claim.quantity} in tier {claim.tier} by attacker {claim.attacker}: the upper bound is "
        f"{claim.stated(part.upper):.4f} > {limit} over {part.documents} units, the mean {claim.stated(part.mean):.4f}"
    )
