"""Somebody else's mechanism, known only by its samples: does it keep the ε it claims?

ε-mDP says Pr[M(a) ∈ E] ≤ e^{ε·d(a,b)} Pr[M(b) ∈ E] for every pair and event; one pair and one event that break it are
enough, and every choice is frozen on draws that are not counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, generator, positive, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds import clopper_pearson_lower
from oddshift.evidence.witness.shown import Witness, witness_of
from oddshift.model.space import Space, space_of

Sample = Callable[[IntArray, np.random.Generator], npt.ArrayLike]
"""Point numbers (n,) and a generator → n outputs: numbers, words, or vectors (n, k)."""

ANCHORS = 64
"""Points whose neighbours become candidate pairs."""

_BLOCK = 100_000  # draws asked of the sampler at once
_REACH = (0.5, 1.0, 2.0, 4.0)  # candidate pairs lie near these values of ε·d, in addition to the nearest pairs
_PREFIXES = 256  # events of discrete outputs that are judged
_QUANTILES = 48  # thresholds tried for each score of a vector output


@dataclass(frozen=True, eq=False)
class _Event:
    """A frozen event between two points: some discrete outputs, or a score of vectors at or above a threshold."""

    a: int
    b: int
    distance: float
    promise: float
    outputs: frozenset[object] = frozenset()
    feature: str = ""
    threshold: float = math.inf

    def hits(self, drawn: npt.NDArray[np.generic], space: Space) -> int:
        if self.feature:
            return int((_FEATURES[self.feature](drawn, space, self.a, self.b) >= self.threshold).sum())
        values, counts = np.unique(drawn, return_counts=True)
        return int(sum(int(c) for v, c in zip(values.tolist(), counts, strict=True) if v in self.outputs))

    @property
    def text(self) -> str:
        what = f"{self.feature} of the output" if self.feature else f"{len(self.outputs)} outputs"
        return f"points {self.a} and {self.b}, event: {what}"


def witness_mdp(
    sample: Sample,
    space: Space,
    epsilon: float,
    *,
    alpha: float = 0.05,
    explore: int = 2_000,
    confirm: int = 50_000,
    pairs: int = 48,
    rng: np.random.Generator,
) -> Witness:
    """Find and certify an ε-mDP violation of a mechanism given only by `sample`, or say undecided.

    `explore` draws from each end of up to `pairs` pairs choose three events; `confirm` fresh draws from each end count
    them, each at level alpha / 3. Outputs may be numbers or words (counted as they are) or float vectors.

    **Guarantee**: the returned lower bound on the true ε is too high with probability at most `alpha`, for any
    sampler with independent draws. Undecided says nothing: no violation was found with these draws.

    >>> space = Space([[0.0], [1.0], [2.0]])
    >>> flips = lambda x, rng: np.where(rng.random(len(x)) < 0.97, x, rng.integers(0, 3, len(x)))
    >>> w = witness_mdp(flips, space, epsilon=1.0, explore=500, confirm=5000, rng=np.random.default_rng(0))
    >>> w.shown, w.lower_bound < math.log(0.98 / 0.01)
    (True, True)
    """
    claimed = positive(epsilon, "epsilon")
    unit_open(alpha, "alpha")
    whole(explore, "explore", 50), whole(confirm, "confirm", 50), whole(pairs, "pairs", 1)
    generator(rng)
    if len(space_of(space)) < 2:
        raise InvalidInput(f"a space of {len(space)} point, expected at least 2")
    found: list[_Event] = []
    for a, b, distance in _candidate_pairs(space, claimed, pairs, rng):
        arms = _draw(sample, a, explore, rng), _draw(sample, b, explore, rng)
        found += _events((a, b, distance), arms, space, confirm)
        found += _events((b, a, distance), arms[::-1], space, confirm)
    best = sorted(found, key=lambda event: -event.promise)[:3]
    if not best:
        raise InvalidInput("the sampler gave no event worth counting, expected outputs that vary or repeat")
    results = [_confirm(event, sample, space, (claimed, alpha, confirm, len(best)), rng) for event in best]
    return max(results, key=lambda witness: witness.lower_bound)


def _confirm(
    event: _Event, sample: Sample, space: Space, terms: tuple[float, float, int, int], rng: np.random.Generator
) -> Witness:
    epsilon, alpha, confirm, tried = terms
    hits = [0, 0]
    for side, point in enumerate((event.a, event.b)):
        for block in range(0, confirm, _BLOCK):
            hits[side] += event.hits(_draw(sample, point, min(_BLOCK, confirm - block), rng), space)
    counts = (hits[0], confirm, hits[1], confirm)
    return witness_of("two_arm", counts, (event.distance,), alpha=alpha, epsilon=epsilon, tried=tried, event=event.text)


def _draw(sample: Sample, point: int, n: int, rng: np.random.Generator) -> npt.NDArray[np.generic]:
    drawn = np.asarray(sample(np.full(n, point, dtype=np.int64), rng))
    if drawn.shape[:1] != (n,):
        raise InvalidInput(f"the sampler gave outputs of shape {drawn.shape} for {n} points, expected one for each")
    if drawn.dtype.kind == "f" and drawn.ndim == 1:
        return np.asarray(drawn[:, None])
    return drawn if drawn.ndim == 1 or drawn.dtype.kind == "f" else np.array([str(row.tolist()) for row in drawn])


def _candidate_pairs(
    space: Space, epsilon: float, pairs: int, rng: np.random.Generator
) -> Iterator[tuple[int, int, float]]:
    """Nearest neighbours and pairs at a few values of ε·d, around randomly chosen points."""
    anchors = rng.permutation(len(space))[:ANCHORS]
    rows = space.between(anchors)
    rows[np.arange(len(anchors)), anchors] = np.inf
    near = np.argmin(rows, axis=1)
    order = np.argsort(rows[np.arange(len(anchors)), near], kind="stable")
    ladders = [[(int(anchors[i]), int(near[i])) for i in order]]
    for reach in _REACH:
        match = np.argmin(np.abs(epsilon * rows - reach), axis=1)
        ladders.append([(int(anchors[i]), int(match[i])) for i in rng.permutation(len(anchors))])
    row_of = {int(anchor): row for row, anchor in enumerate(anchors)}
    chosen: dict[tuple[int, int], float] = {}
    for rung in zip(*ladders, strict=True):
        for a, b in rung:
            if len(chosen) < pairs and (b, a) not in chosen:
                chosen[(a, b)] = float(rows[row_of[a], b])
    return ((a, b, distance) for (a, b), distance in chosen.items())


def _events(
    pair: tuple[int, int, float], arms: tuple[npt.NDArray[np.generic], ...], space: Space, confirm: int
) -> list[_Event]:
    """The most promising event of every kind that the outputs allow, for a against b."""
    if arms[0].dtype.kind != "f":
        return _discrete_event(pair, arms, confirm)
    events = []
    for name, feature in _FEATURES.items():
        if arms[0].shape[1:] != space.points.shape[1:]:
            raise InvalidInput(
                f"outputs of shape {arms[0].shape[1:]}, expected vectors like the points or discrete outputs"
            )
        left, right = (feature(arm, space, pair[0], pair[1]) for arm in arms)
        steps = np.unique(np.quantile(left, np.linspace(0.0, 0.995, _QUANTILES)))
        hits = [(int((left >= t).sum()), int((right >= t).sum())) for t in steps]
        promises = [_promise(k_a, k_b, len(left), confirm) / pair[2] for k_a, k_b in hits]
        best = int(np.argmax(promises))
        events.append(_Event(*pair, promises[best], feature=name, threshold=float(steps[best])))
    return events


def _discrete_event(
    pair: tuple[int, int, float], arms: tuple[npt.NDArray[np.generic], ...], confirm: int
) -> list[_Event]:
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
    promises = [_promise(k_a, k_b, n - half, confirm) / pair[2] for k_a, k_b in hits]
    best = int(np.argmax(promises))
    return [_Event(*pair, promises[best], outputs=frozenset(values[order[: best + 1]].tolist()))]


def _promise(k_a: int, k_b: int, n: int, confirm: int) -> float:
    """The log ratio that `confirm` draws may be expected to show, judged cautiously from n exploring ones."""
    low = clopper_pearson_lower(k_a, n, 0.05) if k_a else 0.0
    high = max((k_b + 0.7 * math.sqrt(k_b)) / n, 0.7 / n if k_b == 0 else 0.0, 4.0 / confirm)
    return math.log(low / high) if low > 0 else -math.inf


def _closeness(drawn: npt.NDArray[np.generic], space: Space, a: int, _b: int) -> FloatArray:
    return -_to(drawn, space, a)


def _contrast(drawn: npt.NDArray[np.generic], space: Space, a: int, b: int) -> FloatArray:
    return _to(drawn, space, b) - _to(drawn, space, a)


def _to(drawn: npt.NDArray[np.generic], space: Space, point: int) -> FloatArray:
    outputs = np.asarray(drawn, dtype=np.float64)
    return np.asarray(np.linalg.norm(outputs - space.points[point], axis=1))


_FEATURES: dict[str, Callable[[npt.NDArray[np.generic], Space, int, int], FloatArray]] = {
    "closeness to the first point": _closeness,
    "nearness to the first point against the second": _contrast,
}
