"""The audit: fresh releases of documents that nobody learned from, every attacker on them, and what that proves.

Attackers are chosen by log score on the select split, and certified on the certify split. The two controls, `null` and
`own`, are always among them; when nothing beats `own` the rate verdict is undecided, because nobody tried hard enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.calibration import Calibration, calibration
from oddshift.attackers.controls import Null, Own
from oddshift.audit.audit_notes import assumptions, warnings
from oddshift.audit.audit_result import AttackerResult, Audit, AuditSettings, SubgroupRate
from oddshift.audit.measurement import Look, Setup
from oddshift.audit.proven import Proven
from oddshift.audit.scan import Budget, Scan, tier_beliefs, worst_exceeds
from oddshift.audit.summary import attacker_result, per_unit, standard_error, units_of_positions
from oddshift.audit.witness_search import search_witness
from oddshift.base.arrays import FloatArray, one_of, positive
from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution, run
from oddshift.base.identity import fingerprint
from oddshift.bounds import METHODS
from oddshift.evidence.certificates import (
    Certificate,
    Claim,
    Evidence,
    JointCertificate,
    certify,
    certify_joint,
    evidence_of,
)
from oddshift.leakage.mpl import PAIR_LAWS
from oddshift.model.records import Records, Split
from oddshift.model.release import perturb
from oddshift.model.tiers import Tiers

CALIBRATED = 40_000_000
"""Entries (positions x points) up to which documents are taken for the calibration; a performance setting."""

NOTHING_LEARNED = "no attacker beat the single-release one in held-out log score"


@dataclass(frozen=True, eq=False, repr=False)
class _Trial:
    """One attacker on the certify split, with the documents' values of each law and tier."""

    attacker: Attacker
    scan: Scan
    worst: dict[int, FloatArray]
    result: AttackerResult


def audit(
    split: Split,
    known: Knowledge,
    attackers: Sequence[Attacker],
    settings: AuditSettings,
    *,
    proven: Proven | None = None,
    execution: Execution = SERIAL,
    parts: Path | None = None,
) -> Audit:
    """Audit a mechanism on records it never learned from.

    `split` holds the secrets; `known` what attackers know (mechanism, tiers, fit records); `attackers` are fitted
    attackers, controls apart. `proven` is a bound on the joint leakage from above, where something proves one.
    `execution` says how attackers are spread over workers. `parts` is a folder where finished attackers are kept while
    the audit runs, so that an interrupted one continues.

    **Guarantee**: each certificate errs with probability at most `settings.alpha` about the leakage as estimated by
    the strongest attacker. The witness trusts no attacker. Estimates outside [witness, upper bound] are flagged.
    """
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *attackers)
    _check(split, known, everyone, settings)
    seeds = np.random.SeedSequence(settings.seed).spawn(2)
    chosen_by = perturb(split.select, known.mechanism, known.tiers, np.random.default_rng(seeds[0]))
    release = perturb(split.certify, known.mechanism, known.tiers, np.random.default_rng(seeds[1]))
    budget = Budget(known.mechanism.space, known.tiers, settings.epsilon)
    setup = Setup(chosen_by, split.select, release, split.certify, budget, known, settings, parts)
    looks = run(setup.look, list(enumerate(everyone)), execution)
    return _concluded(_trials(everyone, looks, setup), split, known, setup, proven)


def _concluded(trials: Sequence[_Trial], split: Split, known: Knowledge, setup: Setup, proven: Proven | None) -> Audit:
    """What the strongest attacker proves, beside what every attacker found."""
    settings, upper_bound = setup.settings, None if proven is None else proven.value
    strongest = _strongest(trials)
    withheld = _withheld(trials, settings, proven)
    evidence = _evidence(strongest, split, known, settings, withheld)
    player = _strongest([trial for trial in trials if not trial.attacker.with_context])
    witness, lacking = search_witness(player.attacker, split, known, settings)
    results = tuple(trial.result for trial in trials)
    return Audit(
        settings=settings,
        mechanism=repr(known.mechanism),
        claimed_epsilon=known.mechanism.claimed_epsilon,
        exact_epsilon=known.mechanism.exact_epsilon,
        upper_bound=upper_bound,
        upper_basis="" if proven is None else proven.basis,
        tier_names=known.tiers.names,
        tiers_are_public=known.tiers.is_public,
        documents=(len(split.fit), len(split.select), len(split.certify)),
        attackers=results,
        strongest=strongest.attacker.name,
        calibration=_calibration(strongest.attacker, known, setup),
        evidence=evidence,
        verdict=_verdict([e.certificate for e in evidence], strongest, split.certify, known.tiers, settings),
        subgroups=_subgroups(strongest, split.certify, known.tiers, settings),
        witness=witness,
        witness_needs=lacking,
        assumptions=assumptions(known, settings, split, strongest.attacker),
        warnings=warnings(results, evidence, known, settings, bounds=(witness, upper_bound)),
    )


