"""The surface that AmPL searches: violation ratios over budgets of PII and PoII, and the loop replayed on it.

The ratios are those of networks trained from nothing, one for each point of the grid; between them they are
interpolated. The loop is the paper's objective
λ_1·rate + λ_2·loss under our steps (docs/adapt.md), so that every method and every λ is replayed at no further cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.adapt.rounds import DIFFERENCE, PRESETS, project
from oddshift.base.arrays import FloatArray

ROUNDS = 20
LOWEST_SCALE = 0.1
READINGS = tuple(name for name in PRESETS if name.startswith("AmPL-1"))
"""What AmPL-1 may mean."""


@dataclass(frozen=True, eq=False)
class Surface:
    """Rates by tier over a square grid of budgets, and losses by tier over a line of them.

    `rates[tier]` is (budgets of PII, budgets of PoII); `shares` weigh the tiers in the rate, `weights` in the loss.
    """

    grid: FloatArray
    rates: FloatArray
    shares: FloatArray
    line: FloatArray
    losses: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, values: Mapping[str, Any], epsilon: float) -> Surface:
        """From the values of a stored surface, for one ε; its ratios are those at T = 1."""
        rates = np.asarray(values["rates"][f"{epsilon:g}"], dtype=np.float64)
        arrays = (np.asarray(values[key], dtype=np.float64) for key in ("shares", "line", "losses", "weights"))
        return cls(np.asarray(values["grid"], dtype=np.float64), rates, *arrays)

    def rate(self, budgets: FloatArray) -> FloatArray:
        """The rate of every tier at some budgets, between grid points linear in each of them."""
        return np.array([between(self.grid, table, budgets) for table in self.rates])

    def loss(self, budgets: FloatArray) -> FloatArray:
        """The expected cosine loss of every tier at some budgets."""
        return np.array([np.interp(b, self.line, row) for b, row in zip(budgets, self.losses, strict=True)])


def between(grid: FloatArray, table: FloatArray, budgets: FloatArray) -> float:
    """A table over pairs of budgets, linear in each of them between the points of the grid."""
    return float(np.interp(budgets[0], grid, [np.interp(budgets[1], grid, row) for row in table]))


@dataclass(frozen=True)
class LoopWeights:
    """λ_1, λ_2, the first step of a replay, and the scale at which it starts: the paper states none of them.

    With λ_1 = λ_2 the loss outweighs the rate and AmPL stays at EM; the defaults are where it ends between EM and the
    smallest scales.
    """

    rate: float = 5.0
    loss: float = 1.0
    first_step: float = 0.3
    start: float = 1.0


def replayed(surface: Surface, epsilon: float, method: str, weights: LoopWeights | None = None) -> tuple[float, float]:
    """The scales that a method ends at for one ε; EM and AmPL-U stay at 1 without a step, where they start there."""
    chosen = weights or LoopWeights()
    preset = PRESETS[method]

    def objective(scales: FloatArray) -> float:
        rates, losses = surface.rate(epsilon * scales), surface.loss(epsilon * scales)
        parts = (surface.shares, surface.weights) if not preset.only_first_counts else (np.array([1.0, 0.0]),) * 2
        rate, loss = (values @ part for values, part in zip((rates, losses), parts, strict=True))
        return float(preset.rate_weight * chosen.rate * rate + preset.loss_weight * chosen.loss * loss)

    here = np.full(2, chosen.start)
    for number in range(ROUNDS):
        step = chosen.first_step / (number + 1) ** 0.6
        gradient = np.array([_slope(objective, here, level) for level in range(2)])
        if preset.one_level:
            gradient[:] = gradient.sum()
        if preset.only_first_moves:
            gradient[1] = 0.0
        there = project(here - step * gradient, LOWEST_SCALE, 1.0)
        if preset.only_first_moves:
            there[1] = 1.0
        moved, here = float(np.linalg.norm(there - here)), there
        if moved < 0.005:
            break
    return (round(float(here[0]), 2), preset.others if preset.others > 1.0 else round(float(here[1]), 2))


def _slope(objective: Any, here: FloatArray, level: int) -> float:
    """A central difference of the objective in one scale, inside the box."""
    low, high = here.copy(), here.copy()
    low[level], high[level] = max(here[level] - DIFFERENCE, LOWEST_SCALE), min(here[level] + DIFFERENCE, 1.0)
    return (objective(high) - objective(low)) / (high[level] - low[level])
