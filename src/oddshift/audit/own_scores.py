"""Scores of the single release: −log posterior of the truth from its own output alone, under an attacker's prior.

Where every position of a tier has the same prior, equal outputs have equal posteriors, and each output is read once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from oddshift.audit.beliefs import TierBeliefs
from oddshift.base.arrays import CACHED_ENTRIES, FloatArray, blocks
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class OwnScores:
    """The single release at every position of a release with known secrets."""

    mechanism: Mechanism
    tiers: Tiers
    release: Release
    truth: Records
    _common: dict[int, tuple[FloatArray, FloatArray]] = field(default_factory=dict)  # by tier: a prior, its scores

    def of(self, block: TierBeliefs) -> FloatArray:
        """The scores of some positions of one tier under their prior."""
        if block.log_prior.ndim == 2:
            return block.own_score(self.mechanism, self.release.outputs[block.positions])
        kept = self._common.get(block.tier)
        if kept is None or not np.array_equal(kept[0], block.log_prior):
            kept = self._common[block.tier] = (np.array(block.log_prior), self._everywhere(block))
        return np.asarray(kept[1][block.positions])

    def _everywhere(self, block: TierBeliefs) -> FloatArray:
        """The scores of all positions of a tier under one prior, output by output; NaN elsewhere."""
        found = np.full(len(self.truth.points), np.nan)
        positions = np.flatnonzero(self.truth.tier_of_position(self.tiers) == block.tier)
        column = np.searchsorted(block.index, self.truth.points[positions])
        order = np.argsort(self.release.outputs[positions], kind="stable")
        distinct, first = np.unique(self.release.outputs[positions][order], return_index=True)
        ends = np.append(first, len(positions))
        for part in blocks(len(distinct), len(block.index), CACHED_ENTRIES):
            alone = block.log_prior + block.own_shift(self.mechanism, distinct[part])
            here = order[ends[part.start] : ends[part.stop]]
            row = np.repeat(np.arange(part.stop - part.start), np.diff(ends[part.start : part.stop + 1]))
            found[positions[here]] = log_sum(alone)[row] - alone[row, column[here]]
        return found
