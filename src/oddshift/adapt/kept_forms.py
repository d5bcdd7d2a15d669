"""Forms of a release that were built already, so that the same noise is not computed twice.

Where outputs keep the kind of a secret, the rows of a kind depend on that kind's scale alone: ε·scale enters as one
number, and scales that differ in one level share the others.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from oddshift.adapt.release_form import Form, KindForm, ReleaseForm
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.tiered import Tiered
from oddshift.model.space import KEPT_POINTS, Space

KEPT_ENTRIES = 24_000_000
"""Entries of the matrices that are kept at most; a performance setting."""

SHARED_ENTRIES = 64_000_000
"""Distances of one kind up to which they are kept (512 MB), so that no scale needs a matrix; a performance setting."""

_COPIES = 4  # a form may hold its matrix, the remapped one, and the transposes of both


@dataclass(eq=False, repr=False)
class KeptForms:
    """The forms of the kinds that were used last, as many as KEPT_ENTRIES allows; workers begin with none."""

    forms: OrderedDict[tuple[object, ...], ReleaseForm] = field(default_factory=OrderedDict)
    spaces: dict[tuple[object, ...], Space] = field(default_factory=dict)
    named: dict[int, object] = field(default_factory=dict)

    def of(self, mechanism: Mechanism, weights: FloatArray, cost: str) -> Form:
        """The form of a mechanism under a prior and a cost."""
        if not isinstance(mechanism, Tiered) or not mechanism.keeps_tier:
            return ReleaseForm(Channel.of(mechanism), weights, cost)
        members = tuple(mechanism.groups)
        made = [self._kind(mechanism, mine, weights, cost) for mine in members]
        return KindForm(mechanism.space, members, tuple(made), tuple(float(weights[mine].sum()) for mine in members))

    def _kind(self, mechanism: Tiered, members: IntArray, weights: FloatArray, cost: str) -> ReleaseForm:
        """The form of one kind: its points are released among themselves, with the noise of their scale."""
        epsilon = mechanism.epsilon * float(mechanism.tiers.scale_of_points[members[0]])
        place = (self._name(mechanism.space), int(members[0]), len(members))
        space = self.spaces.setdefault(place, mechanism.space.part(members))

        def build() -> ReleaseForm:
            mass = float(weights[members].sum())
            law = weights[members] / mass if mass > 0 else np.full(len(members), 1.0 / len(members))
            return ReleaseForm(_mechanism(space, epsilon), law, cost)

        return self._kept((*place, self._name(weights), cost, epsilon), len(members) ** 2 * _COPIES, build)

    def _name(self, value: object) -> int:
        """The identity of a value, which is kept alive, so that no other value gets the same one."""
        return id(self.named.setdefault(id(value), value))

    def _kept(self, key: tuple[object, ...], entries: int, build: Callable[[], ReleaseForm]) -> ReleaseForm:
        if key not in self.forms:
            self.forms[key] = build()
        self.forms.move_to_end(key)
        while len(self.forms) > 1 and self._entries() > max(KEPT_ENTRIES, entries):
            self.forms.popitem(last=False)
        return self.forms[key]

    def _entries(self) -> int:
        return sum(len(form.mechanism.space) * form.mechanism.n_outputs * _COPIES for form in self.forms.values())

    def __getstate__(self) -> dict[str, object]:
        """Nothing: what is kept is quicker to compute than to send."""
        return {}

    def __setstate__(self, state: dict[str, object]) -> None:
        """Begin with nothing."""
        self.forms, self.spaces, self.named = OrderedDict(), {}, {}


def _mechanism(space: Space, epsilon: float) -> Mechanism:
    """The exponential mechanism of one kind: as a matrix, or over many points from distances that all scales share."""
    made = Exponential(space, epsilon)
    if len(space) <= KEPT_POINTS or len(space) ** 2 > SHARED_ENTRIES:
        return Channel.of(made)
    _ = space.distances
    return made
