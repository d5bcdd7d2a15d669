"""Arrays from a caller: converted once and checked once, with messages that show the value.

Every public constructor and function passes its arguments through here. The code behind it can therefore assume
float64, the right number of axes, finite numbers, and probabilities that sum to one.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from oddshift.base.errors import InvalidInput, TooLarge, a_kind

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

Item = TypeVar("Item")
Array = TypeVar("Array", FloatArray, IntArray)

DENSE_LIMIT = 150_000_000
"""Largest number of float64 entries (1.2 GB) that a single dense array may hold."""

BLOCK_ENTRIES = 4_000_000
"""Entries (32 MB) of one block of work; a performance setting that never changes a result's meaning."""

CACHED_ENTRIES = 64_000
"""Entries of a block that is read several times and should stay in a core's cache; a performance setting."""

_LONG_ROW = 500  # entries from which counting a row by itself is faster than adding up all rows together

SUM_TOLERANCE = 1e-9
"""How far a probability vector may be from summing to one before it is refused."""


def floats(value: npt.ArrayLike, name: str, ndim: int) -> FloatArray:
    """A float64 array with `ndim` axes, not empty; infinities are allowed, NaN is not."""
    try:
        given = np.asarray(value)
        if not _is_numeric(given):
            raise TypeError("not real numbers")
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{name} is not a numeric array of {ndim} axes, expected rows of equally many numbers"
        ) from error
    if array.ndim != ndim:
        raise InvalidInput(f"{name} has shape {array.shape}, expected {ndim} axes")
    if array.size == 0:
        raise InvalidInput(f"{name} is empty (shape {array.shape}), expected at least one entry")
    if np.isnan(array).any():
        raise InvalidInput(f"{name} has NaN at {_first(np.isnan(array))}, expected numbers")
    return array


def finite(value: npt.ArrayLike, name: str, ndim: int) -> FloatArray:
    """A float64 array with `ndim` axes whose entries are all finite."""
    array = floats(value, name, ndim)
    if not np.isfinite(array).all():
        where = _first(~np.isfinite(array))
        raise InvalidInput(f"{name} has {array[where]} at {where}, expected finite numbers")
    return array


def axes(value: npt.ArrayLike, name: str) -> int:
    """Number of axes of the argument; a ragged one is refused."""
    try:
        return np.ndim(value)
    except ValueError as error:
        raise InvalidInput(f"{name} is ragged, expected an array whose rows have the same length") from error


def probabilities(value: npt.ArrayLike, name: str, ndim: int) -> FloatArray:
    """Non-negative numbers that sum to one along the last axis (over all axes when `ndim` is 0)."""
    array = finite(value, name, ndim or axes(value, name))
    if (array < 0).any():
        where = _first(array < 0)
        raise InvalidInput(f"{name} has {array[where]} at {where}, expected probabilities >= 0")
    totals = array.sum(axis=-1) if ndim else array.sum()
    off = np.abs(totals - 1.0)
    if off.max() > SUM_TOLERANCE:
        worst = float(np.ravel(totals)[int(np.argmax(off))])
        raise InvalidInput(f"{name} sums to {worst:.12g}, expected 1")
    return np.asarray(array / (totals[..., None] if ndim else totals))


def positive(value: float, name: str) -> float:
    """A finite float > 0."""
    return _number(value, name, 0.0 < float_of(value, name) < np.inf, "a finite number > 0")


def unit_open(value: float, name: str) -> float:
    """A float strictly between 0 and 1."""
    return _number(value, name, 0.0 < float_of(value, name) < 1.0, f"0 < {name} < 1")


def float_of(value: float, name: str) -> float:
    """The argument as a float, or a refusal that names it."""
    try:
        if isinstance(value, str | bytes):  # float would read "1" as 1.0
            raise TypeError("text")
        return float(value)
    except OverflowError as error:
        raise InvalidInput(f"{name} is too large for a float, expected a finite number") from error
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name}={value!r}, expected a number") from error


def whole(value: int, name: str, low: int, high: int | None = None) -> int:
    """An integer in [low, high] (no upper end when `high` is None)."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < low or (high is not None and value > high):
        span = f">= {low}" if high is None else f"in [{low}, {high}]"
        raise InvalidInput(f"{name}={reprlib.repr(value)}, expected a whole number {span}")
    return int(value)


def indices(value: npt.ArrayLike, name: str, size: int, *, is_secret: bool = False) -> IntArray:
    """One axis of integers in [0, size); a value that is refused is not shown if it is a secret."""
    axes(value, name)
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInput(f"{name} has shape {array.shape} and dtype {array.dtype}, expected 1 axis of integers")
    array = array.astype(np.int64)
    if array.size and (array.min() < 0 or array.max() >= size):
        bad = int(array.min() if array.min() < 0 else array.max())
        shown = "another value" if is_secret else bad
        raise InvalidInput(f"{name} has {shown}, expected integers in [0, {size})")
    return array


def listed(values: Iterable[Item], name: str) -> list[Item]:
    """The items of the argument, which are not shown; an argument that is not a sequence is refused."""
    try:
        return list(values)
    except TypeError as error:
        raise InvalidInput(f"{name} is {a_kind(values)}, expected a sequence") from error


def generator(rng: np.random.Generator) -> np.random.Generator:
    """The argument when it is a numpy Generator; otherwise a refusal that says how to make one."""
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput(f"rng is {a_kind(rng)}, expected a numpy Generator: numpy.random.default_rng()")
    return rng


def dense(rows: int, columns: int, name: str, instead: str) -> None:
    """Refuse an array of more than DENSE_LIMIT entries, saying what would work `instead`."""
    if rows * columns > DENSE_LIMIT:
        raise TooLarge(f"{name} would hold {rows} x {columns} entries, expected at most {DENSE_LIMIT}; {instead}")


def frozen(array: Array) -> Array:
    """The same array, made read-only so that a value cannot change after it was checked."""
    array.setflags(write=False)
    return array


def blocks(rows: int, width: int, entries: int | None = None) -> Iterator[slice]:
    """Slices that cut `rows` rows of `width` entries into blocks of about `entries` (default: BLOCK_ENTRIES)."""
    step = max(1, (entries or BLOCK_ENTRIES) // max(1, width))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def row_counts(marks: BoolArray) -> IntArray:
    """How many entries of each row are true; long rows are counted one by one, which is several times as fast.

    >>> row_counts(np.array([[True, False, True], [False, False, False]]))
    array([2, 0])
    """
    if marks.shape[1] < _LONG_ROW:
        return np.asarray(marks.sum(axis=1, dtype=np.int64))
    return np.fromiter((np.count_nonzero(row) for row in marks), dtype=np.int64, count=len(marks))


def one_of(value: str, name: str, known: Sequence[str]) -> str:
    """A string among the `known` ones."""
    if value not in known:
        raise InvalidInput(f"{name}={value!r}, expected one of {', '.join(sorted(known))}")
    return value


def _is_numeric(array: npt.NDArray[np.generic]) -> bool:
    """Whether entries are real numbers: numpy would read "1" as 1.0, a date as its day, and drop an imaginary part."""
    if array.dtype.kind == "O":
        return not any(isinstance(item, str | bytes) for item in array.flat)
    return array.dtype.kind in "biuf"


def _first(mask: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(mask)), mask.shape))


def _number(value: float, name: str, holds: bool, expected: str) -> float:
    if not holds:
        raise InvalidInput(f"{name}={value!r}, expected {expected}")
    return float(value)
