"""Mechanisms: one file each, one line in the dictionary each."""

from oddshift.mechanisms.channel import Channel, Geometric, RandomizedResponse, estimate_channel
from oddshift.mechanisms.composition import Composition
from oddshift.mechanisms.exponential import Exponential, Truncated, balanced_weights, truncation_radius
from oddshift.mechanisms.laplace import Laplace, ProjectedLaplace
from oddshift.mechanisms.mechanism import Mechanism, Sampler, calibrate
from oddshift.mechanisms.named import MECHANISMS, build_mechanism
from oddshift.mechanisms.optimal import Optimal
from oddshift.mechanisms.path import PathExponential, path_closure
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.mechanisms.tiered import Tiered
from oddshift.mechanisms.word_channels import Deletion, Mask, NoiseCharacter, Substitution

__all__ = [
    "MECHANISMS",
    "Channel",
    "Composition",
    "Deletion",
    "Exponential",
    "Geometric",
    "Laplace",
    "Mask",
    "Mechanism",
    "MechanismSettings",
    "NoiseCharacter",
    "Optimal",
    "PathExponential",
    "ProjectedLaplace",
    "RandomizedResponse",
    "Sampler",
    "Substitution",
    "Tiered",
    "Truncated",
    "balanced_weights",
    "build_mechanism",
    "calibrate",
    "estimate_channel",
    "path_closure",
    "truncation_radius",
]
