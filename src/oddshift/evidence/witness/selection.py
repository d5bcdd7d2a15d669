"""Select, then test: choose the pair, the event and its threshold on one fold, count on the other.

Choosing the best of K candidates on the counted releases themselves is wrong in most runs once K is large; here every
choice is frozen before any counted release is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    finite,
    generator,
    indices,
    one_of,
    positive,
    unit_open,
)
from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness.shown import Witness, witness_of
from oddshift.mechanisms.epsilon import check_distances

Score = Callable[[npt.NDArray[np.generic], int, int], FloatArray]
"""Of outputs (n, ...), a and b: the attacker's log odds of a against b, one number for each release."""

_THRESHOLDS = 64  # thresholds of a score that selection looks at
_LEAST = 4  # releases of each value that a pair needs on the selection fold
_PAIRS = 500  # pairs considered, those with most releases first


@dataclass(frozen=True)
class Rule:
    """A frozen event: the score of (a, b) above `threshold` says a; in the guess game below −threshold says b."""

    a: int
    b: int
    distance: float
    threshold: float
    game: str


def best_threshold(scores_a: FloatArray, scores_b: FloatArray, game: str, alpha: float) -> tuple[float, float]:
    """Return the threshold with the largest lower bound on ln(odds), and that bound, on the selection fold.

    The event is score ≥ threshold (two_arm) or |score| ≥ threshold with the sign as guess (guess_game).

    **Guarantee**: none for the returned bound, which is chosen among many; count again on fresh releases.

    >>> t, bound = best_threshold(np.array([1.0] * 50), np.array([-1.0] * 50), "two_arm", 0.05)
    >>> t, bound > 2
    (1.0, True)
    """
    rank_a, rank_b = (scores_a, scores_b) if game == "two_arm" else (np.abs(scores_a), np.abs(scores_b))
    options = np.unique(np.concatenate((rank_a, rank_b)))
    if game == "guess_game":
        options = options[options > 0]
    if not len(options):
        return np.inf, -np.inf
    if len(options) > _THRESHOLDS:
        options = np.unique(np.quantile(options, np.linspace(0, 1, _THRESHOLDS), method="nearest"))
    if game == "two_arm":
        hits_a = (scores_a[None, :] >= options[:, None]).sum(axis=1)
        hits_b = (scores_b[None, :] >= options[:, None]).sum(axis=1)
        bounds = _log_ratio(hits_a, len(scores_a), hits_b, len(scores_b), alpha)
    else:
        bounds = _log_odds(scores_a, scores_b, options, alpha)
    best = int(np.argmax(bounds))
    return float(options[best]), float(bounds[best])


def frequency_score(codes: IntArray, secrets: IntArray, size: int) -> Score:
    """Learn a score by counting: ln of smoothed frequencies of every output given a, minus given b.

    `codes` and `secrets` are of the selection fold only; an output never seen there scores 0. Several positions are
    one joint output, so this suits few positions and outputs; pass a trained attacker's score otherwise.
    """
    values, inverse = np.unique(secrets, return_inverse=True)
    counts = np.zeros((len(values), size))
    np.add.at(counts, (inverse, codes), 1.0)
    seen = counts.sum(axis=0) > 0
    logs = np.log(counts + 0.5) - np.log(counts.sum(axis=1, keepdims=True) + 0.5 * max(1, int(seen.sum())))
    rows = {int(value): logs[row] for row, value in enumerate(values)}

    def score(outputs: npt.NDArray[np.generic], a: int, b: int) -> FloatArray:
        odds = np.where(seen, rows[a] - rows[b], 0.0)
        return np.asarray(odds[outputs])

    return score


def select_then_test(
    secrets: npt.ArrayLike,
    outputs: npt.ArrayLike,
    distances: npt.ArrayLike,
    epsilon: float,
    alpha: float,
    *,
    game: str = "two_arm",
    score: Score | None = None,
    rng: np.random.Generator,
) -> Witness:
    """Find and certify a violation of ε from draws (secret, outputs) of any black box.

    `secrets` (n,) are the values of X_l and `outputs` (n, ...) the joint releases of n independent documents;
    `distances` (K, K) between values. A random half of the documents selects pair and threshold, the other half counts.
    `score` is an attacker trained on other documents; without it outputs are counted as they are. For groups of values
    pass group labels as `secrets` and `group_distances` as `distances`.

    **Guarantee**: the bound exceeds sup mPL with probability at most `alpha`, whatever the score.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.integers(0, 2, 4000)
    >>> y = np.where(rng.random(4000) < 0.9, x, 1 - x)
    >>> w = select_then_test(x, y, [[0, 1], [1, 0]], epsilon=1.0, alpha=0.05, rng=rng)
    >>> w.shown, 1.5 < w.lower_bound < 2.1973  # ln 9 = 2.19722
    (True, True)
    """
    generator(rng)
    matrix = check_distances(distances, len(finite(distances, "distances", 2)))
    values = indices(secrets, "secrets", len(matrix), is_secret=True)
    rows = np.asarray(outputs)
    if rows.shape[:1] != values.shape or len(values) < 4 * _LEAST:
        raise InvalidInput(
            f"{len(values)} secrets and outputs of shape {rows.shape}, expected equally many, at least {4 * _LEAST}"
        )
    one_of(game, "game", ["guess_game", "two_arm"])
    unit_open(alpha, "alpha")
    chosen = rng.random(len(values)) < 0.5
    if score is None:
        rows = coded(rows)
        score = frequency_score(rows[chosen], values[chosen], int(rows.max()) + 1)
    rule, pairs = _select(values[chosen], rows[chosen], matrix, score, (game, alpha))
    event = f"{game} on a score frozen on {int(chosen.sum())} documents, best of {pairs} ordered pairs"
    counts = count_events(rule, values[~chosen], rows[~chosen], score, rng)
    return witness_of(game, counts, (rule.distance,), alpha=alpha, epsilon=epsilon, event=event)


