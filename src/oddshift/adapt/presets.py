"""The paper's methods by name: what each minimises, and which tiers it moves.

AmPL-1 "applies identity-salience weighting to PII only (no PoII weighting)"; the paper uses it in three senses, so all
three are here under names that say which, and a fourth that has one level for everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from oddshift.adapt.evaluation import Measuring
from oddshift.adapt.result import Round, Scales
from oddshift.adapt.rounds import rounds, weighted
from oddshift.adapt.settings import AdaptSettings

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
