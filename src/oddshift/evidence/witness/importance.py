"""Importance draws: a violation in rare outputs, shown by drawing them more often than the mechanism does.

The caller draws from a law of their own, most simply by running the mechanism with its noise tilted, and weighs each
draw by the ratio of the two densities (Hammersley & Handscomb, Monte Carlo Methods, 1964, §5.4).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, finite
from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness.mdp_events import CandidatePair, Drawn
from oddshift.evidence.witness.weighted_arms import levels_above, levels_below

Importance = Callable[[IntArray, np.random.Generator], tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]]
"""Point numbers (n,) and a generator → n outputs (whole numbers or words), their `log_weights` and `log_most`.

`log_weights`: ln of the density of what was drawn under the mechanism over that under the law drawn from. `log_most`:
the largest log weight that any draw from that point with that output can have. One bound for all outputs would be of
no use: weights have mean 1, so it is at least 1, and shows no more than plain draws do.
"""

LARGEST = 700.0
"""Largest logarithm of a weight, or of its inverse: float64 holds no larger one."""

_CAUTION = 1.645  # standard errors by which a promise is judged on the safe side
_BET = 9.0  # a betting bound lies about this many largest values / n from the mean of rare ones
_NEVER = 3.0  # an upper bound on what n draws never gave, times n
_CLIPS = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)  # shares of the weights that a clip leaves as they are
_SLACK = 1e-9  # rounding that is allowed between a log weight and the largest one declared


@dataclass(frozen=True, eq=False)
class WeightedDraws:
    """Checked importance draws from one point."""

    outputs: Drawn
    log_weights: FloatArray
    log_most: FloatArray

    def inside(self, outputs: frozenset[object]) -> BoolArray:
        """Which draws are among these outputs."""
        values, codes = np.unique(self.outputs, return_inverse=True)
        return np.array([value in outputs for value in values.tolist()], dtype=bool)[codes]


@dataclass(frozen=True, eq=False)
class WeightedEvent:
    """Some outputs of two points, frozen, with the clip of the weights given a and their largest value given b."""

    pair: CandidatePair
    promise: float
    outputs: frozenset[object]
    log_clip: float
    log_most: float

    @property
    def text(self) -> str:
        """The event in words."""
        return f"points {self.pair.a} and {self.pair.b}, event: {len(self.outputs)} outputs, by importance draws"


def weighted_draws(importance: Importance, point: int, n: int, rng: np.random.Generator) -> WeightedDraws:
    """Draw n times from one point and refuse weights that cannot be right.

    A weight of 0 is refused as well: it says that the mechanism never gives what was drawn, which for the second point
    of a pair is the very claim that a witness has to show.

    >>> found = weighted_draws(lambda x, rng: (x, 0.0 * x, 0.0 * x), 3, 2, np.random.default_rng(0))
    >>> found.outputs.tolist(), found.log_weights.tolist()
    ([3, 3], [0.0, 0.0])
    """
    given = importance(np.full(n, point, dtype=np.int64), rng)
    if not isinstance(given, tuple) or len(given) != 3:
        raise InvalidInput(
            "the importance draws are something else than a triple, expected (outputs, log_weights, log_most)"
        )
    outputs = np.asarray(given[0])
    if outputs.shape != (n,) or outputs.dtype.kind not in "iubU":
        raise InvalidInput(
            f"importance outputs of shape {outputs.shape} and type {outputs.dtype} for {n} points, expected a whole "
            "number or a word for each; round vectors and name their cells"
        )
    weights, most = (_logs(*named, n) for named in ((given[1], "log_weights"), (given[2], "log_most")))
    beyond = weights > most + _SLACK
    if beyond.any():
        where = int(np.argmax(beyond))
        raise InvalidInput(
            f"log_weights[{where}] = {weights[where]:.6g}, expected at most log_most[{where}] = {most[where]:.6g}"
        )
    return WeightedDraws(outputs, weights, most)


def weighted_event(pair: CandidatePair, arms: tuple[WeightedDraws, WeightedDraws], confirm: int) -> WeightedEvent:
    """The most promising set of outputs that both points gave, for a against b.

    One half of the draws orders the outputs by how much they favour a, the other judges every output alone and every
    prefix of that order. Given b an output that was never drawn has no declared largest weight, and is left out.
    """
    values, codes = np.unique(np.concatenate([arm.outputs for arm in arms]), return_inverse=True)
    given_a, given_b = np.split(codes, [len(arms[0].outputs)])
    limits = np.full(len(values), -np.inf)
    np.maximum.at(limits, given_b, arms[1].log_most)
    rank_a, size_a = _moments(given_a, arms[0], len(values))
    rank_b, size_b = _moments(given_b, arms[1], len(values))
    known = np.flatnonzero((rank_a[0] > 0) & np.isfinite(limits))
    if not len(known):
        return WeightedEvent(pair, -math.inf, frozenset(), 0.0, 0.0)
    most = np.exp(limits)
    favour = np.log(rank_a[0][known]) - np.log(rank_b[0][known] + _NEVER * most[known] / len(given_b))
    order = known[np.argsort(-favour, kind="stable")]
    a, b, most = size_a[:, order], size_b[:, order], most[order]
    sizes = len(given_b) // 2, confirm
    alone = _promises(a, b, most, sizes)
    together = _promises(np.cumsum(a, axis=1), np.cumsum(b, axis=1), np.maximum.accumulate(most), sizes)
    best = int(np.argmax(together))
    chosen = order[[int(np.argmax(alone))]] if alone.max() >= together[best] else order[: best + 1]
    outputs, promised = frozenset(values[chosen].tolist()), max(float(alone.max()), float(together[best]))
    clip = _clip(arms[0].log_weights[arms[0].inside(outputs)], len(given_a), confirm)
    return WeightedEvent(pair, promised / pair.distance, outputs, clip, float(limits[chosen].max()) + _SLACK)


def weighted_counts(draws: WeightedDraws, event: WeightedEvent, *, is_first: bool) -> IntArray:
    """Draws that missed the event, then draws in it at each level of weight: rounded down given a, up given b."""
    inside = draws.inside(event.outputs)
    if is_first:
        counts = levels_below(draws.log_weights[inside] - event.log_clip)
    else:
        declared = draws.log_most[inside].max(initial=-np.inf)
        if declared > event.log_most:
            raise InvalidInput(
                f"log_most is {declared:.6g} for an output of an event where it was at most {event.log_most:.6g} "
                "before, expected one value for each point and output"
            )
        counts = levels_above(draws.log_weights[inside] - event.log_most)
    counts[0] += len(inside) - int(inside.sum())
    return counts


def _logs(value: npt.ArrayLike, name: str, n: int) -> FloatArray:
    logs = finite(value, name, 1)
    if logs.shape != (n,):
        raise InvalidInput(f"{len(logs)} {name} for {n} draws, expected one for each")
    largest = float(logs[np.argmax(np.abs(logs))])
    if abs(largest) > LARGEST:
        raise InvalidInput(f"{name} has {largest:.6g}, expected logarithms between -{LARGEST:g} and {LARGEST:g}")
    return logs


def _moments(codes: IntArray, draws: WeightedDraws, size: int) -> tuple[FloatArray, FloatArray]:
    """Of each half of the draws: the mean of w and of w² on every output, as two rows."""
    half = len(codes) // 2
    return _half(codes[:half], draws.log_weights[:half], size), _half(codes[half:], draws.log_weights[half:], size)


def _half(codes: IntArray, log_weights: FloatArray, size: int) -> FloatArray:
    sums = [np.bincount(codes, weights=np.exp(power * log_weights), minlength=size) for power in (1, 2)]
    return np.asarray(sums) / len(codes)


def _promises(a: FloatArray, b: FloatArray, most: FloatArray, sizes: tuple[int, int]) -> FloatArray:
    """The log ratio that counting may be expected to show, judged cautiously, for each column of moments."""
    n, confirm = sizes
    usual = np.divide(a[1], a[0], out=np.zeros(a.shape[1]), where=a[0] > 0)
    low = a[0] - _CAUTION * np.sqrt(a[1] / n) - _BET * usual / confirm
    high = b[0] + _CAUTION * np.sqrt(b[1] / n) + most * (_NEVER / n + _BET / confirm)
    worth = np.full(len(low), -np.inf)
    np.log(np.divide(low, high, out=worth, where=low > 0), out=worth, where=low > 0)
    return worth


def _clip(log_weights: FloatArray, n: int, confirm: int) -> float:
    """The clip, among a few quantiles of the weights, whose lower bound promises most."""
    weights = np.exp(log_weights)
    clips = np.quantile(weights, _CLIPS, method="higher")
    worth = [np.minimum(weights, clip).sum() / n - _BET * clip / confirm for clip in clips]
    return float(np.log(clips[int(np.argmax(worth))]))
