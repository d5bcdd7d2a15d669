"""AmPL: adapt the noise of each tier until the leakage of the joint release is certified."""

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.adapt.adaptation import (
    Adaptation,
    Compared,
    Round,
    ScaledOutcome,
    Scales,
    Tested,
    TierOutcome,
)
from oddshift.adapt.adapting import AdaptTask, adapt
from oddshift.adapt.experiment import Experiment, Family, Reader
from oddshift.adapt.frontier import equal_utility, front, grid_of, hypervolume, rays, uniform_outcomes
from oddshift.adapt.measuring import Measuring
from oddshift.adapt.presets import PRESETS, Preset
from oddshift.adapt.rounds import project, rounds, weighted

__all__ = [
    "PRESETS",
    "AdaptSettings",
    "AdaptTask",
    "Adaptation",
    "Compared",
    "Experiment",
    "Family",
    "Measuring",
    "Preset",
    "Reader",
    "Round",
    "ScaledOutcome",
    "Scales",
    "Tested",
    "TierOutcome",
    "adapt",
    "equal_utility",
    "front",
    "grid_of",
    "hypervolume",
    "project",
    "rays",
    "rounds",
    "uniform_outcomes",
    "weighted",
]
