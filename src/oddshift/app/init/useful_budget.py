"""The least budget at which perturbed words are worth more than marks, computed for a first configuration of texts.

The first budget comes from distances alone, and with vectors of many dimensions it can ask for so much noise that one
constant word of each kind would serve as well. Whoever reads the configuration is told where that ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp

from oddshift.adapt.break_even import break_even
from oddshift.adapt.families import scale_family
from oddshift.adapt.kept_forms import KeptForms
from oddshift.app.init.suggestion import Suggestion
from oddshift.app.preparation import Prepared
from oddshift.attackers.attacker import knowledge
from oddshift.mechanisms import MechanismSettings
from oddshift.mechanisms.utility import constant_of_each_kind

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
            f"words perturbed within this budget have {said}: {marks}; perturbed words cost less from epsilon = "
            f"{self.epsilon:.2g} on, where the odds between a word and its nearest alternative may change by a factor "
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
