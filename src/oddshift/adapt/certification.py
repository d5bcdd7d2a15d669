"""Selection and certification: the front of the select documents, frozen, tested in turn on documents nobody looked at.

Candidates come in decreasing utility loss, each tested at the full level, up to the first that is not certified; the
last one before it is chosen. What is tested is what is released, i.e. after remapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.adaptation import ScaledOutcome, Tested
from oddshift.adapt.experiment import Experiment
from oddshift.adapt.frontier import front
from oddshift.attackers.attacker import Attacker, Knowledge, against
from oddshift.attackers.gains import units_of
from oddshift.audit.choice import standing, strongest
from oddshift.audit.claims import NOTHING_LEARNED, ClaimBuilder, values_by_tier
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.bounds import METHODS, zero_failures
from oddshift.evidence.certificates import Evidence, JointCertificate, certify_joint, evidence_of
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records

LONGEST = 12
"""Candidates in a sequence: enough rungs to come close to δ."""

SAFER = 3
"""Outcomes with still more noise that are tested before them."""

SAFE = 0.1
"""A sequence begins where the select rate is at most this share of δ: so far below that the first test should pass."""


@dataclass(frozen=True, eq=False, repr=False)
class Trial:
    """One candidate on the certify documents: what was seen, by whom, and what that certifies in each tier."""

    tested: Tested
    outcome: ScaledOutcome
    attacker: Attacker
    verdict: JointCertificate
    values: tuple[FloatArray, ...]


def sequence(outcomes: Sequence[ScaledOutcome], settings: AdaptSettings) -> tuple[ScaledOutcome, ...]:
    """The frozen order: a few safer outcomes, then the front where the attacker learned something."""
    usable = front(p for p in outcomes if p.learned or settings.independent)
    near = [p for p in usable if p.rate <= settings.delta]
    safe = [k for k, p in enumerate(near) if p.rate <= SAFE * settings.delta]
    near = near[max(safe, default=0) :]
    return (*_spaced(_safer(outcomes, near[:1], settings), SAFER), *_spaced(near, LONGEST))


def _safer(
    outcomes: Sequence[ScaledOutcome], first: Sequence[ScaledOutcome], settings: AdaptSettings
) -> list[ScaledOutcome]:
    """Outcomes with no larger scale in any tier than the first of a sequence, in decreasing loss.

    Where select rates are 0 the front ends at the most daring of them, and chance alone may fail it.
    """
    found = [
        p
        for start in first
        for p in outcomes
        if p.admissible and (p.learned or settings.independent) and p.loss > start.loss and p.rate <= start.rate
        if all(a <= b for a, b in zip(p.scales, start.scales, strict=True))
    ]
    return sorted(found, key=lambda p: -p.loss)


def _spaced(outcomes: Sequence[ScaledOutcome], most: int) -> list[ScaledOutcome]:
    """At most so many of them, evenly chosen, in their order."""
    chosen = np.unique(np.round(np.linspace(0, len(outcomes) - 1, min(most, len(outcomes)))).astype(int))
    return [outcomes[k] for k in chosen]


@dataclass(frozen=True, eq=False, repr=False)
class Certification:
    """What candidates are tested with: the attackers, documents to choose among them, documents to certify on."""

    attackers: tuple[Attacker, ...]
    select: Experiment
    certifying: Experiment
    claims: ClaimBuilder


def trials(candidates: Sequence[ScaledOutcome], made: Certification) -> Iterator[Trial]:
    """Candidates in their order, up to and including the first that is not certified."""
    for candidate in candidates:
        trial = _tried(candidate, made)
        yield trial
        if trial.tested.state != "certified":
            return


def _tried(candidate: ScaledOutcome, made: Certification) -> Trial:
    certifying, settings = made.certifying, made.certifying.settings
    situation = certifying.at(candidate.scales)
    attacker, learned = _strongest(made, situation.known)
    found = certifying.measure(situation.known, attacker)
    withheld = "" if learned or settings.independent else NOTHING_LEARNED
    tiers = situation.known.tiers
    rows = values_by_tier(found.rate(settings.law), certifying.records, tiers)
    values = tuple(row.values for row in rows)
    verdict = certify_joint(
        values,
        [made.claims.claim(attacker, tiers.names[row.tier], settings.law, withheld) for row in rows],
        settings.alpha,
        settings.method,
        excluded=[row.excluded for row in rows],
    )
    tested = Tested(
        scales=candidate.scales,
        loss=candidate.loss,
        state=verdict.state,
        upper=tuple(part.upper for part in verdict.parts),
        lower=tuple(part.lower for part in verdict.parts),
    )
    return Trial(tested, certifying.measured(situation, found), attacker, verdict, values)


def _strongest(made: Certification, known: Knowledge) -> tuple[Attacker, bool]:
    """The strongest attacker on the select documents under these scales, and whether it learned anything."""
    readers = [against(attacker, known) for attacker in made.attackers]
    units = units_of(made.select.records)
    standings = [standing(made.select.scores(known, reader), units) for reader in readers]
    best = strongest(standings)
    return readers[best], standings[best].learned


def evidence(trial: Trial, certifying: Experiment, mechanism: Mechanism) -> tuple[Evidence, ...]:
    """What `oddshift verify` computes the trial's certificates from again; `mechanism` is the one that is released."""
    hashes = mechanism.fingerprint, certifying.records.fingerprint
    return tuple(
        evidence_of(certificate, values, mechanism_hash=hashes[0], split_hash=hashes[1])
        for certificate, values in zip(trial.verdict.parts, trial.values, strict=True)
    )


def check_documents(certify_records: Records, experiment: Experiment) -> None:
    """Refuse a δ that no outcome on these documents could certify, saying what would help."""
    settings, tiers = experiment.settings, experiment.known.tiers
    needs = zero_failures(settings.delta, settings.alpha, settings.method)
    units, labels = units_of(certify_records), certify_records.tier_of_position(tiers)
    for tier in np.unique(labels):
        has = units.count(labels == tier)
        if has < needs:
            least = METHODS[settings.method].upper(np.zeros(has), settings.alpha)
            raise InvalidInput(
                f"delta={settings.delta:g} cannot be certified in tier {tiers.names[tier]}: {settings.method} needs "
                f"{needs} independent documents there, the certify split has {has}; the smallest delta they can "
                f"certify is {least:.4f}; more documents or a larger delta help"
            )
