"""A first ε for a space, from distances alone: the budget at which the nearest other value stays a real alternative.

A budget should say what is acceptable, not describe the noise that is about to be used: an audit against the noise's
own ε passes almost automatically. The final budget is the user's decision. For texts, the least budget at which
perturbed words are worth more than marks is computed too: with vectors of many dimensions the first one can ask for so
much noise that one constant word of each kind would serve as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

import numpy as np

from oddshift.adapt.notes import break_even
from oddshift.adapt.release_form import KeptForms
from oddshift.attackers.attacker import knowledge
from oddshift.base.arrays import positive
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.coverage import nearest_alternative
from oddshift.data.preparation import Prepared
from oddshift.mechanisms import MechanismSettings
from oddshift.mechanisms.named import scale_family
from oddshift.mechanisms.utility import constant_of_each_kind
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

ODDS = 20.0
"""By how much everything released together may multiply the odds between a value and its nearest alternative.

With less, noise keeps next to nothing on most data sets that were tried, and marks or made-up values go out instead.
"""


@dataclass(frozen=True)
class Suggestion:
    """ε, and the distance it comes from: the median from a value to the nearest other value of its tier.

    With `every_tier` that is the median in the tier where it is largest.
    """

    epsilon: float
    nearest: float
    every_tier: bool = False

    @property
    def factor(self) -> float:
        """By how much the odds between a value and its nearest alternative may change within ε."""
        return float(np.exp(min(700.0, self.epsilon * self.nearest)))


def suggest_epsilon(
    space: Space, tiers: Tiers, rng: np.random.Generator, odds: float = ODDS, *, every_tier: bool = False
) -> Suggestion:
    """ε = ln(odds)/nearest, rounded down to two digits; `nearest` is the median distance to the nearest alternative.

    With `every_tier` the odds are kept in each tier: the columns of a table have distances of their own, and a median
    over all of them would leave the two values of a category far too easy to tell apart.

    >>> from oddshift.model.release import one_tier
    >>> line = Space(np.arange(5.0)[:, None])
    >>> suggest_epsilon(line, one_tier(line), np.random.default_rng(0))
    Suggestion(epsilon=2.9, nearest=1.0, every_tier=False)
    """
    if not positive(odds, "odds") > 1.0:
        raise InvalidInput(f"{odds=}, expected more than 1")
    nearest = nearest_alternative(space, tiers, rng, every_tier=every_tier)
    return Suggestion(_two_digits(np.log(odds) / nearest), nearest, every_tier)


def _two_digits(value: float) -> float:
    """The value rounded down to two digits, so that the odds stay within what was asked."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.floor(value / unit + 1e-9) * unit:.12g}")


COST = "cosine"


@dataclass(frozen=True)
class UsefulBudget:
    """Expected losses at a first budget and of one constant word of each kind, and the ε from which the noise pays.

    `epsilon` is None where no budget that was tried is large enough; `nearest` is the distance that odds refer to.
    """

    loss: float
    constant: float
    epsilon: float | None
    nearest: float

    @property
    def pays(self) -> bool:
        """Whether the first budget itself is large enough."""
        return self.loss < self.constant

    @property
    def sentence(self) -> str:
        """What to know, and what could be changed."""
        said = f"an expected loss of {self.loss:.3f}, where one constant word of each kind has {self.constant:.3f}"
        if self.pays:
            return f"words perturbed within this budget have {said}"
        marks = '[mechanism] name = "mask" reveals nothing that the rest does not, and serves as well'
        if self.epsilon is None:
            return f"words perturbed within this budget have {said}: {marks}"
        odds = exp(min(700.0, self.epsilon * self.nearest))
        return (
            f"words perturbed within this budget have {said}: {marks}; above epsilon = {self.epsilon:.2g} perturbing "
            "loses less than masking, and the odds between a word and its nearest alternative may change by a factor "
            f"of {odds:.3g}"
        )


def useful_budget(prepared: Prepared, suggestion: Suggestion) -> UsefulBudget | None:
    """Losses at the suggested budget and at multiples of it; None for tiers that are secret."""
    space, tiers = prepared.split.fit.space, prepared.tiers
    if not tiers.is_public:
        return None
    asked = MechanismSettings(epsilon=suggestion.epsilon, calibrated=True)
    family, forms = scale_family(asked, space, tiers, suggestion.epsilon), KeptForms()
    weights = knowledge(family(tiers), tiers, prepared.split.fit).weights

    def loss_at(multiple: float) -> float:
        return forms.of(family(tiers.with_scales((multiple,) * len(tiers))), weights, COST).loss

    constant = constant_of_each_kind(space, weights, COST, tiers.labels)[1]
    multiple = break_even(loss_at, constant)
    epsilon = None if multiple is None else multiple * suggestion.epsilon
    return UsefulBudget(loss_at(1.0), constant, epsilon, suggestion.nearest)
