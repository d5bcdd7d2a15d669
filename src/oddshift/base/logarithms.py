"""Arithmetic on logarithms of probabilities, safe for values far outside the range of floats.

A sum that underflows would turn a rare output into an impossible one, and an impossible output is
infinite leakage. Products therefore use an exact but slower form for entries where the fast one could underflow.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import CACHED_ENTRIES, FloatArray, blocks

_SAFE = 1e-290  # sums above this lose nothing to terms that underflowed


def log(probability: npt.ArrayLike) -> FloatArray:
    """Natural logarithm with log 0 = −inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.asarray(probability, dtype=np.float64)))


def log_sum(values: FloatArray, axis: int = -1) -> FloatArray:
    """log Σ exp(values) along an axis; −inf if all terms are zero."""
    if values.ndim == 2 and axis in {1, -1} and values.size > CACHED_ENTRIES:
        parts = blocks(len(values), values.shape[1], CACHED_ENTRIES)
        return np.concatenate([_log_sum(values[part], axis) for part in parts])
    return _log_sum(values, axis)


def _log_sum(values: FloatArray, axis: int) -> FloatArray:
    top = peak(values, axis)
    shifted = values - top
    return np.asarray(log(np.exp(shifted, out=shifted).sum(axis=axis)) + np.squeeze(top, axis=axis))


def log_normalise(values: FloatArray, axis: int = -1) -> FloatArray:
    """Subtract log Σ exp so that the probabilities along `axis` sum to one."""
    return values - np.expand_dims(log_sum(values, axis), axis)


def log_matmul(left: FloatArray, right: FloatArray) -> FloatArray:
    """log of exp(left) @ exp(right) for (m, k) and (k, n) arrays of logarithms.

    A matrix product of rescaled exponentials, with every entry that could have underflowed computed
    again, term by term.
    """
    row = peak(left, axis=1)
    column = peak(right, axis=0)
    product = np.exp(left - row) @ np.exp(right - column)
    result: FloatArray = log(product) + row + column
    doubtful_rows, doubtful_columns = np.nonzero(product < _SAFE)
    for part in blocks(len(doubtful_rows), left.shape[1]):
        i, j = doubtful_rows[part], doubtful_columns[part]
        result[i, j] = log_sum(left[i] + right[:, j].T)
    return result


def log_apply(mass: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return log of exp(mass) @ matrix for logarithms (k,) and numbers >= 0 (k, n).

    As in `log_matmul`, every entry that could have underflowed is computed again, term by term.
    """
    top = peak(mass, axis=0)
    product = np.exp(mass - top) @ matrix
    result: FloatArray = log(product) + top
    doubtful = np.flatnonzero(product < _SAFE)
    if len(doubtful):
        result[doubtful] = log_sum(mass + log(matrix[:, doubtful].T))
    return result


def peak(values: FloatArray, axis: int) -> FloatArray:
    """The largest value along an axis, which is kept; 0 where all are −inf, so that it can be subtracted."""
    top = values.max(axis=axis, keepdims=True)
    return np.where(np.isneginf(top), 0.0, top)
