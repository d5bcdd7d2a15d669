"""The cost c(x, y) of releasing y for the secret x: what utility loss is measured in.

The paper's cost is c = 1 − (cos + 1)/2 ∈ [0, 1]. A cost need not be a metric: it is only averaged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite, frozen
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.model.metric import Euclidean, Haversine, Metric, Precomputed
from oddshift.model.space import Space


class Cost(Protocol):
    """Anything with a name and the cost of releasing each output for each of some points."""

    @property
    def name(self) -> str:
        """The name under which it is printed."""

    def between(self, space: Space, index: IntArray, outputs: Space) -> FloatArray:
        """Costs (len(index), m) of releasing each of the m outputs for the points `index` of `space`."""


@dataclass(frozen=True)
class Cosine:
    """c = (1 − cos(x, y))/2, the paper's utility loss."""

    name: str = "cosine"

    def between(self, space: Space, index: IntArray, outputs: Space) -> FloatArray:
        """One matrix product of directions."""
        refuse_row_numbers(space, self.name)
        return (1.0 - directions(space.points[index]) @ directions(outputs.points).T) / 2.0


@dataclass(frozen=True)
class Distance:
    """c = d(x, y) for a metric of its own, which may differ from the space's."""

    metric: Metric

    @property
    def name(self) -> str:
        """The metric's name."""
        return self.metric.name

    def between(self, space: Space, index: IntArray, outputs: Space) -> FloatArray:
        """The metric's distances."""
        refuse_row_numbers(space, self.name)
        self.metric.check(space.points)
        self.metric.check(outputs.points)
        return self.metric.between(space.points[index], outputs.points)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Matrix:
    """c read from a table (n points, m outputs)."""

    table: FloatArray
    name: str

    def __init__(self, table: npt.ArrayLike, name: str = "matrix") -> None:
        """Check that every cost is finite."""
        object.__setattr__(self, "table", frozen(finite(table, "table", 2)))
        object.__setattr__(self, "name", name)

    def __repr__(self) -> str:
        """Size only."""
        return f"Matrix({self.table.shape[0]} x {self.table.shape[1]})"

    def between(self, space: Space, index: IntArray, outputs: Space) -> FloatArray:
        """Rows of the table."""
        if self.table.shape != (len(space), len(outputs)):
            raise InvalidInput(f"table has shape {self.table.shape}, expected {(len(space), len(outputs))}")
        return self.table[index]


COSTS: dict[str, Cost] = {
    "cosine": Cosine(),
    "euclidean": Distance(Euclidean()),
    "haversine": Distance(Haversine()),
}


def cost_of(value: str | Cost | npt.NDArray[np.float64]) -> Cost:
    """A cost from its name, from a table, or as it is."""
    if isinstance(value, str):
        if value not in COSTS:
            raise InvalidInput(f"cost={value!r}, expected one of {', '.join(COSTS)}, a table or a Cost")
        return COSTS[value]
    if isinstance(value, np.ndarray):
        return Matrix(value)
    if not callable(getattr(value, "between", None)):
        raise InvalidInput(f"cost is {a_kind(value)}, expected a name, a table (numpy array) or a Cost")
    return value


def refuse_row_numbers(space: Space, name: str) -> None:
    """Refuse a space that is known by its distances alone: its points are row numbers."""
    if isinstance(space.metric, Precomputed):
        raise InvalidInput(f"a {name} cost on {space}, expected coordinates; give the cost as a table instead")


def directions(points: FloatArray) -> FloatArray:
    """Unit vectors; the origin, which has no direction, is refused."""
    norms = np.linalg.norm(points, axis=1, keepdims=True)
    if (norms == 0).any():
        raise InvalidInput(f"point {int(np.argmin(norms))} is the origin, expected a direction (cosine cost)")
    return points / norms
