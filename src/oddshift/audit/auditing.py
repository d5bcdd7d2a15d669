"""The audit: fresh releases of documents that no attacker learned from, every attacker on them, and what that proves.

Attackers are judged by log score on the select split, and certified on the certify split; the verdict rests on all of
them that learned something. The two controls, `null` and `own`, are always among them; when no attacker learns
anything, the rate verdict is undecided, because a stronger attacker might.

δ(k): how often ε is exceeded when the same secrets are released k times and read together.

Budgets add up under composition, which bounds the leakage of any number of releases; an audit says what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge, knowledge
from oddshift.attackers.completeness import IMPOSSIBLE
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.learning_size import Refittable
from oddshift.attackers.paired_log_score import units_of
from oddshift.audit.calibration import Calibration, calibration
from oddshift.audit.claims import NO_DETECTOR, ClaimBuilder, TierValues, caps_of_tiers
from oddshift.audit.measurement import AuditReleases, Measurement, part_streams
from oddshift.audit.notes import assumptions, single_exceeds, warnings
from oddshift.audit.proven import Proven, bound_without_law
from oddshift.audit.result import Audit, SubgroupRate, attacker_result
from oddshift.audit.scan import Budget
from oddshift.audit.settings import AuditSettings
from oddshift.audit.trials import AuditTrials, Refit, audit_trials, completed, concluded, learning_of_size
from oddshift.audit.verdict import strongest
from oddshift.audit.witness_search import search_witness
from oddshift.base.arrays import whole
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution, Progress, run, silent
from oddshift.bounds import METHODS
from oddshift.mechanisms.composition import Composition
from oddshift.model.records import Split
from oddshift.model.release import perturb

CALIBRATED = 40_000_000
"""Entries (positions x points) up to which documents are taken for the calibration; a performance setting."""


def audit(  # noqa: PLR0913 (the last ones say how the work is done, never what is asked)
    split: Split,
    known: Knowledge,
    attackers: Sequence[Attacker | Refittable],
    settings: AuditSettings,
    *,
    detector: str = NO_DETECTOR,
    proven: Proven | None = None,
    execution: Execution = SERIAL,
    folder: Path | None = None,
    progress: Progress = silent,
) -> Audit:
    """Audit a mechanism on records it never learned from.

    `split` holds the secrets; `known` what attackers know (mechanism, tiers, fit records); `attackers` are fitted
    attackers other than the controls. `detector` names who found the secrets. `proven` is a proven upper bound on the
    joint leakage, if there is one. `execution` says how attackers are spread over workers. `folder` is where
    finished attackers are kept while the audit runs, so that an interrupted audit continues; `progress` is told how
    far it is. Of the attackers
    that count, those that are `Refittable` are fitted on fewer documents too: one that still learns from more of them
    certifies nothing.

    **Guarantee**: the verdict errs with probability at most `settings.alpha` about the leakage as estimated by every
    attacker that learned something: certified only if all of them stay within δ (`verdict` has the rule). The
    witness trusts no attacker. Estimates outside [witness, upper bound] are flagged.
    """
    refits = {each.attacker.name: each.fit for each in attackers if isinstance(each, Refittable)}
    fitted = [each.attacker if isinstance(each, Refittable) else each for each in attackers]
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *fitted)
    _check(split, known, everyone)
    select, certifying = (
        perturb(part, known.mechanism, known.tiers, rng)
        for part, rng in zip((split.select, split.certify), part_streams(settings.seed), strict=True)
    )
    caps_of_tiers(settings, known.tiers)
    budget = Budget(known.mechanism, known.tiers, settings.epsilon)
    releases = AuditReleases(select, split.select, certifying, split.certify, budget, settings, folder)
    measured = _measured(releases, everyone, execution, progress)
    claims = ClaimBuilder(settings, detector, split.by)
    trials = completed(audit_trials(everyone, measured, releases, claims, proven), known)
    progress("fitting attackers on less data, and judging", 0, 0)
    return _concluded(_at_smaller_sizes(trials, known, refits), split, known, proven)


def _measured(
    releases: AuditReleases, attackers: Sequence[Attacker], execution: Execution, progress: Progress
) -> list[Measurement]:
    """Every attacker on the releases; all at once where there are workers, so that none of them waits."""
    tasks = list(enumerate(attackers))
    size = 1 if execution.kind == "serial" else len(tasks)
    found: list[Measurement] = []
    for start in range(0, len(tasks), size):
        progress("measuring attackers", start, len(tasks))
        found += run(releases.measure, tasks[start : start + size], execution)
    return found


def _at_smaller_sizes(trials: AuditTrials, known: Knowledge, refits: Mapping[str, Refit]) -> AuditTrials:
    """The attackers that count, fitted again on fewer documents where it is known how they are fitted."""
    counting = {place: trials.attackers[place] for place in trials.basis.counting}
    learning = {}
    for place, attacker in counting.items():
        if attacker.name in refits:
            found, worst, refit = trials.measured[place].certify, trials.worst.get(place, {}), refits[attacker.name]
            learning[place] = learning_of_size(attacker, found, known, trials.releases, refit, worst=worst)
    return replace(trials, learning=learning)


def _concluded(trials: AuditTrials, split: Split, known: Knowledge, proven: Proven | None) -> Audit:
    """What the attackers that count prove together, and what every attacker found."""
    releases, claims, chosen = trials.releases, trials.claims, trials.strongest
    settings, upper_bound = releases.settings, None if proven is None else proven.value
    judgement, evidence = concluded(trials)
    witness, lacking = search_witness(_player(trials), split, known, settings)
    own = trials.measured[1]
    results = tuple(
        attacker_result(attacker, found, own, releases, trials.worst.get(place, {}))
        for place, (attacker, found) in enumerate(zip(trials.attackers, trials.measured, strict=True))
    )
    return Audit(
        settings=settings,
        detector=claims.detector,
        mechanism=repr(known.mechanism),
        claimed_epsilon=known.mechanism.claimed_epsilon,
        exact_epsilon=known.mechanism.exact_epsilon,
        single_exceeds=single_exceeds(known, settings.epsilon),
        upper_bound=upper_bound,
        upper_basis="" if proven is None else proven.basis,
        tier_names=known.tiers.names,
        tiers_are_public=known.tiers.is_public,
        documents=(len(split.fit), len(split.select), len(split.certify)),
        attackers=results,
        strongest=chosen.name,
        calibration=_calibration(chosen, known, releases),
        evidence=evidence,
        verdict=None if judgement is None else judgement.verdict,
        subgroups=_subgroups(trials),
        witness=witness,
        witness_needs=lacking,
        assumptions=(*assumptions(known, claims, trials.counting), *_tested(trials)),
        warnings=(
            *warnings(results, evidence, known, settings, bounds=(witness, upper_bound)),
            *(each.sentence for each in trials.learning.values()),
        ),
        learning=tuple(trials.learning.values()),
    )


def _tested(trials: AuditTrials) -> list[str]:
    """What was found out about dependence that no attacker reads, where the verdict rests on attackers."""
    if not trials.basis.counting:
        return []
    return [IMPOSSIBLE if trials.completeness is None else trials.completeness.sentence]


def _player(trials: AuditTrials) -> Attacker:
    """The strongest attacker that reads the sensitive positions only: it plays the guess game of the witness."""
    blind = [place for place, attacker in enumerate(trials.attackers) if not attacker.with_context]
    standings = trials.standings
    return trials.attackers[blind[strongest([standings[place] for place in blind])]]


def _check(split: Split, known: Knowledge, attackers: Sequence[Attacker]) -> None:
    if len({a.name for a in attackers}) < len(attackers):
        raise InvalidInput("two attackers share a name, expected distinct names (null and own are taken)")
    for name, part in (("select", split.select), ("certify", split.certify)):
        if len(part.space) != len(known.mechanism.space):
            raise InvalidInput(
                f"the {name} records are over {len(part.space)} points, expected {len(known.mechanism.space)}"
            )
        if not len(part.points):
            raise InvalidInput(f"the {name} records hold no secret, expected at least one")


def _calibration(attacker: Attacker, known: Knowledge, releases: AuditReleases) -> Calibration:
    """How well an attacker is calibrated on certify documents (on a random sample of them if there are many)."""
    truth = releases.certify
    order = releases.stream(98).permutation(np.flatnonzero(truth.lengths))
    ends = np.cumsum(truth.lengths[order])
    limit = max(int(ends[0]), CALIBRATED // len(truth.space))
    some = np.sort(order[: int(np.searchsorted(ends, limit, side="right"))])
    return calibration(attacker, known, truth.take(some), releases.certify_release.take(some))


def _subgroups(trials: AuditTrials) -> tuple[SubgroupRate, ...]:
    """Rates by subgroup under the verdict's law; all bounds hold together at the stated level (Bonferroni)."""
    releases = trials.releases
    settings, truth, tiers = releases.settings, releases.certify, releases.budget.tiers
    if truth.subgroups is None or settings.law == "worst":
        return ()
    units, labels = units_of(truth), truth.tier_of_position(tiers)
    group = truth.subgroups[truth.document_of_position]
    values = trials.measured[trials.basis.strongest].certify.rate(settings.law)
    cells = [(int(t), int(g)) for t in np.unique(labels) for g in np.unique(group[labels == t])]
    level, method = settings.alpha / len(cells), METHODS[settings.method]
    rows = []
    for tier, number in cells:
        inside = (labels == tier) & (group == number)
        found = trials.claims.in_order(TierValues(tier, units.means(values, inside), 0)).values
        mean, name = float(found.mean()), truth.subgroup_names[number]
        # sorted: the wider pair where chance lets them cross or exclude the mean
        lower, _, upper = sorted((method.lower(found, level), mean, method.upper(found, level)))
        rows.append(SubgroupRate(tiers.names[tier], name, len(found), mean, lower, upper))
    return tuple(rows)