def count_events(
    rule: Rule, secrets: IntArray, outputs: npt.NDArray[np.generic], score: Score, rng: np.random.Generator
) -> tuple[int, ...]:
    """Count the events of a frozen rule on fresh documents.

    The guess game tosses min(n_a, n_b) fair coins, so that no arm can run out: the number of rounds does not depend on
    what was released. A game in which every round abstains counts as one wrong guess.
    """
    arm_a, arm_b = (score(outputs[secrets == value], rule.a, rule.b) for value in (rule.a, rule.b))
    if not len(arm_a) or not len(arm_b):
        raise InvalidInput(f"{len(arm_a)} and {len(arm_b)} fresh documents of the chosen pair, expected some of each")
    if rule.game == "two_arm":
        return int((arm_a >= rule.threshold).sum()), len(arm_a), int((arm_b >= rule.threshold).sum()), len(arm_b)
    coins = rng.random(min(len(arm_a), len(arm_b))) < 0.5
    heads = int(coins.sum())
    right = (arm_a[:heads] >= rule.threshold).sum() + (arm_b[: len(coins) - heads] <= -rule.threshold).sum()
    wrong = (arm_a[:heads] <= -rule.threshold).sum() + (arm_b[: len(coins) - heads] >= rule.threshold).sum()
    return (int(right), int(right + wrong)) if right + wrong else (0, 1)


def coded(outputs: npt.NDArray[np.generic]) -> IntArray:
    """One whole number for each distinct joint output (row).

    >>> coded(np.array([[0, 1], [2, 2], [0, 1]]))
    array([0, 1, 0])
    """
    flat = outputs if outputs.ndim == 1 else outputs.reshape(len(outputs), -1)
    _, codes = np.unique(flat, axis=None if flat.ndim == 1 else 0, return_inverse=True)
    return np.asarray(codes.ravel(), dtype=np.int64)


def _select(
    secrets: IntArray,
    outputs: npt.NDArray[np.generic],
    distances: FloatArray,
    score: Score,
    how: tuple[str, float],
) -> tuple[Rule, int]:
    """The rule with the largest bound per distance on the selection fold, and how many were compared."""
    game, alpha = how
    values, counts = np.unique(secrets, return_counts=True)
    common = values[counts >= _LEAST][np.argsort(-counts[counts >= _LEAST], kind="stable")]
    pairs = [(int(a), int(b)) for i, a in enumerate(common) for b in common[:i]][:_PAIRS]
    pairs += [(b, a) for a, b in pairs] if game == "two_arm" else []
    if not pairs:
        raise InvalidInput(
            f"no two values with at least {_LEAST} selection documents each, expected one pair or groups"
        )
    where = {int(v): np.flatnonzero(secrets == v) for v in common}
    best, value = None, -np.inf
    for a, b in pairs:
        gap = positive(float(distances[a, b]), f"distances[{a}, {b}]")
        arms = score(outputs[where[a]], a, b), score(outputs[where[b]], a, b)
        threshold, bound = best_threshold(*arms, game, alpha)
        if best is None or bound / gap > value:
            best, value = Rule(a, b, gap, threshold, game), bound / gap
    assert best is not None
    return best, len(pairs)


def _log_ratio(hits_a: IntArray, n_a: int, hits_b: IntArray, n_b: int, alpha: float) -> FloatArray:
    from scipy import special

    low = special.betaincinv(np.maximum(hits_a, 0.5), n_a - hits_a + 1, alpha / 2)
    high = np.where(hits_b < n_b, special.betainccinv(hits_b + 1.0, np.maximum(n_b - hits_b, 1e-9), alpha / 2), 1.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(low) - np.log(high))


def _log_odds(scores_a: FloatArray, scores_b: FloatArray, options: FloatArray, alpha: float) -> FloatArray:
    from scipy import special

    def share(hits: BoolArray) -> FloatArray:
        return np.asarray(hits.mean(axis=1))

    rounds = min(len(scores_a), len(scores_b)) / 2
    steps = options[:, None]
    right = rounds * (share(scores_a >= steps) + share(scores_b <= -steps))
    wrong = rounds * (share(scores_a <= -steps) + share(scores_b >= steps))
    low = special.betaincinv(np.maximum(right, 0.5), wrong + 1, alpha)
    return np.asarray(np.log(low) - np.log1p(-low))