def _strongest(trials: Sequence[_Trial]) -> _Trial:
    return trials[_best([(trial.result.select_gain, trial.result.learned) for trial in trials])]


def _check(split: Split, known: Knowledge, attackers: Sequence[Attacker], settings: AuditSettings) -> None:
    positive(settings.epsilon, "epsilon")
    one_of(settings.law, "law", PAIR_LAWS)
    if len({a.name for a in attackers}) < len(attackers):
        raise InvalidInput("two attackers share a name, expected distinct names (null and own are taken)")
    for name, part in (("select", split.select), ("certify", split.certify)):
        if len(part.space) != len(known.mechanism.space):
            raise InvalidInput(
                f"the {name} records are over {len(part.space)} points, expected {len(known.mechanism.space)}"
            )
        if not len(part.points):
            raise InvalidInput(f"the {name} records hold no secret, expected at least one")


def _trials(attackers: Sequence[Attacker], looks: Sequence[Look], setup: Setup) -> list[_Trial]:
    """Each attacker's row; the strongest on the select split is also asked about the worst pair."""
    own = looks[[a.name for a in attackers].index("own")]
    alone = (own.select, own.scan.log_score)
    choices = [_chosen_by(look, alone[0], setup.select) for look in looks]
    best = _best(choices)
    trials = []
    for k, (attacker, look) in enumerate(zip(attackers, looks, strict=True)):
        worst = _worst(attacker, setup) if k == best else {}
        controls = (alone[1], (look.given or alone)[1])
        result = attacker_result(
            attacker, look.scan, setup.certify, setup.budget.tiers, controls=controls, worst=worst, chosen_by=choices[k]
        )
        trials.append(_Trial(attacker, look.scan, worst, result))
    return trials


def _chosen_by(look: Look, own: FloatArray, truth: Records) -> tuple[float, bool]:
    """Mean gain over own on the select split, and whether both gains, over own alone and given W, are beyond chance."""
    gains = []
    for control in (own, own if look.given is None else look.given[0]):
        gains.append(per_unit(control - look.select, units_of_positions(truth), np.ones(len(own), dtype=bool)))
    return float(gains[0].mean()), all(gain.mean() > 2.0 * standard_error(gain) for gain in gains)


def _best(choices: Sequence[tuple[float, bool]]) -> int:
    """The strongest on the select split: among those that learned something, if any did."""
    return max(range(len(choices)), key=lambda k: (choices[k][1], choices[k][0]))


def _worst(attacker: Attacker, setup: Setup) -> dict[int, FloatArray]:
    """For each tier, whether any pair exceeds ε at one uniform position of at most `worst_positions` documents."""
    release, truth, budget, rng = setup.release, setup.certify, setup.budget, setup.stream(99)
    labels = truth.tier_of_position(budget.tiers)
    found: dict[int, FloatArray] = {}
    for tier in np.unique(labels):
        documents = rng.permutation(np.unique(truth.document_of_position[labels == tier]))[
            : setup.settings.worst_positions
        ]
        some, secrets = release.take(documents), truth.take(documents)
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


