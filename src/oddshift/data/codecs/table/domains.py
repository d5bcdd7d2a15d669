"""Domains of columns: the public values that a cell may be released as, declared or taken from the fit part.

A number is released as a point of a grid of round steps, so that no released value is somebody's own unless it lies on
the grid. A column whose values spread over orders of magnitude gets a grid of equal shares, or of equal ratios.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, floor, log10
from typing import Any, ClassVar

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, positive
from oddshift.base.errors import InvalidInput
from oddshift.data.formats.cells import CellType

Value = bool | int | float | str | None
"""What a cell of a table can hold."""

MOST_SKEWED = 2.0
"""Skewness above which a column of numbers counts as spread over orders of magnitude."""

FEWEST_SHARED = 200
"""A skewed column with at least this many cells is cut into equal shares, each of which stands for ten cells or more.
"""

_REPEATS = 5  # cells for each distinct number at which the numbers themselves become the grid
_RATIOS = (0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0)  # steps of log10 between the points of a grid of ratios


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Numbers from `low` to `high` in steps: a declared domain.

    >>> Grid(low=0, high=10, step=5).values
    (0, 5, 10)
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        """Check the order, and the number of values."""
        positive(self.step, "step")
        if not self.low < self.high or (self.high - self.low) / self.step > 1e5:
            raise InvalidInput(f"{self}, expected low < high in at most 100,000 steps")

    @property
    def values(self) -> tuple[float, ...]:
        """All values of the grid."""
        count = floor((self.high - self.low) / self.step + 1e-9)
        return tuple(round(self.low + k * self.step, 9) for k in range(count + 1))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ColumnDomain:
    """The values of one column, in order of size where they are numbers.

    `type` is None for categories. `places` says where each number lies on a line, in units of distance. `spacing` says
    where the values come from: `declared`, the `distinct` ones of the fit part, or a grid of `equal` steps, of equal
    ratios (`log`) or of equal shares (`quantile`). With `has_missing` a missing cell is a value of its own, the last.
    """

    name: str
    type: CellType | None
    values: tuple[Value, ...]
    places: FloatArray
    spacing: str
    has_missing: bool
    keeps_missing: bool

    def __repr__(self) -> str:
        """Counts only."""
        return f"ColumnDomain({len(self)} values, {self.spacing})"

    def __len__(self) -> int:
        """Number of values, the missing one included."""
        return len(self.values) + self.has_missing

    def nearest(self, numbers: FloatArray) -> tuple[IntArray, int]:
        """The value closest to each number (−1 for NaN), and how many lie more than a step outside the domain."""
        known = np.array(self.values, dtype=np.float64)
        if self.spacing == "log":
            with np.errstate(divide="ignore"):
                edges = np.where(known[:-1] > 0, np.sqrt(np.abs(known[:-1] * known[1:])), known[1:] / 2.0)
        else:
            edges = (known[:-1] + known[1:]) / 2.0
        found = np.searchsorted(edges, numbers).astype(np.int64)
        return np.where(np.isnan(numbers), -1, found), int(self.is_outside(numbers).sum())

    def is_outside(self, numbers: FloatArray) -> BoolArray:
        """Which numbers lie more than a step outside the domain."""
        known = np.array(self.values, dtype=np.float64)
        steps = (known[1] - known[0], known[-1] - known[-2]) if len(known) > 1 else (0.0, 0.0)
        return (numbers < known[0] - steps[0]) | (numbers > known[-1] + steps[1])

    def shown(self, *, as_text: bool) -> list[Any]:
        """How each value is written in the table."""
        found: list[Any] = list(self.values)
        if self.type is not None:
            found = [self.type.written(float(value), as_text=as_text) for value in self.values]  # type: ignore[arg-type]
        return [*found, None] if self.has_missing else found


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableVocabulary:
    """The values of every secret column, and where public columns of many numbers are cut."""

    domains: tuple[ColumnDomain, ...] = ()
    steps: Mapping[str, FloatArray] = field(default_factory=dict)


def number_values(numbers: FloatArray, kind: CellType, bins: int, asked: str) -> tuple[FloatArray, str]:
    """The grid of a column of numbers and how it was chosen; `asked` is auto, equal, log or quantile."""
    distinct: FloatArray = np.unique(numbers)
    if asked == "auto" and len(distinct) <= bins and len(numbers) >= _REPEATS * len(distinct):
        return distinct, "distinct"
    spacing = _spacing(numbers) if asked == "auto" else asked
    if spacing == "log" and distinct[0] < 0:
        raise InvalidInput("binning='log' for a column with negative numbers, expected quantile or equal")
    made = {"equal": _equal, "log": _log, "quantile": _quantile}[spacing](numbers, kind.resolution, bins)
    decimals = kind.digits if kind.family != "date" else MOST_DATE_DIGITS
    values = np.unique(np.round(made, decimals))
    return (values, spacing) if len(values) > 1 else (distinct[[0, -1]], "distinct")


MOST_DATE_DIGITS = 5
"""Decimals of a date in days: below a second."""


def number_places(values: FloatArray, numbers: FloatArray, spacing: str) -> FloatArray:
    """Where the values lie in units of distance: standard deviations of the column.

    A column of equal ratios is measured in logarithms, one of equal shares in ranks.
    """
    if spacing == "log":
        logs = _logs(values)
        known = np.log(numbers[numbers > 0])
        return (logs - known.mean()) / known.std()
    if spacing == "quantile":
        edges = (values[:-1] + values[1:]) / 2.0
        share = np.bincount(np.searchsorted(edges, numbers), minlength=len(values)) / len(numbers)
        middle = np.cumsum(share) - share / 2.0
        return np.asarray(np.sqrt(12.0) * (middle + 1e-9 * np.arange(len(values))))
    known = values if spacing == "declared" else numbers
    return np.asarray((values - known.mean()) / known.std())


def category_values(cells: Sequence[Any], most: int) -> tuple[Any, ...]:
    """The categories of some cells in order of appearance; the most frequent ones, where there are more than `most`."""
    counted = Counter(cells)
    if len(counted) <= most:
        return tuple(counted)
    frequent = {value for value, _ in counted.most_common(most)}
    return tuple(value for value in counted if value in frequent)


def _spacing(numbers: FloatArray) -> str:
    """Equal steps, unless the column is skewed: then equal shares, or equal ratios where there are too few for shares.

    Noise draws values towards any point of the grid: on a grid of ratios the largest ones then dominate the mean, on
    one of shares every point stands for as many cells, so that the mean stays.
    """
    deviation = numbers.std()
    skewness = float((((numbers - numbers.mean()) / deviation) ** 3).mean()) if deviation > 0 else 0.0
    if abs(skewness) <= MOST_SKEWED:
        return "equal"
    if len(numbers) >= FEWEST_SHARED or skewness < 0 or numbers.min() < 0 or (numbers > 0).mean() <= 0.25:
        return "quantile"
    return "log"


def _equal(numbers: FloatArray, resolution: float, bins: int) -> FloatArray:
    """Multiples of a round step (1, 2 or 5 times a power of ten) between the smallest and the largest number."""
    low, high = float(numbers.min()), float(numbers.max())
    step = max(_round_up((high - low) / bins), resolution)
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    made: FloatArray = np.arange(first, last + 1).astype(np.float64) * step
    return made


def _log(numbers: FloatArray, resolution: float, bins: int) -> FloatArray:
    """Numbers of equal ratio, two digits each, and 0 where the column has it."""
    known = numbers[numbers > 0]
    low, high = np.log10(known.min()), np.log10(known.max())
    ratio = next((r for r in _RATIOS if (high - low) / r <= bins), _RATIOS[-1])
    exponents = np.arange(ceil(low / ratio - 1e-9), floor(high / ratio + 1e-9) + 1) * ratio
    made = [float(f"{10.0**e:.2g}") for e in exponents]
    made = [value for value in made if value >= resolution]
    return np.array([0.0, *made] if (numbers == 0).any() else made)


def _quantile(numbers: FloatArray, resolution: float, bins: int) -> FloatArray:
    """The means of equal shares of the column, two digits of the spread each; every mean is over many cells."""
    shares = np.array_split(np.sort(numbers), max(2, min(bins, len(numbers) // 10)))
    means = np.array([share.mean() for share in shares])
    step = max(_round_up(float(numbers.std()) / 100.0), resolution)
    return np.unique(np.round(means / step) * step)


def _round_up(step: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that is at least this."""
    if step <= 0:
        return 1.0
    power = 10.0 ** floor(log10(step))
    return float(next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= step * (1 - 1e-9)))


def _logs(values: FloatArray) -> FloatArray:
    """Logarithms; 0 stands one step below the smallest other value."""
    if values[0] > 0:
        return np.log(values)
    above = np.log(values[1:])
    step = above[1] - above[0] if len(above) > 1 else 1.0
    return np.append(above[0] - step, above)