@dataclass(frozen=True, kw_only=True)
class ComposedAudit:
    """The audit of k releases: the worst rate with its bounds, the sum of the budgets, and the proven joint bound."""

    releases: int
    rate: float
    lower: float
    upper: float
    budget: float
    proven: float
    audit: Audit


def audit_releases(
    split: Split,
    known: Knowledge,
    fitted: Callable[[Knowledge], Sequence[Attacker]],
    settings: AuditSettings,
    *,
    most: int,
) -> tuple[ComposedAudit, ...]:
    """Audit 1, 2, … `most` releases of the same secrets, each by attackers `fitted` to that number.

    **Guarantee**: each bound is that of `audit`, at `settings.alpha` for each number of releases. `budget` is k·ε, the
    bound on the largest mPL of a secret's own releases, and `proven` that of all releases under any law.
    """
    rows = []
    for releases in range(1, whole(most, "most", 1) + 1):
        there = knowledge(Composition(known.mechanism, releases), known.tiers, split.fit)
        proven = bound_without_law(there, split)
        found = audit(split, there, fitted(there), settings, proven=proven)
        worst, budget = found.deciding_rates[0], there.mechanism.claimed_epsilon
        row = {"rate": worst.mean, "lower": worst.lower, "upper": worst.upper, "budget": budget, "proven": proven.value}
        rows.append(ComposedAudit(releases=releases, audit=found, **row))
    return tuple(rows)
