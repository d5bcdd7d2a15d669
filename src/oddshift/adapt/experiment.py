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

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.adaptation import ScaledOutcome, Scales, TierOutcome
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.gains import gain, standard_error, units_of
from oddshift.audit.scan import Budget, Scan, Scores, scan, scores
from oddshift.base.arrays import FloatArray
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import effective_outputs, losses
from oddshift.model.records import Records
from oddshift.model.release import Release, perturb_with
from oddshift.model.tiers import Tiers

Family = Callable[[Tiers], Mechanism]
"""The mechanism under tiers with some scales."""

Reader = Callable[[Knowledge], Attacker]
"""The attacker against a mechanism: `attacker.against`, or a new fit where scales are adapted as in the paper."""


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
        released = Channel.of(Remap(plain, self.weights, self.settings.cost_name)) if remap else plain
        return Situation(scales, plain, replace(self.known, tiers=tiers, mechanism=released))

    def released(self, scales: Scales) -> Mechanism:
        """The mechanism as it is released, with its own name and claim: for a policy, not for measuring."""
        mechanism = self.family(self.known.tiers.with_scales(scales))
        return Remap(mechanism, self.weights, self.settings.cost_name) if self.settings.remap else mechanism

    @cached_property
    def weights(self) -> FloatArray:
        """π of every point, from the fit documents."""
        prior = np.exp(self.known.log_prior)
        return prior / prior.sum()

    def measure(self, known: Knowledge, attacker: Attacker) -> Scan:
        """Release the documents under `known` and scan what the attacker gives away, under the law that is asked."""
        rng = np.random.default_rng([self.settings.seed, 21])
        laws, budget = (self.settings.law,), self._budget(known)
        return scan(attacker, self._release(known), self.records, budget, rng, laws=laws, detailed=False)

    def scores(self, known: Knowledge, attacker: Attacker) -> Scores:
        """Release the documents under `known` and score the attacker: what it is chosen by."""
        return scores(attacker, self._release(known), self.records, self._budget(known))

    def _release(self, known: Knowledge) -> Release:
        return perturb_with(self.records, known.mechanism, known.tiers, self.uniforms)

    def _budget(self, known: Knowledge) -> Budget:
        return Budget(known.mechanism, known.tiers, self.settings.epsilon)

    def outcome(self, scales: Scales, read: Reader, *, remap: bool | None = None) -> ScaledOutcome:
        """What these scales do, as released."""
        situation = self.at(scales, remap=remap)
        return self.measured(situation, self.measure(situation.known, read(situation.known)))

    def measured(self, situation: Situation, found: Scan) -> ScaledOutcome:
        """Averages over units of a scan, beside the exact utility of the mechanism."""
        mechanism, by_position = situation.known.mechanism, found.scores
        joint = gain(by_position.own_score, by_position.log_score, units_of(self.records))
        by_point = losses(mechanism, self.settings.cost_name)
        loss = float(self.weights @ by_point)
        return ScaledOutcome(
            scales=situation.scales,
            admissible=is_admissible(situation.scales),
            tiers=self._tiers(found, situation.known.tiers, by_point),
            loss=loss,
            plain_loss=loss if situation.plain is mechanism else self._loss(situation.plain),
            effective_outputs=effective_outputs(mechanism, self.weights),
            gain=joint.mean,
            gain_error=joint.error,
        )

    def loss(self, scales: Scales) -> float:
        """The expected loss as released."""
        return self._loss(self.at(scales).known.mechanism)

    def _loss(self, mechanism: Mechanism) -> float:
        return float(self.weights @ losses(mechanism, self.settings.cost_name))

    def _tiers(self, found: Scan, tiers: Tiers, by_point: FloatArray) -> tuple[TierOutcome, ...]:
        units, labels = units_of(self.records), self.records.tier_of_position(tiers)
        rows = []
        for tier in np.unique(labels):
            keep = labels == tier
            rate, hit = (units.means(values, keep) for values in (found.rate(self.settings.law), found.hit))
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
