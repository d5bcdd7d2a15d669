"""The loop of AmPL: perturb, attack, audit, step; one generator of rounds that its caller can stop, log or resume.

scales ← project(scales − η_t·gradient), η_t = η_0/(t+1)^γ. The gradient is by central differences under common random
numbers; the projection is onto lowest ≤ s_1 ≤ … ≤ s_K ≤ 1. The paper gives the objective λ_1·rate + λ_2·loss and no
algorithm: this one is written out in docs/adapt.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.adaptation import Round, ScaledOutcome, Scales
from oddshift.adapt.measuring import Measuring, rounded_scales
from oddshift.base.arrays import BoolArray, FloatArray

DIFFERENCE = 0.05
"""Half the width of a central difference: wide enough that rates of rare events change."""

Objective = Callable[[ScaledOutcome], float]
"""What the loop makes small."""


def weighted(settings: AdaptSettings, counted: Sequence[int] | None = None) -> Objective:
    """λ_1·rate + λ_2·loss, the rate pooled over tiers or their largest; `counted` leaves out other tiers of both."""

    def value(outcome: ScaledOutcome) -> float:
        tiers = outcome.tiers if counted is None else [outcome.tiers[tier] for tier in counted]
        rates = [tier.rate for tier in tiers]
        rate = float(np.mean(rates)) if settings.pooled else max(rates)
        loss = outcome.loss if counted is None else float(np.mean([tier.loss for tier in tiers]))
        return settings.rate_weight * rate + settings.loss_weight * loss

    return value


def rounds(
    measuring: Measuring,
    objective: Objective,
    *,
    start: Scales | None = None,
    moving: Sequence[int] | None = None,
    after: Round | None = None,
) -> Iterator[Round]:
    """Rounds from scales 1 on (or from `start`), until they move by less than the tolerance.

    `moving` names the tiers whose scale may change (default: all). `after` resumes behind a round of an earlier run.
    """
    settings = measuring.experiment.settings
    n = len(measuring.experiment.known.tiers)
    movable = np.isin(np.arange(n), np.arange(n) if moving is None else np.asarray(moving))
    first = np.asarray(start if start is not None else np.ones(n), dtype=np.float64)
    number, here = (0, first) if after is None else (after.number + 1, _next(after, settings, movable))
    while number < settings.rounds and not (after is not None and after.moved < settings.tolerance):
        after = _round(number, here, measuring, objective, movable)
        yield after
        number, here = number + 1, _next(after, settings, movable)


def _round(number: int, here: FloatArray, measuring: Measuring, objective: Objective, movable: BoolArray) -> Round:
    settings = measuring.experiment.settings
    sides = [_sides(here, int(tier), settings) for tier in np.flatnonzero(movable)]
    wanted = [rounded_scales(here), *(rounded_scales(side) for pair in sides for side in pair)]
    centre, *around = measuring.outcomes(wanted, f"round {number + 1}")
    gradient = np.zeros(len(here))
    for k, tier in enumerate(np.flatnonzero(movable)):
        low, high = around[2 * k], around[2 * k + 1]
        width = high.scales[tier] - low.scales[tier]
        gradient[tier] = (objective(high) - objective(low)) / width if width > 0 else 0.0
    step = settings.first_step / (number + 1) ** settings.decay
    made = Round(
        number=number,
        outcome=centre,
        objective=objective(centre),
        gradient=tuple(gradient.tolist()),
        step=step,
        moved=0.0,
    )
    return replace(made, moved=float(np.linalg.norm(_next(made, settings, movable) - here)))


def _sides(here: FloatArray, tier: int, settings: AdaptSettings) -> tuple[FloatArray, FloatArray]:
    """The scales a little below and above in one tier, inside the box."""
    lowest, highest = min(settings.grid), max(settings.grid)
    low, high = here.copy(), here.copy()
    low[tier], high[tier] = max(here[tier] - DIFFERENCE, lowest), min(here[tier] + DIFFERENCE, highest)
    return low, high


def _next(last: Round, settings: AdaptSettings, movable: BoolArray) -> FloatArray:
    """Where the loop goes after a round; tiers that may not move stay."""
    here = np.asarray(last.outcome.scales)
    there = project(here - last.step * np.asarray(last.gradient), min(settings.grid), max(settings.grid))
    return np.where(movable, there, here)


def project(scales: npt.ArrayLike, lowest: float, highest: float) -> FloatArray:
    """The nearest scales with lowest ≤ s_1 ≤ … ≤ s_K ≤ highest: isotonic regression, then clip.

    >>> project([0.9, 0.5, 1.2], 0.1, 1.0)
    array([0.7, 0.7, 1. ])
    """
    from scipy.optimize import isotonic_regression

    pooled = isotonic_regression(np.asarray(scales, dtype=np.float64)).x
    return np.asarray(np.clip(pooled, lowest, highest))
