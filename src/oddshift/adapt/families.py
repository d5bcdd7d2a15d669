"""Families of mechanisms: what is released under any scales of the tiers."""

from __future__ import annotations

from oddshift.adapt.experiment import Family
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms import Exponential, Mechanism, MechanismSettings, PathExponential, Tiered, calibrate
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

SCALED = ("exponential", "tiered", "path")
"""Mechanisms whose noise can be scaled tier by tier."""


def scale_family(settings: MechanismSettings, space: Space, tiers: Tiers, epsilon: float) -> Family:
    """The mechanism under any scales: tier by tier when tiers are public, on the path metric when they are secret.

    With a single tier the exponential mechanism stays the one that an audit knows, at a share of its budget. A
    calibrated one spends at scale 1 what its exact ε leaves over.
    """
    if settings.name not in SCALED:
        raise InvalidInput(
            f"mechanism.name={settings.name!r} has no scales to adapt, expected {', '.join(SCALED)}; "
            "a certified audit of it writes the policy"
        )
    if settings.name == "tiered" and not tiers.is_public:
        raise InvalidInput("mechanism.name='tiered' promises nothing across secret tiers, expected path")
    if settings.outputs == "words":
        raise InvalidInput(
            "mechanism.outputs='words' can be audited but not adapted, expected tier or all: a policy holds vectors of "
            "its own points, not of other words"
        )
    is_plain = settings.name == "exponential" and len(tiers) == 1
    is_path = settings.name == "path" or not tiers.is_public
    keeps_tier = settings.outputs == "tier" and tiers.is_public and len(tiers) > 1

    def scaled(scales: Tiers, nominal: float) -> Mechanism:
        if is_plain:
            return Exponential(space, nominal * scales.scales[0])
        if is_path:
            return PathExponential(space, scales, nominal)
        return Tiered(space, scales, nominal, keeps_tier=keeps_tier)

    nominal = settings.epsilon or epsilon
    if settings.calibrated:
        ones = tiers.with_scales((1.0,) * len(tiers))
        spent = calibrate(lambda e: scaled(ones, e), nominal)
        assert isinstance(spent, Exponential | PathExponential | Tiered)
        nominal = spent.epsilon
    return lambda scales: scaled(scales, nominal)
