"""Weights of sparse terms: the log score of a log-linear law whose terms are 0 for most candidates.

log p(x) = γ·log π(x) + Σ_k β_k·t_k(x) − log Z, Z = Σ_x π(x)^γ·e^{Σβt}: where all terms are 0 the mass is that of π^γ,
so a position costs what its terms hold and not what the vocabulary does. The score is convex in (γ, β).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False, repr=False)
class SparseTerms:
    """Entries where some term is not 0 or the truth is, row by row: their term values and points; log π of all points.

    The first weight is γ, those of the terms follow.
    """

    starts: IntArray  # (positions,): the first entry of every row
    row: IntArray  # (entries,)
    values: Any  # sparse (entries, terms)
    point: IntArray  # (entries,)
    truth: IntArray  # (positions,): the entry of the truth
    log_law: FloatArray  # (points,): 0 where the law is
    is_possible: BoolArray  # (points,)

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Mean −log p of the truth, and its gradient: E[t] minus t at the truth, log π being the first t."""
        power, here = weights[0], self.log_law[self.point]
        law = np.where(self.is_possible, np.exp(power * self.log_law), 0.0)
        alone = law[self.point]
        rest, rest_of_log = (
            total - np.add.reduceat(entries, self.starts)
            for total, entries in ((law.sum(), alone), (law @ self.log_law, alone * here))
        )
        has_rest = rest > 0
        total = np.where(self.is_possible[self.point], power * here + self.values @ weights[1:], -np.inf)
        top = np.maximum.reduceat(total, self.starts)
        top = np.where(has_rest, np.maximum(top, 0.0), top)
        mass, scale = np.exp(total - top[self.row]), np.where(has_rest, np.exp(-np.maximum(top, 0.0)), 0.0)
        norm = np.add.reduceat(mass, self.starts) + rest * scale
        score = np.log(norm) + top - total[self.truth]
        mass /= norm[self.row]  # the posterior
        of_law = mass @ here + (rest_of_log * scale / norm).sum() - here[self.truth].sum()
        mass[self.truth] -= 1.0
        gradient = np.append(of_law, self.values.T @ mass)
        return float(score.mean()), gradient / len(self.truth)


def sparse_terms(terms: Sequence[Any], law: FloatArray, truth: IntArray) -> SparseTerms:
    """Put compressed sparse rows (positions, points) on one pattern; `law` is π, positive at every truth."""
    from scipy.sparse import csc_array, csr_array

    positions, points = terms[0].shape
    here = csr_array((np.ones(positions), (np.arange(positions), truth)), shape=(positions, points))
    code = _codes(sum((_ones(each) for each in terms), start=here))
    entries = [np.searchsorted(code, _codes(each)) for each in terms]
    ends = np.cumsum([0, *(len(each) for each in entries)])
    data = np.concatenate([each.data for each in terms])  # in the order of the codes, which sorts each row
    values = csc_array((data, np.concatenate(entries), ends), shape=(len(code), len(terms)))
    row = code // points
    starts, truths = np.searchsorted(row, np.arange(positions)), np.searchsorted(code, _codes(here))
    log_law = np.log(np.where(law > 0, law / law.max(), 1.0))  # the largest is 0, so that no power of all underflows
    return SparseTerms(starts, row, values, code % points, truths, log_law, law > 0)


def _ones(term: Any) -> Any:
    """The same entries, each 1: their sum over terms has an entry wherever some term has one."""
    return type(term)((np.ones(len(term.data)), term.indices, term.indptr), shape=term.shape)


def _codes(term: Any) -> IntArray:
    """row·points + point of every stored entry, in order."""
    term.sort_indices()
    row = np.repeat(np.arange(term.shape[0], dtype=np.int64), np.diff(term.indptr))
    return np.asarray(row * term.shape[1] + term.indices)
