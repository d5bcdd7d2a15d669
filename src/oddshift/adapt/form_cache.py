"""Forms of a release that were built already, so that the same noise is not computed twice.

Where outputs keep the kind of a secret, the rows of a kind depend on that kind's scale alone: ε·scale enters as one
number, and scales that differ in one level share the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from oddshift.adapt.release_form import Form, KindForm, ReleaseForm, ignoring_forms
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.forms import TierForm
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.space import KEPT_POINTS, Space

KEPT_ENTRIES = 24_000_000
"""Entries of the matrices of other scales that are kept at most, transposes included; a performance setting."""

SHARED_ENTRIES = 64_000_000
"""Distances of one kind up to which they are kept (512 MB), so that no scale needs a matrix; a performance setting."""


@dataclass(eq=False, repr=False)
class KeptForms:
    """The forms of the kinds: losses and remappings of all that were used, matrices of the last ones.

    Workers begin with none.
    """

    forms: dict[tuple[object, ...], ReleaseForm] = field(default_factory=dict)
    spaces: dict[tuple[object, ...], Space] = field(default_factory=dict)
    named: dict[int, object] = field(default_factory=dict)
    ignored: dict[tuple[object, ...], dict[TierForm, ReleaseForm]] = field(default_factory=dict)

    def ignoring(self, noise: ReleaseForm, mark_cost: float | None) -> dict[TierForm, ReleaseForm]:
        """The forms of a kind that ignore the secret: they are the same at all scales."""
        key = (self._name(noise.mechanism.space), noise.weights.tobytes(), noise.cost, mark_cost)
        if key not in self.ignored:
            self.ignored[key] = ignoring_forms(noise, mark_cost)
        return self.ignored[key]

    def of(self, mechanism: Mechanism, weights: FloatArray, cost: str) -> Form:
        """The form of a mechanism under a prior and a cost."""
        if not isinstance(mechanism, Tiered) or not mechanism.keeps_tier:
            return ReleaseForm(Channel.of(mechanism), weights, cost)
        members = tuple(mechanism.groups)
        made = [self._kind(mechanism, mine, weights, cost) for mine in members]
        self._forget(made)
        return KindForm(mechanism.space, members, tuple(made), tuple(float(weights[mine].sum()) for mine in members))

    def _kind(self, mechanism: Tiered, members: IntArray, weights: FloatArray, cost: str) -> ReleaseForm:
        """The form of one kind: its points are released among themselves, with the noise of their scale."""
        epsilon = mechanism.epsilon * float(mechanism.tiers.scale_of_points[members[0]])
        place = (self._name(mechanism.space), int(members[0]), len(members))
        space = self.spaces.setdefault(place, mechanism.space.part(members))

        key = (*place, self._name(weights), cost, epsilon)
        if key not in self.forms:
            mass = float(weights[members].sum())
            law = weights[members] / mass if mass > 0 else np.full(len(members), 1.0 / len(members))
            self.forms[key] = ReleaseForm(_mechanism(space, epsilon), law, cost)
        self.forms[key] = self.forms.pop(key)  # the last ones used stand at the end
        return self.forms[key]

    def _name(self, value: object) -> int:
        """The identity of a value, which is kept alive, so that no other value gets the same one."""
        return id(self.named.setdefault(id(value), value))

    def _forget(self, used: Sequence[ReleaseForm]) -> None:
        """Drop matrices that are not used now, the oldest first, until those that are left are few enough."""
        others = {key: form for key, form in self.forms.items() if not any(form is mine for mine in used)}
        held = sum(form.entries for form in others.values())
        for key, form in others.items():
            if held <= KEPT_ENTRIES:
                return
            held -= form.entries
            form.forget()
            if form.entries:  # its own matrix is what it is made of
                del self.forms[key]

    def __getstate__(self) -> dict[str, object]:
        """Nothing: what is kept is quicker to compute than to send."""
        return {}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Begin with nothing."""
        self.forms, self.spaces, self.named, self.ignored = {}, {}, {}, {}


def _mechanism(space: Space, epsilon: float) -> Mechanism:
    """The exponential mechanism of one kind: as a matrix, or over many points from distances that all scales share."""
    made = Exponential(space, epsilon)
    if len(space) <= KEPT_POINTS or len(space) ** 2 > SHARED_ENTRIES:
        return Channel.of(made)
    _ = space.distances
    return made
