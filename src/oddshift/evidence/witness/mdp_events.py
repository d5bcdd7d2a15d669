"""Pairs of points between which a violation of ε-mDP is looked for: those hinted at, near ones, those of a channel.

Events that may show a violation between two points: some discrete outputs, or a score of vectors above a threshold.

Scores are compared on a grain: where a mechanism on floats is right in real numbers, its last bits still differ from
point to point, and an event that they decide would accuse every correct one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, indices
from oddshift.base.errors import InvalidInput
from oddshift.bounds import clopper_pearson_lower
from oddshift.model.space import Space

ANCHORS = 64
"""Number of points whose neighbours become candidate pairs."""

_REACH = (0.5, 1.0, 2.0, 4.0)  # candidate pairs lie near these values of ε·d, after the nearest pairs


@dataclass(frozen=True, eq=False)
class PairTerms:
    """The claimed ε, how many pairs are wanted, how many draws will be counted, and the channel's logs if known."""

    epsilon: float
    wanted: int
    confirm: int
    channel: FloatArray | None = None


def candidate_pairs(
    space: Space, hints: Sequence[tuple[int, int]], terms: PairTerms, rng: np.random.Generator
) -> dict[tuple[int, int], float]:
    """Hints, then nearest neighbours, nearest first, and pairs at a few values of ε·d, around random points.

    With a channel every pair is looked at, and those are kept of which counted draws can show most.

    >>> terms = PairTerms(epsilon=1.0, wanted=1, confirm=100)
    >>> candidate_pairs(Space([[0.0], [1.0], [9.0]]), [(0, 2)], terms, np.random.default_rng(0))[(0, 2)]
    9.0
    """
    chosen: dict[tuple[int, int], float] = {}
    for hint in hints:
        a, b = indices(hint, "hints", len(space)).tolist()
        chosen[(a, b)] = float(space.metric.between(space.points[[a]], space.points[[b]])[0, 0])
    anchors = rng.permutation(len(space))[: len(space) if terms.channel is not None else ANCHORS]
    rows = space.between(anchors)
    rows[np.arange(len(anchors)), anchors] = np.inf
    if terms.channel is not None:
        pairs = _by_channel(anchors, terms.channel, rows, terms.confirm)
    else:
        pairs = _by_distance(anchors, rows, terms.epsilon, terms.wanted, rng)
    row_of = {int(anchor): row for row, anchor in enumerate(anchors)}
    for a, b in pairs:
        if len(chosen) < terms.wanted + len(hints) and (b, a) not in chosen:
            chosen[(a, b)] = float(rows[row_of[a], b])
    return chosen


