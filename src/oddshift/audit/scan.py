"""The scan: one attacker against the truth, at every position of a release. Audits and adaptations both measure here.

An anchor x_i is compared with every other candidate x_j at once: |shift_i − shift_j| against ε·d(x_i, x_j). With the
truth as anchor that is the `anchored` law, exactly; with another candidate as anchor it is a draw of the remaining
pairs of the `uniform` law. No triple is ever stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.audit.beliefs import OwnScores, TierBeliefs, tier_beliefs
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, row_counts
from oddshift.base.errors import InvalidInput
from oddshift.leakage.mpl import exceeds
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

BINS = 120
"""Bins of the histogram of mPL between 0 and HISTOGRAM_SPAN·ε; one more bin holds what lies beyond."""

HISTOGRAM_SPAN = 6.0

KEPT_ENTRIES = 64_000_000
"""Distances between the candidates of one tier up to which they are kept (512 MB); a performance setting."""

FEWEST = 2
"""Candidates of a tier below which there is no pair to compare, so that nothing leaks: its value is public."""

SCANNED_LAWS = ("anchored", "uniform")
"""Pair laws whose share a scan gives at every position; the worst pair is asked for separately."""


@dataclass(frozen=True, eq=False)
class Budget:
    """What leakage is measured against: a mechanism over points, their tiers, and ε."""

    mechanism: Mechanism
    tiers: Tiers
    epsilon: float

    @property
    def space(self) -> Space:
        """The points that are compared."""
        return self.mechanism.space

    def compared(self, tier: int) -> Space:
        """The candidates of a tier as a space; their distances are kept if they are not too many."""
        part = self.space.part(np.flatnonzero(candidates(self.tiers, tier)))
        if len(part) ** 2 <= KEPT_ENTRIES:
            _ = part.distances
        return part

    def spaces(self, truth: Records) -> dict[int, Space]:
        """The candidates of every tier that occurs in some records."""
        return {int(tier): self.compared(int(tier)) for tier in np.unique(truth.tier_of_position(self.tiers))}


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """−log posterior of the truth at every position, in nats: the attacker's, and that of the single release.

    `own_score` is under the attacker's own prior (given W, if it reads W), so that a better prior is not a gain.
    """

    log_score: FloatArray
    own_score: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class ScanDetail:
    """What an audit shows of every position in addition to the rates (rows follow the release's positions).

    `diagnostic` is the anchored share beyond scale·ε; `largest` and `mean` are of the mPL of the truth; `across` is how
    much of the anchored and of the uniform rate comes from pairs across two tiers, (positions, 2); 0 where tiers are
    public. `histogram` is (laws, tiers, BINS + 1) counts of pairs.
    """

    diagnostic: FloatArray
    largest: FloatArray
    mean: FloatArray
    across: FloatArray
    histogram: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Scan:
    """What one attacker finds, position by position (rows follow the release's positions).

    `scores` are log scores; `rank` is the number of candidates believed more than the truth; `hit` is how often the
    first guess is right, and `prior_hit` how often it was before any release; a tie counts as a right guess, except
    where nothing was learned: there the two are the same. `anchored` and `uniform` are shares of pairs beyond ε, None
    where that law was not asked for; `detail` is present when it was asked for.
    """

    scores: Scores
    rank: IntArray
    hit: FloatArray
    prior_hit: FloatArray
    anchored: FloatArray
    uniform: FloatArray | None
    detail: ScanDetail | None

    def rate(self, law: str) -> FloatArray:
        """The share of pairs beyond ε at every position, under a law that was scanned."""
        values = {"anchored": self.anchored, "uniform": self.uniform}.get(law)
        if values is None:
            raise InvalidInput(f"law={law!r} was not scanned, expected one that was asked for")
        return values

    def at(self, rows: BoolArray) -> Scan:
        """The same at some positions alone, without the detail."""
        scores = Scores(self.scores.log_score[rows], self.scores.own_score[rows])
        uniform = None if self.uniform is None else self.uniform[rows]
        return Scan(scores, self.rank[rows], self.hit[rows], self.prior_hit[rows], self.anchored[rows], uniform, None)

    @property
    def details(self) -> ScanDetail:
        """The detail, where it was asked for."""
        if self.detail is None:
            raise InvalidInput("the scan has no detail, expected one made with detailed=True")
        return self.detail


def scan(
    attacker: Attacker,
    release: Release,
    truth: Records,
    budget: Budget,
    rng: np.random.Generator,
    *,
    laws: Sequence[str] = SCANNED_LAWS,
    detailed: bool = True,
) -> Scan:
    """Run an attacker over a release and compare it with the truth, block by block.

    The detail takes all laws; without it, only what `laws` needs is computed.
    """
    scanning = Scanning.begin(release, truth, budget, rng, needs_uniform=detailed or "uniform" in laws)
    out = scanning.empty(detailed=detailed)
    for block in tier_beliefs(attacker, release, truth, budget.tiers):
        scanning.take(out, block)
    refuse_gaps(attacker, out.scores)
    return out


@dataclass(frozen=True, eq=False, repr=False)
class Scanning:
    """What the scans of one release have in common: the single release, distances, and what is drawn."""

    budget: Budget
    alone: OwnScores
    parts: Mapping[int, Space]
    steps: IntArray | None

    @classmethod
    def begin(
        cls, release: Release, truth: Records, budget: Budget, rng: np.random.Generator, *, needs_uniform: bool
    ) -> Scanning:
        """Nothing is scanned yet."""
        parts = budget.spaces(truth)
        steps = _anchor_steps(truth, parts, budget.tiers, rng) if needs_uniform else None
        return cls(budget, OwnScores(budget.mechanism, budget.tiers, release, truth), parts, steps)

    def empty(self, *, detailed: bool) -> Scan:
        """A scan to be filled."""
        n = len(self.alone.truth.points)
        return Scan(
            scores=Scores(np.full(n, np.nan), np.full(n, np.nan)),
            rank=np.zeros(n, dtype=np.int64),
            hit=np.zeros(n),
            prior_hit=np.zeros(n),
            anchored=np.zeros(n),
            uniform=None if self.steps is None else np.zeros(n),
            detail=_empty_detail(n, len(self.budget.tiers)) if detailed else None,
        )

    def take(self, out: Scan, block: TierBeliefs) -> None:
        """Compare some beliefs with the truth."""
        self.score(out.scores, block)
        out.rank[block.positions] = row_counts(block.score > block.at(block.score, block.truth)[:, None])
        out.prior_hit[block.positions] = block.prior_hit
        out.hit[block.positions] = block.prior_hit if block.is_idle else out.rank[block.positions] == 0
        if len(block.index) < FEWEST:
            return
        _anchored(out, block, self.parts[block.tier], self.budget)
        if self.steps is not None:
            _uniform(out, block, self.parts[block.tier], self.budget, self.steps)

    def score(self, out: Scores, block: TierBeliefs) -> None:
        """The log scores of some beliefs."""
        _score(out, block, self.alone)


def scores(attacker: Attacker, release: Release, truth: Records, budget: Budget) -> Scores:
    """The log scores alone; attackers are chosen by nothing else."""
    n = len(truth.points)
    found = Scores(np.full(n, np.nan), np.full(n, np.nan))
    budget.spaces(truth)
    alone = OwnScores(budget.mechanism, budget.tiers, release, truth)
    for block in tier_beliefs(attacker, release, truth, budget.tiers):
        _score(found, block, alone)
    refuse_gaps(attacker, found)
    return found


def _empty_detail(n: int, tiers: int) -> ScanDetail:
    return ScanDetail(
        diagnostic=np.zeros(n),
        largest=np.zeros(n),
        mean=np.zeros(n),
        across=np.zeros((n, 2)),
        histogram=np.zeros((2, tiers, BINS + 1)),
    )


def _score(out: Scores, block: TierBeliefs, alone: OwnScores) -> None:
    out.log_score[block.positions] = block.log_score
    out.own_score[block.positions] = alone.of(block)


def _anchor_steps(truth: Records, parts: Mapping[int, Space], tiers: Tiers, rng: np.random.Generator) -> IntArray:
    """Steps from the truth to the other anchor of the uniform law, drawn by position: whatever the blocks, the same."""
    labels = truth.tier_of_position(tiers)
    steps = np.zeros(len(labels), dtype=np.int64)
    for tier, part in parts.items():
        mine = np.flatnonzero(labels == tier)
        steps[mine] = rng.integers(1, max(FEWEST, len(part)), len(mine))
    return steps


def _anchored(out: Scan, block: TierBeliefs, part: Space, budget: Budget) -> None:
    """Compare each truth with every candidate."""
    n, positions, detail = len(block.index), block.positions, out.detail
    if block.is_idle:
        if detail is not None:
            detail.histogram[0, block.tier, 0] += len(positions) * (n - 1)
        return
    gap, distance = _gaps(block, block.truth, part)
    beyond = exceeds(gap, distance, budget.epsilon)
    out.anchored[positions] = row_counts(beyond) / (n - 1)
    if detail is None:
        return
    scale, labels = budget.tiers.scales[block.tier], budget.tiers.labels[block.index]
    scaled = beyond if scale == 1.0 else exceeds(gap, distance, scale * budget.epsilon)
    detail.diagnostic[positions] = row_counts(scaled) / (n - 1)
    detail.across[positions, 0] = _across(beyond, labels, block.truth) / (n - 1)
    gap /= distance
    detail.largest[positions] = gap.max(axis=1)
    detail.mean[positions] = gap.sum(axis=1) / (n - 1)
    _record(detail, block, gap, law=0, epsilon=budget.epsilon)


def _uniform(out: Scan, block: TierBeliefs, part: Space, budget: Budget, steps: IntArray) -> None:
    """Compare one other candidate than the truth with every candidate."""
    n, positions, detail = len(block.index), block.positions, out.detail
    assert out.uniform is not None
    if block.is_idle:
        if detail is not None:
            detail.histogram[1, block.tier, 0] += len(positions) * (n - 1)
        return
    anchor = (block.truth + steps[positions]) % n
    gap, distance = _gaps(block, anchor, part)
    beyond = exceeds(gap, distance, budget.epsilon)
    beyond[np.arange(len(beyond)), block.truth] = False
    out.uniform[positions] = _uniform_share(out.anchored[positions], beyond)
    if detail is not None:
        across = _across(beyond, budget.tiers.labels[block.index], anchor)
        detail.across[positions, 1] = 2.0 / n * detail.across[positions, 0] + across / n
        gap /= distance
        _record(detail, block, gap, law=1, epsilon=budget.epsilon)


def _gaps(block: TierBeliefs, anchor: IntArray, part: Space) -> tuple[FloatArray, FloatArray]:
    """|shift difference| and distance between each row's anchor and every candidate; the anchor is infinitely far."""
    distance = part.between(anchor)
    distance[np.arange(len(anchor)), anchor] = np.inf
    gap = block.shift - block.at(block.shift, anchor)[:, None]
    np.abs(gap, out=gap)
    return gap, distance


def _uniform_share(anchored: FloatArray, beyond: BoolArray) -> FloatArray:
    """A uniform pair holds the truth with probability 2/n, and those are known exactly: only the rest is drawn."""
    n = beyond.shape[1]
    return 2.0 / n * anchored + (1.0 - 2.0 / n) * row_counts(beyond) / max(1, n - 2)


def _across(beyond: BoolArray, labels: IntArray, anchor: IntArray) -> IntArray:
    """How many of the marked candidates are of another tier than each row's anchor."""
    if (labels == labels[0]).all():
        return np.zeros(len(beyond), dtype=np.int64)
    return row_counts(beyond & (labels[anchor][:, None] != labels))


def _record(out: ScanDetail, block: TierBeliefs, leak: FloatArray, *, law: int, epsilon: float) -> None:
    """The histogram of the leakage between each row's anchor and all others."""
    bin_of = min(BINS / (HISTOGRAM_SPAN * epsilon), float(np.finfo(np.float64).max))
    with np.errstate(over="ignore"):  # of a tiny budget whatever leaks lies in the last bin
        leak *= bin_of
    bins = np.minimum(leak, BINS, out=leak).astype(np.int64)
    counts = np.bincount(bins.ravel(), minlength=BINS + 1).astype(np.float64)
    counts[0] -= len(leak)  # an anchor is not compared with itself
    out.histogram[law, block.tier] += counts


def refuse_gaps(attacker: Attacker, found: Scores) -> None:
    """Refuse an attacker that says nothing about some positions."""
    if np.isnan(found.log_score).any():
        raise InvalidInput(f"attacker {attacker.name} left out positions, expected beliefs about every one")
