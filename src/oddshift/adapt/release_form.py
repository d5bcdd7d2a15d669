"""The form of a release: noise as it was drawn or remapped, or for each kind what ignores the secret.

Where outputs keep their kind, each kind (a column of a table) is looked at by itself: one that would collapse is
released as drawn. The rows of a kind depend on that kind's scale alone, because ε·scale enters as one number, so forms
that were built are kept and scales that differ in one level share the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.mechanisms.channel import Channel
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.forms import Surrogate, TierForm
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.tiered import KindChannel, Tiered
from oddshift.mechanisms.utility import constant_output, effective_number, losses, output_law
from oddshift.model.space import KEPT_POINTS, Space

KEPT = 0.1
"""The share of the effective outputs beyond the first that a remapping must leave: one output alone says nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseForm:
    """A mechanism with its exact utility under a prior and a cost; `fixed` is what every output is said to cost."""

    mechanism: Mechanism
    weights: FloatArray
    cost: str
    fixed: float | None = None

    @cached_property
    def channel(self) -> Mechanism:
        """The mechanism as it is measured: a remapped one of few points as a matrix, which a utility does not need."""
        is_small = len(self.mechanism.space) <= KEPT_POINTS
        return Channel.of(self.mechanism) if is_small and isinstance(self.mechanism, Remap) else self.mechanism

    @cached_property
    def by_point(self) -> FloatArray:
        """The expected cost of every point."""
        if self.fixed is not None:
            return np.full(len(self.mechanism.space), self.fixed)
        return losses(self.mechanism if self.cost == "cosine" else self.channel, self.cost)

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

    @cached_property
    def mapping(self) -> Remap:
        """The release followed by its remapping."""
        return Remap(self.mechanism, self.weights, self.cost)

    @property
    def law_after_remapping(self) -> FloatArray:
        """The probability of every output once it is remapped, seen without the matrix of the remapped form."""
        law = self.output_law  # first: the normalisers that it takes serve the remapping too
        return np.bincount(self.mapping.destination, law, len(law)).astype(np.float64)

    @cached_property
    def moved(self) -> ReleaseForm:
        """The remapped form."""
        return ReleaseForm(self.mapping, self.weights, self.cost)

    @property
    def entries(self) -> int:
        """Entries of the matrices that are held, each with its transpose."""
        moved = self.__dict__.get("moved")
        measured = None if moved is None else moved.__dict__.get("channel")
        held = isinstance(self.mechanism, Channel), isinstance(measured, Channel)
        return 2 * sum(held) * len(self.mechanism.space) * self.mechanism.n_outputs

    def forget(self) -> None:
        """Drop the matrix of the remapped form; what was computed from it stays."""
        if "moved" in self.__dict__:
            self.moved.__dict__.pop("channel", None)
            self.mapping.__dict__.pop("log_matrix", None)

    @cached_property
    def collapses(self) -> bool:
        """Whether remapping leaves hardly any outputs; seen before the matrix of the remapped form is built."""
        return effective_number(self.law_after_remapping) - 1.0 < KEPT * (self.effective_outputs - 1.0)

    @property
    def useful(self) -> ReleaseForm:
        """The remapped form, or this one where remapping collapses."""
        return self if self.collapses else self.moved

    @property
    def as_drawn(self) -> IntArray:
        """The outputs that `useful` leaves as they are drawn."""
        return np.arange(len(self.output_law) if self.collapses else 0)


@dataclass(frozen=True, eq=False, repr=False)
class KindForm:
    """A release that keeps the kind of a secret: a form for each kind, and how likely each kind is.

    Everything is that of the whole release, put together from the kinds.
    """

    space: Space
    members: tuple[IntArray, ...]
    parts: tuple[ReleaseForm, ...]
    masses: tuple[float, ...]

    @cached_property
    def mechanism(self) -> KindChannel:
        """The channels of the kinds as one mechanism."""
        return KindChannel(self.space, self.members, tuple(part.channel for part in self.parts))

    @property
    def channel(self) -> KindChannel:
        """The mechanism as it is measured."""
        return self.mechanism

    @cached_property
    def by_point(self) -> FloatArray:
        """The expected cost of every point."""
        return self._joined([part.by_point for part in self.parts])

    @property
    def loss(self) -> float:
        """The expected cost under the prior."""
        return float(sum(mass * part.loss for mass, part in zip(self.masses, self.parts, strict=True)))

    @cached_property
    def output_law(self) -> FloatArray:
        """The probability of every output under the prior."""
        return self._joined([mass * part.output_law for mass, part in zip(self.masses, self.parts, strict=True)])

    @property
    def effective_outputs(self) -> float:
        """exp of the entropy of the output."""
        return effective_number(self.output_law)

    @property
    def law_after_remapping(self) -> FloatArray:
        """The probability of every output once it is remapped."""
        laws = [mass * part.law_after_remapping for mass, part in zip(self.masses, self.parts, strict=True)]
        return self._joined(laws)

    @property
    def moved(self) -> KindForm:
        """The remapped form."""
        return KindForm(self.space, self.members, tuple(part.moved for part in self.parts), self.masses)

    @property
    def collapses(self) -> bool:
        """Whether remapping leaves hardly any outputs of every kind."""
        return all(part.collapses for part in self.likely)

    @property
    def likely(self) -> tuple[ReleaseForm, ...]:
        """The forms of the kinds that occur."""
        return tuple(part for mass, part in zip(self.masses, self.parts, strict=True) if mass > 0)

    @property
    def useful(self) -> KindForm:
        """The kinds that do not collapse remapped, the others as they are."""
        return KindForm(self.space, self.members, tuple(part.useful for part in self.parts), self.masses)

    @property
    def as_drawn(self) -> IntArray:
        """The outputs of the kinds that `useful` leaves as they are drawn."""
        kept = [mine for mine, part in zip(self.members, self.parts, strict=True) if part.collapses]
        return np.concatenate([np.empty(0, dtype=np.int64), *kept])

    def _joined(self, values: Sequence[FloatArray]) -> FloatArray:
        whole = np.empty(len(self.space))
        for members, mine in zip(self.members, values, strict=True):
            whole[members] = mine
        return whole


Form = ReleaseForm | KindForm
"""A release with its utility, as a whole or kind by kind."""


def ignoring_forms(noise: ReleaseForm, mark_cost: float | None) -> dict[TierForm, ReleaseForm]:
    """What a kind can be released as without a look at the secret; a kind of one value has no surrogate but itself."""
    space, law, cost = noise.mechanism.space, noise.weights, noise.cost
    constant = np.zeros(len(space))
    constant[constant_output(space, law, cost)[0]] = 1.0
    found: dict[TierForm, ReleaseForm] = {"mark": ReleaseForm(Surrogate(space, constant), law, cost, mark_cost)}
    if np.count_nonzero(law) > 1:
        found["surrogate"] = ReleaseForm(Surrogate(space, law), law, cost)
    return found


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
