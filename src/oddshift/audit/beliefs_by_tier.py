"""Beliefs joined with the truth, one tier at a time: over the candidates of the tier only, and checked.

The attacker never sees what is made here; only the audit joins beliefs with secrets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates
from oddshift.model.tiers import Tiers

_NEVER = -1e30  # stands for an impossible value, so that two of them do not differ


@dataclass(frozen=True, eq=False, repr=False)
class TierBeliefs:
    """Beliefs about positions of one tier, over its candidates only, and which of them is the truth.

    `index` are the candidates' points; `shift` is (positions, candidates), `log_prior` that or (candidates,);
    `truth` is the column of each position's secret.
    """

    positions: IntArray
    tier: int
    index: IntArray
    shift: FloatArray
    log_prior: FloatArray
    truth: IntArray

    @cached_property
    def score(self) -> FloatArray:
        """log posterior up to a constant for each position."""
        return self.log_prior + self.shift

    @property
    def log_score(self) -> FloatArray:
        """−log posterior of the truth, in nats."""
        return log_sum(self.score) - self.at(self.score, self.truth)

    def own_score(self, mechanism: Mechanism, outputs: IntArray) -> FloatArray:
        """−log posterior of the truth under the same prior, from each position's own output alone."""
        alone = self.log_prior + self.own_shift(mechanism, outputs)
        return log_sum(alone) - self.at(alone, self.truth)

    def own_shift(self, mechanism: Mechanism, outputs: IntArray) -> FloatArray:
        """log M(y|x) of the candidates for every position's output; finite, as `shift` is."""
        return np.maximum(mechanism.candidate_columns(outputs, self.index), _NEVER)

    @property
    def prior_hit(self) -> FloatArray:
        """How often the first guess was right before any release; equally likely candidates share the guess."""
        prior = np.broadcast_to(self.log_prior, self.shift.shape)
        mine = self.at(prior, self.truth)[:, None]
        first = ~(prior > mine).any(axis=1)
        return np.where(first, 1.0 / (prior == mine).sum(axis=1), 0.0)

    @staticmethod
    def at(values: FloatArray, column: IntArray) -> FloatArray:
        """The chosen entry of each row."""
        return np.take_along_axis(values, column[:, None], axis=1)[:, 0]


def tier_beliefs(attacker: Attacker, release: Release, truth: Records, tiers: Tiers) -> Iterator[TierBeliefs]:
    """An attacker's beliefs, checked, one tier at a time; over candidates alone where the attacker can do that."""
    labels = truth.tier_of_position(tiers)
    method = getattr(attacker, "candidate_beliefs", None)
    blocks: Iterator[Beliefs] = attacker.beliefs(release) if method is None else method(release)
    for block in blocks:
        _check(attacker, block, len(tiers.labels) if block.points is None else len(block.points))
        for tier in np.unique(labels[block.positions]):
            index = np.flatnonzero(candidates(tiers, int(tier))) if block.points is None else block.points
            yield _of_tier(block, int(tier), np.flatnonzero(labels[block.positions] == tier), index, truth)


def _of_tier(block: Beliefs, tier: int, rows: IntArray, index: IntArray, truth: Records) -> TierBeliefs:
    """The rows of a block that belong to one tier, over its candidates."""
    at = np.ix_(rows, np.arange(len(index)) if block.points is not None else index)
    whole = block.points is not None and len(rows) == len(block.positions)
    shift = block.shift if whole else block.shift[at]
    if block.log_prior.ndim == 1:
        prior = block.log_prior if block.points is not None else block.log_prior[index]
    else:
        prior = block.log_prior if whole else block.log_prior[at]
    positions = block.positions[rows]
    column = np.searchsorted(index, truth.points[positions])
    return TierBeliefs(positions, tier, index, np.maximum(shift, _NEVER), prior, column)


def _check(attacker: Attacker, block: Beliefs, n_points: int) -> None:
    if block.shift.shape != (len(block.positions), n_points):
        raise InvalidInput(
            f"attacker {attacker.name} gave shifts of shape {block.shift.shape}, "
            f"expected {(len(block.positions), n_points)}"
        )
    if np.isnan(block.shift).any() or np.isnan(block.log_prior).any() or (block.shift == np.inf).any():
        raise InvalidInput(f"attacker {attacker.name} gave NaN or infinite beliefs, expected numbers")
