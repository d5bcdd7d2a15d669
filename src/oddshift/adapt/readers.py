"""Readers: attackers against the mechanism at any scales; the expensive part is done at a few anchors and kept.

How much the parts of a combination are worth depends on the noise, slowly, and on the clearest tier most: what it says
is most of the evidence. A search takes weights between those of the anchors, at the largest scale of a tier. What is
tested is read with weights fitted at the very scales, since others find less there; they come from the fit documents
alone, so that a frozen sequence stays frozen. The attacker that accuses is recalibrated too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log
from typing import cast

from oddshift.adapt.evaluation import Experiment, Situation
from oddshift.adapt.result import Scales
from oddshift.attackers.attacker import Attacker, Knowledge, Retrained, against, carried
from oddshift.attackers.combination import Combination, Weights
from oddshift.attackers.completeness import completeness

ANCHORS = (1.0, 0.5, 0.25, 0.1)
"""Scales, as shares of the largest one, at which weights are fitted."""


@dataclass(frozen=True, eq=False, repr=False)
class Readers:
    """Attackers of one adaptation, read under any scales; `made` holds those at anchors that were needed so far.

    `weights` are those that were fitted at some scales, kept without a mechanism, which may be large.
    """

    experiment: Experiment
    made: dict[tuple[str, float], Attacker] = field(default_factory=dict)
    retrained: dict[tuple[str, str], Attacker] = field(default_factory=dict)
    weights: dict[tuple[str, Scales], Weights] = field(default_factory=dict)
    tested: dict[object, str] = field(default_factory=dict)

    def read(self, attacker: Attacker, known: Knowledge) -> Attacker:
        """The attacker against the mechanism of `known`, with weights between those of the anchors on both sides.

        One that is trained again for every mechanism is trained once for each, for all documents.
        """
        if isinstance(attacker, Retrained):
            key = (attacker.name, known.fingerprint)
            if key not in self.retrained:
                self.retrained[key] = against(attacker, known)
            return self.retrained[key]
        if not hasattr(attacker, "carried"):
            return against(attacker, known)
        above, below, share = self.around(max(known.tiers.scales))
        if isinstance(attacker, Combination) and share:
            first, second = (cast(Combination, self.anchored(attacker, anchor)) for anchor in (above, below))
            return first.towards(second, share).carried(known)
        return carried(self.anchored(attacker, above if share < 0.5 else below), known)

    def fitted(self, attacker: Attacker, known: Knowledge) -> Attacker:
        """The attacker with weights fitted at the scales of `known`, once for each; any other one as it is read.

        Those that an audit fitted there, as drawn, serve the remapped form too. As at the anchors, nothing is fitted
        where the least noise left no part any weight.
        """
        if not isinstance(attacker, Combination):
            return self.read(attacker, known)
        key = (attacker.name, known.tiers.scales)
        if key not in self.weights:
            self.weights[key] = self._weights_at(attacker, known)
        return replace(attacker.carried(known), weights=self.weights[key])

    def unread(self, counting: Sequence[Attacker], known: Knowledge) -> str:
        """Why nothing is certified where select documents depend in ways that none of these attackers reads.

        That depends on the parts that have weight under `known`; each set of them is tested once.
        """
        readers = [each for each in counting if isinstance(each, Combination)]
        key = tuple(p.name for each in readers for p, used in zip(each.parts, each.weighed, strict=True) if used)
        if counting and key not in self.tested:
            found = completeness(counting, known, self.experiment.release(known), self.experiment.records)
            self.tested[key] = "" if found is None else found.reason
        return self.tested.get(key, "")

    def _weights_at(self, attacker: Combination, known: Knowledge) -> Weights:
        scale, *others = set(known.tiers.scales)
        if self._was_fitted_under(attacker, known):
            return attacker.weights
        if scale in self.anchors and not others:
            return cast(Combination, self.anchored(attacker, scale)).weights
        least_noise = attacker if attacker.has_weights else self.anchored(attacker, self.anchors[0])
        if not cast(Combination, least_noise).has_weights:
            return attacker.weights
        return attacker.against(known).weights

    def anchored(self, attacker: Attacker, anchor: float) -> Attacker:
        """The attacker with weights fitted where every tier has this scale.

        Where the largest anchor, with the least noise, left no part any weight, nothing is fitted: more noise does not
        show what less noise hides. An attacker without weights supports no verdict on rates; it guesses by its prior.
        """
        key = (attacker.name, anchor)
        if key not in self.made:
            there = self.experiment.at((anchor,) * len(self.experiment.known.tiers))
            first = None if anchor == self.anchors[0] else self.anchored(attacker, self.anchors[0])
            has_none = isinstance(first, Combination) and not first.has_weights
            if self._was_fitted_at(attacker, there):
                self.made[key] = carried(attacker, there.known)
            elif first is not None and has_none:
                self.made[key] = carried(first, there.known)
            else:
                self.made[key] = against(attacker, there.known)
        return self.made[key]

    def _was_fitted_at(self, attacker: Attacker, there: Situation) -> bool:
        """Whether the weights were fitted under this very mechanism, by an audit for instance."""
        if not isinstance(attacker, Combination) or there.form.remapped:
            return False
        return self._was_fitted_under(attacker, there.known)

    def _was_fitted_under(self, attacker: Combination, known: Knowledge) -> bool:
        """Whether the weights were fitted at these scales, before any remapping."""
        return attacker.known.mechanism.fingerprint == self.experiment.family(known.tiers).fingerprint

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

    def around(self, scale: float) -> tuple[float, float, float]:
        """The anchors above and below a scale, and how far it lies from the first to the second, in logarithms."""
        inside = min(max(scale, self.anchors[-1]), self.anchors[0])
        above = min(anchor for anchor in self.anchors if anchor >= inside)
        below = max(anchor for anchor in self.anchors if anchor <= inside)
        return above, below, log(above / inside) / log(above / below) if above > below else 0.0
