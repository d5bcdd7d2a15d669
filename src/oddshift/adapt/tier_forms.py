"""What each tier is released as: noise, as it was drawn or remapped, or what ignores the secret.

Remapping lowers the expected cost, but it can collapse to a few outputs that are of no use. `auto` takes the form of
least loss among those that do not collapse and cost less than one constant output. A kind whose noise would not cost
clearly less than one constant value of it takes a form that ignores the secret, a surrogate or a mark, whichever costs
less.
`tier_options` lists what each tier could be, with what it costs and whether it needs documents.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshift.adapt.release_form import Form, KeptForms, KindForm, ReleaseForm
from oddshift.adapt.settings import AdaptSettings, FormChoice
from oddshift.attackers.repair import is_repaired
from oddshift.base.arrays import FloatArray
from oddshift.mechanisms.forms import IGNORING, Surrogate, TierForm
from oddshift.mechanisms.utility import effective_number
from oddshift.model.tiers import Tiers

WORTH = 0.98
"""The share of the loss of what ignores the secret that noise may cost at most: without noise there is a proof, and a
loss is known no better than the law of the secrets. A repaired tier costs as clearly less than its other forms."""


@dataclass(frozen=True, eq=False, repr=False)
class ChosenForm:
    """What is released: its form, the noise as drawn, whether noise is remapped and why, and the form of each tier.

    `modes` says which tiers are repaired after it; the loss of their form is then that of what comes out.
    """

    form: Form
    plain: Form
    remapped: bool
    reason: str
    forms: tuple[TierForm, ...] = ()
    modes: tuple[str, ...] = ()

    @property
    def is_repaired(self) -> bool:
        """Whether any tier is."""
        return is_repaired(self.modes)


def chosen_form(
    plain: Form, settings: AdaptSettings, constant: Callable[[], float], remap: bool | None = None
) -> ChosenForm:
    """The noise that settings ask for at one choice of scales; `remap` overrides them.

    `constant` gives the loss of the best constant output, and is computed only where it decides: infinite where a kind
    of no use takes another form.
    """
    if remap is False or (remap is None and settings.remap == "never"):
        return ChosenForm(plain, plain, False, "not remapped, as asked")
    if remap is True or settings.remap == "always":
        moved = plain.moved if settings.remap == "always" else plain.useful
        return ChosenForm(moved, plain, True, "remapped, as asked")
    if plain.collapses:
        left, of = effective_number(plain.law_after_remapping), plain.effective_outputs
        return ChosenForm(plain, plain, False, f"not remapped: {left:.1f} of {of:.1f} effective outputs would be left")
    moved = plain.useful
    if moved.loss >= constant():
        return ChosenForm(plain, plain, False, "not remapped: one constant output would cost no more")
    if plain.loss < moved.loss:
        return ChosenForm(plain, plain, False, "not remapped: the loss would not be smaller")
    return ChosenForm(moved, plain, True, f"remapped: loss {moved.loss:.4f} instead of {plain.loss:.4f}{_kept(plain)}")


def _kept(plain: Form) -> str:
    """How many kinds are released as drawn, in the words of a reason."""
    kinds = plain.likely if isinstance(plain, KindForm) else ()
    left = sum(part.collapses for part in kinds)
    return f"; {left} of {len(kinds)} tiers as drawn, because remapping would make them nearly constant" if left else ""


@dataclass(frozen=True)
class TierOption:
    """One form that a tier can take: its expected loss, and whether it ignores the secret, which proves it."""

    tier: str
    form: TierForm
    loss: float

    @property
    def is_proved(self) -> bool:
        """Whether it needs no documents: its own release says nothing about the secret."""
        return self.form in IGNORING


def tier_options(noise: Form, tiers: Tiers, kept: KeptForms, mark_cost: float | None) -> tuple[TierOption, ...]:
    """Every form that each tier can take: the noise that is given, and what ignores the secret."""
    if isinstance(noise, ReleaseForm):
        named = [(name, noise) for name in tiers.names]
    else:
        rows = zip(noise.members, noise.parts, strict=True)
        named = [(tiers.names[label], part) for mine, part in rows if (label := int(tiers.labels[mine[0]])) >= 0]
    return tuple(
        TierOption(name, form, one.loss)
        for name, part in named
        for form, one in (("noise", part), *kept.ignoring(part, mark_cost).items())
    )


def least_form(
    noise: ReleaseForm, asked: FormChoice, ignoring: Mapping[TierForm, ReleaseForm]
) -> tuple[TierForm, ReleaseForm]:
    """The form of a kind that was asked for, or the one of least loss: noise only where it clearly costs less."""
    if asked == "noise":
        return "noise", noise
    if asked == "mark" or (asked == "surrogate" and asked in ignoring):
        return asked, ignoring[asked]
    cheapest = min(ignoring, key=lambda form: ignoring[form].loss)
    if asked == "auto" and noise.loss < WORTH * ignoring[cheapest].loss:
        return "noise", noise
    return cheapest, ignoring[cheapest]


def formed(
    noise: ChosenForm, asked: Sequence[FormChoice], tiers: Tiers, kept: KeptForms, mark_cost: float | None
) -> ChosenForm:
    """The same with a form for each tier: kind by kind where outputs keep their kind, otherwise one for all."""
    if all(choice == "noise" for choice in asked):
        return replace(noise, forms=tuple("noise" for _ in asked))
    whole = noise.form
    if isinstance(whole, ReleaseForm):
        form, part = least_form(whole, strictest(asked), kept.ignoring(whole, mark_cost))
        return replace(noise, form=part, forms=tuple(form for _ in asked))
    forms: list[TierForm] = ["mark"] * len(tiers)  # of a tier without a point nothing is released
    parts = []
    for members, part in zip(whole.members, whole.parts, strict=True):
        tier = int(tiers.labels[members[0]])
        choice = asked[tier] if tier >= 0 else "noise"
        form, made = least_form(part, choice, kept.ignoring(part, mark_cost))
        parts.append(made)
        if tier >= 0:
            forms[tier] = form
    return replace(noise, form=replace(whole, parts=tuple(parts)), forms=tuple(forms))


def strictest(asked: Sequence[FormChoice]) -> FormChoice:
    """One form for tiers that cannot have different ones: what ignores the secret before anything else."""
    order: tuple[FormChoice, ...] = ("mark", "surrogate", "proved", "auto", "noise")
    return min(asked, key=order.index)


def outputs_law(chosen: ChosenForm) -> FloatArray:
    """For every tier whose form ignores the secret the law of its outputs; 0 for the points of the others."""
    whole = chosen.form
    if isinstance(whole, ReleaseForm):
        return whole.mechanism.law if isinstance(whole.mechanism, Surrogate) else np.zeros(len(whole.mechanism.space))
    law = np.zeros(len(whole.space))
    for members, part in zip(whole.members, whole.parts, strict=True):
        if isinstance(part.mechanism, Surrogate):
            law[members] = part.mechanism.law
    return law
