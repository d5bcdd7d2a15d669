"""Mechanisms by name: the dictionary that a configuration looks names up in, and what settings ask for."""

from __future__ import annotations

from oddshift.base.errors import InvalidInput
from oddshift.base.registry import Registry
from oddshift.mechanisms.calibrate import calibrate
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.laplace import ProjectedLaplace
from oddshift.mechanisms.line import Geometric, RandomizedResponse
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.optimal import Optimal
from oddshift.mechanisms.path import PathExponential
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.mechanisms.tiered import Tiered
from oddshift.mechanisms.truncated import Truncated
from oddshift.mechanisms.word_channels import Deletion, Mask, NoiseCharacter, Substitution
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

MECHANISMS: Registry[type[Mechanism]] = Registry(
    "mechanism",
    "oddshift.mechanisms",
    {
        "channel": Channel,
        "deletion": Deletion,
        "exponential": Exponential,
        "geometric": Geometric,
        "mask": Mask,
        "noise_character": NoiseCharacter,
        "optimal": Optimal,
        "path": PathExponential,
        "projected_laplace": ProjectedLaplace,
        "randomized_response": RandomizedResponse,
        "substitution": Substitution,
        "tiered": Tiered,
        "truncated": Truncated,
    },
)
"""Every mechanism by name, those of installed packages included."""


def build_mechanism(settings: MechanismSettings, space: Space, tiers: Tiers, epsilon: float) -> Mechanism:
    """The mechanism that settings ask for over some points; `epsilon` is spent where the settings name no other.

    >>> from oddshift.model.release import one_tier
    >>> space = Space([[0.0], [1.0]])
    >>> build_mechanism(MechanismSettings(), space, one_tier(space), 1.5)
    Exponential(Space(n=2, metric=euclidean), epsilon=1.5, n_outputs=2)
    """
    if settings.name not in MECHANISMS:
        raise InvalidInput(f"mechanism.name={settings.name!r}, expected one of {', '.join(MECHANISMS)}")
    kind, nominal = MECHANISMS[settings.name], settings.epsilon or epsilon
    if not settings.calibrated:
        return kind.configured(space, tiers, nominal, settings)
    return calibrate(lambda e: kind.configured(space, tiers, e, settings), nominal)
