"""Arguments and results of a bound: values in [0, 1], counts k ≤ n, error levels, and a lower bound below the upper."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, float_of, floats, whole
from oddshift.base.errors import InvalidInput, NoGuarantee


def unit_values(values: npt.ArrayLike, name: str = "values") -> FloatArray:
    """One axis of at least one number in [0, 1].

    >>> unit_values([0, 0.5])
    array([0. , 0.5])
    """
    array = floats(values, name, 1)
    outside = (array < 0.0) | (array > 1.0)
    if outside.any():
        where = int(np.argmax(outside))
        raise InvalidInput(f"{name}[{where}] = {float(array[where])}, expected numbers in [0, 1]")
    return array


def unit_closed(value: float, name: str) -> float:
    """A float in [0, 1]."""
    if not 0.0 <= float_of(value, name) <= 1.0:
        raise InvalidInput(f"{name}={value!r}, expected 0 <= {name} <= 1")
    return float(value)


def count(k: int, n: int, names: tuple[str, str] = ("k", "n")) -> tuple[int, int]:
    """Successes k of n trials, n ≥ 1 and 0 ≤ k ≤ n.

    >>> count(5, 3)
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: k=5, expected a whole number in [0, 3]
    """
    trials = whole(n, names[1], 1)
    return whole(k, names[0], 0, trials), trials


def error_level(alpha: float, name: str = "alpha") -> float:
    """The level at which a certificate may err: above 0 and below one half, where a bound says anything.

    >>> error_level(0.5)
    Traceback (most recent call last):
    oddshift.base.errors.InvalidInput: alpha=0.5, expected 0 < alpha < 0.5
    """
    if not 0.0 < float_of(alpha, name) < 0.5:
        raise InvalidInput(f"{name}={alpha!r}, expected 0 < {name} < 0.5")
    return float(alpha)


def bracket(lower: float, upper: float) -> tuple[float, float]:
    """Both bounds, refused where the lower exceeds the upper: then one of them is wrong, and it is unknown which.

    >>> bracket(0.1, 0.2)
    (0.1, 0.2)
    """
    if lower > upper:
        raise NoGuarantee(
            f"the lower bound {lower:.6g} lies above the upper bound {upper:.6g}, expected the reverse: a method that "
            "depends on the order of documents met an order that was not random"
        )
    return lower, upper
