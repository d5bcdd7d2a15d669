"""The frontier of violation rate against utility loss: a coarse grid of scales, refined where the goals are met.

All outcomes are measured on select documents with one attacker that is not trained again. Scales belong to levels of
sensitivity, and do not decrease towards a less sensitive level: others are never selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import comb

from oddshift.adapt.adaptation import ScaledOutcome, Scales
from oddshift.adapt.goals import Goals
from oddshift.adapt.measuring import Measuring

BISECTIONS = 6
"""Halvings along a ray: scales are found to a 64th of it."""

LADDER = (0.85, 0.9, 0.93, 0.96, 0.98, 1.0, 1.02)
"""Multiples of the best ray's crossing that are measured too: steps between too much noise and too little."""

TARGET = 0.7
"""The largest share of δ for the select rate of a crossing: what a certificate on that many documents needs."""

COARSE = 64
"""Largest number of points for which the whole ordered grid is measured; otherwise the diagonal and the rays' ends."""


def grid_of(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """Return all combinations of the grid's scales, one for each level, as in the paper."""
    return [tuple(combination) for combination in product(scales, repeat=n_levels)]


def search_grid(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """Return the combinations that a search begins with: all ordered ones while they are few.

    >>> search_grid((0.5, 1.0), 2)
    [(0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]
    >>> len(search_grid((0.1, 0.25, 0.5, 0.75, 1.0), 8))
    33
    """
    ordered = sorted(scales)
    if comb(len(ordered) + n_levels - 1, n_levels) <= COARSE:
        return list(combinations_with_replacement(ordered, n_levels))
    return list(dict.fromkeys([*((scale,) * n_levels for scale in ordered), *directions(ordered, n_levels)]))


def directions(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """The ends of rays: the first levels at one scale of the grid, the others at the largest.

    >>> directions((0.5, 1.0), 3)
    [(0.5, 1.0, 1.0), (0.5, 0.5, 1.0), (1.0, 1.0, 1.0)]
    """
    highest, lower = max(scales), sorted(set(scales))[:-1]
    steps = [(s,) * k + (highest,) * (n_levels - k) for s in lower for k in range(1, n_levels)]
    return [*steps, (highest,) * n_levels]


def uniform_outcomes(outcomes: Iterable[ScaledOutcome]) -> tuple[ScaledOutcome, ...]:
    """Return the outcomes with one scale for all tiers, in increasing order."""
    return tuple(sorted((p for p in outcomes if len(set(p.scales)) == 1), key=lambda p: p.scales))


@dataclass
class _Ray:
    """A direction, how far along it the goals are met and where they are not, and the loss at both ends."""

    end: Scales
    met: float = 0.0
    unmet: float = 1.0
    met_loss: float = float("inf")
    unmet_loss: float = 0.0

    def saw(self, at: float, outcome: ScaledOutcome, fits: bool) -> None:
        """Move one of the ends."""
        if fits:
            self.met, self.met_loss = at, outcome.loss
        else:
            self.unmet, self.unmet_loss = at, outcome.loss


def rays(measuring: Measuring, goals: Goals) -> list[ScaledOutcome]:
    """Return the largest scales along each direction at which select documents keep the goals, with some room.

    Rates and right guesses grow with the scale along a ray and the loss falls, so halving finds the crossing without a
    gradient, and a ray whose failing end already costs more than the best crossing is skipped. Around the crossing of
    least loss a ladder of further outcomes is measured.
    """
    experiment, settings = measuring.experiment, measuring.experiment.settings
    lowest = min(settings.grid)

    def scales(ray: _Ray, at: float) -> Scales:
        levels = tuple(float(min(max(at * scale, lowest), scale)) for scale in ray.end)
        return experiment.scales_of(levels)

    everyone = [_Ray(end) for end in directions(settings.grid, experiment.known.tiers.n_levels)]
    for step in range(BISECTIONS + 1):
        best = min(ray.met_loss for ray in everyone)
        live = [ray for ray in everyone if ray.met < 1.0 and ray.unmet_loss < best]
        places = [1.0 if step == 0 else (ray.met + ray.unmet) / 2 for ray in live]
        tried = [scales(ray, at) for ray, at in zip(live, places, strict=True)]
        found = measuring.outcomes(tried, f"rays, step {step + 1} of {BISECTIONS + 1}")
        for ray, at, outcome in zip(live, places, found, strict=True):
            ray.saw(at, outcome, goals.strain(outcome, share=TARGET) <= 1.0)
    closest = min(everyone, key=lambda ray: (ray.met_loss, -ray.met))
    return measuring.outcomes([scales(closest, closest.met * rung) for rung in LADDER], "ladder")


def front(
    outcomes: Iterable[ScaledOutcome], against: Callable[[ScaledOutcome], float] | None = None
) -> tuple[ScaledOutcome, ...]:
    """Return the admissible outcomes that no other beats in both loss and largest rate, in decreasing loss.

    `against` puts something else in the place of the largest rate, such as how close all goals come to their limits.
    """
    value = against or (lambda outcome: outcome.rate)
    best: list[tuple[float, ScaledOutcome]] = []
    for _, risk, outcome in sorted(((p.loss, value(p), p) for p in outcomes if p.admissible), key=lambda row: row[:2]):
        if not best or risk < best[-1][0]:
            best.append((risk, outcome))
    return tuple(outcome for _, outcome in reversed(best))


def hypervolume(outcomes: Iterable[ScaledOutcome], corner: tuple[float, float]) -> float:
    """Return the share of the box between (0, 0) and `corner` (loss, rate) that some outcome beats in both.

    >>> hypervolume([], (1.0, 1.0))
    0.0
    """
    area, ceiling = 0.0, corner[1]
    for outcome in sorted(outcomes, key=lambda p: p.loss):
        if outcome.loss < corner[0] and outcome.rate < ceiling:
            area += (corner[0] - outcome.loss) * (ceiling - outcome.rate)
            ceiling = outcome.rate
    return area / (corner[0] * corner[1])


def equal_utility(measuring: Measuring, loss: float, *, remap: bool | None = None) -> Scales:
    """Return the one scale for all tiers whose expected loss is the given one: the baseline for every adaptation."""
    settings, n = measuring.experiment.settings, len(measuring.experiment.known.tiers)
    low, high = min(settings.grid), max(settings.grid)
    for _ in range(8):
        middle = (low + high) / 2
        if measuring.experiment.loss((middle,) * n, remap=remap) > loss:
            low = middle
        else:
            high = middle
    return (round(high, 3),) * n
