"""What is asked of a mechanism: its name and the numbers it needs, for Python and for a configuration file alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from oddshift.base.arrays import positive
from oddshift.base.errors import InvalidInput
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, kw_only=True)
class MechanismSettings:
    """How secrets are released.

    `name` is a key of `MECHANISMS`. `epsilon` is the nominal budget; without it the budget of the audit is spent.
    `scales` has one factor of ε for each tier, from the most sensitive on. `radius` belongs to the truncated mechanism.
    `outputs` says what a secret may be released as: a point of its own `tier` (a name becomes a name; it needs public
    tiers, and with secret ones all points are candidates) or any of `all` points. `calibrated` raises the nominal ε
    until the exact one meets it.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str = "exponential"
    epsilon: float | None = None
    scales: tuple[float, ...] | None = None
    radius: float | None = None
    outputs: Literal["tier", "all"] = "tier"
    calibrated: bool = False

    def __post_init__(self) -> None:
        """Check the numbers; whether they fit the tiers shows when the mechanism is built."""
        if self.epsilon is not None:
            positive(self.epsilon, "epsilon")
        if self.radius is not None:
            positive(self.radius, "radius")
        if self.outputs not in {"tier", "all"}:
            raise InvalidInput(f"outputs={self.outputs!r}, expected tier or all")


def tiers_with_scales(tiers: Tiers, settings: MechanismSettings) -> Tiers:
    """The tiers with the scales of the settings; a mechanism that needs scales and has none is refused."""
    if settings.scales is None:
        raise InvalidInput(
            f"mechanism.name={settings.name!r} needs mechanism.scales, one for each tier {', '.join(tiers.names)}"
        )
    return tiers.with_scales(settings.scales)
