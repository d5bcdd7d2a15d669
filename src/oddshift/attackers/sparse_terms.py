"""Weights of sparse terms: the log score of a log-linear law whose terms are 0 for most candidates.

log p(x) = log π(x) + Σ_k β_k·t_k(x) − log Z, Z = Σ_x π(x)·e^{Σβt}: where all terms are 0 the mass is that of π, so a
position costs what its terms hold and not what the vocabulary does. The score is that of `ContextTerms` without own
release, and its best weights are found in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class SparseTerms:
    """Entries where some term is not 0 or the truth is, row by row: their term values and π, and π of the rest."""

    starts: IntArray  # (positions,): the first entry of every row
    row: IntArray  # (entries,)
    terms: tuple[FloatArray, ...]  # (entries,) each
    law: FloatArray  # (entries,)
    rest: FloatArray  # (positions,)
    truth: IntArray  # (positions,): the entry of the truth

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Mean −log p of the truth, and its gradient: E[t_k] minus t_k at the truth."""
        total = sum(weight * term for weight, term in zip(weights, self.terms, strict=True)) + np.zeros(len(self.row))
        top = np.maximum(np.maximum.reduceat(total, self.starts), 0.0)
        mass = self.law * np.exp(total - top[self.row])
        norm = np.add.reduceat(mass, self.starts) + self.rest * np.exp(-top)
        scores = np.log(norm) + top - total[self.truth] - np.log(self.law[self.truth])
        posterior = mass / norm[self.row]
        gradient = np.array([posterior @ term - term[self.truth].sum() for term in self.terms])
        return float(scores.mean()), gradient / len(self.truth)


def sparse_terms(terms: Sequence[Any], law: FloatArray, truth: IntArray) -> SparseTerms:
    """Put compressed sparse rows (positions, points) on one pattern; `law` is π, positive at every truth."""
    from scipy.sparse import csr_array

    positions, points = terms[0].shape
    here = csr_array((np.ones(positions), (np.arange(positions), truth)), shape=(positions, points))
    pattern = sum((_ones(each) for each in terms), start=here)
    code = _codes(pattern)
    values = []
    for each in terms:
        value = np.zeros(len(code))
        value[np.searchsorted(code, _codes(each))] = each.data
        values.append(value)
    row, mass = code // points, law[code % points]
    starts = np.searchsorted(row, np.arange(positions))
    rest = np.maximum(law.sum() - np.add.reduceat(mass, starts), 0.0)
    return SparseTerms(starts, row, tuple(values), mass, rest, np.searchsorted(code, _codes(here)))


def _ones(term: Any) -> Any:
    """The same entries, each 1: their sum over terms has an entry wherever some term has one."""
    return type(term)((np.ones(len(term.data)), term.indices, term.indptr), shape=term.shape)


def _codes(term: Any) -> IntArray:
    """row·points + point of every stored entry, in order."""
    term.sort_indices()
    row = np.repeat(np.arange(term.shape[0], dtype=np.int64), np.diff(term.indptr))
    return np.asarray(row * term.shape[1] + term.indices)
