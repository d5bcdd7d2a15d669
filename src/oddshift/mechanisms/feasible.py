"""A channel that is nearly ε-mDP made ε-mDP exactly, for as little cost as its largest error.

What a solver returns meets its constraints to a tolerance, and a probability of 1e-9 where 1e-8 was needed is a log
ratio off by 2.3. So nothing of it is trusted: it is raised, filled up, and its exact ε is computed.
"""

from __future__ import annotations

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.base.errors import NoGuarantee
from oddshift.base.logarithms import log_normalise
from oddshift.mechanisms.epsilon import true_epsilon

_FLOOR = 1e-9  # uniform share of the law that fills up, so that every output keeps a probability above zero
_LEAST = 1e-12  # the least share that is filled up, for the same reason
_INSIDE = 1e-12  # share of ε that is left to the rounding of the logarithms
_MOST = 1e6  # filled up beyond this, all rows are equal


def made_private(channel: FloatArray, weights: FloatArray, distances: FloatArray, epsilon: float) -> FloatArray:
    """Log table (n, m) near `channel` whose exact ε is at most ε; `weights` is the prior of the points.

    p is raised to r(y|x) = max_x' e^{−εd(x, x')}·p(y|x'), which meets every constraint by the triangle inequality, with
    row sums t_x. The table is (r(y|x) + (s − t_x)·q(y))/s, where q is the law of outputs and s is one number: rows sum
    to 1, and both parts meet every constraint, the second one when s − t_b ≥ e^{−εd(a, b)}·(s − t_a) for all a and b,
    that is s ≥ t_a + (t_b − t_a)/(1 − e^{−εd(a, b)}). So no more is moved than the sums differ. Rounding of logarithms
    is met by filling up twice as much until the exact ε is at most ε; in the limit all rows are q, with ε = 0.

    **Guarantee**: `true_epsilon` of the table ≤ ε in float64, or it raises.

    >>> table = made_private(np.eye(2), np.array([0.5, 0.5]), np.array([[0.0, 1.0], [1.0, 0.0]]), 1.0)
    >>> np.exp(table).round(3)
    array([[0.731, 0.269],
           [0.269, 0.731]])
    """
    budget = epsilon * (1.0 - _INSIDE) * distances
    factor = np.exp(-budget)
    raised = np.stack([(factor * column).max(axis=1) for column in np.maximum(channel, 0.0).T], axis=1)
    totals = raised.sum(axis=1)
    common = (1.0 - _FLOOR) * (weights @ (raised / totals[:, None])) + _FLOOR / raised.shape[1]
    needed, least = _filled(totals, budget), float(totals.max())
    extra = max(needed - least, _LEAST * least)
    while extra <= _MOST * least:
        size = least + extra
        table = log_normalise(np.log(raised + (size - totals)[:, None] * common))
        if true_epsilon(table, distances) <= epsilon:
            return table
        extra *= 2.0
    table = log_normalise(np.repeat(np.log(common)[None], len(channel), axis=0))
    if not true_epsilon(table, distances) <= epsilon:
        raise NoGuarantee(f"equal rows have an exact epsilon > {epsilon:g}, expected 0")
    return table


def _filled(totals: FloatArray, budget: FloatArray) -> float:
    """The least s ≥ t_a + (t_b − t_a)/(1 − e^{−εd(a, b)}) over all pairs."""
    apart = -np.expm1(-budget)
    np.fill_diagonal(apart, np.inf)
    return float((totals[:, None] + (totals[None, :] - totals[:, None]) / apart).max())