def _calibration(attacker: Attacker, known: Knowledge, setup: Setup) -> Calibration:
    """What the beliefs of an attacker are worth, on certify documents; on some of them, drawn at random, when many."""
    truth = setup.certify
    order = setup.stream(98).permutation(np.flatnonzero(truth.lengths))
    ends = np.cumsum(truth.lengths[order])
    limit = max(int(ends[0]), CALIBRATED // len(truth.space))
    some = np.sort(order[: int(np.searchsorted(ends, limit, side="right"))])
    return calibration(attacker, known, truth.take(some), setup.release.take(some))


def _withheld(trials: Sequence[_Trial], settings: AuditSettings, proven: Proven | None) -> str:
    """Why no rate verdict may be given; empty when one may."""
    if any(trial.result.learned for trial in trials) or settings.independent:
        return ""
    holds = proven is not None and not proven.is_estimated and proven.value <= settings.epsilon
    return "" if holds else NOTHING_LEARNED


def _values(trial: _Trial, truth: Records, tiers: Tiers, law: str) -> list[tuple[int, FloatArray, int]]:
    """(tier, one value for each unit that has it, units without it) for one pair law."""
    units, labels = units_of_positions(truth), truth.tier_of_position(tiers)
    total = len(np.unique(truth.clusters))
    result = []
    for tier in np.unique(labels):
        if law == "worst":
            values = trial.worst[int(tier)]
        else:
            values = per_unit(trial.scan.anchored if law == "anchored" else trial.scan.uniform, units, labels == tier)
        result.append((int(tier), values, total - len(np.unique(units[labels == tier]))))
    return result


def _claim(
    trial: _Trial, tiers: Tiers, place: tuple[int, str], settings: AuditSettings, *, unit: str, withheld: str
) -> Claim:
    tier, law = place
    assumed = ("secrets are independent of each other (declared)",) if settings.independent else ()
    return Claim(
        epsilon=settings.epsilon,
        delta=settings.delta,
        tier=tiers.names[tier],
        pair_law=law,
        attacker=trial.attacker.name,
        attacker_hash=fingerprint(trial.attacker),
        with_context=trial.attacker.with_context,
        detector=settings.detector,
        unit=unit,
        assumptions=assumed,
        withheld=withheld,
    )


def _evidence(
    trial: _Trial, split: Split, known: Knowledge, settings: AuditSettings, withheld: str
) -> tuple[Evidence, ...]:
    """One certificate for each law and tier, of the strongest attacker, with the values it rests on."""
    truth, tiers = split.certify, known.tiers
    mechanism, documents = known.mechanism.fingerprint, truth.fingerprint
    found = []
    for law in PAIR_LAWS:
        for tier, values, excluded in _values(trial, truth, tiers, law):
            claim = _claim(trial, tiers, (tier, law), settings, unit=split.by, withheld=withheld)
            certificate = certify(values, claim, settings.alpha, settings.method, excluded=excluded)
            found.append(evidence_of(certificate, values, mechanism_hash=mechanism, split_hash=documents))
    return tuple(found)


def _verdict(
    certificates: Sequence[Certificate], trial: _Trial, truth: Records, tiers: Tiers, settings: AuditSettings
) -> JointCertificate | None:
    """All tiers together, under the law of the verdict; None when no δ was stated."""
    if settings.delta is None:
        return None
    claims = [c.claim for c in certificates if c.claim.pair_law == settings.law]
    rows = _values(trial, truth, tiers, settings.law)
    values, excluded = [row[1] for row in rows], [row[2] for row in rows]
    return certify_joint(values, claims, settings.alpha, settings.method, excluded=excluded)


def _subgroups(trial: _Trial, truth: Records, tiers: Tiers, settings: AuditSettings) -> tuple[SubgroupRate, ...]:
    """Rates by subgroup under the verdict's law, all bounds together at the stated level (Bonferroni)."""
    if truth.subgroups is None or settings.law == "worst":
        return ()
    units, labels = units_of_positions(truth), truth.tier_of_position(tiers)
    group = truth.subgroups[truth.document_of_position]
    values = trial.scan.anchored if settings.law == "anchored" else trial.scan.uniform
    cells = [(int(t), int(g)) for t in np.unique(labels) for g in np.unique(group[labels == t])]
    level = settings.alpha / len(cells)
    rows = []
    for tier, number in cells:
        found = per_unit(values, units, (labels == tier) & (group == number))
        lower, upper = METHODS[settings.method].lower(found, level), METHODS[settings.method].upper(found, level)
        name = truth.subgroup_names[number]
        rows.append(SubgroupRate(tiers.names[tier], name, len(found), float(found.mean()), lower, upper))
    return tuple(rows)
