"""Few candidates: the likeliest of a held-out position one by one, and some that stand for all others.

Weights are fitted on sums over candidates, Z = Σ_x e^{s(x)}, s = base + Σ_k w_k·c_k. With q a first idea of s, the
others are drawn at even steps of their mass Σ e^q, each of D draws with e^{base'} = e^{base − q}·Σ e^q/D: the sum is
exact at s = q, and right on average for any weights. A fit then costs what a few hundred candidates cost.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.base.logarithms import log, peak

LIKELY, DRAWN = 256, 128
"""Candidates that are kept one by one, and draws from the others; a performance setting."""

_TOGETHER = 1_000_000  # entries of a term that are put in order together
_TRUSTED = 0.25  # the weight of every term in q


def few_candidates(
    base: FloatArray, terms: Sequence[FloatArray], truth: IntArray
) -> tuple[FloatArray, list[FloatArray], IntArray]:
    """Base and terms over few columns, and the column of the truth; the same where candidates are few.

    >>> base, (term,), truth = few_candidates(np.zeros((1, 3)), [np.array([[1.0, 0.0, 2.0]])], np.array([2]))
    >>> base, term, truth
    (array([[0., 0., 0.]]), array([[1., 0., 2.]]), array([2]))
    """
    if base.shape[1] <= LIKELY + DRAWN:
        return base, list(terms), truth
    found = [np.empty((len(base), LIKELY + DRAWN)) for _ in (base, *terms)]
    column = np.empty_like(truth)
    for part in blocks(len(base), base.shape[1], _TOGETHER):
        guess = base[part] + _TRUSTED * sum(term[part] for term in terms)
        chosen, column[part], gained = _chosen(guess, truth[part])
        for whole, each in zip(found, (base, *terms), strict=True):
            whole[part] = np.take_along_axis(each[part], chosen, axis=1)
        found[0][part, LIKELY:] += gained
    return found[0], found[1:], column


def _chosen(guess: FloatArray, truth: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The chosen candidates of every row, the column of the truth, and what the base of each draw gains.

    `guess` is q; it is changed.
    """
    rows = np.arange(len(guess))
    at_truth = guess[rows, truth]
    guess[rows, truth] = np.inf  # the truth is always kept
    likely = np.argpartition(guess, -LIKELY, axis=1)[:, -LIKELY:]
    guess[rows, truth] = at_truth
    left = guess.copy()
    np.put_along_axis(left, likely, -np.inf, axis=1)
    top = peak(left, axis=1)
    mass = np.exp(left - top)
    total = mass.sum(axis=1, keepdims=True)
    drawn = _at_even_steps(mass, total)
    gained = log(total / DRAWN) + top - np.take_along_axis(guess, drawn, axis=1)
    impossible = np.isneginf(np.take_along_axis(left, drawn, axis=1))  # nothing is left to draw from
    return (
        np.hstack([likely, drawn]),
        np.argmax(likely == truth[:, None], axis=1),
        np.where(impossible, -np.inf, gained),
    )


def _at_even_steps(mass: FloatArray, total: FloatArray) -> IntArray:
    """The candidate where the cumulated mass of a row reaches each of DRAWN even steps."""
    reached = np.cumsum(mass, axis=1)
    steps = (np.arange(DRAWN) + 0.5) / DRAWN * total
    found = [np.searchsorted(row, step) for row, step in zip(reached, steps, strict=True)]
    return np.minimum(np.array(found), mass.shape[1] - 1)
