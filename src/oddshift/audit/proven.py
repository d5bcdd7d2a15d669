"""Proven bounds for an audit: the largest leakage that any attacker could reach, under a law of the secrets or none.

mPL ≤ (d_l(a, b) + Φ(a, b)) / d(a, b), where d_l is what the own release can say and Φ what the context can. Under a
chain Φ ≤ D_∞ of the two neighbours' laws given a and given b: even seeing the neighbours would reveal no more. Under
any law Φ ≤ Σ max d_t over the other positions. Public tiers are conditioned on. Every bound is rounded up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.base.errors import InvalidInput, TooLarge
from oddshift.base.logarithms import log
from oddshift.mechanisms.epsilon import log_ratios
from oddshift.model.prior import Markov, estimate_markov
from oddshift.model.records import Split

POINT_LIMIT = 2_000
"""Points up to which a bound under a chain is computed."""

SEQUENCE_LIMIT = 4_096
"""Largest number of sequences of public tiers on one side of a position."""

ROUNDED_UP = 1.0 + 1e-12
"""A bound may be too large by rounding, never too small."""


@dataclass(frozen=True)
class Proven:
    """A bound on the joint leakage, and in words what it rests on; under an estimated law it decides no verdict."""

    value: float
    basis: str
    is_estimated: bool = False


def bound_without_law(known: Knowledge, split: Split) -> Proven:
    """exact ε · (1 + (L − 1)·D/d_min): D the largest, d_min the smallest distance of comparable points.

    **Guarantee**: holds for every law of the secrets, for documents of at most L sensitive positions.
    """
    longest = int(max(part.lengths.max(initial=1) for part in split.parts))
    reach = reach_of_tiers(known)
    near, far = float(reach[:, 0].min()), float(reach[np.isfinite(reach[:, 0]), 1].max(initial=0.0))
    value = known.mechanism.exact_epsilon * (1.0 + (longest - 1) * far / near)
    return Proven(value * ROUNDED_UP, f"whatever the law of the secrets, at most {longest} read together")


def bound_under_chain(known: Knowledge, split: Split, prior_of: Callable[[int], Markov] | None = None) -> Proven:
    """The largest (d_l + Φ)/d over all places in documents of the lengths that occur.

    `prior_of(length)` is the chain of a document with that many secrets; None estimates one from the fit records.

    **Guarantee**: at least the exact joint leakage if the secrets follow that chain, also given their public tiers.
    """
    size = len(known.mechanism.space)
    if size > POINT_LIMIT:
        raise TooLarge(f"{size} points, expected at most {POINT_LIMIT} for a bound under a chain; try 'diameter'")
    points = np.flatnonzero(known.tiers.sensitive)
    compared = np.zeros((size, size), dtype=np.bool_)
    compared[np.ix_(points, points)] = known.tiers.comparable(points, points) & ~np.eye(len(points), dtype=np.bool_)
    own, distances = log_ratios(known.mechanism.log_matrix), known.mechanism.space.distances
    farthest, groups = float(own[compared].max()), _groups(known)
    lengths = np.unique(np.concatenate([part.lengths for part in split.parts]))
    chain = prior_of or _estimated(split)
    largest = 0.0
    for length in lengths[lengths > 0].tolist():
        model = chain(length)
        for place in range(length):
            right = [model.transitions[t] for t in range(place, length - 1)]
            left = [model.backward[t] for t in range(place - 1, -1, -1)]
            context = sum(np.minimum(_side(kernels, groups), len(kernels) * farthest) for kernels in (left, right))
            largest = max(largest, float(((own + context)[compared] / distances[compared]).max()))
    law = "under the known law of the secrets" if prior_of else "under a chain estimated from the fit part"
    return Proven(
        largest * ROUNDED_UP, f"{law}, at most {int(lengths.max())} read together", is_estimated=prior_of is None
    )


def _estimated(split: Split) -> Callable[[int], Markov]:
    """The chain of a document of that length, counted in the fit records."""
    fit = split.fit
    documents = [fit.points[a:b] for a, b in pairwise(fit.offsets.tolist()) if b > a]
    one = estimate_markov(documents, len(fit.space), 2)
    return lambda length: Markov(one.initial, one.transitions[0], length)


def _side(kernels: Sequence[FloatArray], groups: Sequence[BoolArray]) -> FloatArray:
    """max over the public tiers of that side of D_∞(neighbour | a ‖ neighbour | b), for every a and b.

    max_i ln T(a,i)h(i)/H(a) − ln T(b,i)h(i)/H(b) = max_i ln T(a,i)/T(b,i) − ln H(a)/H(b), H(a) = Σ_i T(a,i)h(i) the
    chance of the tiers given a.
    """
    if not kernels:
        return np.zeros(1)
    result = np.zeros(kernels[0].shape)
    for group in groups:
        step = log(kernels[0][:, group])
        tiers = log(kernels[0] @ (group[:, None] * _chances(kernels[1:], groups)))  # ln H, (points, sequences)
        for b in range(len(result)):
            with np.errstate(invalid="ignore"):  # −inf − −inf: impossible given a and given b, so it does not count
                total = np.fmax.reduce(step - step[b], axis=1) + np.fmax.reduce(tiers[b] - tiers, axis=1)
            result[:, b] = np.maximum(result[:, b], np.where(np.isnan(total), np.inf, total))
    np.fill_diagonal(result, 0.0)
    return result


def _chances(kernels: Sequence[FloatArray], groups: Sequence[BoolArray]) -> FloatArray:
    """The chance of every sequence of public tiers that the kernels lead through, given the first point."""
    if len(groups) ** len(kernels) > SEQUENCE_LIMIT:
        raise TooLarge(
            f"{len(groups)} public tiers and {len(kernels) + 2} secrets read together make more than {SEQUENCE_LIMIT} "
            "sequences of tiers, expected fewer; try 'diameter'"
        )
    size = len(groups[0])
    chances = np.ones((size, 1))
    for kernel in reversed(kernels):
        chances = np.hstack([kernel @ (group[:, None] * chances) for group in groups])
    return chances


def _groups(known: Knowledge) -> list[BoolArray]:
    """What a public tier tells about a position: it is one of these points. Secret tiers tell nothing."""
    if not known.tiers.is_public:
        return [known.tiers.sensitive]
    return [known.tiers.labels == tier for tier in np.unique(known.tiers.labels[known.tiers.sensitive])]


def reach_of_tiers(known: Knowledge) -> FloatArray:
    """The smallest and the largest distance between two points of a tier that an attacker might tell apart, (tiers, 2).

    With secret tiers these are points of any tier. A tier without two such points has (inf, 0).
    """
    space, tiers, sensitive = known.mechanism.space, known.tiers, np.flatnonzero(known.tiers.sensitive)
    reach = np.tile([np.inf, 0.0], (len(tiers), 1))
    for part in blocks(len(sensitive), len(sensitive)):
        rows: IntArray = sensitive[part]
        distance = space.metric.between(space.points[rows], space.points[sensitive])
        compared = tiers.comparable(rows, sensitive) & (rows[:, None] != sensitive)
        nearest = np.where(compared, distance, np.inf).min(axis=1)
        farthest = np.where(compared, distance, 0.0).max(axis=1)
        np.minimum.at(reach[:, 0], tiers.labels[rows], nearest)
        np.maximum.at(reach[:, 1], tiers.labels[rows], farthest)
    if not tiers.is_public:
        reach[:] = reach[:, 0].min(), reach[:, 1].max()
    if not reach[:, 0].min() > 0.0 or not np.isfinite(reach[:, 0].min()):
        raise InvalidInput("no two comparable points at a distance > 0, expected some for an upper bound")
    return reach
