"""Forms of a tier: noise, or an output that ignores the secret, be it a surrogate of its kind or a mark.

Every row of a form that ignores the secret is the same law, so its exact ε is 0 whatever the law: what is released says
no more than what is public and which positions are equal. A mark counts as the one output of its kind that stands for
it; whoever decodes a release shows it as a mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, indices, probabilities
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log
from oddshift.mechanisms.mechanism import Mechanism, checked_uniforms, of_inner
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

TierForm = Literal["noise", "surrogate", "mark"]
"""What the secrets of a tier are released as."""

Guarantee = Literal["proved", "certified", "measured only"]
"""What a release can rest on: `proved` needs no documents, `certified` was counted on documents of its own."""

IGNORING = ("surrogate", "mark")
"""The forms that ignore the secret."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Surrogate(Mechanism):
    """Every point becomes a draw of one law: Pr[y|x] = law(y).

    **Guarantee**: ε = 0 for its own position; what other positions say about its secret is another matter.

    >>> made = Surrogate(Space([[0.0], [1.0], [4.0]]), [0.5, 0.5, 0.0])
    >>> made.exact_epsilon, np.exp(made.log_likelihood(np.array([2]))).tolist()
    (0.0, [[0.5, 0.5, 0.0]])
    """

    space: Space
    law: FloatArray

    def __init__(self, space: Space, law: npt.ArrayLike) -> None:
        """One probability for each point."""
        chances = probabilities(law, "law", 1)
        if len(chances) != len(space):
            raise InvalidInput(f"law has {len(chances)} entries, expected {len(space)}, one for each point")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "law", chances)

    def __repr__(self) -> str:
        """How many values are drawn."""
        return f"Surrogate({self.space}, values={np.count_nonzero(self.law)})"

    @property
    def claimed_epsilon(self) -> float:
        """0: the output never depends on the point."""
        return 0.0

    @cached_property
    def exact_epsilon(self) -> float:
        """0, for any number of points."""
        return 0.0

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """The law, for every point."""
        return np.repeat(log(self.law)[None, :], len(index), axis=0)

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """The same for every point."""
        chances = log(self.law)[indices(outputs, "outputs", len(self.law))]
        return np.repeat(chances[:, None], len(self.space), axis=1)

    def averages(self, values: FloatArray) -> FloatArray:
        """One mean for all points."""
        return np.repeat((self.law @ values)[None, :], len(self.space), axis=0)

    def law_of_outputs(self, law: FloatArray) -> FloatArray:
        """The law, whatever the points are."""
        return self.law * float(law.sum())

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """The value whose interval holds the uniform."""
        points = indices(index, "index", len(self.space))
        total = np.cumsum(self.law)
        return np.searchsorted(total / total[-1], checked_uniforms(z, len(points)), side="right")


