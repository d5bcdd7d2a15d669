"""The form of a release: as it was drawn, or remapped to the output of least expected cost.

Remapping lowers the expected cost, but it can collapse to a few outputs that are of no use. `auto` takes the form of
least loss among those that keep a tenth of the effective outputs as drawn and cost less than one constant output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.adapt.adapt_settings import AdaptSettings
from oddshift.base.arrays import FloatArray
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import effective_number, losses, output_law

KEPT = 0.1
"""The share of the effective outputs as drawn that a remapping must leave."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseForm:
    """A channel with its exact utility under a prior and a cost."""

    mechanism: Channel
    weights: FloatArray
    cost: str

    @cached_property
    def by_point(self) -> FloatArray:
        """The expected cost of every point."""
        return losses(self.mechanism, self.cost)

    @property
    def loss(self) -> float:
        """The expected cost under the prior."""
        return float(self.weights @ self.by_point)

    @cached_property
    def output_law(self) -> FloatArray:
        """The probability of every output under the prior."""
        return output_law(self.mechanism, self.weights)

    @property
    def effective_outputs(self) -> float:
        """exp of the entropy of the output."""
        return effective_number(self.output_law)


@dataclass(frozen=True, eq=False, repr=False)
class ChosenForm:
    """The form that is released, whether it is remapped, and why."""

    form: ReleaseForm
    plain: ReleaseForm
    remapped: bool
    reason: str


def chosen_form(
    plain: ReleaseForm, settings: AdaptSettings, constant: Callable[[], float], remap: bool | None = None
) -> ChosenForm:
    """The form that settings ask for at one choice of scales; `remap` overrides them.

    `constant` gives the loss of the best constant output, and is computed only where it decides.
    """
    if remap is False or (remap is None and settings.remap == "never"):
        return ChosenForm(plain, plain, False, "not remapped, as asked")
    mapping = Remap(plain.mechanism, plain.weights, plain.cost)
    asked = remap is True or settings.remap == "always"
    left, of = (
        effective_number(np.bincount(mapping.destination, plain.output_law).astype(np.float64)),
        plain.effective_outputs,
    )
    if not asked and left < KEPT * of:  # seen from the outputs alone, before the matrix of the remapped form is built
        return ChosenForm(plain, plain, False, f"not remapped: {left:.1f} of {of:.1f} effective outputs would be left")
    moved = ReleaseForm(Channel.of(mapping), plain.weights, plain.cost)
    if asked:
        return ChosenForm(moved, plain, True, "remapped, as asked")
    if moved.loss >= constant():
        return ChosenForm(plain, plain, False, "not remapped: one constant output would cost no more")
    if plain.loss < moved.loss:
        return ChosenForm(plain, plain, False, "not remapped: the loss would not be smaller")
    return ChosenForm(moved, plain, True, f"remapped: loss {moved.loss:.4f} instead of {plain.loss:.4f}")
