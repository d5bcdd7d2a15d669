"""Pooled documents: a witness where every value of the secret is rare, as words are.

Documents of different values are paired, a coin picks which of the two is released, and a frozen score guesses which
value it had. Pairs differ from round to round; the pooled e-value adds up what each guess shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, generator, indices, positive, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness.games import pooled_log_e
from oddshift.evidence.witness.shown import Witness, witness_of
from oddshift.model.space import Space, space_of

PairScore = Callable[[npt.NDArray[np.generic], IntArray, IntArray], FloatArray]
"""Of releases (n, ...) and two values for each: the attacker's log odds of the first value against the second."""

_THRESHOLDS = 32  # thresholds of |score| that selection looks at
_REACH = 1.5  # pairs are sought at this ε·d: nearer ones show little in each guess, farther ones saturate
_OFFERS = 64  # documents among which the partner of a document is sought
_LEAST = 16  # documents that a pooled witness needs
_FEW = 1000  # values whose distances are worked out before any document is paired


@dataclass(frozen=True, eq=False)
class _Rounds:
    """Played rounds: the distance of the pair, the score in favour of the value that was released."""

    distances: FloatArray
    scores: FloatArray

    def groups(self, threshold: float) -> list[tuple[float, int, int]]:
        """(distance, correct, guesses) for each distance at which |score| reached the threshold."""
        made: BoolArray = np.abs(self.scores) >= threshold
        values, inverse = np.unique(self.distances[made], return_inverse=True)
        right = np.bincount(inverse, weights=self.scores[made] > 0, minlength=len(values)).astype(np.int64)
        guesses = np.bincount(inverse, minlength=len(values))
        return list(zip(values.tolist(), right.tolist(), guesses.tolist(), strict=True))


def pooled_then_test(
    secrets: npt.ArrayLike,
    outputs: npt.ArrayLike,
    space: Space,
    epsilon: float,
    alpha: float,
    *,
    score: PairScore,
    rng: np.random.Generator,
) -> Witness:
    """Certify a violation of ε from documents whose secrets hardly repeat, with an attacker's frozen score.

    A random half of the documents chooses how sure a guess must be, the other half counts. Each document is paired with
    one of another value, at ε·d near 1.5 where possible; a coin drops one of the two. Distances are rounded up by at
    most 2 %, so that the stored witness does not name pairs of secrets.

    **Guarantee**: the bound exceeds sup mPL with probability at most `alpha`, for independent documents and a score
    that was trained on none of them. Every document is used at most once.

    >>> rng = np.random.default_rng(0)
    >>> space = Space(np.arange(100.0)[:, None] / 10)
    >>> x = rng.integers(0, 100, 4000)
    >>> y = np.clip(x + rng.integers(-1, 2, 4000), 0, 99)           # far more exact than ε = 1 allows
    >>> def score(y, a, b):
    ...     return 4.0 * (np.abs(y - b) - np.abs(y - a))
    >>> pooled_then_test(x, y, space, 1.0, 0.05, score=score, rng=rng).shown
    True
    """
    generator(rng)
    values = indices(secrets, "secrets", len(space_of(space)), is_secret=True)
    rows = np.asarray(outputs)
    if rows.shape[:1] != values.shape or len(values) < _LEAST:
        raise InvalidInput(
            f"{len(values)} secrets and outputs of shape {rows.shape}, expected equally many, at least {_LEAST}"
        )
    claimed, level = positive(epsilon, "epsilon"), unit_open(alpha, "alpha")
    chosen = rng.random(len(values)) < 0.5
    how = (score, claimed)
    threshold = _best(_play(values[chosen], rows[chosen], space, how, rng), claimed)
    groups = _play(values[~chosen], rows[~chosen], space, how, rng).groups(threshold)
    if not groups:
        groups = [(float(space.between(np.array([0])).max()), 0, 1)]  # nobody guessed: nothing is shown
    counts = tuple(number for _, right, guesses in groups for number in (right, guesses))
    event = f"pooled guesses on a score frozen beforehand, threshold from {int(chosen.sum())} other documents"
    distances = tuple(distance for distance, _, _ in groups)
    return witness_of("pooled", counts, distances, alpha=level, epsilon=claimed, event=event)


def _play(
    values: IntArray,
    outputs: npt.NDArray[np.generic],
    space: Space,
    how: tuple[PairScore, float],
    rng: np.random.Generator,
) -> _Rounds:
    """Pair the documents without looking at their outputs, toss a coin in each pair, score the document it picks."""
    score, epsilon = how
    left, right, distances = pair_up(values, space, _REACH / epsilon, rng)
    if not len(left):
        raise InvalidInput("no two documents have different values, expected pairs of different values")
    heads = rng.random(len(left)) < 0.5
    released = np.where(heads, left, right)
    favour = np.asarray(score(outputs[released], values[left], values[right]), dtype=np.float64)
    return _Rounds(rounded_up(distances), np.where(heads, favour, -favour))


def rounded_up(distances: FloatArray) -> FloatArray:
    """Round distances up to a grid of 2 % steps, because an exact distance would name the pair of secrets."""
    step = np.log(1.02)
    return np.maximum(distances, np.round(np.exp(step * np.ceil(np.log(distances) / step - 1e-9)), 12))


def pair_up(
    values: IntArray, space: Space, target: float, rng: np.random.Generator
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pair documents of different values, each in one pair, near the distance `target`; return pairs and distances.

    Nothing but `values` decides who is paired with whom, so what else a document holds stays as it was given its value.
    """
    free = rng.permutation(len(values)).tolist()
    pairs: list[tuple[int, int, float]] = []
    gaps_from = _gaps(values, space)
    while len(free) > 1:
        first = free.pop()
        offered = np.array(free[-_OFFERS:])
        gaps = gaps_from(first, offered)
        with np.errstate(divide="ignore"):
            fit = np.abs(np.log(gaps / target))
        fit[values[offered] == values[first]] = np.inf
        best = int(fit.argmin())
        if np.isfinite(fit[best]):
            second = free.pop(best - len(offered))
            pairs.append((first, second, float(gaps[best])))
    left, right, distances = (np.array(part) for part in zip(*pairs, strict=True)) if pairs else ([], [], [])
    return np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64), np.asarray(distances, dtype=np.float64)


def _gaps(values: IntArray, space: Space) -> Callable[[int, IntArray], FloatArray]:
    """The distances from one document to others; those between few values are worked out once."""
    points, between = space.points, space.metric.between
    kinds, codes = np.unique(values, return_inverse=True)
    if len(kinds) > _FEW:
        return lambda first, others: between(points[[values[first]]], points[values[others]])[0]
    table = between(points[kinds], points[kinds])
    return lambda first, others: table[codes[first], codes[others]]


def _best(rounds: _Rounds, epsilon: float) -> float:
    """The threshold with most evidence against ε on the selection fold."""
    sizes = np.unique(np.abs(rounds.scores))
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return np.inf
    options = np.unique(np.quantile(sizes, np.linspace(0, 1, _THRESHOLDS), method="nearest"))
    evidence = [pooled_log_e(rounds.groups(float(t)), epsilon) for t in options]
    return float(options[int(np.argmax(evidence))])
