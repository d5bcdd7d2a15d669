"""Games: counts on fresh releases that bound the largest leakage from below, whatever the attacker was.

For any event E over the joint release and values a, b of the secret: ln(P(E|a)/P(E|b)) ≤ d(a,b) · sup mPL. The event
or guess rule must be frozen before the counted releases are drawn, and the context drawn given the secret.

How many releases a guess game needs before it can show a violation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite, float_of, indices, positive, unit_open, whole
from oddshift.base.errors import InvalidInput, NoGuarantee
from oddshift.base.logarithms import log_sum
from oddshift.bounds import BETS, clopper_pearson_lower, clopper_pearson_upper
from oddshift.bounds.checks import count, first_reach, unit_closed

CEILING = 700.0
"""Largest ε·d that a pooled bound considers; beyond it a probability is 1 in float64."""


def guess_game(correct: int, guesses: int, distance: float, alpha: float) -> float:
    """Return the lower bound max(0, logit(CP_lower(correct, guesses, a)) / d) on sup mPL.

    A fair coin picks a or b, a fresh document with that value is released, the attacker guesses which or abstains.
    If mPL ≤ ε everywhere a guess is right with probability at most expit(ε·d).

    **Guarantee**: above sup mPL with probability at most `alpha`, for a guess rule frozen beforehand and a number
    of rounds fixed beforehand. 0 means that nothing was shown.

    >>> round(guess_game(61, 68, 1.0, 0.05), 6)
    1.485013
    """
    correct, guesses = count(correct, guesses, ("correct", "guesses"))
    share = clopper_pearson_lower(correct, guesses, alpha)
    gap = positive(distance, "distance")
    return max(0.0, _logit(share) / gap)


def two_arm(k_a: int, n_a: int, k_b: int, n_b: int, distance: float, alpha: float) -> float:
    """Return the lower bound max(0, ln(CP_lower(k_a, n_a, a/2) / CP_upper(k_b, n_b, a/2)) / d) on sup mPL.

    k_a of n_a fresh releases given a, and k_b of n_b given b, fell into one frozen event.

    **Guarantee**: above sup mPL with probability at most `alpha`, arm sizes and event fixed beforehand.

    >>> round(two_arm(120, 250, 22, 250, 1.5, 0.05), 6)
    0.775414
    """
    low, high = _arms(k_a, n_a, k_b, n_b, alpha)
    gap = positive(distance, "distance")
    return max(0.0, (math.log(low) - math.log(high)) / gap) if low > 0 else 0.0


def hockey_stick(counts: tuple[int, int, int, int], distance: float, epsilon: float, alpha: float) -> float:
    """Return max(0, CP_lower(k_a, n_a, a/2) − e^{εd} CP_upper(k_b, n_b, a/2)) ≤ Pr[mPL(a, b, Y) > ε | X = a].

    `counts` = (k_a, n_a, k_b, n_b) of a frozen event.

    **Guarantee**: above that probability with probability at most `alpha`. It is about the one pair (a, b) and
    about releases given a, not about a pair law.

    >>> round(hockey_stick((900, 1000, 10, 1000), 1.0, 1.0, 0.05), 3)
    0.83
    """
    if len(counts) != 4:
        raise InvalidInput(f"counts has {len(counts)} entries, expected 4: k_a, n_a, k_b, n_b")
    low, high = _arms(*counts, alpha)
    exponent = positive(epsilon, "epsilon") * positive(distance, "distance") + math.log(high)
    return max(0.0, low - math.exp(exponent)) if exponent < 0 else 0.0


def pooled_log_e(
    rounds: Sequence[tuple[float, int, int]], epsilon: float, log_odds: Sequence[float] | None = None
) -> float:
    """Return ln E, E = mean_j Π_k (1 + λ_j (c_k − q_k)/q_k), q_k = expit(ε d_k + log odds of the guessed label).

    `rounds` groups the guesses: (distance, correct, guesses) for each distance. `log_odds` (one for each group, 0 for a
    fair coin) is ln Pr[label guessed] / Pr[other label] when the coin is known to be biased.

    **Guarantee**: if mPL ≤ ε everywhere, E reaches 1/a at any time with probability at most a; pairs may differ
    from round to round, and one may stop at any time.

    >>> pooled_log_e([(1.0, 61, 68)], 1.0) > math.log(20)
    True
    """
    distances, right, guesses, odds = _checked_rounds(rounds, log_odds)
    with np.errstate(over="ignore"):
        gains = np.exp(-(float_of(epsilon, "epsilon") * distances + odds))  # (1 − q)/q
    total = np.log1p(BETS[:, None] * gains[None, :]) @ right
    wrong = float((guesses - right).sum())
    if wrong:
        total = total + wrong * _log_losses()
    return float(log_sum(total)) - math.log(len(BETS))


def pooled_lower(
    rounds: Sequence[tuple[float, int, int]], alpha: float, log_odds: Sequence[float] | None = None
) -> float:
    """Return the largest ε that the pooled evidence rejects: sup{ε ≥ 0 : E_ε ≥ 1/a}, 0 when none is rejected.

    **Guarantee**: ever above sup mPL with probability at most `alpha`, at any stopping time.

    >>> 1.0 < pooled_lower([(1.0, 61, 68)], 0.05) < guess_game(61, 68, 1.0, 0.05)
    True
    """
    threshold = -math.log(unit_open(alpha, "alpha")) + 1e-9
    if pooled_log_e(rounds, 0.0, log_odds) < threshold:
        return 0.0
    top = CEILING / min(distance for distance, _, _ in rounds)
    # evidence falls as ε grows: search the first failing ε, then step back to the side that was rejected
    failing = first_reach(lambda e: -pooled_log_e(rounds, e, log_odds), -threshold, 0.0, top)
    return max(0.0, failing * (1 - 1e-12))


def group_distance(distances: npt.ArrayLike, group_a: npt.ArrayLike, group_b: npt.ArrayLike) -> float:
    """Return max d(a, b) over a ∈ A, b ∈ B: what a witness between two groups of values is divided by.

    **Guarantee**: ln(P(E|A)/P(E|B)) ≤ max d · sup mPL for any mixtures over the groups; with the smallest
    distance that would be false.

    >>> group_distance([[0, 1, 3], [1, 0, 2], [3, 2, 0]], [0], [1, 2])
    3.0
    """
    matrix = finite(distances, "distances", 2)
    left, right = indices(group_a, "group_a", len(matrix)), indices(group_b, "group_b", len(matrix))
    if not len(left) or not len(right):
        raise InvalidInput(f"groups of {len(left)} and {len(right)} values, expected at least one in each")
    shared = np.intersect1d(left, right)
    if len(shared):
        raise InvalidInput(f"value {int(shared[0])} is in both groups, expected groups without a common value")
    return positive(float(matrix[np.ix_(left, right)].max()), "distance")


def group_distances(distances: npt.ArrayLike, labels: npt.ArrayLike) -> FloatArray:
    """Return the (G, G) largest distances between groups 0 … G−1, from the group of every value; 0 on the diagonal.

    **Guarantee**: as `group_distance`, for every pair of groups.

    >>> group_distances([[0, 1, 3], [1, 0, 2], [3, 2, 0]], [0, 0, 1])
    array([[0., 3.],
           [3., 0.]])
    """
    matrix = finite(distances, "distances", 2)
    groups = indices(labels, "labels", len(matrix))
    if len(groups) != len(matrix):
        raise InvalidInput(f"{len(groups)} labels for {len(matrix)} values, expected one for each")
    size = int(groups.max()) + 1
    result = np.zeros((size, size))
    np.maximum.at(result, (groups[:, None], groups[None, :]), matrix)
    np.fill_diagonal(result, 0.0)
    return result


def _checked_rounds(
    rounds: Sequence[tuple[float, int, int]], log_odds: Sequence[float] | None
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    odds = np.zeros(len(rounds)) if log_odds is None or not len(rounds) else finite(log_odds, "log_odds", 1)
    if len(odds) != len(rounds) or not len(rounds):
        raise InvalidInput(
            f"{len(rounds)} groups of rounds and {len(odds)} log odds, expected equally many, at least 1"
        )
    table = finite(rounds, "rounds", 2)
    if table.shape[1] != 3:
        raise InvalidInput(f"rounds has {table.shape[1]} columns, expected 3: distance, correct, guesses")
    for distance, correct, guesses in rounds:
        positive(distance, "distance")
        count(correct, guesses, ("correct", "guesses"))
    return table[:, 0], table[:, 1], table[:, 2], odds


def _arms(k_a: int, n_a: int, k_b: int, n_b: int, alpha: float) -> tuple[float, float]:
    half = unit_open(alpha, "alpha") / 2
    k_a, n_a = count(k_a, n_a, ("k_a", "n_a"))
    k_b, n_b = count(k_b, n_b, ("k_b", "n_b"))
    return clopper_pearson_lower(k_a, n_a, half), clopper_pearson_upper(k_b, n_b, half)


def _logit(share: float) -> float:
    return -math.inf if share <= 0 else math.log(share) - math.log1p(-share)


def _log_losses() -> npt.NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log1p(-BETS)


_LIMIT = 1_000_000


@dataclass(frozen=True)
class WitnessPlan:
    """`needs` releases show sup mPL > epsilon at `alpha` with the stated power, if guesses go as assumed."""

    needs: int
    epsilon: float
    alpha: float
    power: float

    def says(self, has: int) -> str:
        """One line: whether `has` releases are enough.

        >>> WitnessPlan(108, 1.0, 0.05, 0.8).says(60)
        'undecided: needs 108, has 60 (guess game, epsilon=1, alpha=0.05, power 0.8)'
        """
        verdict = "enough" if whole(has, "has", 0) >= self.needs else "undecided"
        terms = f"guess game, epsilon={self.epsilon:g}, alpha={self.alpha:g}, power {self.power:g}"
        return f"{verdict}: needs {self.needs}, has {has} ({terms})"


def guess_power(releases: int, guessed: float, right: float, threshold: float, alpha: float) -> float:
    """Return the exact power of the guess game: Σ_g Bin(g; n, guessed) · Pr[Bin(g, right) ≥ k*(g)].

    `threshold` = expit(ε·d) is what a guess may reach under the claim, k*(g) the fewest right guesses of g whose
    Clopper-Pearson lower bound exceeds it.

    >>> round(guess_power(108, 0.592928, 0.8636191915375897, 0.7310585786300049, 0.05), 4)
    0.8017
    """
    from scipy import special

    g = np.arange(1, whole(releases, "releases", 1) + 1)
    needed = _fewest_right(g, threshold, alpha)
    log_choose = special.gammaln(releases + 1) - special.gammaln(g + 1) - special.gammaln(releases - g + 1)
    chance = np.exp(log_choose + special.xlogy(g, guessed) + special.xlog1py(releases - g, -guessed))
    # Pr[Bin(g, right) ≥ k] = I_right(k, g − k + 1), and 0 when even g right guesses are too few
    possible = needed <= g
    k = np.where(possible, needed, 1)
    return float(chance @ np.where(possible, special.betainc(k, g - k + 1, right), 0.0))


def plan_guess_game(
    guessed: float,
    right: float,
    distance: float,
    epsilon: float,
    *,
    own_sup: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.8,
) -> WitnessPlan:
    """Plan how many releases let the guess game show sup mPL > ε, if `guessed` is guessed and `right` of it rightly.

    `own_sup` is what the own release can do, when the guesses are made from the other outputs alone.

    **Guarantee**: exact for those shares, which usually come from a selection fold and are estimates.

    >>> plan_guess_game(0.592928, 0.8636191915375897, distance=1.0, epsilon=1.0).needs
    108
    >>> plan_guess_game(1.0, 0.7112, distance=1.0, epsilon=1.0, own_sup=0.944462).needs
    43
    """
    from scipy import special

    share, hits = unit_closed(guessed, "guessed"), unit_closed(right, "right")
    level, wanted = unit_open(alpha, "alpha"), unit_open(power, "power")
    exponent = positive(epsilon, "epsilon") * positive(distance, "distance") - float_of(own_sup, "own_sup")
    threshold = float(special.expit(exponent))
    if hits <= threshold or not share:
        raise NoGuarantee(f"{right=} of guesses right, expected above {threshold:.4g}: no number of releases is enough")
    low, high = 0, 1
    while guess_power(high, share, hits, threshold, level) < wanted:
        low, high = high, 2 * high
        if high > _LIMIT:
            raise NoGuarantee(f"{right=} is so near {threshold:.4g} that more than {low} releases are needed")
    while high - low > 1:
        middle = (low + high) // 2
        enough = guess_power(middle, share, hits, threshold, level) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    return WitnessPlan(high, float(epsilon), level, wanted)


def _fewest_right(g: IntArray, threshold: float, alpha: float) -> IntArray:
    """Smallest k with Pr[Bin(g, threshold) ≥ k] ≤ a, for every g; g + 1 when there is none."""
    from scipy import special

    def tail(k: IntArray) -> FloatArray:
        inside = (k >= 1) & (k <= g)
        value = special.betainc(np.where(inside, k, 1), np.where(inside, g - k + 1, 1), threshold)
        return np.where(inside, value, k < 1)

    low, high = np.zeros_like(g), g + 1  # tail(low) > a ≥ tail(high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        rare = tail(middle) <= alpha
        low, high = np.where(rare, low, middle), np.where(rare, middle, high)
    return high
