"""The law of places before any release, from few users: where the others were says little about one more user.

Counts of places know the homes of those who were counted. The law here is a mixture of the counts, of the counts
spread to places nearby and of a uniform law; its shares predict the places of every unit best from those of the others.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from oddshift.attackers.backoff import mixing_weights
from oddshift.attackers.paired_log_score import choosing_clusters
from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.model.records import Records

USER_FOLDS = 5
"""Parts of the units, each predicted from the others."""

SPREADS = (1.0, 3.0, 9.0)
"""How far counts are spread, in units of the median distance from a place to the nearest other one."""

MOST_PLACES = 4_000
"""Places above which counts are not spread; a table of all distances is needed for that."""


def place_law(fit: Records, allowed: BoolArray, smoothing: float) -> FloatArray:
    """Pr[place] before any release, (points,), 0 for points that are not allowed."""
    size, clusters = len(fit.space), choosing_clusters(fit)
    distinct, cluster = np.unique(clusters, return_inverse=True)
    kernels = _kernels(fit, allowed)
    everyone = fit.counts().astype(np.float64)
    if len(distinct) < 2:
        return _law(everyone + smoothing, allowed)
    fold = np.random.default_rng(len(distinct)).permutation(len(distinct))[cluster] % USER_FOLDS
    predicted, count = [], []
    for part in np.unique(fold):
        mine = fit.take(np.flatnonzero(fold == part)).counts().astype(np.float64)
        others = everyone - mine
        at = np.flatnonzero(mine)
        predicted.append(np.stack([law[at] for law in _laws(others, smoothing, kernels, allowed)], axis=1))
        count.append(mine[at])
    weights = mixing_weights(np.concatenate(predicted), np.concatenate(count))
    laws = _laws(everyone, smoothing, kernels, allowed)
    return np.asarray(sum((w * law for w, law in zip(weights, laws, strict=True)), np.zeros(size)))


def _laws(counts: FloatArray, smoothing: float, kernels: list[FloatArray], allowed: BoolArray) -> Iterator[FloatArray]:
    yield _law(counts + smoothing, allowed)
    for kernel in kernels:
        yield _law(counts @ kernel + smoothing / len(counts), allowed)
    yield _law(np.ones(len(counts)), allowed)


def _law(counts: FloatArray, allowed: BoolArray) -> FloatArray:
    inside = np.where(allowed, counts, 0.0)
    return np.asarray(inside / inside.sum())


def _kernels(fit: Records, allowed: BoolArray) -> list[FloatArray]:
    size = len(fit.space)
    if not 2 <= size <= MOST_PLACES:
        return []
    distances = fit.space.distances
    nearest = float(np.median((distances + np.diag(np.full(size, np.inf))).min(axis=1)))
    found = []
    for spread in SPREADS:
        kernel = np.exp(-distances / (spread * nearest)) * allowed
        found.append(kernel / np.maximum(kernel.sum(axis=1, keepdims=True), 1e-300))
    return found
