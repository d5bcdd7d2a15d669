"""Readers: attackers against the mechanism at any scales; the expensive part is done at a few anchors and kept.

How much the parts of a combination are worth depends on the noise, slowly. Their weights are fitted at the anchors and
kept in between; the attacker that accuses is also recalibrated at the exact scales.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from oddshift.adapt.adaptation import Scales
from oddshift.adapt.experiment import Experiment, Situation
from oddshift.attackers.attacker import Attacker, Knowledge, against, carried
from oddshift.attackers.combination import Combination
from oddshift.attackers.retrained import Retrained

ANCHORS = (1.0, 0.5, 0.25, 0.1)
"""Scales, as shares of the largest one, at which weights are fitted."""


@dataclass(frozen=True, eq=False, repr=False)
class Readers:
    """Attackers of one adaptation, read under any scales; `made` holds those at anchors that were needed so far."""

    experiment: Experiment
    made: dict[tuple[str, float], Attacker] = field(default_factory=dict)
    retrained: dict[tuple[str, str], Attacker] = field(default_factory=dict)

    def read(self, attacker: Attacker, known: Knowledge) -> Attacker:
        """The attacker against the mechanism of `known`, with the weights of the nearest anchor.

        One that is trained again for every mechanism is trained once for each, for all documents.
        """
        if isinstance(attacker, Retrained):
            key = (attacker.name, known.fingerprint)
            if key not in self.retrained:
                self.retrained[key] = against(attacker, known)
            return self.retrained[key]
        if not hasattr(attacker, "carried"):
            return against(attacker, known)
        return carried(self.anchored(attacker, self._nearest(known.tiers.scales)), known)

    def anchored(self, attacker: Attacker, anchor: float) -> Attacker:
        """The attacker with weights fitted where every tier has this scale.

        Where the largest anchor, with the least noise, left no part any weight, nothing is fitted: more noise does not
        show what less noise hides. An attacker without weights supports no verdict on rates; it guesses by its prior.
        """
        key = (attacker.name, anchor)
        if key not in self.made:
            there = self.experiment.at((anchor,) * len(self.experiment.known.tiers))
            first = None if anchor == self.anchors[0] else self.anchored(attacker, self.anchors[0])
            is_blind = isinstance(first, Combination) and not first.has_weights
            if self._was_fitted_at(attacker, there):
                self.made[key] = carried(attacker, there.known)
            elif first is not None and is_blind:
                self.made[key] = carried(first, there.known)
            else:
                self.made[key] = against(attacker, there.known)
        return self.made[key]

    def _was_fitted_at(self, attacker: Attacker, there: Situation) -> bool:
        """Whether the weights were fitted under this very mechanism, by an audit for instance."""
        if not isinstance(attacker, Combination) or there.form.remapped:
            return False
        return attacker.known.mechanism.fingerprint == self.experiment.family(there.known.tiers).fingerprint

    def prepare(self, attacker: Attacker) -> None:
        """Fit at every anchor now, so that workers need not."""
        if hasattr(attacker, "carried"):
            for anchor in self.anchors:
                self.anchored(attacker, anchor)

    @property
    def anchors(self) -> tuple[float, ...]:
        """The anchors inside the grid, the largest first."""
        grid = self.experiment.settings.grid
        scaled = (round(max(grid) * anchor, 6) for anchor in ANCHORS)
        return tuple(anchor for anchor in scaled if anchor >= min(grid))

    def _nearest(self, scales: Scales | Sequence[float]) -> float:
        mean = float(np.mean(np.log(scales)))
        return min(self.anchors, key=lambda anchor: abs(float(np.log(anchor)) - mean))
