"""A race with tilted noise: draws that favour a mechanism's rare outputs, weighed by the density of the noise alone.

A mechanism that adds Gumbel noise to scores and takes the largest is a race: candidate j arrives at U_j/λ_j with
U_j = e^{−noise_j/scale} exponential of rate 1 and λ_j = e^{score_j/scale}, and the first one wins (Yellott 1977).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

SLOWED = 0.5
"""Factor of the rate of the candidate that wins most often while another one is favoured."""

_SAFE = 0.99  # share of what is taken from it that the other one gets: scores may be off by rounding


@dataclass(frozen=True, eq=False)
class TiltedRace:
    """Noise for a race with these log rates, tilted towards one of `targets` at a time, or left as it is.

    `shares` are those of the targets among the draws; the rest π_0 is not tilted.

    Towards target i the rate of U_i is r_i = 1 + _SAFE·(1 − SLOWED)·λ_own/λ_i and that of U_own is SLOWED, so that
    the density of the tilted noise over that of the real one is R_i = r_i·SLOWED·e^{−(r_i−1)·U_i + (1−SLOWED)·U_own}.

    **Guarantee**: where i wins, R_i ≥ r_i·SLOWED, because then U_i ≤ U_own·λ_i/λ_own. In the mixture with shares π_i
    the weight of a draw, 1/(π_0 + Σ π_i·R_i), is then at most 1/(π_i·r_i·SLOWED), and always at most 1/π_0. Weights are
    right whatever the rates are; only these largest values rest on them.
    """

    log_rates: np.ndarray
    own: int
    targets: np.ndarray
    shares: np.ndarray

    @property
    def plain(self) -> float:
        """π_0, the share of draws that are not tilted."""
        return 1.0 - float(self.shares.sum())

    @property
    def rates(self) -> np.ndarray:
        """r_i of every target."""
        gaps = self.log_rates[self.own] - self.log_rates[self.targets]
        return np.asarray(1.0 + _SAFE * (1.0 - SLOWED) * np.exp(gaps))

    @property
    def log_most(self) -> np.ndarray:
        """Of every target the largest log weight of a draw in which it wins."""
        return np.asarray(-np.log(self.shares * SLOWED * self.rates))

    def draw(self, rng: np.random.Generator) -> tuple[int, np.ndarray]:
        """The number of the target that was favoured (−1: none) and U of every candidate."""
        noise = rng.standard_exponential(len(self.log_rates))
        chosen = int(np.searchsorted(np.cumsum(self.shares), rng.random(), side="right"))
        if chosen == len(self.targets):
            return -1, noise
        noise[self.targets[chosen]] /= self.rates[chosen]
        noise[self.own] /= SLOWED
        return chosen, noise

    def log_weight(self, noise: np.ndarray, log_rest: np.ndarray) -> float:
        """Minus ln(π_0 + Σ π_i·R_i·e^{log_rest_i}).

        log_rest is the log density ratio, given target i, of whatever the mechanism draws after its race.
        """
        rates = self.rates
        ratios = np.log(rates * SLOWED) - (rates - 1.0) * noise[self.targets] + (1.0 - SLOWED) * noise[self.own]
        terms = np.append(math.log(self.plain), np.log(self.shares) + ratios + log_rest)
        return -float(np.logaddexp.reduce(terms))
