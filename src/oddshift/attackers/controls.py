"""The controls printed next to every attacker: one that ignores the release, one that reads only its own position.

null: posterior = prior. own: the exact single release, which never exceeds the mechanism's exact ε.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge, position_blocks
from oddshift.base.arrays import IntArray
from oddshift.base.identity import content
from oddshift.model.release import Release, candidate_sets


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

    def candidate_beliefs(self, release: Release) -> Iterator[Beliefs]:
        """The same over the candidates of each position alone."""
        for positions, points in _candidate_blocks(self.known, release):
            yield Beliefs(positions, np.zeros((len(positions), len(points))), self.known.log_prior[points], points)


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

    def candidate_beliefs(self, release: Release) -> Iterator[Beliefs]:
        """The same over the candidates of each position alone."""
        for positions, points in _candidate_blocks(self.known, release):
            shift = self.known.mechanism.candidate_columns(release.outputs[positions], points)
            yield Beliefs(positions, shift, self.known.log_prior[points], points)


def _candidate_blocks(known: Knowledge, release: Release) -> Iterator[tuple[IntArray, IntArray]]:
    """Positions of one candidate set, some at a time, and their candidates."""
    everyone = candidate_sets(release, known.tiers)
    for block in position_blocks(release):
        for mine in everyone:
            positions = mine.positions[slice(*np.searchsorted(mine.positions, [block[0], block[-1] + 1]))]
            if len(positions):
                yield positions, mine.points
