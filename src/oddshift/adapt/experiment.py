"""An experiment with scales: everything that stays fixed while they change, and what some scales do.

The same documents, the same uniforms (common random numbers) and the same attacker, read under each mechanism without
being trained again: two scales differ in what they are, not in luck.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from oddshift.adapt.adaptation import AdaptSettings, ScaledOutcome, Scales, TierOutcome
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Own, OwnWithPrior
from oddshift.audit.scan import (
    Budget,
    TierBeliefs,
    another_anchor,
    beyond_without_truth,
    complete,
    leakage_from,
    log_scores,
    tier_beliefs,
    truth_leakage,
    uniform_share,
)
from oddshift.audit.summary import per_unit, standard_error, units_of_positions
from oddshift.base.arrays import FloatArray
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import effective_outputs, losses
from oddshift.model.records import Records
from oddshift.model.release import perturb_with
from oddshift.model.tiers import Tiers

Family = Callable[[Tiers], Mechanism]
"""The mechanism under tiers with some scales."""

Reader = Callable[[Knowledge], Attacker]
"""The attacker against a mechanism: `attacker.against`, or a new fit where scales are adapted as in the paper."""


@dataclass(frozen=True, eq=False, repr=False)
class Findings:
    """What an attacker finds at every position of a release: share of pairs beyond ε, a hit, and two log scores.

    `own_score` is that of the single release under the same prior: what W tells alone is no gain.
    """

    exceeds: FloatArray
    hit: FloatArray
    log_score: FloatArray
    own_score: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Situation:
    """Some scales, the mechanism before remapping, and what attackers know of what is released."""

    scales: Scales
    plain: Mechanism
    known: Knowledge


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """Documents with one uniform for each position, a family of mechanisms, and what is asked.

    `known` is what attackers know at scales 1; its prior also weighs the utility loss.
    """

    known: Knowledge
    family: Family
    records: Records
    uniforms: FloatArray
    settings: AdaptSettings

    def at(self, scales: Scales, *, remap: bool | None = None) -> Situation:
        """The situation when these scales are released, remapped unless said otherwise."""
        remap = self.settings.remap if remap is None else remap
        tiers = self.known.tiers.with_scales(scales, ordered=False)
        plain = Channel.of(self.family(tiers))
        released = Channel.of(Remap(plain, self.weights, self.settings.cost)) if remap else plain
        return Situation(scales, plain, replace(self.known, tiers=tiers, mechanism=released))

    def released(self, scales: Scales) -> Mechanism:
        """The mechanism as it is released, with its own name and claim: for a policy, not for measuring."""
        mechanism = self.family(self.known.tiers.with_scales(scales))
        return Remap(mechanism, self.weights, self.settings.cost) if self.settings.remap else mechanism

    @cached_property
    def weights(self) -> FloatArray:
        """π of every point, from the fit documents."""
        prior = np.exp(self.known.log_prior)
        return prior / prior.sum()

    def look(self, known: Knowledge, attacker: Attacker) -> Findings:
        """Release the documents under `known` and run the attacker on them."""
        release = perturb_with(self.records, known.mechanism, known.tiers, self.uniforms)
        n = len(self.records.points)
        found = Findings(np.zeros(n), np.zeros(n), np.full(n, np.nan), np.zeros(n))
        rng = np.random.default_rng([self.settings.seed, 21])
        for block in tier_beliefs(attacker, release, self.records, known.tiers):
            found.exceeds[block.positions] = self._exceeds(block, rng)
            found.hit[block.positions] = block.score.max(axis=1) <= block.at(block.score, block.truth)
            found.log_score[block.positions] = block.log_score
        control: Attacker = OwnWithPrior(known, attacker) if attacker.with_context else Own(known)
        found.own_score[:] = log_scores(control, release, self.records, known.tiers)
        complete(attacker, found.log_score)
        return found

    def _exceeds(self, block: TierBeliefs, rng: np.random.Generator) -> FloatArray:
        """The share of a position's pairs beyond ε: with the truth, or also with one other candidate (uniform law)."""
        budget = Budget(self.known.mechanism.space, self.known.tiers, self.settings.epsilon)
        anchored = (truth_leakage(block, budget) > budget.limit).sum(axis=1) / (len(block.index) - 1)
        if self.settings.law == "anchored":
            return anchored
        leak = leakage_from(block, another_anchor(block, rng), budget.space)
        return uniform_share(anchored, beyond_without_truth(block, leak, budget.limit))

    def outcome(self, scales: Scales, read: Reader, *, remap: bool | None = None) -> ScaledOutcome:
        """What these scales do, as released."""
        situation = self.at(scales, remap=remap)
        return self.measured(situation, self.look(situation.known, read(situation.known)))

    def measured(self, situation: Situation, look: Findings) -> ScaledOutcome:
        """Averages over documents of a look, beside the exact utility of the mechanism."""
        units, mechanism = units_of_positions(self.records), situation.known.mechanism
        gains = per_unit(look.own_score - look.log_score, units, np.ones(len(units), dtype=bool))
        by_point = losses(mechanism, self.settings.cost)
        loss = float(self.weights @ by_point)
        return ScaledOutcome(
            scales=situation.scales,
            admissible=is_admissible(situation.scales),
            tiers=self._tiers(look, situation.known.tiers, by_point),
            loss=loss,
            plain_loss=loss if situation.plain is mechanism else self._loss(situation.plain),
            effective_outputs=effective_outputs(mechanism, self.weights),
            gain=float(gains.mean()),
            gain_error=standard_error(gains),
        )

    def loss(self, scales: Scales) -> float:
        """The expected loss as released."""
        return self._loss(self.at(scales).known.mechanism)

    def _loss(self, mechanism: Mechanism) -> float:
        return float(self.weights @ losses(mechanism, self.settings.cost))

    def values(self, look: Findings, tiers: Tiers) -> list[tuple[int, FloatArray, int]]:
        """(tier, one rate for each unit that has the tier, units without it): what a certificate rests on."""
        units, labels = units_of_positions(self.records), self.records.tier_of_position(tiers)
        total = len(np.unique(self.records.clusters))
        return [
            (int(tier), per_unit(look.exceeds, units, labels == tier), total - len(np.unique(units[labels == tier])))
            for tier in np.unique(labels)
        ]

    def _tiers(self, look: Findings, tiers: Tiers, by_point: FloatArray) -> tuple[TierOutcome, ...]:
        units, labels = units_of_positions(self.records), self.records.tier_of_position(tiers)
        rows = []
        for tier in np.unique(labels):
            keep = labels == tier
            rate, hit = (per_unit(values, units, keep) for values in (look.exceeds, look.hit))
            inside = self.weights * (tiers.labels == tier)
            rows.append(
                TierOutcome(
                    tier=tiers.names[tier],
                    rate=float(rate.mean()),
                    rate_error=standard_error(rate),
                    top1=float(hit.mean()),
                    top1_error=standard_error(hit),
                    loss=float(inside @ by_point / inside.sum()),
                )
            )
        return tuple(rows)


def is_admissible(scales: Sequence[float]) -> bool:
    """Whether no scale is smaller than that of a more sensitive tier."""
    return all(a <= b for a, b in pairwise(scales))
