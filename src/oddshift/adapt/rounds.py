"""The loop of AmPL: perturb, attack, audit, step; one generator of rounds that its caller can stop, log or resume.

scales ← project(scales − η_t·gradient), η_t = η_0/(t+1)^γ. The gradient is by central differences under common random
numbers; the projection is onto lowest ≤ s_1 ≤ … ≤ s_K ≤ 1. The paper gives the objective λ_1·rate + λ_2·loss and no
algorithm: this one is written out in docs/adapt.md.

The paper's methods by name: what each minimises, and which tiers it moves.

AmPL-1 "applies identity-salience weighting to PII only (no PoII weighting)"; the paper uses it in three senses, so all
three are here under names that say which, and a fourth that has one level for everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from oddshift.adapt.evaluation import Measuring, rounded_scales
from oddshift.adapt.result import Round, ScaledOutcome, Scales
from oddshift.adapt.settings import AdaptSettings
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.tiers import Tiers

DIFFERENCE = 0.05
"""Half the width of a central difference: wide enough that rates of rare events change."""

Objective = Callable[[ScaledOutcome], float]
"""What the loop minimises."""


def weighted(settings: AdaptSettings, counted: Sequence[int] | None = None) -> Objective:
    """Return λ_1·rate + λ_2·loss, the rate pooled over tiers or their largest; `counted` leaves out other tiers."""

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
    together: bool = False,
    after: Round | None = None,
) -> Iterator[Round]:
    """Run rounds from scales 1 on (or from `start`), until they move by less than the tolerance.

    Tiers of one level move together: `start`, `moving` (the levels whose scale may change, by default all) and the
    gradient of a round have one entry for each level. `together` moves those levels by one step that they share.
    `after` resumes after a round of an earlier run.
    """
    settings, tiers = measuring.experiment.settings, measuring.experiment.known.tiers
    n = tiers.n_levels
    movable = np.isin(np.arange(n), np.arange(n) if moving is None else np.asarray(moving))
    first = np.asarray(start if start is not None else np.ones(n), dtype=np.float64)
    number, here = (0, first) if after is None else (after.number + 1, _next(after, settings, movable, tiers))
    while number < settings.rounds and not (after is not None and after.moved < settings.tolerance):
        after = _round(number, here, measuring, objective, _steps_of(movable, together))
        yield after
        number, here = number + 1, _next(after, settings, movable, tiers)


def _steps_of(movable: BoolArray, together: bool) -> list[IntArray]:
    """The levels that each step of a round moves: one alone, or all that may move."""
    levels = np.flatnonzero(movable)
    return [levels] if together else [levels[k : k + 1] for k in range(len(levels))]


def _round(number: int, here: FloatArray, measuring: Measuring, objective: Objective, steps: list[IntArray]) -> Round:
    experiment, settings = measuring.experiment, measuring.experiment.settings
    tiers = experiment.known.tiers
    sides = [_sides(here, levels, settings) for levels in steps]
    places = [here, *(side for pair in sides for side in pair)]
    wanted = [experiment.scales_of(rounded_scales(place)) for place in places]
    centre, *around = measuring.outcomes(wanted, f"round {number + 1}")
    gradient = np.zeros(len(here))
    for k, levels in enumerate(steps):
        low, high = around[2 * k], around[2 * k + 1]
        width = float((levels_of(high.scales, tiers) - levels_of(low.scales, tiers))[levels].max(initial=0.0))
        gradient[levels] = (objective(high) - objective(low)) / width if width > 0 else 0.0
    step = settings.first_step / (number + 1) ** settings.decay
    made = Round(
        number=number,
        outcome=centre,
        objective=objective(centre),
        gradient=tuple(gradient.tolist()),
        step=step,
        moved=0.0,
    )
    movable = np.isin(np.arange(len(here)), np.concatenate(steps)) if steps else np.zeros(len(here), dtype=np.bool_)
    return replace(made, moved=float(np.linalg.norm(_next(made, settings, movable, tiers) - here)))


def _sides(here: FloatArray, levels: IntArray, settings: AdaptSettings) -> tuple[FloatArray, FloatArray]:
    """The scales a little below and above in some levels, inside the box."""
    lowest, highest = min(settings.grid), max(settings.grid)
    low, high = here.copy(), here.copy()
    low[levels] = np.maximum(here[levels] - DIFFERENCE, lowest)
    high[levels] = np.minimum(here[levels] + DIFFERENCE, highest)
    return low, high


def levels_of(scales: Sequence[float], tiers: Tiers) -> FloatArray:
    """One scale for each level, from the scales of the tiers."""
    return np.array([scales[tiers.levels.index(level)] for level in range(tiers.n_levels)])


def _next(last: Round, settings: AdaptSettings, movable: BoolArray, tiers: Tiers) -> FloatArray:
    """Where the loop goes after a round; levels that may not move stay."""
    here = levels_of(last.outcome.scales, tiers)
    there = project(here - last.step * np.asarray(last.gradient), min(settings.grid), max(settings.grid))
    return np.where(movable, there, here)


def project(scales: npt.ArrayLike, lowest: float, highest: float) -> FloatArray:
    """Return the nearest scales with lowest ≤ s_1 ≤ … ≤ s_K ≤ highest: isotonic regression, then clip.

    >>> project([0.9, 0.5, 1.2], 0.1, 1.0)
    array([0.7, 0.7, 1. ])
    """
    from scipy.optimize import isotonic_regression

    pooled = isotonic_regression(np.asarray(scales, dtype=np.float64)).x
    return np.asarray(np.clip(pooled, lowest, highest))


CLEAR = 1e4
"""A scale so large that a value is released as it is."""


@dataclass(frozen=True)
class Preset:
    """Weights of the objective, and what happens to the tiers below the first.

    First is the most sensitive level. `only_first_moves` keeps the scale of the others where they start, `others` is
    where they start, and `only_first_counts` leaves their tiers out of rate and loss. With `one_level` all levels have
    one scale.
    """

    meaning: str
    rate_weight: float = 1.0
    loss_weight: float = 1.0
    only_first_moves: bool = False
    only_first_counts: bool = False
    others: float = 1.0
    one_level: bool = False

    def settings(self, asked: AdaptSettings) -> AdaptSettings:
        """The settings with this preset's weights: 0 stays 0, 1 keeps the weight asked for."""
        return replace(
            asked,
            objective="weighted",
            rate_weight=self.rate_weight * asked.rate_weight,
            loss_weight=self.loss_weight * asked.loss_weight,
        )

    def start(self, n_levels: int) -> Scales:
        """Where the loop begins, level by level."""
        return (1.0,) + (self.others,) * (n_levels - 1)

    def rounds(self, measuring: Measuring, after: Round | None = None) -> Iterator[Round]:
        """The loop under this preset; `measuring` must have been made with its settings."""
        settings, tiers = measuring.experiment.settings, measuring.experiment.known.tiers
        first = [k for k, level in enumerate(tiers.levels) if level == 0]
        objective = weighted(settings, first if self.only_first_counts else None)
        moving = [0] if self.only_first_moves else None
        return rounds(
            measuring,
            objective,
            start=settings.start or self.start(tiers.n_levels),
            moving=moving,
            together=self.one_level,
            after=after,
        )


PRESETS: dict[str, Preset] = {
    "EM": Preset("no adaptation: every scale 1", rate_weight=0.0, loss_weight=0.0),
    "AmPL": Preset("rate and loss together"),
    "AmPL-U": Preset("loss alone (lambda_1 = 0); it stays at scale 1", rate_weight=0.0),
    "AmPL-P": Preset("rate alone (lambda_2 = 0)", loss_weight=0.0),
    "AmPL-1": Preset("only the first tier moves, the others stay at scale 1", only_first_moves=True),
    "AmPL-1-clear": Preset(
        "only the first tier moves, the others are released in the clear",
        only_first_moves=True,
        only_first_counts=True,
        others=CLEAR,
    ),
    "AmPL-1-averages": Preset("all tiers move, rate and loss of the first alone count", only_first_counts=True),
    "AmPL-1-one-level": Preset(
        "one scale for everything, rate and loss of the first tier alone count", only_first_counts=True, one_level=True
    ),
}
"""Every method of the paper's tables by name; each with and without remapping, as the settings say."""
