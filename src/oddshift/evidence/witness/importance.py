"""Importance draws: a violation in rare outputs, shown by drawing them more often than the mechanism does.

The caller draws from a law of their own, most simply by running the mechanism with its noise tilted, and weighs each
draw by the ratio of the two densities (Hammersley & Handscomb, Monte Carlo Methods, 1964, §5.4).

Importance weights against plain draws: where outputs are common both must say the same.

The weights of rare outputs rest on the caller's word; those of common ones can be seen to be wrong.

Weighted arms: what importance draws say about an event that is too rare to be counted.

A draw Y from a law q(·|x) that favours rare outputs has the weight w = dM/dq, and E_q[w·1{Y ∈ E}] = Pr[M(x) ∈ E].
Each arm is stored as whole numbers: how many draws missed the event, and how many fell into it at each level of weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, finite, indices, positive, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.bounds import betting_lower, betting_upper, clopper_pearson_lower, clopper_pearson_upper
from oddshift.evidence.witness.mdp_events import CandidatePair, Drawn

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


REFUSING = 1e-6
"""Level of a check: right weights are refused with at most this probability."""

_COMMON = 4  # outputs that are compared, the most common ones of the plain draws


def check_weights(drawn: Drawn, weighted: WeightedDraws) -> None:
    """Refuse weights that give an output another probability than plain draws from the same point do.

    Half of the draws choose the most common outputs and a clip, the other half compares them; nothing is said about
    outputs that plain draws do not see. Weights whose mean exceeds 1 are refused too.

    **Guarantee**: right weights are refused with probability at most REFUSING. Wrong ones may stay unseen.

    >>> outputs = np.arange(1000) % 2
    >>> check_weights(outputs, WeightedDraws(outputs, np.zeros(1000), np.zeros(1000)))
    >>> check_weights(outputs, WeightedDraws(outputs, np.full(1000, -2.0), np.zeros(1000)))
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: the importance weights give an output a probability of at most 0.1..., plain ...
    """
    half = len(drawn) // 2
    values, counts = np.unique(drawn[:half], return_counts=True)
    common = values[np.argsort(-counts, kind="stable")[:_COMMON]]
    level = REFUSING / (4 * len(common) + 1)
    total, _ = _probability(weighted, np.ones(len(weighted.outputs), dtype=bool), level)
    if total > 1.0:
        raise InvalidInput(f"the importance weights have a mean of at least {total:.4g}, expected 1")
    for value in common:
        hits, n = int((drawn[half:] == value).sum()), len(drawn) - half
        low, high = _probability(weighted, weighted.outputs == value, level)
        plain_low, plain_high = clopper_pearson_lower(hits, n, level), clopper_pearson_upper(hits, n, level)
        if low > plain_high:
            _refuse(f"at least {low:.4g}", f"at most {plain_high:.4g}")
        if high < plain_low:
            _refuse(f"at most {high:.4g}", f"at least {plain_low:.4g}")


def _probability(weighted: WeightedDraws, inside: BoolArray, level: float) -> tuple[float, float]:
    """A lower and an upper bound on the probability of an output, by its weights; (0, 1) where it was not drawn."""
    half = len(inside) // 2
    if not inside[:half].any():
        return 0.0, 1.0
    clip, most = float(weighted.log_weights[:half][inside[:half]].max()), float(weighted.log_most[inside].max())
    shares = [
        np.where(inside, np.exp(np.minimum(weighted.log_weights - scale, 0.0)), 0.0)[half:] for scale in (clip, most)
    ]
    return math.exp(clip) * betting_lower(shares[0], level), math.exp(most) * betting_upper(shares[1], level)


def _refuse(found: str, plain: str) -> None:
    raise InvalidInput(
        f"the importance weights give an output a probability of {found}, plain draws {plain}, expected the same"
    )


STEP = 1 / 32
"""Width of a level in ln weight: level k holds the weights near e^{−k·STEP} of the largest one."""

LEVELS = 512
"""Number of levels. Weights below e^{−16} of the largest count as nothing given a, and as the last level given b."""

MOST_DRAWS = 10_000_000
"""Largest number of importance draws in an arm."""

_NUDGE = 1e-9  # share of a level by which rounding goes beyond the error of the arithmetic


def levels_below(log_shares: FloatArray) -> IntArray:
    """How many draws missed (first) and how many have each level, with weights rounded down; shares above 1 become 1.

    >>> levels_below(np.array([0.0, 0.3, -0.05, -99.0]))[:5].tolist()
    [1, 2, 0, 1, 0]
    """
    level = np.ceil(np.maximum(-log_shares, 0.0) / STEP + _NUDGE * (log_shares < 0)).astype(np.int64)
    return np.bincount(np.where(level < LEVELS, level + 1, 0), minlength=LEVELS + 1)


def levels_above(log_shares: FloatArray) -> IntArray:
    """The same with weights rounded up, for shares of at most 1.

    >>> levels_above(np.array([0.0, -0.05, -99.0]))[[0, 1, 2, -1]].tolist()
    [0, 1, 1, 1]
    """
    level = np.floor(np.maximum(-log_shares / STEP - _NUDGE, 0.0)).astype(np.int64)
    return np.bincount(np.minimum(level, LEVELS - 1) + 1, minlength=LEVELS + 1)


def weighted_arms(counts: Sequence[int], log_scales: Sequence[float], distance: float, alpha: float) -> float:
    """Return the lower bound max(0, ln(s_a·L(z_a, α/2) / (s_b·U(z_b, α/2))) / d) on sup mPL; L, U are betting bounds.

    `counts` has two equal halves, given a and given b: draws that missed the event, then draws at levels 0, 1, …; a
    draw at level k has z = e^{−k·STEP}, one that missed has z = 0. `log_scales` = (ln s_a, ln s_b).

    **Guarantee**: above sup mPL with probability at most `alpha`, for independent draws, right weights, event and
    scales fixed beforehand, and weights on the event given b that never exceed s_b. *Proof.* Given a, s_a·z_a ≤
    min(w, s_a)·1_E ≤ w·1_E, so the mean of s_a·z_a is at most Pr[M(a) ∈ E]: clipping and rounding down only lower it,
    and nothing need be known of the largest weight. Given b, w·1_E ≤ s_b·z_b with z_b in [0, 1], so the mean of s_b·z_b
    is at least Pr[M(b) ∈ E]. All z lie in [0, 1], so each betting bound errs with probability at most α/2; unless one
    does, s_a·L/(s_b·U) ≤ Pr[M(a) ∈ E]/Pr[M(b) ∈ E] ≤ e^{d·sup mPL}. The bound s_b cannot be done without: a weight that
    was never drawn may carry all of Pr[M(b) ∈ E].

    >>> round(weighted_arms([500, 500, 900, 100], (math.log(1e-6), math.log(1e-8)), 2.0, 0.05), 3)
    2.902
    """
    arms = checked_counts(counts)
    scales = finite(log_scales, "log_scales", 1)
    if len(scales) != 2:
        raise InvalidInput(f"log_scales has {len(scales)} entries, expected 2: given a and given b")
    gap, half = positive(distance, "distance"), unit_open(alpha, "alpha") / 2
    values = np.append(0.0, np.exp(-STEP * np.arange(arms.shape[1] - 1)))
    low = betting_lower(np.repeat(values, arms[0]), half)
    high = betting_upper(np.repeat(values, arms[1]), half)
    return max(0.0, float(scales[0] + math.log(low) - scales[1] - math.log(high)) / gap) if low > 0 else 0.0


def checked_counts(counts: Sequence[int]) -> IntArray:
    """The counts given a and given b, as two rows, refused where no draws could have given them.

    >>> checked_counts([5, 1, 6, 0])
    array([[5, 1],
           [6, 0]])
    """
    if len(counts) < 4 or len(counts) % 2 or len(counts) > 2 * (LEVELS + 1):
        raise InvalidInput(f"{len(counts)} counts, expected two equal halves of 2 to {LEVELS + 1}")
    arms = indices(counts, "counts", MOST_DRAWS + 1).reshape(2, -1)
    for total in arms.sum(axis=1).tolist():
        if not 0 < total <= MOST_DRAWS:
            raise InvalidInput(f"{total} draws in an arm, expected 1 to {MOST_DRAWS}")
    return arms