def _by_distance(
    anchors: IntArray, rows: FloatArray, epsilon: float, wanted: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    near = np.argmin(rows, axis=1)
    order = np.argsort(rows[np.arange(len(anchors)), near], kind="stable")
    nearest = [(int(anchors[i]), int(near[i])) for i in order]
    ladders = []
    for reach in _REACH:
        match = np.argmin(np.abs(epsilon * rows - reach), axis=1)
        ladders.append([(int(anchors[i]), int(match[i])) for i in rng.permutation(len(anchors))])
    first = nearest[: max(1, wanted // 3)]
    return [*first, *(pair for rung in zip(*ladders, strict=True) for pair in rung), *nearest[len(first) :]]


def _by_channel(anchors: IntArray, channel: FloatArray, distances: FloatArray, confirm: int) -> list[tuple[int, int]]:
    """Pairs in the order of the log ratio per distance of one output that `confirm` draws can be expected to show."""
    low, high = log_countable(channel, confirm)
    worth = np.stack([(low[a] - high).max(axis=1) / distances[i] for i, a in enumerate(anchors.tolist())])
    worth[np.isinf(distances)] = -np.inf  # a point and itself
    order = np.argsort(-worth, axis=None, kind="stable")[: min(4 * len(channel), np.isfinite(distances).sum())]
    return [(int(anchors[i]), int(j)) for i, j in zip(*np.unravel_index(order, worth.shape), strict=True)]


Drawn = npt.NDArray[np.generic]
"""Outputs as drawn: whole numbers or words (n,), or float vectors (n, k)."""

_PREFIXES = 256  # events of discrete outputs that are judged
_QUANTILES = 48  # thresholds tried for each score of a vector output


@dataclass(frozen=True)
class CandidatePair:
    """Two points and their distance; scores of their outputs are compared in steps of `grain` (0: by every bit)."""

    a: int
    b: int
    distance: float
    grain: float = 0.0

    @property
    def turned(self) -> CandidatePair:
        """The same pair the other way round."""
        return CandidatePair(self.b, self.a, self.distance, self.grain)


@dataclass(frozen=True, eq=False)
class PairEvent:
    """A frozen event between two points, and the log ratio per distance that it promises to show."""

    pair: CandidatePair
    promise: float
    outputs: frozenset[object] = frozenset()
    feature: str = ""
    threshold: float = math.inf

    def hits(self, drawn: Drawn, space: Space) -> int:
        """How many of the outputs fall into the event."""
        if self.feature:
            return int((scores(self.feature, drawn, space, self.pair) >= self.threshold).sum())
        values, counts = np.unique(drawn, return_counts=True)
        return int(sum(int(c) for v, c in zip(values.tolist(), counts, strict=True) if v in self.outputs))

    @property
    def text(self) -> str:
        """The event in words."""
        what = f"{self.feature} of the output" if self.feature else f"{len(self.outputs)} outputs"
        return f"points {self.pair.a} and {self.pair.b}, event: {what}"


def drawn_events(pair: CandidatePair, arms: tuple[Drawn, Drawn], space: Space, confirm: int) -> list[PairEvent]:
    """The most promising event of every kind that the outputs allow, for a against b."""
    if arms[0].dtype.kind != "f":
        return [_discrete_event(pair, arms, confirm)]
    if arms[0].shape[1:] != space.points.shape[1:]:
        raise InvalidInput(
            f"outputs of shape {arms[0].shape[1:]}, expected vectors like the points or discrete outputs"
        )
    events = []
    for name in FEATURES:
        left, right = (scores(name, arm, space, pair) for arm in arms)
        steps = np.unique(np.quantile(left, np.linspace(0.0, 0.995, _QUANTILES), method="nearest"))
        if pair.grain:
            steps = steps - 0.5  # between two steps of the grain, where no score lies
        hits = [(int((left >= t).sum()), int((right >= t).sum())) for t in steps]
        promises = [promise(k_a, k_b, len(left), confirm) / pair.distance for k_a, k_b in hits]
        best = int(np.argmax(promises))
        events.append(PairEvent(pair, promises[best], feature=name, threshold=float(steps[best])))
    return events


def channel_event(pair: CandidatePair, rows: tuple[FloatArray, FloatArray], confirm: int) -> PairEvent:
    """The best set of outputs that a known channel allows: a prefix in the order of ln M(y|a)/M(y|b).

    By the lemma of Neyman and Pearson no other set of its probability has a larger ratio.
    """
    with np.errstate(invalid="ignore"):
        order = np.argsort(-np.nan_to_num(rows[0] - rows[1], nan=-np.inf), kind="stable")
    mass_a, mass_b = (np.cumsum(np.exp(row[order])) for row in rows)
    worth = _log_low(mass_a, confirm) - _log_high(mass_b, confirm)
    best = int(np.argmax(worth))
    return PairEvent(pair, float(worth[best]) / pair.distance, outputs=frozenset(order[: best + 1].tolist()))


def log_countable(log_probabilities: FloatArray, confirm: int) -> tuple[FloatArray, FloatArray]:
    """The lower (−inf: none) and the upper bound on each probability that `confirm` draws would give, as logarithms."""
    masses = np.exp(log_probabilities)
    return _log_low(masses, confirm), _log_high(masses, confirm)


def _log_low(mass: FloatArray, confirm: int) -> FloatArray:
    low = mass - 1.645 * np.sqrt(mass / confirm) - 1.5 / confirm
    return np.where(low > 0, np.log(np.maximum(low, 1e-300)), -np.inf)


def _log_high(mass: FloatArray, confirm: int) -> FloatArray:
    return np.log(mass + 1.645 * np.sqrt(mass / confirm) + 3.0 / confirm)


def scores(feature: str, drawn: Drawn, space: Space, pair: CandidatePair) -> FloatArray:
    """A score of every output, in whole steps of the grain where there is one."""
    found = FEATURES[feature](drawn, space, pair.a, pair.b)
    return np.rint(found / pair.grain) if pair.grain else found


def promise(k_a: int, k_b: int, n: int, confirm: int) -> float:
    """The log ratio that `confirm` draws may be expected to show, judged cautiously from n exploring ones."""
    low = clopper_pearson_lower(k_a, n, 0.05) if k_a else 0.0
    high = max((k_b + 0.7 * math.sqrt(k_b)) / n, 0.7 / n if k_b == 0 else 0.0, 4.0 / confirm)
    return math.log(low / high) if low > 0 else -math.inf


def _discrete_event(pair: CandidatePair, arms: tuple[Drawn, Drawn], confirm: int) -> PairEvent:
    values, codes = np.unique(np.concatenate(arms), return_inverse=True)
    n, half = len(arms[0]), len(arms[0]) // 2
    quarters = codes[:half], codes[half:n], codes[n : n + half], codes[n + half :]
    rank_a, size_a, rank_b, size_b = (np.bincount(part, minlength=len(values)) for part in quarters)
    # one half orders the outputs by how much they favour a, the other judges every prefix of that order, so that
    # outputs which only looked good by chance are not chosen
    order = np.argsort(-(np.log(rank_a + 0.5) - np.log(rank_b + 0.5)), kind="stable")
    hits = zip(
        np.cumsum(size_a[order])[:_PREFIXES].tolist(), np.cumsum(size_b[order])[:_PREFIXES].tolist(), strict=True
    )
    promises = [promise(k_a, k_b, n - half, confirm) / pair.distance for k_a, k_b in hits]
    best = int(np.argmax(promises))
    return PairEvent(pair, promises[best], outputs=frozenset(values[order[: best + 1]].tolist()))


def _closeness(drawn: Drawn, space: Space, a: int, _b: int) -> FloatArray:
    return -_to(drawn, space, a)


def _contrast(drawn: Drawn, space: Space, a: int, b: int) -> FloatArray:
    return _to(drawn, space, b) - _to(drawn, space, a)


def _to(drawn: Drawn, space: Space, point: int) -> FloatArray:
    outputs = np.asarray(drawn, dtype=np.float64)
    return np.asarray(np.linalg.norm(outputs - space.points[point], axis=1))


FEATURES: dict[str, Callable[[Drawn, Space, int, int], FloatArray]] = {
    "closeness to the first point": _closeness,
    "nearness to the first point against the second": _contrast,
}
