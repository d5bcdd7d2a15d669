"""AmPL: adapt the noise of each tier until the leakage of the joint release is certified."""

from oddshift.adapt.adapting import adapt
from oddshift.adapt.conclusion import AdaptTask
from oddshift.adapt.evaluation import Experiment, Measuring, Reader
from oddshift.adapt.goals import Goals, goals_of
from oddshift.adapt.result import Adaptation, Compared, Round, ScaledOutcome, Scales, Tested, TierOutcome
from oddshift.adapt.rounds import PRESETS, Preset, project, rounds, weighted
from oddshift.adapt.search import crossing, equal_utility, front, grid_of, hypervolume, uniform_outcomes
from oddshift.adapt.settings import AdaptSettings
from oddshift.mechanisms.named import Family

__all__ = [
    "PRESETS",
    "AdaptSettings",
    "AdaptTask",
    "Adaptation",
    "Compared",
    "Experiment",
    "Family",
    "Goals",
    "Measuring",
    "Preset",
    "Reader",
    "Round",
    "ScaledOutcome",
    "Scales",
    "Tested",
    "TierOutcome",
    "adapt",
    "crossing",
    "equal_utility",
    "front",
    "goals_of",
    "grid_of",
    "hypervolume",
    "project",
    "rounds",
    "uniform_outcomes",
    "weighted",
]
