"""How many releases a guess game needs before it can show a violation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, float_of, positive, unit_open, whole
from oddshift.base.errors import NoGuarantee
from oddshift.bounds.checks import unit_closed

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
