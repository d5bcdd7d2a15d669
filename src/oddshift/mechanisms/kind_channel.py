"""A mechanism whose outputs are of the kind of the secret: one mechanism for each kind, and nothing in between.

With a tier for each kind of name most of the full matrix is log 0. Kept kind by kind, rows, columns, draws and losses
cost what the kinds cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, indices
from oddshift.mechanisms.mechanism import Mechanism, checked_uniforms
from oddshift.model.space import Space


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
