"""The controls printed next to every attacker: one that ignores the release, one that reads only its own position.

null: posterior = prior. own: the exact single release, which never exceeds the mechanism's exact ε.

The exact attacker: forward-backward under the true chain of secrets, where that chain is known.

It is the yardstick for every learned attacker, on data that was generated: its posterior is the true one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge, position_blocks
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.identity import content, fingerprint
from oddshift.base.logarithms import log
from oddshift.leakage.forward_backward import DenseSteps, both_sides
from oddshift.model.prior import Markov
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


_BATCH_ENTRIES = 8_000_000  # entries of the messages of one batch of documents


@dataclass(frozen=True, eq=False, repr=False)
class Exact:
    """True posteriors; `prior_of(length)` is the chain of a document with that many secrets.

    Public tiers are conditioned on: the prior of a position is its law given the tiers of all positions.
    """

    known: Knowledge
    prior_of: Callable[[int], Markov]
    name: str = "exact"
    with_context: bool = False

    @cached_property
    def fingerprint(self) -> str:
        """What is known, and the chain of every length that the fit records have."""
        lengths = np.unique(self.known.fit.lengths)
        chains = tuple(self.prior_of(int(length)) for length in lengths[lengths > 0])
        return fingerprint((content(self, without=("prior_of",)), chains))

    def against(self, known: Knowledge) -> Exact:
        """The same chain against another mechanism."""
        return replace(self, known=known)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Documents of one length at a time."""
        for length in np.unique(release.lengths[release.lengths > 0]):
            documents = np.flatnonzero(release.lengths == length)
            size = max(1, _BATCH_ENTRIES // int(length * len(self.known.log_prior)))
            for start in range(0, len(documents), size):
                batch = documents[start : start + size]
                positions = release.offsets[batch][:, None] + np.arange(length)
                yield self._batch(release, positions, self.prior_of(int(length)))

    def _batch(self, release: Release, positions: IntArray, prior: Markov) -> Beliefs:
        columns = self.known.mechanism.log_columns(release.outputs[positions.ravel()])
        seen = np.exp(columns - columns.max(axis=1, keepdims=True)).reshape(*positions.shape, -1)
        tiers = np.zeros_like(positions) if release.position_tiers is None else release.position_tiers[positions]
        patterns, pattern = np.unique(tiers, axis=0, return_inverse=True)
        possible = np.ones((*patterns.shape, seen.shape[2]))
        if release.position_tiers is not None:
            possible = (self.known.tiers.labels == patterns[:, :, None]).astype(np.float64)
        # the law given the tiers alone is the same for every document with these tiers
        allowed, before = possible[pattern], _messages(prior, possible)[pattern]
        after = _messages(prior, seen * allowed)
        context = np.where(allowed > 0, after - np.where(np.isfinite(before), before, 0.0), 0.0)
        law = np.where(allowed > 0, before, -np.inf).reshape(len(columns), -1)
        return Beliefs(positions.ravel(), columns + context.reshape(len(columns), -1), law)


def _messages(prior: Markov, seen: FloatArray) -> FloatArray:
    """log of (from the left) x (from the right) at every position, (documents, length, values), own term left out."""
    found = np.empty_like(seen)
    first = np.broadcast_to(prior.initial, seen[:, 0].shape)
    by_position = [seen[:, t] for t in range(seen.shape[1])]
    for t, left, right in both_sides(first, by_position, DenseSteps(prior.transitions)):
        found[:, t] = log(left.values) + log(right.values)
    return found
