"""The controls printed next to every attacker: one that ignores the release, one that reads only its own position.

null: posterior = prior. own: the exact single release, which never exceeds the mechanism's exact ε.

The exact attacker: forward-backward under the true chain of secrets, where that chain is known.

It is the yardstick for every learned attacker, on data that was generated: its posterior is the true one.

Controls of paper mode: the softmax of temperature T around a guess that cannot break a budget.

`paper-null` guesses the mean of all points whatever is released, `paper-own` the exact posterior mean of one release.
The true share beyond ε is 0 for both, so what they show at T is what the temperature makes of any guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge, position_blocks
from oddshift.attackers.law_attacker import Dense, LawAttacker, log_floor
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.identity import content, fingerprint
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


@dataclass(frozen=True, eq=False, repr=False)
class KnownChains:
    """The true law of a document with that many secrets, `prior_of(length)`, for every length; `lengths` names it."""

    prior_of: Callable[[int], Markov]
    lengths: tuple[int, ...]

    @property
    def width(self) -> int:
        """Messages from both sides."""
        return 2

    @cached_property
    def fingerprint(self) -> str:
        """The chain of every length that the fit records have."""
        return fingerprint(tuple(self.prior_of(length) for length in self.lengths))

    def messages(self, seen: FloatArray) -> FloatArray:
        """Forward-backward: what comes from the left times what comes from the right of every position."""
        prior, found = self.prior_of(seen.shape[1]), np.empty_like(seen)
        first = np.broadcast_to(prior.initial, seen[:, 0].shape)
        by_position = [seen[:, t] for t in range(seen.shape[1])]
        for t, left, right in both_sides(first, by_position, DenseSteps(prior.transitions)):
            found[:, t] = log_floor(left.values) + log_floor(right.values)
        return found


def exact_attacker(known: Knowledge, prior_of: Callable[[int], Markov]) -> LawAttacker:
    """True posteriors; `prior_of(length)` is the chain of a document with that many secrets.

    Public tiers are conditioned on: the prior of a position is its law given the tiers of all positions.
    """
    lengths = tuple(int(length) for length in np.unique(known.fit.lengths) if length)
    return LawAttacker(known, Dense(KnownChains(prior_of, lengths)), "exact")


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
