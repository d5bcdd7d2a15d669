"""One attacker against the truth: what every position of a release gives away, without materialising triples.

An anchor x_i is compared with every other candidate x_j at once: |shift_i − shift_j| / d(x_i, x_j). With the truth as
anchor that is the `anchored` law, exactly; with another candidate as anchor it is a draw of the remaining pairs of the
`uniform` law. `worst` asks whether any pair exceeds ε, and stops at the first that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_sum
from oddshift.leakage.mpl import ROUNDING
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

BINS = 120
"""Bins of the histogram of mPL between 0 and HISTOGRAM_SPAN·ε; one more holds what lies beyond."""

HISTOGRAM_SPAN = 6.0

_NEVER = -1e30  # stands for an impossible value, so that two of them do not differ


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """What one attacker gives away, position by position (rows follow the release's positions).

    `log_score` is −log posterior of the truth in nats, `rank` the number of candidates believed more than the truth.
    `anchored` and `uniform` are fractions of pairs beyond ε, `diagnostic` the anchored one beyond scale·ε;
    `largest` is the largest mPL of the truth; `drawn` is one mPL from each of the two laws, (positions, 2).
    `across` is, for both laws, how much of `anchored` and `uniform` comes from pairs across two tiers, (positions, 2);
    0 where tiers are public. `histogram` is (laws, tiers, BINS + 1) counts of pairs.
    """

    log_score: FloatArray
    rank: IntArray
    anchored: FloatArray
    uniform: FloatArray
    diagnostic: FloatArray
    largest: FloatArray
    mean: FloatArray
    drawn: FloatArray
    across: FloatArray
    histogram: FloatArray


@dataclass(frozen=True, eq=False)
class Budget:
    """What leakage is measured with: the points, their tiers, and the budget."""

    space: Space
    tiers: Tiers
    epsilon: float

    @property
    def limit(self) -> float:
        """ε with room for rounding: only what lies beyond it counts."""
        return self.epsilon * (1.0 + ROUNDING)


def scan(attacker: Attacker, release: Release, truth: Records, budget: Budget, rng: np.random.Generator) -> Scan:
    """Run an attacker over a release and compare it with the truth, block by block."""
    n = len(truth.points)
    out = Scan(
        log_score=np.full(n, np.nan),
        rank=np.zeros(n, dtype=np.int64),
        anchored=np.zeros(n),
        uniform=np.zeros(n),
        diagnostic=np.zeros(n),
        largest=np.zeros(n),
        mean=np.zeros((n, 2)),
        drawn=np.zeros((n, 2)),
        across=np.zeros((n, 2)),
        histogram=np.zeros((2, len(budget.tiers), BINS + 1)),
    )
    for block in tier_beliefs(attacker, release, truth, budget.tiers):
        out.log_score[block.positions] = block.log_score
        out.rank[block.positions] = (block.score > block.at(block.score, block.truth)[:, None]).sum(axis=1)
        _fill(out, block, budget, rng)
    return replace(out, log_score=complete(attacker, out.log_score))


def log_scores(attacker: Attacker, release: Release, truth: Records, tiers: Tiers) -> FloatArray:
    """−log posterior of the truth at every position, in nats: the only thing attackers are chosen by."""
    scores = np.full(len(truth.points), np.nan)
    for block in tier_beliefs(attacker, release, truth, tiers):
        scores[block.positions] = block.log_score
    return complete(attacker, scores)


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

    @staticmethod
    def at(values: FloatArray, column: IntArray) -> FloatArray:
        """One entry of each row."""
        return np.take_along_axis(values, column[:, None], axis=1)[:, 0]


def tier_beliefs(attacker: Attacker, release: Release, truth: Records, tiers: Tiers) -> Iterator[TierBeliefs]:
    """An attacker's beliefs, checked, one tier at a time."""
    labels = truth.tier_of_position(tiers)
    for block in attacker.beliefs(release):
        _check(attacker, block, len(tiers.labels))
        for tier in np.unique(labels[block.positions]):
            rows = np.flatnonzero(labels[block.positions] == tier)
            index = np.flatnonzero(candidates(tiers, int(tier)))
            positions = block.positions[rows]
            prior = block.log_prior[index] if block.log_prior.ndim == 1 else block.log_prior[np.ix_(rows, index)]
            shift = np.maximum(block.shift[np.ix_(rows, index)], _NEVER)
            column = np.searchsorted(index, truth.points[positions])
            yield TierBeliefs(positions, int(tier), index, shift, prior, column)


def worst_exceeds(shift: FloatArray, space: Space, index: IntArray, epsilon: float) -> BoolArray:
    """Whether any pair of candidates exceeds ε, for each row of `shift` (positions, candidates).

    The higher end of such a pair lies above the row's lowest shift by more than ε times the distance to its nearest
    neighbour; only those ends are compared with all others, the most extreme first, so the answer is exact.
    """
    found = np.zeros(len(shift), dtype=bool)
    lowest = shift.min(axis=1)
    nearest = np.concatenate([_limits(space, index, anchors, epsilon).min(axis=1) for anchors in _anchors(index)])
    order = np.argsort(-(shift - lowest[:, None] - nearest).max(axis=0), kind="stable")
    for anchors in (order[part] for part in _anchors(index)):
        limit = _limits(space, index, anchors, epsilon)
        for row in np.flatnonzero(~found):
            high = np.flatnonzero(shift[row, anchors] - lowest[row] > nearest[anchors])
            if len(high):
                found[row] = bool((shift[row, anchors[high], None] - shift[row] > limit[high]).any())
    return found


def _anchors(index: IntArray) -> Iterator[IntArray]:
    """Numbers of the candidates, a block at a time."""
    return (np.arange(part.start, part.stop) for part in blocks(len(index), len(index)))


def _limits(space: Space, index: IntArray, anchors: IntArray, epsilon: float) -> FloatArray:
    """The difference of shifts beyond which each anchor and each candidate exceed ε; infinite with itself."""
    distance = space.metric.between(space.points[index[anchors]], space.points[index])
    distance[np.arange(len(anchors)), anchors] = np.inf
    return np.asarray(epsilon * distance * (1.0 + ROUNDING) + ROUNDING)


def _fill(out: Scan, block: TierBeliefs, budget: Budget, rng: np.random.Generator) -> None:
    """Compare each position's truth, and one other candidate, with every candidate."""
    n, positions, tier = len(block.index), block.positions, block.tier
    limit, leak = budget.limit, truth_leakage(block, budget)
    labels = budget.tiers.labels[block.index]
    out.largest[positions] = leak.max(axis=1)
    out.anchored[positions] = (leak > limit).sum(axis=1) / (n - 1)
    out.across[positions, 0] = _across(leak > limit, labels, block.truth) / (n - 1)
    out.diagnostic[positions] = (leak > budget.tiers.scales[tier] * limit).sum(axis=1) / (n - 1)
    _record(out, block, leak, block.truth, rng, law=0, epsilon=budget.epsilon)
    anchor = another_anchor(block, rng)
    leak = leakage_from(block, anchor, budget.space)
    beyond = beyond_without_truth(block, leak, limit)
    out.uniform[positions] = uniform_share(out.anchored[positions], beyond)
    out.across[positions, 1] = 2.0 / n * out.across[positions, 0] + _across(beyond, labels, anchor) / n
    _record(out, block, leak, anchor, rng, law=1, epsilon=budget.epsilon)


def truth_leakage(block: TierBeliefs, budget: Budget) -> FloatArray:
    """mPL between each row's truth and every candidate; a tier of one point has nothing to compare."""
    if len(block.index) < 2:
        name = budget.tiers.names[block.tier]
        raise InvalidInput(f"tier {name} has {len(block.index)} points, expected at least 2 to compare")
    return leakage_from(block, block.truth, budget.space)


def another_anchor(block: TierBeliefs, rng: np.random.Generator) -> IntArray:
    """One uniform candidate other than the truth, for each row."""
    n = len(block.index)
    return (block.truth + rng.integers(1, n, len(block.positions))) % n


def beyond_without_truth(block: TierBeliefs, leak: FloatArray, limit: float) -> BoolArray:
    """Which candidates other than the truth lie beyond ε of another anchor."""
    beyond = leak > limit
    beyond[np.arange(len(beyond)), block.truth] = False
    return beyond


def uniform_share(anchored: FloatArray, beyond: BoolArray) -> FloatArray:
    """A uniform pair holds the truth with probability 2/n, and those are known exactly: only the rest is drawn."""
    n = beyond.shape[1]
    return 2.0 / n * anchored + (1.0 - 2.0 / n) * beyond.sum(axis=1) / max(1, n - 2)


def _across(beyond: BoolArray, labels: IntArray, anchor: IntArray) -> IntArray:
    """How many of the marked candidates are of another tier than each row's anchor."""
    if (labels == labels[0]).all():
        return np.zeros(len(beyond), dtype=np.int64)
    return (beyond & (labels[anchor][:, None] != labels)).sum(axis=1)


def _record(
    out: Scan,
    block: TierBeliefs,
    leak: FloatArray,
    anchor: IntArray,
    rng: np.random.Generator,
    *,
    law: int,
    epsilon: float,
) -> None:
    """Mean, one draw and histogram of the leakage between each row's anchor and all others."""
    positions, n = block.positions, leak.shape[1]
    out.mean[positions, law] = leak.sum(axis=1) / (n - 1)
    out.drawn[positions, law] = block.at(leak, (anchor + rng.integers(1, n, len(positions))) % n)
    bins = np.minimum(leak * (BINS / (HISTOGRAM_SPAN * epsilon)), BINS).astype(np.int64)
    counts = np.bincount(bins.ravel(), minlength=BINS + 1).astype(np.float64)
    counts[0] -= len(positions)  # an anchor is not compared with itself
    out.histogram[law, block.tier] += counts


def leakage_from(block: TierBeliefs, anchor: IntArray, space: Space) -> FloatArray:
    """mPL between each row's anchor and every candidate, 0 for the anchor itself."""
    distance = space.metric.between(space.points[block.index[anchor]], space.points[block.index])
    distance[np.arange(len(anchor)), anchor] = np.inf
    gap = block.shift - block.at(block.shift, anchor)[:, None]
    np.abs(gap, out=gap)
    gap /= distance
    return gap


def complete(attacker: Attacker, scores: FloatArray) -> FloatArray:
    """The scores, when the attacker spoke about every position; otherwise a refusal."""
    if np.isnan(scores).any():
        raise InvalidInput(f"attacker {attacker.name} left out positions, expected beliefs about every one")
    return scores


def _check(attacker: Attacker, block: Beliefs, n_points: int) -> None:
    if block.shift.shape != (len(block.positions), n_points):
        raise InvalidInput(
            f"attacker {attacker.name} gave shifts of shape {block.shift.shape}, "
            f"expected {(len(block.positions), n_points)}"
        )
    if np.isnan(block.shift).any() or np.isnan(block.log_prior).any() or (block.shift == np.inf).any():
        raise InvalidInput(f"attacker {attacker.name} gave NaN or infinite beliefs, expected numbers")
