"""Beliefs joined with the truth, one tier at a time: over the candidates of the tier only, and checked.

The attacker never sees what is made here; only the audit joins beliefs with secrets.

A belief: how the odds of one secret moved from the prior to its own release to all releases (the paper's belief-update
figure). Candidates are called w1, w2, ... unless their words are asked for by name; then it holds a SECRET.

Scores of the single release: −log posterior of the truth from its own output alone, under an attacker's prior.

Where every position of a tier has the same prior, equal outputs have equal posteriors, and each output is read once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge
from oddshift.base.arrays import CACHED_ENTRIES, FloatArray, IntArray, blocks, row_counts
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_normalise, log_sum
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
    def is_idle(self) -> bool:
        """Whether nothing shifts: then the posterior is the prior, and no pair leaks."""
        return not self.shift.any()

    @cached_property
    def score(self) -> FloatArray:
        """log posterior up to a constant for each position."""
        return np.broadcast_to(self.log_prior, self.shift.shape) if self.is_idle else self.log_prior + self.shift

    @property
    def log_score(self) -> FloatArray:
        """−log posterior of the truth, in nats."""
        total = log_sum(np.atleast_2d(self.log_prior)) if self.is_idle else log_sum(self.score)
        return total - self.at(self.score, self.truth)

    def own_score(self, mechanism: Mechanism, outputs: IntArray) -> FloatArray:
        """−log posterior of the truth under the same prior, from each position's own output alone."""
        alone = self.log_prior + self.own_shift(mechanism, outputs)
        return log_sum(alone) - self.at(alone, self.truth)

    def own_shift(self, mechanism: Mechanism, outputs: IntArray) -> FloatArray:
        """log M(y|x) of the candidates for every position's output; finite, as `shift` is."""
        return _possible(mechanism.candidate_columns(outputs, self.index))

    @property
    def prior_hit(self) -> FloatArray:
        """How often the first guess was right before any release; equally likely candidates share the guess."""
        prior = np.atleast_2d(self.log_prior)
        mine = self.at(np.broadcast_to(prior, self.shift.shape), self.truth)
        best = prior.max(axis=1)
        equal = row_counts(prior == best[:, None])
        return np.where(mine == best, 1.0 / equal, 0.0)

    @staticmethod
    def at(values: FloatArray, column: IntArray) -> FloatArray:
        """The chosen entry of each row."""
        return np.take_along_axis(values, column[:, None], axis=1)[:, 0]


def tier_beliefs(attacker: Attacker, release: Release, truth: Records, tiers: Tiers) -> Iterator[TierBeliefs]:
    """An attacker's beliefs, checked, one tier at a time; over candidates alone where the attacker can do that.

    They come a few rows at a time: everything that is done with them then happens in a core's cache.
    """
    method = getattr(attacker, "candidate_beliefs", None)
    given: Iterator[Beliefs] = attacker.beliefs(release) if method is None else method(release)
    joining = Joining(truth, tiers)
    return (found for block in given for found in joining.of(attacker, block))


@dataclass(frozen=True, eq=False, repr=False)
class Joining:
    """Secrets and tiers that blocks of beliefs are joined with."""

    truth: Records
    tiers: Tiers

    @cached_property
    def _labels(self) -> IntArray:
        return self.truth.tier_of_position(self.tiers)

    @cached_property
    def _points(self) -> dict[int, IntArray]:
        return {int(tier): np.flatnonzero(candidates(self.tiers, int(tier))) for tier in np.unique(self._labels)}

    def of(self, attacker: Attacker, block: Beliefs) -> Iterator[TierBeliefs]:
        """One block of an attacker's beliefs, a few rows of one tier at a time."""
        _check_shape(attacker, block, len(self.tiers.labels) if block.points is None else len(block.points))
        labels = self._labels[block.positions]
        for tier in np.unique(labels).tolist():
            index = self._points[tier] if block.points is None else block.points
            rows = np.flatnonzero(labels == tier)
            for part in blocks(len(rows), len(index), CACHED_ENTRIES):
                found = _of_tier(block, tier, rows[part], index, self.truth)
                _check_numbers(attacker, found)
                yield found


def _of_tier(block: Beliefs, tier: int, rows: IntArray, index: IntArray, truth: Records) -> TierBeliefs:
    """Some rows of a block that belong to one tier, over its candidates."""
    columns = slice(None) if block.points is not None else index
    shift = _some_rows(block.shift, rows)[:, columns]
    prior = block.log_prior[columns] if block.log_prior.ndim == 1 else _some_rows(block.log_prior, rows)[:, columns]
    positions = block.positions[rows]
    column = np.searchsorted(index, truth.points[positions])
    return TierBeliefs(positions, tier, index, _possible(shift), prior, column)


