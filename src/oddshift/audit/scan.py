"""One attacker against the truth: what every position of a release gives away, without materialising triples.

An anchor x_i is compared with every other candidate x_j at once: |shift_i − shift_j| / d(x_i, x_j). With the truth as
anchor that is the `anchored` law, exactly; with another candidate as anchor it is a draw of the remaining pairs of the
`uniform` law. `worst` asks whether any pair exceeds ε, and stops at the first that does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.attackers.attacker import Attacker, Beliefs
from oddshift.errors import InvalidInput
from oddshift.leakage import ROUNDING
from oddshift.logs import log_sum
from oddshift.records import Records
from oddshift.release import Release, candidates
from oddshift.space import Space
from oddshift.tiers import Tiers

BINS = 120
"""Bins of the histogram of mPL between 0 and HISTOGRAM_SPAN·ε; one more holds what lies beyond."""

HISTOGRAM_SPAN = 6.0

_NEVER = -1e30  # stands for an impossible value, so that two of them do not differ


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """What one attacker gives away, position by position (rows follow the release's positions).

    `log_score` is −log posterior of the truth in nats, `rank` the number of candidates believed more than the truth.
    `anchored` and `uniform` are fractions of pairs beyond ε, `diagnostic` the anchored one beyond scale·ε;
    `largest` is the largest mPL of the truth; `drawn` is
    one mPL from each of the two laws, (positions, 2). `histogram` is (laws, tiers, BINS + 1) counts of pairs.
    """

    log_score: FloatArray
    rank: IntArray
    anchored: FloatArray
    uniform: FloatArray
    diagnostic: FloatArray
    largest: FloatArray
    mean: FloatArray
    drawn: FloatArray
    histogram: FloatArray


@dataclass(frozen=True, eq=False)
class Ruler:
    """What leakage is measured with: the points, their tiers, and the budget."""

    space: Space
    tiers: Tiers
    epsilon: float


def scan(attacker: Attacker, release: Release, truth: Records, ruler: Ruler, rng: np.random.Generator) -> Scan:
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
        histogram=np.zeros((2, len(ruler.tiers), BINS + 1)),
    )
    for positions, tier, shift, log_prior, truth_column in believed(attacker, release, truth, ruler.tiers):
        score = log_prior + shift
        at_truth = np.take_along_axis(score, truth_column[:, None], axis=1)
        out.log_score[positions] = log_sum(score) - at_truth[:, 0]
        out.rank[positions] = (score > at_truth).sum(axis=1)
        _fill(out, positions, tier, shift, truth_column, ruler, rng)
    if np.isnan(out.log_score).any():
        missing = int(np.isnan(out.log_score).sum())
        raise InvalidInput(f"attacker {attacker.name} left out {missing} positions, expected beliefs about every one")
    return out


def log_scores(attacker: Attacker, release: Release, truth: Records, tiers: Tiers) -> FloatArray:
    """−log posterior of the truth at every position, in nats: the only thing attackers are chosen by."""
    scores = np.full(len(truth.points), np.nan)
    for positions, _, shift, log_prior, truth_column in believed(attacker, release, truth, tiers):
        score = log_prior + shift
        scores[positions] = log_sum(score) - np.take_along_axis(score, truth_column[:, None], axis=1)[:, 0]
    if np.isnan(scores).any():
        raise InvalidInput(f"attacker {attacker.name} left out positions, expected beliefs about every one")
    return scores


def believed(
    attacker: Attacker, release: Release, truth: Records, tiers: Tiers
) -> Iterator[tuple[IntArray, int, FloatArray, FloatArray, IntArray]]:
    """(positions, tier, shift, log prior, column of the truth), restricted to the candidates of one tier at a time."""
    labels = truth.tier_of_position(tiers)
    for block in attacker.beliefs(release):
        _check(attacker, block, len(tiers.labels))
        for tier in np.unique(labels[block.positions]):
            rows = np.flatnonzero(labels[block.positions] == tier)
            allowed = np.flatnonzero(candidates(tiers, int(tier)))
            positions = block.positions[rows]
            prior = block.log_prior[allowed] if block.log_prior.ndim == 1 else block.log_prior[np.ix_(rows, allowed)]
            shift = np.maximum(block.shift[np.ix_(rows, allowed)], _NEVER)
            yield positions, int(tier), shift, prior, np.searchsorted(allowed, truth.points[positions])


def worst_exceeds(shift: FloatArray, space: Space, index: IntArray, epsilon: float) -> BoolArray:
    """Whether any pair of candidates exceeds ε, for each row of `shift` (positions, candidates).

    Rows of pairs are tried from the most extreme shifts inwards, and dropped as soon as one exceeds; the others are
    scanned to the end, so the answer is exact.
    """
    found = np.zeros(len(shift), dtype=bool)
    centred = np.abs(shift - np.median(shift, axis=1, keepdims=True)).max(axis=0)
    order = np.argsort(-centred, kind="stable")
    for part in blocks(len(order), len(index)):
        anchors = order[part]
        distance = space.metric.between(space.points[index[anchors]], space.points[index])
        distance[np.arange(len(anchors)), anchors] = np.inf
        limit = epsilon * distance * (1.0 + ROUNDING) + ROUNDING
        for row in np.flatnonzero(~found):
            found[row] = bool((np.abs(shift[row, anchors, None] - shift[row][None, :]) > limit).any())
    return found


def _fill(
    out: Scan,
    positions: IntArray,
    tier: int,
    shift: FloatArray,
    truth_column: IntArray,
    ruler: Ruler,
    rng: np.random.Generator,
) -> None:
    """Compare each position's truth, and one uniform candidate, with every other candidate."""
    allowed = np.flatnonzero(candidates(ruler.tiers, tier))
    if len(allowed) < 2:
        raise InvalidInput(f"tier {ruler.tiers.names[tier]} has {len(allowed)} points, expected at least 2 to compare")
    others, limit = len(allowed) - 1, ruler.epsilon * (1.0 + ROUNDING)
    leak = _leakage(shift, truth_column, allowed, ruler.space)
    out.largest[positions] = leak.max(axis=1)
    out.anchored[positions] = (leak > limit).sum(axis=1) / others
    out.diagnostic[positions] = (leak > ruler.tiers.scales[tier] * limit).sum(axis=1) / others
    _record(out, positions, (0, tier), leak, truth_column, ruler.epsilon, rng)
    # a uniform pair holds the truth with probability 2/n, and those pairs are known exactly: only the rest is drawn
    anchor = (truth_column + rng.integers(1, len(allowed), len(positions))) % len(allowed)
    leak = _leakage(shift, anchor, allowed, ruler.space)
    with_truth = np.take_along_axis(leak, truth_column[:, None], axis=1)[:, 0] > limit
    rest = ((leak > limit).sum(axis=1) - with_truth) / max(1, others - 1)
    share = 2.0 / len(allowed)
    out.uniform[positions] = share * out.anchored[positions] + (1.0 - share) * rest
    _record(out, positions, (1, tier), leak, anchor, ruler.epsilon, rng)


def _record(
    out: Scan,
    positions: IntArray,
    place: tuple[int, int],
    leak: FloatArray,
    anchor: IntArray,
    epsilon: float,
    rng: np.random.Generator,
) -> None:
    """Mean, one draw and histogram of the leakage between each row's anchor and all others."""
    law, tier = place
    n = leak.shape[1]
    out.mean[positions, law] = leak.sum(axis=1) / (n - 1)
    other = (anchor + rng.integers(1, n, len(positions))) % n
    out.drawn[positions, law] = np.take_along_axis(leak, other[:, None], axis=1)[:, 0]
    bins = np.minimum(leak * (BINS / (HISTOGRAM_SPAN * epsilon)), BINS).astype(np.int64)
    counts = np.bincount(bins.ravel(), minlength=BINS + 1).astype(np.float64)
    counts[0] -= len(positions)  # an anchor is not compared with itself
    out.histogram[law, tier] += counts


def _leakage(shift: FloatArray, anchor: IntArray, allowed: IntArray, space: Space) -> FloatArray:
    """mPL between each row's anchor and every candidate, 0 for the anchor itself."""
    distance = space.metric.between(space.points[allowed[anchor]], space.points[allowed])
    distance[np.arange(len(anchor)), anchor] = np.inf
    gap = shift - np.take_along_axis(shift, anchor[:, None], axis=1)
    np.abs(gap, out=gap)
    gap /= distance
    return gap


def _check(attacker: Attacker, block: Beliefs, n_points: int) -> None:
    if block.shift.shape != (len(block.positions), n_points):
        raise InvalidInput(
            f"attacker {attacker.name} gave shifts of shape {block.shift.shape}, "
            f"expected {(len(block.positions), n_points)}"
        )
    if np.isnan(block.shift).any() or np.isnan(block.log_prior).any() or (block.shift == np.inf).any():
        raise InvalidInput(f"attacker {attacker.name} gave NaN or infinite beliefs, expected numbers")
