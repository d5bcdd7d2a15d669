"""The frontier of violation rate against utility loss: a grid of scales, and a closer look where the budget is met.

All outcomes are measured on select documents with one attacker that is not trained again. Outcomes whose scales
decrease towards a less sensitive tier are shown, and never selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from oddshift.adapt.adaptation import ScaledOutcome, Scales
from oddshift.adapt.experiment import is_admissible
from oddshift.adapt.measuring import Measuring

BISECTIONS = 6
"""Halvings along a ray: scales are found to a 64th of it."""

LADDER = (0.85, 0.9, 0.93, 0.96, 0.98, 1.0, 1.02)
"""Multiples of the best ray's crossing that are measured as well: rungs between too much noise and too little."""

TARGET = 0.7
"""The share of δ that the select rate of a crossing is held to: what a certificate on as many documents needs."""


def grid_of(scales: Sequence[float], n_tiers: int) -> list[Scales]:
    """All combinations of the grid's scales, one for each tier."""
    return [tuple(combination) for combination in product(scales, repeat=n_tiers)]


def uniform_outcomes(outcomes: Iterable[ScaledOutcome]) -> tuple[ScaledOutcome, ...]:
    """Those with one scale for all tiers, in increasing order."""
    return tuple(sorted((p for p in outcomes if len(set(p.scales)) == 1), key=lambda p: p.scales))


def rays(measuring: Measuring) -> list[ScaledOutcome]:
    """Along each direction of the grid's outer edge, the longest scales whose select rate stays below TARGET·δ.

    The rate grows with the scale along a ray, so halving finds the crossing without a gradient; around the crossing of
    least loss a ladder of further outcomes is measured.
    """
    settings, n = measuring.experiment.settings, len(measuring.experiment.known.tiers)
    highest, lowest = max(settings.grid), min(settings.grid)
    edge = [s for s in grid_of(settings.grid, n) if is_admissible(s) and max(s) == highest]
    low, high = np.zeros(len(edge)), np.ones(len(edge))
    for step in range(BISECTIONS + 1):
        middle = high if step == 0 else (low + high) / 2
        tried = [_along(ray, at, lowest) for ray, at in zip(edge, middle, strict=True)]
        found = measuring.outcomes(tried, f"rays, step {step + 1} of {BISECTIONS + 1}")
        fits = np.array([outcome.rate <= TARGET * settings.delta for outcome in found])
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    ends = measuring.outcomes([_along(ray, at, lowest) for ray, at in zip(edge, low, strict=True)])
    best = min(range(len(edge)), key=lambda k: (ends[k].rate > settings.delta, ends[k].loss))
    return measuring.outcomes([_along(edge[best], low[best] * rung, lowest) for rung in LADDER], "ladder")


def _along(ray: Scales, at: float, lowest: float) -> Scales:
    return tuple(float(np.clip(at * scale, lowest, scale)) for scale in ray)


def front(outcomes: Iterable[ScaledOutcome]) -> tuple[ScaledOutcome, ...]:
    """The admissible outcomes that no other beats in both loss and largest rate, in decreasing loss."""
    best: list[ScaledOutcome] = []
    for outcome in sorted((p for p in outcomes if p.admissible), key=lambda p: (p.loss, p.rate)):
        if not best or outcome.rate < best[-1].rate:
            best.append(outcome)
    return tuple(reversed(best))


def hypervolume(outcomes: Iterable[ScaledOutcome], corner: tuple[float, float]) -> float:
    """The share of the box between (0, 0) and `corner` (loss, rate) that some outcome beats in both.

    >>> hypervolume([], (1.0, 1.0))
    0.0
    """
    area, ceiling = 0.0, corner[1]
    for outcome in sorted(outcomes, key=lambda p: p.loss):
        if outcome.loss < corner[0] and outcome.rate < ceiling:
            area += (corner[0] - outcome.loss) * (ceiling - outcome.rate)
            ceiling = outcome.rate
    return area / (corner[0] * corner[1])


def equal_utility(measuring: Measuring, loss: float) -> Scales:
    """One scale for all tiers whose expected loss is the given one: the baseline every adaptation is shown beside."""
    settings, n = measuring.experiment.settings, len(measuring.experiment.known.tiers)
    low, high = min(settings.grid), max(settings.grid)
    for _ in range(10):
        middle = (low + high) / 2
        if measuring.experiment.loss((middle,) * n) > loss:
            low = middle
        else:
            high = middle
    return (round(high, 3),) * n
