"""Where the goals are just met at the least loss, found with few measurements however many tiers there are.

Rates and right guesses grow with the scales and the loss falls. One scale for all levels is raised to the boundary of
the goals; there a linear model of loss and goals says how to exchange noise between levels, and the result is moved
back to the boundary. A model takes one measurement for each level, so the work grows like the number of levels. The
last steps are the smallest that scales can make, to where the loss, which is exact, is known to be smaller.

The frontier of violation rate against utility loss, and what a search for scales begins with.

All outcomes are measured on select documents with one attacker that is not trained again. Scales belong to levels of
sensitivity, and do not decrease towards a less sensitive level: others are never selected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from oddshift.adapt.evaluation import DIGITS, Measuring, rounded_scales
from oddshift.adapt.goals import Goals
from oddshift.adapt.result import ScaledOutcome, Scales
from oddshift.adapt.rounds import levels_of
from oddshift.base.arrays import FloatArray

TARGET = 0.7
"""The largest share of δ for the select rate of a crossing: what a certificate on that many documents needs."""

STEPS = 5
"""Most measurements on the way to the boundary."""

CLOSE = 0.95
"""The hardest goal at a point that counts as the boundary."""

EXCHANGES = (2.0, 1.6, 1.3, 1.15)
"""How far a level may move in each exchange, as a factor."""

DIFFERENCE = 1.25
"""The factor by which a level is moved to see what it does."""

FINEST = 10.0**-DIGITS
"""The smallest step of a scale."""

FINAL = 6
"""Most measurements of final steps: single ones, and exchanges between two levels."""

GROWTH = 1.5
"""Power of the scales with which the hardest goal grows, until two measurements say it better."""

LADDER = (0.75, 0.8, 0.85, 0.9, 0.93, 0.96, 0.98, 1.0, 1.02)
"""Multiples of the crossing that are measured too: steps between too much noise and too little. Those that certify may
find more than the search, and still learn from more documents, so the steps reach far below."""


def crossing(measuring: Measuring, goals: Goals) -> list[ScaledOutcome]:
    """Find the scales of least loss at which select documents keep the goals, with some room, and a ladder to them.

    What is measured on the way is kept in `measuring`, for the frozen sequence.
    """
    search = _Search(measuring, goals)
    base = search.to_boundary(np.full(search.n_levels, search.highest), "one scale for all levels")
    for number, width in enumerate(EXCHANGES):
        if base is None or search.n_levels == 1 or (base.levels >= search.highest).all():
            break
        what = f"exchange {number + 1} of {len(EXCHANGES)}"
        found = search.to_boundary(search.exchanged(base, width, what), what)
        if found is not None and found.loss < base.loss:
            base = found
    search.final_steps()
    return search.ladder()


def ordered(levels: FloatArray) -> FloatArray:
    """The largest scales that are no larger anywhere and do not decrease towards a less sensitive level.

    >>> ordered(np.array([0.5, 0.9, 0.4, 0.8]))
    array([0.4, 0.4, 0.4, 0.8])
    """
    return np.asarray(np.minimum.accumulate(levels[::-1])[::-1])


@dataclass(frozen=True, eq=False, repr=False)
class _Point:
    """A measured outcome: the scale of every level, its loss, and every goal as a share of its limit."""

    levels: FloatArray
    loss: float
    goals: FloatArray

    @property
    def hardest(self) -> float:
        return float(self.goals.max())


@dataclass(frozen=True, eq=False, repr=False)
class _Search:
    """Measuring by levels."""

    measuring: Measuring
    goals: Goals

    @property
    def n_levels(self) -> int:
        return int(self.measuring.experiment.known.tiers.n_levels)

    @property
    def lowest(self) -> float:
        return min(self.measuring.experiment.settings.grid)

    @property
    def highest(self) -> float:
        return max(self.measuring.experiment.settings.grid)

    def at(self, levels: FloatArray, what: str) -> _Point:
        """The outcome at these scales, put inside the grid."""
        scales = self._scales(np.clip(levels, self.lowest, self.highest))
        (outcome,) = self.measuring.outcomes([scales], what)
        return self._point(outcome)

    def to_boundary(self, levels: FloatArray, what: str) -> _Point | None:
        """The largest multiple of some scales that keeps the goals, about; None where none was found."""
        within: tuple[float, _Point] | None = None
        beyond: tuple[float, _Point] | None = None
        multiple = 1.0
        for _ in range(STEPS):
            found = self.at(ordered(levels * multiple), what)
            if found.hardest > 1.0:
                beyond = (multiple, found)
            else:
                within = (multiple, found)
                if found.hardest >= CLOSE or (found.levels >= self.highest).all():
                    break
            smallest = (found.levels <= self.lowest).all()
            if smallest and within is None:
                break
            multiple = _next_multiple(within, beyond)
        return None if within is None else within[1]

    def exchanged(self, base: _Point, width: float, what: str) -> FloatArray:
        """The scales of least loss within a factor `width`, where loss and goals change as they do near the base."""
        from scipy.optimize import linprog

        moves, gains, strains = [], [], []
        for move in self._moves(base):
            there = self.at(base.levels * np.exp(move), what)
            taken = np.log(there.levels / base.levels)
            size = float(taken.sum()) or 1.0
            moves.append(move / move.sum())
            gains.append((there.loss - base.loss) / size)
            strains.append((there.goals - base.goals) / size)
        whole, limit = np.array(moves).T, np.log(width)
        inside = (np.log(self.lowest / base.levels), np.log(self.highest / base.levels))
        steps = np.vstack([np.array(strains).T, -np.diff(whole, axis=0)])
        room = np.concatenate([1.0 - base.goals, np.diff(np.log(base.levels))])
        rows = np.vstack([steps, whole, -whole])
        right = np.concatenate([room, np.minimum(inside[1], limit), -np.maximum(inside[0], -limit)])
        found = linprog(gains, A_ub=rows, b_ub=np.maximum(right, 0.0), bounds=[(None, None)] * len(moves))
        return base.levels * np.exp(whole @ found.x) if found.success else base.levels

    def _moves(self, base: _Point) -> Iterator[FloatArray]:
        """For each level the logarithms by which it and all less sensitive ones move: up, or down at the largest."""
        for level in range(self.n_levels):
            after = np.arange(self.n_levels) >= level
            can_rise = (base.levels[after] < self.highest / DIFFERENCE**0.5).any()
            yield after * np.log(DIFFERENCE) * (1.0 if can_rise else -1.0)

    def keeps(self, outcome: ScaledOutcome) -> bool:
        """Whether the select documents keep every goal, with some room."""
        return self.goals.strain(outcome, share=TARGET) <= 1.0

    def best(self) -> ScaledOutcome | None:
        """The measured outcome of least loss that keeps every goal, if one does."""
        kept = (p for p in self.measuring.known.values() if p.admissible and self.keeps(p))
        return min(kept, key=lambda p: p.loss, default=None)

    def final_steps(self) -> None:
        """Go on from the best outcome to where the loss is smaller, by the least gain first, while goals are kept."""
        left = FINAL
        while (best := self.best()) is not None:
            for scales in self._smaller_losses(best):
                left -= scales not in self.measuring.known
                if left < 0:
                    return
                if self.keeps(self.measuring.outcomes([scales], "final steps")[0]):
                    break
            else:
                return

    def _smaller_losses(self, best: ScaledOutcome) -> list[Scales]:
        """Ordered scales one step from these, in one level or two of them, that cost less; the largest loss first."""
        steps = FINEST * np.eye(self.n_levels)
        moves = [*steps, *(up - down for up, down in permutations(steps, 2))]
        levels, loss = self._point(best).levels, self.measuring.experiment.loss
        near = (np.clip(levels + move, self.lowest, self.highest) for move in moves)
        asked = {self._scales(each) for each in near if (np.diff(each) >= -FINEST / 2).all()}
        found = {scales: loss(scales) for scales in asked - {best.scales}}
        return sorted((scales for scales in found if found[scales] < best.loss), key=lambda s: (-found[s], s))

    def _scales(self, levels: FloatArray) -> Scales:
        return rounded_scales(self.measuring.experiment.scales_of(tuple(levels.tolist())))

    def ladder(self) -> list[ScaledOutcome]:
        """Outcomes around the one of least loss that keeps every goal; around the smallest scales if none does."""
        smallest = min((p for p in self.measuring.known.values() if p.admissible), key=lambda p: p.scales)
        levels = self._point(self.best() or smallest).levels
        rungs = [np.clip(levels * rung, self.lowest, self.highest) for rung in LADDER]
        return self.measuring.outcomes([self._scales(rung) for rung in rungs], "ladder")

    def _point(self, outcome: ScaledOutcome) -> _Point:
        shares = np.array([strain.ratio for strain in self.goals.strains(outcome, share=TARGET)])
        return _Point(levels_of(outcome.scales, self.measuring.experiment.known.tiers), outcome.loss, shares)


def _next_multiple(within: tuple[float, _Point] | None, beyond: tuple[float, _Point] | None) -> float:
    """Where the hardest goal should be just below its limit: between two multiples, or from the one that is known."""
    aim = np.log((1.0 + CLOSE) / 2)
    if within is None or beyond is None:
        multiple, point = within or beyond or (1.0, None)
        strain = 1.0 if point is None else max(point.hardest, 0.05)
        return float(multiple * np.clip(np.exp((aim - np.log(strain)) / GROWTH), 0.4, 2.5))
    low, high = np.log(within[0]), np.log(beyond[0])
    start, end = np.log(max(within[1].hardest, 0.05)), np.log(beyond[1].hardest)
    share = np.clip((aim - start) / max(end - start, 1e-9), 0.15, 0.85)
    return float(np.exp(low + share * (high - low)))


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
