"""Tiered exponential mechanism: each point draws with the noise scale of its own tier.

The paper's two-level perturbation M_l(·; α_l·ε), for any number of tiers. Inside a tier it is scale·ε-mDP; between
tiers nothing bounds it, because the two rows have different slopes (see `path` for the tier-safe one).

A mechanism whose outputs are of the kind of the secret: one mechanism for each kind, and nothing in between.

With a tier for each kind of name most of the full matrix is log 0. Kept kind by kind, rows, columns, draws and losses
cost what the kinds cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, indices, positive
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.epsilon import exponential_epsilon
from oddshift.mechanisms.kernel_sums import OwnNormalisers, own_epsilon, own_normalisers
from oddshift.mechanisms.mechanism import Mechanism, checked_uniforms, log_normalisers, normalised
from oddshift.mechanisms.settings import MechanismSettings, tiers_with_scales
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers, tiers_of


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Tiered(Mechanism):
    """Pr[y|x] ∝ exp(−½·ε·scale(x)·d(x, y)), the scale of x's tier.

    **Guarantee**: scale·ε-mDP between points of one tier. When the tiers are public only those pairs count; when
    they are secret no ε is claimed, and `exact_epsilon` over all pairs says what the mechanism really does.
    With `keeps_tier` (public tiers only) a point is released as a point of its own tier: a name becomes a name.

    >>> tiers = Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(0.4, 1.0), is_public=True)
    >>> tiered = Tiered(Space([[0.0], [1.0], [2.0], [3.0]]), tiers, epsilon=2.0)
    >>> tiered.exact_epsilon <= tiered.claimed_epsilon
    True
    """

    space: Space
    tiers: Tiers
    epsilon: float
    candidates: Space
    keeps_tier: bool

    def __init__(
        self, space: Space, tiers: Tiers, epsilon: float, outputs: Space | None = None, *, keeps_tier: bool = False
    ) -> None:
        """Points, their tiers, budget, the candidate outputs, and whether an output is of the point's own tier."""
        if len(tiers_of(tiers).labels) != len(space_of(space)):
            raise InvalidInput(f"tiers label {len(tiers.labels)} points, expected {len(space)}")
        if keeps_tier and not tiers.is_public:
            raise InvalidInput("keeps_tier with secret tiers would show the tier, expected public tiers")
        if keeps_tier and outputs is not None:
            raise InvalidInput("keeps_tier with other outputs, expected the points themselves as outputs")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "tiers", tiers)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "candidates", space.candidates(outputs))
        object.__setattr__(self, "keeps_tier", keeps_tier)

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With the scales of the settings, which it needs."""
        keeps_tier = settings.outputs == "tier" and tiers.is_public
        return cls(space, tiers_with_scales(tiers, settings), epsilon, keeps_tier=keeps_tier)

    def __repr__(self) -> str:
        """Sizes and budget."""
        kept = ", keeps_tier=True" if self.keeps_tier else ""
        return f"Tiered({self.space}, {self.tiers}, epsilon={self.epsilon:g}{kept})"

    @property
    def output_kinds(self) -> IntArray | None:
        """The tier of every output where outputs keep the tier."""
        return self.tiers.labels if self.keeps_tier else None

    @property
    def claimed_epsilon(self) -> float:
        """The largest scale times ε for public tiers; none for secret ones."""
        return self.epsilon * max(self.tiers.scales) if self.tiers.is_public else inf

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½·ε·scale(x)·d(x, y) − ln Z_x."""
        return self._kinds.log_likelihood(index) if self.keeps_tier else normalised(self._scores(index))

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """−½·ε·scale(x)·d(x, y) − ln Z_x for given y and every x, without the whole matrix."""
        return self.candidate_columns(outputs, np.arange(len(self.space)))

    def candidate_columns(self, outputs: npt.ArrayLike, points: IntArray) -> FloatArray:
        """The same for some x alone."""
        if self.keeps_tier:
            return self._kinds.candidate_columns(outputs, points)
        index = indices(outputs, "outputs", self.n_outputs)
        scores = self.space.metric.between(self.candidates.points[index], self.space.points[points])
        scores *= -0.5 * self.epsilon * self.tiers.scale_of_points[None, points]
        scores -= self.log_z[None, points]
        return scores

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """The outputs M~(x, z); tier by tier where outputs keep the tier."""
        return self._kinds.invert(index, z) if self.keeps_tier else super().invert(index, z)

    @cached_property
    def log_z(self) -> FloatArray:
        """ln Z_x of every point."""
        if not self.keeps_tier:
            return log_normalisers(self._scores, len(self.space), self.n_outputs)
        log_z = np.empty(len(self.space))
        for members, part in zip(self._kinds.members, self._tiers, strict=True):
            log_z[members] = part.normalisers.log_z
        return log_z

    @cached_property
    def exact_epsilon(self) -> float:
        """Over pairs of one tier when tiers are public (closed form), over all pairs when they are secret (scan)."""
        if self.keeps_tier:
            return self._kinds.exact_epsilon
        if self.tiers.is_public and self.candidates.contains(self.space):
            return exponential_epsilon(self.log_z, self._rows)
        return super().exact_epsilon

    @property
    def groups(self) -> list[IntArray]:
        """One group for each tier when tiers are public."""
        if not self.tiers.is_public:
            return super().groups
        return [np.flatnonzero(self.tiers.labels == label) for label in np.unique(self.tiers.labels)]

    @cached_property
    def _tiers(self) -> tuple[TierPoints, ...]:
        """For every tier its points, released among themselves with the noise of its scale."""
        scales = self.tiers.scale_of_points
        return tuple(TierPoints(self.space.part(mine), self.epsilon * float(scales[mine[0]])) for mine in self.groups)

    @cached_property
    def _kinds(self) -> KindChannel:
        """The tiers as one mechanism."""
        return KindChannel(self.space, tuple(self.groups), self._tiers)

    def _rows(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        distance = self.space.between(index)
        half_budget = 0.5 * self.epsilon * self.tiers.scale_of_points[index, None] * distance
        distance[~self.tiers.comparable(index, np.arange(len(self.space)))] = np.inf
        return distance, half_budget

    def _scores(self, index: IntArray) -> FloatArray:
        scores = self.space.between(index, self.candidates)
        scores *= -0.5 * self.epsilon * self.tiers.scale_of_points[index, None]
        return scores


@dataclass(frozen=True, eq=False, repr=False)
class KindChannel(Mechanism):
    """For each kind its points, and the mechanism among them; `members` are in increasing order and cover the space.

    >>> from oddshift.mechanisms.channel import Channel
    >>> line = Space([[0.0], [1.0], [5.0]])
    >>> pair = Channel(line.part(np.array([0, 2])), np.log([[0.75, 0.25], [0.25, 0.75]]), line.part(np.array([0, 2])))
    >>> alone = Channel(line.part(np.array([1])), np.log([[1.0]]), line.part(np.array([1])))
    >>> found = KindChannel(line, (np.array([0, 2]), np.array([1])), (pair, alone))
    >>> np.exp(found.log_likelihood(np.array([0, 1]))).round(2).tolist()
    [[0.75, 0.0, 0.25], [0.0, 1.0, 0.0]]
    """

    space: Space
    members: tuple[IntArray, ...]
    parts: tuple[Mechanism, ...]

    def __repr__(self) -> str:
        """Sizes only."""
        return f"KindChannel({self.space}, kinds={len(self.parts)})"

    @property
    def claimed_epsilon(self) -> float:
        """The largest of a kind; none where a kind is known by its matrix alone, which proves nothing."""
        return max(part.claimed_epsilon for part in self.parts)

    @property
    def groups(self) -> list[IntArray]:
        """Points of one kind: the kind is public."""
        return list(self.members)

    @cached_property
    def exact_epsilon(self) -> float:
        """The largest of a kind."""
        return max((part.exact_epsilon for part in self.parts if len(part.space) > 1), default=0.0)

    @cached_property
    def output_kinds(self) -> IntArray:
        """The number of each output's kind."""
        return self._places[0]

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """Rows of the channels, −inf between kinds."""
        rows = np.full((len(index), len(self.space)), -np.inf)
        for here, local, members, part in self._by_kind(index):
            rows[np.ix_(here, members)] = part.log_likelihood(local)
        return rows

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """Columns of the channels, −inf between kinds."""
        index = indices(outputs, "outputs", self.n_outputs)
        columns = np.full((len(index), len(self.space)), -np.inf)
        for here, local, members, part in self._by_kind(index):
            columns[np.ix_(here, members)] = part.log_columns(local)
        return columns

    def candidate_columns(self, outputs: npt.ArrayLike, points: IntArray) -> FloatArray:
        """For outputs and points of one kind, columns of its channel; otherwise as any mechanism's."""
        index = indices(outputs, "outputs", self.n_outputs)
        if not len(index) or not len(points):
            return np.empty((len(index), len(points)))
        kinds, places = self._places
        kind = int(kinds[index[0]])
        if (kinds[index] != kind).any() or not np.array_equal(points, self.members[kind]):
            return super().candidate_columns(index, points)
        return self.parts[kind].log_columns(places[index])

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """Kind by kind, from the same uniforms."""
        points = indices(index, "index", len(self.space))
        uniforms = checked_uniforms(z, len(points))
        outputs = np.empty(len(points), dtype=np.int64)
        for here, local, members, part in self._by_kind(points):
            outputs[here] = members[part.invert(local, uniforms[here])]
        return outputs

    @cached_property
    def _places(self) -> tuple[IntArray, IntArray]:
        """The kind of every point, and its row there."""
        kinds, places = (np.empty(len(self.space), dtype=np.int64) for _ in range(2))
        for kind, members in enumerate(self.members):
            kinds[members], places[members] = kind, np.arange(len(members))
        return kinds, places

    def _by_kind(self, index: IntArray) -> Iterator[tuple[IntArray, IntArray, IntArray, Mechanism]]:
        """For every kind that occurs: where, the points' rows in it, its points, its channel."""
        kinds, places = self._places
        for kind in np.unique(kinds[index]):
            here = np.flatnonzero(kinds[index] == kind)
            yield here, places[index[here]], self.members[kind], self.parts[kind]


@dataclass(frozen=True, eq=False, repr=False)
class TierPoints(Mechanism):
    """Pr[y|x] = exp(−½ε·d(x, y)) / Z_x over the points of a tier: the ε is that of the tier, and so is the work.

    **Guarantee**: ε-mDP between the points of the tier.

    >>> TierPoints(Space([[0.0], [1.0]]), 1.0).exact_epsilon
    0.5
    """

    space: Space
    epsilon: float

    def __repr__(self) -> str:
        """Size and budget."""
        return f"TierPoints({self.space}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, by the triangle inequality."""
        return self.epsilon

    @cached_property
    def exact_epsilon(self) -> float:
        """In closed form; 0 for a single point."""
        return own_epsilon(self.space, 0.5 * self.epsilon, self.normalisers)

    @cached_property
    def normalisers(self) -> OwnNormalisers:
        """ln Z_x of every point."""
        return own_normalisers(self.space, 0.5 * self.epsilon)

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½ε·d(x, y) − ln Z_x."""
        return self._scores(index) - self.normalisers.log_z[index, None]

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """−½ε·d(x, y) − ln Z_x for given y and every x; d is symmetric."""
        index = indices(outputs, "outputs", len(self.space))
        return self._scores(index) - self.normalisers.log_z[None, :]

    def _scores(self, index: IntArray) -> FloatArray:
        scores = self.space.between(index)
        return np.multiply(scores, -0.5 * self.epsilon, out=scores)