def _possible(shift: FloatArray) -> FloatArray:
    """Shifts with a finite number for impossible values; not copied where there are none."""
    return np.maximum(shift, _NEVER) if shift.min() < _NEVER else shift


def _some_rows(values: FloatArray, rows: IntArray) -> FloatArray:
    """Some rows, in increasing order; not copied where they follow each other."""
    first, last = int(rows[0]), int(rows[-1])
    return values[first : last + 1] if last - first + 1 == len(rows) else values[rows]


def _check_shape(attacker: Attacker, block: Beliefs, n_points: int) -> None:
    if block.shift.shape != (len(block.positions), n_points):
        raise InvalidInput(
            f"attacker {attacker.name} gave shifts of shape {block.shift.shape}, "
            f"expected {(len(block.positions), n_points)}"
        )


def _check_numbers(attacker: Attacker, found: TierBeliefs) -> None:
    """Refuse NaN, which every comparison would pass over, and shifts of +inf; the largest entry tells of both."""
    if not found.shift.max() < np.inf or np.isnan(found.log_prior.max()):
        raise InvalidInput(f"attacker {attacker.name} gave NaN or infinite beliefs, expected numbers")


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


SHOWN = 8
"""Number of candidates that are listed; the others are counted."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Candidate:
    """One value of the secret: its probability before, after its own release alone, and after all releases together."""

    name: str
    prior: float
    alone: float
    together: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Belief:
    """The position of some documents whose truth leaks most: its candidates, the most believed first.

    `truth` and `other` are rows of `candidates`: the pair of the largest mPL, `leakage`, at `distance`. `remaining`
    counts the candidates that are not listed. `documents` and `positions` say among how many this one was the worst.
    """

    attacker: str
    tier: str
    documents: int
    positions: int
    candidates: tuple[Candidate, ...]
    remaining: int
    truth: int
    other: int
    leakage: float
    distance: float


def belief(
    attacker: Attacker, secrets: Records, release: Release, known: Knowledge, names: Sequence[str] | None = None
) -> Belief:
    """The worst position of a release that has secrets; with words only when `names`, those of all points, are given.

    mPL is taken between the truth and every other candidate: |shift_truth − shift_other| / d(truth, other).
    """
    everyone = [
        (block, row)
        for block in tier_beliefs(attacker, release, secrets, known.tiers)
        for row in range(len(block.positions))
    ]
    block, row = max(everyone, key=lambda place: _leakage(place[0], place[1], secrets)[0].max())
    leakage, distance = _leakage(block, row, secrets)
    other = int(np.argmax(leakage))
    columns = _listed(block, row, other)
    return Belief(
        attacker=attacker.name,
        tier=known.tiers.names[block.tier],
        documents=len(secrets),
        positions=len(secrets.points),
        candidates=_candidates(block, row, columns, _alone(block, row, release, known), names),
        remaining=len(block.index) - len(columns),
        truth=columns.index(int(block.truth[row])),
        other=columns.index(other),
        leakage=float(leakage[other]),
        distance=float(distance[other]),
    )


def _leakage(block: TierBeliefs, row: int, secrets: Records) -> tuple[FloatArray, FloatArray]:
    """mPL and distance between the truth of one position and every candidate; 0 and ∞ for the truth itself."""
    truth, points = block.truth[row], secrets.space.points
    distance = secrets.space.metric.between(points[block.index[truth]][None, :], points[block.index])[0]
    distance[truth] = np.inf
    return np.abs(block.shift[row] - block.shift[row, truth]) / distance, distance


def _listed(block: TierBeliefs, row: int, other: int) -> list[int]:
    """The columns to show, most believed first; the truth and the other of its worst pair are always among them."""
    order = [int(k) for k in np.argsort(-block.score[row], kind="stable")]
    kept = {int(block.truth[row]), other}
    kept |= set([k for k in order if k not in kept][: SHOWN - len(kept)])
    return [k for k in order if k in kept]


def _alone(block: TierBeliefs, row: int, release: Release, known: Knowledge) -> FloatArray:
    """The posterior given the position's own release only."""
    own = known.mechanism.log_columns(release.outputs[block.positions[[row]]])[0, block.index]
    return np.exp(log_normalise((_prior(block, row) + own)[None, :]))[0]


def _prior(block: TierBeliefs, row: int) -> FloatArray:
    return block.log_prior if block.log_prior.ndim == 1 else block.log_prior[row]


def _candidates(
    block: TierBeliefs, row: int, columns: list[int], alone: FloatArray, names: Sequence[str] | None
) -> tuple[Candidate, ...]:
    before, after = (np.exp(log_normalise(v[None, :]))[0] for v in (_prior(block, row), block.score[row]))
    return tuple(
        Candidate(
            name=f"w{k + 1}" if names is None else names[int(block.index[c])],
            prior=float(before[c]),
            alone=float(alone[c]),
            together=float(after[c]),
        )
        for k, c in enumerate(columns)
    )
