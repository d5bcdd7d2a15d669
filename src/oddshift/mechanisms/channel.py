"""Any finite mechanism, given by its matrix of log probabilities.

The common ground of every method here: what a mechanism is to an attacker is its channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import CACHED_ENTRIES, FloatArray, IntArray, frozen, indices, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log
from oddshift.mechanisms.epsilon import check_log_matrix
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.space import Space, space_of


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Channel(Mechanism):
    """Rows log Pr[y|x], one for each point; `outputs` names the outputs as points when they are points.

    A channel that was counted rather than computed has `is_estimate` and no exact ε.

    >>> space = Space([[0.0], [1.0]])
    >>> round(Channel(space, np.log([[0.72, 0.28], [0.28, 0.72]])).exact_epsilon, 4)
    0.9445
    """

    row_entries: ClassVar[int] = CACHED_ENTRIES  # rows are at hand, and read several times in a core's cache

    space: Space
    table: FloatArray
    outputs_as_points: Space | None
    is_estimate: bool
    kinds: IntArray | None = None

    def __init__(
        self, space: Space, log_matrix: npt.ArrayLike, outputs: Space | None = None, *, is_estimate: bool = False
    ) -> None:
        """Rows must be log probabilities that sum to one."""
        table = check_log_matrix(log_matrix)
        if len(table) != len(space_of(space)):
            raise InvalidInput(f"log_matrix has {len(table)} rows, expected {len(space)}, one for each point")
        if outputs is not None and len(space_of(outputs, "outputs")) != table.shape[1]:
            raise InvalidInput(f"log_matrix has {table.shape[1]} columns, expected {len(outputs)}, one for each output")
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "table", frozen(table))
        object.__setattr__(self, "outputs_as_points", outputs)
        object.__setattr__(self, "is_estimate", is_estimate)
        object.__setattr__(self, "kinds", None)

    @classmethod
    def of(cls, mechanism: Mechanism) -> Channel:
        """The rows of a mechanism, computed once to be read many times; they are not checked again."""
        channel = object.__new__(cls)
        object.__setattr__(channel, "space", mechanism.space)
        object.__setattr__(channel, "table", mechanism.log_matrix)
        object.__setattr__(channel, "outputs_as_points", mechanism.outputs)
        object.__setattr__(channel, "is_estimate", mechanism.is_estimate)
        object.__setattr__(channel, "kinds", mechanism.output_kinds)
        return channel

    def __repr__(self) -> str:
        """Sizes, and whether it is only an estimate."""
        estimate = ", estimate" if self.is_estimate else ""
        return f"Channel({self.space}, n_outputs={self.n_outputs}{estimate})"

    @property
    def claimed_epsilon(self) -> float:
        """None: a matrix proves nothing by its construction."""
        return inf

    @property
    def n_outputs(self) -> int:
        """Number of columns."""
        return self.table.shape[1]

    @property
    def outputs(self) -> Space | None:
        """The outputs as points, when they were given."""
        return self.outputs_as_points

    @property
    def output_kinds(self) -> IntArray | None:
        """Those of the mechanism whose rows these are."""
        return self.kinds

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """Rows of the matrix; successive ones are not copied."""
        if len(index) and index[-1] - index[0] == len(index) - 1 and (np.diff(index) == 1).all():
            return self.table[index[0] : index[-1] + 1]
        return self.table[index]

    def candidate_columns(self, outputs: npt.ArrayLike, points: IntArray) -> FloatArray:
        """Columns of the matrix for some points; no more of it is copied."""
        return self._transposed[np.ix_(indices(outputs, "outputs", self.n_outputs), points)]

    @property
    def log_matrix(self) -> FloatArray:
        """The matrix itself."""
        return self.table


def estimate_channel(mechanism: Mechanism, draws: int, rng: np.random.Generator) -> Channel:
    """The frequencies of `draws` samples for each point, labelled an estimate.

    For mechanisms whose log_matrix does not exist; unseen outputs have log 0, so no ε may be read from it.
    """
    whole(draws, "draws", 1)
    n = len(mechanism.space)
    counts = np.zeros((n, mechanism.n_outputs))
    for point in range(n):
        outputs = mechanism.sample(np.full(draws, point), rng)
        counts[point] = np.bincount(outputs, minlength=mechanism.n_outputs)
    return Channel(mechanism.space, log(counts / draws), mechanism.outputs, is_estimate=True)
