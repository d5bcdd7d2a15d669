"""Controls of paper mode: the softmax of temperature T around a guess that cannot break a budget.

`paper-null` guesses the mean of all points whatever is released, `paper-own` the exact posterior mean of one release.
The true share beyond ε is 0 for both, so what they show at T is what the temperature makes of any guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge, position_blocks
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.identity import content
from oddshift.model.release import Release


@dataclass(frozen=True, eq=False)
class PaperControl:
    """log softmax(−‖x̂ − x‖²/T) around x̂ = E[x], or E[x | y_l] where it `reads` the own release; uniform prior."""

    known: Knowledge
    temperature: float
    reads: bool
    with_context: bool = False

    fingerprint = cached_property(content)

    @property
    def name(self) -> str:
        """`paper-own` or `paper-null`."""
        return "paper-own" if self.reads else "paper-null"

    def against(self, known: Knowledge) -> PaperControl:
        """The same under other scales: nothing was learned."""
        return replace(self, known=known)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Block by block of positions."""
        points, prior = self.known.mechanism.space.points, np.zeros(len(self.known.log_prior))
        for positions in position_blocks(release):
            guess = self._guesses(release.outputs[positions])
            squares = (guess**2).sum(axis=1)[:, None] - 2.0 * guess @ points.T + (points**2).sum(axis=1)[None, :]
            yield Beliefs(positions, -squares / self.temperature, prior)

    def _guesses(self, outputs: IntArray) -> FloatArray:
        points = self.known.mechanism.space.points
        if not self.reads:
            return np.broadcast_to(points.mean(axis=0), (len(outputs), points.shape[1]))
        belief = self.known.mechanism.log_columns(outputs) + self.known.log_prior
        belief = np.exp(belief - belief.max(axis=1, keepdims=True))
        return np.asarray(belief @ points / belief.sum(axis=1, keepdims=True))
