"""What is asked of a mechanism: its name and the numbers it needs, for Python and for a configuration file alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from oddshift.base.arrays import FloatArray, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.model.tiers import Tiers

OutputChoice = Literal["tier", "all", "words"]
"""What a secret may be released as: a point of its tier, any point, or any word of the fit texts."""


@dataclass(frozen=True, eq=False, repr=False)
class WordChoice:
    """What only texts can give to a mechanism: the word of each point, and the vectors of further words."""

    names: tuple[str, ...]
    others: FloatArray | None = None


@dataclass(frozen=True, kw_only=True)
class MechanismSettings:
    """How secrets are released.

    `name` is a key of `MECHANISMS`. `epsilon` is the nominal budget; without it the budget of the audit is spent.
    `scales` has one factor of ε for each tier, from the most sensitive on. `radius` belongs to the
    truncated mechanism; `tem`, which is that mechanism as published, finds its own.
    `outputs` says what a secret may be released as: a point of its own `tier` (a name becomes a name; it needs public
    tiers, and with secret ones all points are candidates), any of `all` points, or any of the `words` of the fit texts
    that have a vector (exponential mechanism over texts; such releases are audited, and no policy stores them).
    `calibrated` raises the nominal ε until the exact one meets it. `remap` replaces the output that was drawn by the
    one of least expected cost. `probability`, `neighbours` and `alphabet` belong to the channels that act on words:
    `deletion`, `substitution` and `noise_character`. `releases` says how often the same secrets are released, each time
    with fresh noise, to an attacker who reads all of it (`Composition`): such releases are audited, and no policy
    stores them.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str = "exponential"
    epsilon: float | None = None
    scales: tuple[float, ...] | None = None
    radius: float | None = None
    outputs: OutputChoice = "tier"
    calibrated: bool = False
    remap: bool = False
    probability: float | None = None
    neighbours: int = 10
    alphabet: str = ""
    releases: int = 1

    def __post_init__(self) -> None:
        """Check the numbers; whether they fit the tiers shows when the mechanism is built."""
        if self.epsilon is not None:
            positive(self.epsilon, "epsilon")
        if self.radius is not None:
            positive(self.radius, "radius")
        one_of(self.outputs, "outputs", get_args(OutputChoice))
        if self.probability is not None and not 0.0 < self.probability <= 1.0:
            raise InvalidInput(f"probability={self.probability}, expected 0 < probability <= 1")
        whole(self.neighbours, "neighbours", 1)
        whole(self.releases, "releases", 1)

    @property
    def stated_probability(self) -> float:
        """The probability with which a channel changes a word; refused where it was not stated."""
        if self.probability is None:
            raise InvalidInput(f"mechanism.name={self.name!r} needs mechanism.probability, a number in (0, 1]")
        return self.probability


def tiers_with_scales(tiers: Tiers, settings: MechanismSettings) -> Tiers:
    """The tiers with the scales of the settings; a mechanism that needs scales and has none is refused."""
    if settings.scales is None:
        raise InvalidInput(
            f"mechanism.name={settings.name!r} needs mechanism.scales, one for each tier {', '.join(tiers.names)}"
        )
    return tiers.with_scales(settings.scales)
