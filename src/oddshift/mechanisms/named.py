"""Mechanisms by name: the dictionary that a configuration looks names up in, and what settings ask for.

Families of mechanisms: what is released under any scales of the tiers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.base.registry import Registry
from oddshift.mechanisms.channel import Channel, Geometric, RandomizedResponse
from oddshift.mechanisms.exponential import Exponential, Truncated
from oddshift.mechanisms.laplace import ProjectedLaplace
from oddshift.mechanisms.mechanism import Mechanism, calibrate
from oddshift.mechanisms.optimal import Optimal
from oddshift.mechanisms.path import PathExponential
from oddshift.mechanisms.settings import MechanismSettings, WordChoice
from oddshift.mechanisms.tiered import Tiered
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
        "tem": Truncated,  # with the radius of its paper; a policy has it under the name before
    },
)
"""Every mechanism by name, those of installed packages included."""


def build_mechanism(
    settings: MechanismSettings, space: Space, tiers: Tiers, epsilon: float, words: WordChoice | None = None
) -> Mechanism:
    """The mechanism that settings ask for over some points; `epsilon` is spent where the settings name no other.

    `words` are those of texts, which some settings need. Remapping needs a prior too, and is left to the caller.

    >>> from oddshift.model.release import one_tier
    >>> space = Space([[0.0], [1.0]])
    >>> build_mechanism(MechanismSettings(), space, one_tier(space), 1.5)
    Exponential(Space(n=2, metric=euclidean), epsilon=1.5, n_outputs=2)
    """
    if settings.name not in MECHANISMS:
        raise InvalidInput(f"mechanism.name={settings.name!r}, expected one of {', '.join(MECHANISMS)}")
    kind, nominal = MECHANISMS[settings.name], settings.epsilon or epsilon
    if kind is NoiseCharacter:  # the one mechanism that reads the words themselves
        names = _needed(words, "mechanism.name='noise_character'").names
        return NoiseCharacter(space, names, settings.stated_probability, settings.alphabet)
    outputs = None
    if settings.outputs == "words":
        outputs = _all_words(settings, space, _needed(words, "mechanism.outputs='words'"))

    def at(budget: float) -> Mechanism:
        if outputs is not None:
            return Exponential(space, budget, outputs)
        return kind.configured(space, tiers, budget, settings)

    return calibrate(at, nominal) if settings.calibrated else at(nominal)


def _needed(words: WordChoice | None, what: str) -> WordChoice:
    if words is None:
        raise InvalidInput(f"{what} needs words, expected data of kind text")
    return words


def _all_words(settings: MechanismSettings, space: Space, words: WordChoice) -> Space:
    """The points and every further word as candidates."""
    if settings.name != "exponential":
        raise InvalidInput(f"mechanism.outputs='words' with {settings.name!r}, expected the exponential mechanism")
    others = words.others
    if others is None:
        raise InvalidInput("mechanism.outputs='words' needs the vectors of other words, which these data do not carry")
    return Space(np.concatenate([space.points, np.asarray(others, dtype=np.float64)]), metric=space.metric)


Family = Callable[[Tiers], Mechanism]
"""The mechanism under tiers with some scales."""

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
    if settings.releases > 1:
        raise InvalidInput(f"mechanism.releases={settings.releases} can be audited but not adapted, expected 1")
    if settings.outputs == "words":
        raise InvalidInput("mechanism.outputs='words' can be audited but not adapted, expected tier or all")
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
