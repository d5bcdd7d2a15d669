"""The audit: fresh releases of documents that nobody learned from, every attacker on them, and what that proves.

Attackers are chosen by log score on the select split, and certified on the certify split. The two controls, `null` and
`own`, are always among them; when nobody learns anything the rate verdict is undecided, because nobody tried hard
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.calibration import Calibration, calibration
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.gains import one_document_each, units_of
from oddshift.audit.audit_notes import assumptions, single_exceeds, warnings
from oddshift.audit.audit_result import AttackerResult, Audit, SubgroupRate
from oddshift.audit.audit_settings import AuditSettings
from oddshift.audit.beliefs_by_tier import tier_beliefs
from oddshift.audit.choice import standing, strongest
from oddshift.audit.claims import NO_DETECTOR, NOTHING_LEARNED, ClaimBuilder, TierValues, values_by_tier
from oddshift.audit.measurement import AuditReleases, Measurement
from oddshift.audit.proven import Proven
from oddshift.audit.scan import Budget
from oddshift.audit.summary import attacker_result
from oddshift.audit.witness_search import search_witness
from oddshift.audit.worst_pair import worst_exceeds
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution, run
from oddshift.bounds import METHODS
from oddshift.evidence.certificates import (
    Certificate,
    Evidence,
    JointCertificate,
    certify,
    certify_joint,
    evidence_of,
)
from oddshift.leakage.mpl import PAIR_LAWS
from oddshift.model.records import Split
from oddshift.model.release import perturb

CALIBRATED = 40_000_000
"""Entries (positions x points) up to which documents are taken for the calibration; a performance setting."""


@dataclass(frozen=True, eq=False, repr=False)
class _Trial:
    """One attacker with what was measured of it; `worst` has one value for each unit, by tier, for the strongest."""

    attacker: Attacker
    found: Measurement
    worst: dict[int, FloatArray]
    result: AttackerResult


def audit(
    split: Split,
    known: Knowledge,
    attackers: Sequence[Attacker],
    settings: AuditSettings,
    *,
    detector: str = NO_DETECTOR,
    proven: Proven | None = None,
    execution: Execution = SERIAL,
    parts: Path | None = None,
) -> Audit:
    """Audit a mechanism on records it never learned from.

    `split` holds the secrets; `known` what attackers know (mechanism, tiers, fit records); `attackers` are fitted
    attackers, controls apart. `detector` names who found the secrets. `proven` is a bound on the joint leakage from
    above, where something proves one. `execution` says how attackers are spread over workers. `parts` is a folder where
    finished attackers are kept while the audit runs, so that an interrupted one continues.

    **Guarantee**: each certificate errs with probability at most `settings.alpha` about the leakage as estimated by
    the strongest attacker. The witness trusts no attacker. Estimates outside [witness, upper bound] are flagged.
    """
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *attackers)
    _check(split, known, everyone)
    seeds = np.random.SeedSequence(settings.seed).spawn(2)
    select, certifying = (
        perturb(part, known.mechanism, known.tiers, np.random.default_rng(seed))
        for part, seed in zip((split.select, split.certify), seeds, strict=True)
    )
    budget = Budget(known.mechanism, known.tiers, settings.epsilon)
    releases = AuditReleases(select, split.select, certifying, split.certify, budget, settings, parts)
    measured = run(releases.measure, list(enumerate(everyone)), execution)
    claims = ClaimBuilder(settings, detector, split.by)
    return _concluded(_trials(everyone, measured, releases), split, known, releases, claims, proven)


def _concluded(
    trials: Sequence[_Trial],
    split: Split,
    known: Knowledge,
    releases: AuditReleases,
    claims: ClaimBuilder,
    proven: Proven | None,
) -> Audit:
    """What the strongest attacker proves, beside what every attacker found."""
    settings, upper_bound = releases.settings, None if proven is None else proven.value
    chosen = _strongest(trials, releases)
    evidence = _evidence(chosen, releases, claims, _withheld(trials, settings, proven))
    player = _strongest([trial for trial in trials if not trial.attacker.with_context], releases)
    witness, lacking = search_witness(player.attacker, split, known, settings)
    results = tuple(trial.result for trial in trials)
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
        strongest=chosen.attacker.name,
        calibration=_calibration(chosen.attacker, known, releases),
        evidence=evidence,
        verdict=_verdict([e.certificate for e in evidence], chosen, releases),
        subgroups=_subgroups(chosen, releases),
        witness=witness,
        witness_needs=lacking,
        assumptions=assumptions(known, claims, chosen.attacker),
        warnings=warnings(results, evidence, known, settings, bounds=(witness, upper_bound)),
    )


def _strongest(trials: Sequence[_Trial], releases: AuditReleases) -> _Trial:
    return trials[_chosen([trial.found for trial in trials], releases)]


def _chosen(measured: Sequence[Measurement], releases: AuditReleases) -> int:
    units = units_of(releases.select)
    return strongest([standing(found.select, units) for found in measured])


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


def _trials(attackers: Sequence[Attacker], measured: Sequence[Measurement], releases: AuditReleases) -> list[_Trial]:
    """Each attacker's row; the strongest on the select split is also asked about the worst pair."""
    own = measured[[a.name for a in attackers].index("own")]
    best = _chosen(measured, releases)
    trials = []
    for k, (attacker, found) in enumerate(zip(attackers, measured, strict=True)):
        worst = _worst(attacker, releases) if k == best else {}
        trials.append(_Trial(attacker, found, worst, attacker_result(attacker, found, own, releases, worst)))
    return trials


