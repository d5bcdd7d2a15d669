"""AmPL: adapt the noise of each tier until the leakage of the joint release is certified."""

from oddshift.adapt.adaptation import Adaptation, AdaptSettings, Compared, Point, Round, Scales, Tested, TierPoint
from oddshift.adapt.adapting import AdaptTask, adapt
from oddshift.adapt.experiment import Experiment, Family, Reader
from oddshift.adapt.frontier import equal_utility, front, grid_of, hypervolume, rays, uniform_points
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
    "Point",
    "Preset",
    "Reader",
    "Round",
    "Scales",
    "Tested",
    "TierPoint",
    "adapt",
    "equal_utility",
    "front",
    "grid_of",
    "hypervolume",
    "project",
    "rays",
    "rounds",
    "uniform_points",
    "weighted",
]
