"""The controls printed beside every attacker: one that ignores the release, one that reads only its own position.

null: posterior = prior. own: the exact single release, which never exceeds the mechanism's exact ε. An attacker that
reads W knows more beforehand, so its own control is the single release under that knowledge.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, position_blocks
from oddshift.base.identity import content
from oddshift.model.release import Release


@dataclass(frozen=True, eq=False)
class Null:
    """Learns nothing: shift 0 everywhere."""

    known: Knowledge
    name: str = "null"
    with_context: bool = False

    fingerprint = cached_property(content)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Zeros."""
        for positions in position_blocks(release):
            yield Beliefs(positions, np.zeros((len(positions), len(self.known.log_prior))), self.known.log_prior)


@dataclass(frozen=True, eq=False)
class Own:
    """Reads each position alone: shift log M(y_l|x), exact."""

    known: Knowledge
    name: str = "own"
    with_context: bool = False

    fingerprint = cached_property(content)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Columns of the mechanism."""
        for positions in position_blocks(release):
            columns = self.known.mechanism.log_columns(release.outputs[positions])
            yield Beliefs(positions, columns, self.known.log_prior)


@dataclass(frozen=True, eq=False)
class OwnWithPrior:
    """Reads each position alone, under the prior of another attacker: given W, if that one reads W."""

    known: Knowledge
    attacker: Attacker

    fingerprint = property(content)

    @property
    def name(self) -> str:
        """Own, and whose prior."""
        return f"own, prior of {self.attacker.name}"

    @property
    def with_context(self) -> bool:
        """As the attacker's."""
        return self.attacker.with_context

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Columns of the mechanism beside the other's prior."""
        for block in self.attacker.beliefs(release):
            columns = self.known.mechanism.log_columns(release.outputs[block.positions])
            yield Beliefs(block.positions, columns, block.log_prior)