def _worst(attacker: Attacker, releases: AuditReleases) -> dict[int, FloatArray]:
    """For each tier, whether any pair exceeds ε at one uniform position of one document of a unit.

    At most `worst_positions` units are looked at, drawn at random.
    """
    truth, budget, rng = releases.certify, releases.budget, releases.stream(99)
    labels = truth.tier_of_position(budget.tiers)
    found: dict[int, FloatArray] = {}
    for tier in np.unique(labels):
        having = np.unique(truth.document_of_position[labels == tier])
        documents = one_document_each(having, truth, rng)[: releases.settings.worst_positions]
        some, secrets = releases.certify_release.take(documents), truth.take(documents)
        mine = secrets.tier_of_position(budget.tiers) == tier
        order = rng.permutation(np.flatnonzero(mine))
        _, first = np.unique(secrets.document_of_position[order], return_index=True)
        chosen = np.zeros(len(mine), dtype=bool)
        chosen[order[first]] = True
        shifts = [
            (block.index, block.shift[chosen[block.positions]])
            for block in tier_beliefs(attacker, some, secrets, budget.tiers)
            if block.tier == tier
        ]
        together = np.concatenate([shift for _, shift in shifts])
        found[int(tier)] = worst_exceeds(together, truth.space, shifts[0][0], budget.epsilon).astype(np.float64)
    return found


def _calibration(attacker: Attacker, known: Knowledge, releases: AuditReleases) -> Calibration:
    """What the beliefs of an attacker are worth, on certify documents; on some of them, drawn at random, when many."""
    truth = releases.certify
    order = releases.stream(98).permutation(np.flatnonzero(truth.lengths))
    ends = np.cumsum(truth.lengths[order])
    limit = max(int(ends[0]), CALIBRATED // len(truth.space))
    some = np.sort(order[: int(np.searchsorted(ends, limit, side="right"))])
    return calibration(attacker, known, truth.take(some), releases.certify_release.take(some))


def _withheld(trials: Sequence[_Trial], settings: AuditSettings, proven: Proven | None) -> str:
    """Why no rate verdict may be given; empty when one may. A proven bound is rounded up, and compared as it is."""
    if any(trial.result.learned for trial in trials) or settings.independent:
        return ""
    holds = proven is not None and not proven.is_estimated and proven.value <= settings.epsilon
    return "" if holds else NOTHING_LEARNED


def _values(trial: _Trial, releases: AuditReleases, law: str) -> list[TierValues]:
    """One value for each unit under one pair law, tier by tier."""
    truth, tiers = releases.certify, releases.budget.tiers
    if law != "worst":
        return values_by_tier(trial.found.certify.rate(law), truth, tiers)
    units, labels = units_of(truth), truth.tier_of_position(tiers)
    return [TierValues(tier, values, units.total - units.count(labels == tier)) for tier, values in trial.worst.items()]


def _evidence(trial: _Trial, releases: AuditReleases, claims: ClaimBuilder, withheld: str) -> tuple[Evidence, ...]:
    """One certificate for each law and tier, of the strongest attacker, with the values it rests on."""
    settings, tiers = releases.settings, releases.budget.tiers
    mechanism, documents = releases.budget.mechanism.fingerprint, releases.certify.fingerprint
    found = []
    for law in PAIR_LAWS:
        for row in _values(trial, releases, law):
            claim = claims.claim(trial.attacker, tiers.names[row.tier], law, withheld)
            certificate = certify(row.values, claim, settings.alpha, settings.method, excluded=row.excluded)
            found.append(evidence_of(certificate, row.values, mechanism_hash=mechanism, split_hash=documents))
    return tuple(found)


def _verdict(certificates: Sequence[Certificate], trial: _Trial, releases: AuditReleases) -> JointCertificate | None:
    """All tiers together, under the law of the verdict; None when no δ was stated."""
    settings = releases.settings
    if settings.delta is None:
        return None
    claims = [c.claim for c in certificates if c.claim.pair_law == settings.law]
    rows = _values(trial, releases, settings.law)
    values, excluded = [row.values for row in rows], [row.excluded for row in rows]
    return certify_joint(values, claims, settings.alpha, settings.method, excluded=excluded)


def _subgroups(trial: _Trial, releases: AuditReleases) -> tuple[SubgroupRate, ...]:
    """Rates by subgroup under the verdict's law, all bounds together at the stated level (Bonferroni)."""
    settings, truth, tiers = releases.settings, releases.certify, releases.budget.tiers
    if truth.subgroups is None or settings.law == "worst":
        return ()
    units, labels = units_of(truth), truth.tier_of_position(tiers)
    group = truth.subgroups[truth.document_of_position]
    values = trial.found.certify.rate(settings.law)
    cells = [(int(t), int(g)) for t in np.unique(labels) for g in np.unique(group[labels == t])]
    level, method = settings.alpha / len(cells), METHODS[settings.method]
    rows = []
    for tier, number in cells:
        found = units.means(values, (labels == tier) & (group == number))
        lower, upper = method.lower(found, level), method.upper(found, level)
        name = truth.subgroup_names[number]
        rows.append(SubgroupRate(tiers.names[tier], name, len(found), float(found.mean()), lower, upper))
    return tuple(rows)