@dataclass(frozen=True, eq=False, repr=False)
class Formed(Mechanism):
    """A mechanism in which some tiers have a form that ignores the secret; `forms` has one for each tier.

    `law` is that of the outputs of these tiers, tier by tier: it sums to one in each (0 elsewhere). Tiers are public,
    or all have one form.

    **Guarantee**: the claims of the inner mechanism for the tiers that keep their noise, ε = 0 for the others.

    >>> from oddshift.mechanisms import Tiered
    >>> tiers = Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(1.0, 1.0), is_public=True)
    >>> tiered = Tiered(Space([[0.0], [1.0], [2.0], [3.0]]), tiers, epsilon=2.0, keeps_tier=True)
    >>> made = Formed(tiered, tiers, ("surrogate", "noise"), np.array([0.25, 0.75, 0.0, 0.0]))
    >>> np.exp(made.log_likelihood(np.array([0, 1]))).tolist()
    [[0.25, 0.75, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0]]
    """

    inner: Mechanism
    tiers: Tiers
    forms: tuple[TierForm, ...]
    law: FloatArray

    space = of_inner("space")
    is_estimate = of_inner("is_estimate")
    groups = of_inner("groups")
    output_kinds = of_inner("output_kinds")

    def __post_init__(self) -> None:
        """Refuse forms that would show a secret tier, and a law that is none."""
        if len(self.forms) != len(self.tiers) or len(self.law) != len(self.inner.space):
            raise InvalidInput(
                f"{len(self.forms)} forms and a law of {len(self.law)}, expected one for each of {len(self.tiers)} "
                f"tiers and of {len(self.inner.space)} points"
            )
        if len(self.replaced) and self.inner.outputs is not self.inner.space:
            raise InvalidInput(f"{self.inner!r} releases other points than its own, expected those for forms by tier")
        for members in self._members:
            probabilities(self.law[members], "law", 1)

    def __repr__(self) -> str:
        """The inner mechanism and the forms."""
        said = ", ".join(f"{name}: {form}" for name, form in zip(self.tiers.names, self.forms, strict=True))
        return f"Formed({self.inner!r}, {said})"

    @cached_property
    def replaced(self) -> IntArray:
        """The points of the tiers whose form ignores the secret."""
        return np.flatnonzero(np.isin(self.tiers.labels, _ignoring(self.forms)))

    @cached_property
    def marked(self) -> BoolArray:
        """Which points are shown as marks."""
        return np.isin(self.tiers.labels, [tier for tier, form in enumerate(self.forms) if form == "mark"])

    @property
    def made_up(self) -> BoolArray:
        """Which points are released as surrogates."""
        return np.isin(self.tiers.labels, [tier for tier, form in enumerate(self.forms) if form == "surrogate"])

    @cached_property
    def _members(self) -> list[IntArray]:
        """The points of each such tier; all of them where tiers are secret."""
        if not self.tiers.is_public:
            if len(self.replaced) not in (0, int(self.tiers.sensitive.sum())):
                raise InvalidInput(f"forms={self.forms} with secret tiers would show the tier, expected one for all")
            return [self.replaced] if len(self.replaced) else []
        return [np.flatnonzero(self.tiers.labels == tier) for tier in _ignoring(self.forms)]

    @property
    def claimed_epsilon(self) -> float:
        """That of the inner mechanism, 0 where no tier keeps its noise."""
        return self.inner.claimed_epsilon if "noise" in self.forms else 0.0

    @cached_property
    def exact_epsilon(self) -> float:
        """0 where no tier keeps its noise; otherwise at most that of the inner mechanism, which is returned."""
        return self.inner.exact_epsilon if "noise" in self.forms else 0.0

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """The law of its tier for points that were replaced, the inner row for the others."""
        here = np.isin(index, self.replaced)
        rows = np.full((len(index), self.n_outputs), -np.inf)
        rows[~here] = self.inner.log_likelihood(index[~here])
        for members in self._members:
            mine = np.isin(index, members)
            rows[np.ix_(mine, members)] = log(self.law[members])
        return rows

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """The same by output."""
        index = indices(outputs, "outputs", self.n_outputs)
        columns = np.array(self.inner.log_columns(index))
        columns[:, self.replaced] = -np.inf
        for members in self._members:
            mine = np.isin(index, members)
            columns[np.ix_(mine, members)] = log(self.law[index[mine]])[:, None]
        return columns

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """The inner outputs for points that keep their noise, and draws of the law for the others."""
        points = indices(index, "index", len(self.space))
        uniforms = checked_uniforms(z, len(points))
        outputs, left = np.empty(len(points), dtype=np.int64), ~np.isin(points, self.replaced)
        outputs[left] = self.inner.invert(points[left], uniforms[left])
        for members in self._members:
            mine = np.isin(points, members)
            drawn = Surrogate(self.space.part(members), self.law[members])
            outputs[mine] = members[drawn.invert(np.zeros(int(mine.sum()), dtype=np.int64), uniforms[mine])]
        return outputs


def _ignoring(forms: Sequence[str]) -> list[int]:
    """The tiers whose form ignores the secret."""
    return [tier for tier, form in enumerate(forms) if form in IGNORING]
