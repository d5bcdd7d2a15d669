"""The frontier of violation rate against utility loss, and what a search for scales begins with.

All outcomes are measured on select documents with one attacker that is not trained again. Scales belong to levels of
sensitivity, and do not decrease towards a less sensitive level: others are never selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations_with_replacement, product
from math import comb

from oddshift.adapt.evaluation import Measuring
from oddshift.adapt.result import ScaledOutcome, Scales

COARSE = 64
"""Largest number of points for which the whole ordered grid is measured; otherwise the diagonal and `directions`."""


def grid_of(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """Return all combinations of the grid's scales, one for each level, as in the paper."""
    return [tuple(combination) for combination in product(scales, repeat=n_levels)]


def diagonal(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """Return one scale for all levels: what tiers are compared with.

    >>> diagonal((1.0, 0.5), 2)
    [(0.5, 0.5), (1.0, 1.0)]
    """
    return [(scale,) * n_levels for scale in sorted(scales)]


def first_scales(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """Return what a search begins with: two lines through all combinations.

    The first line is the diagonal. On the second only the least sensitive level has little noise: with much noise
    everywhere nothing is learned, and a sequence that began where something is learned could fail at once.

    >>> first_scales((0.1, 0.5, 1.0), 5)[3:]
    [(0.1, 0.1, 0.1, 0.1, 1.0), (0.5, 0.5, 0.5, 0.5, 1.0)]
    >>> first_scales((0.5, 1.0), 1)
    [(0.5,), (1.0,)]
    """
    ordered = sorted(scales)
    last_clear = ((scale,) * (n_levels - 1) + (ordered[-1],) for scale in ordered[:-1])
    return list(dict.fromkeys([*diagonal(ordered, n_levels), *last_clear]))


def search_grid(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """Return the combinations that surround the paper's loop: all ordered ones while they are few.

    >>> search_grid((0.5, 1.0), 2)
    [(0.5, 0.5), (0.5, 1.0), (1.0, 1.0)]
    >>> len(search_grid((0.1, 0.25, 0.5, 0.75, 1.0), 8))
    33
    """
    ordered = sorted(scales)
    if comb(len(ordered) + n_levels - 1, n_levels) <= COARSE:
        return list(combinations_with_replacement(ordered, n_levels))
    return list(dict.fromkeys([*diagonal(ordered, n_levels), *directions(ordered, n_levels)]))


def directions(scales: Sequence[float], n_levels: int) -> list[Scales]:
    """The first levels at one scale of the grid, the others at the largest.

    >>> directions((0.5, 1.0), 3)
    [(0.5, 1.0, 1.0), (0.5, 0.5, 1.0), (1.0, 1.0, 1.0)]
    """
    highest, lower = max(scales), sorted(set(scales))[:-1]
    steps = [(s,) * k + (highest,) * (n_levels - k) for s in lower for k in range(1, n_levels)]
    return [*steps, (highest,) * n_levels]


def uniform_outcomes(outcomes: Iterable[ScaledOutcome]) -> tuple[ScaledOutcome, ...]:
    """Return the outcomes with one scale for all tiers, in increasing order."""
    return tuple(sorted((p for p in outcomes if len(set(p.scales)) == 1), key=lambda p: p.scales))


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
        if measuring.experiment.without_forms.loss((middle,) * n, remap=remap) > loss:
            low = middle
        else:
            high = middle
    return (round(high, 3),) * n
