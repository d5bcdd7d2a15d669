"""Channels of two mechanisms of mldp-text, computed from their definitions: ln Pr[output | word] for every word."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from oddshift.model.space import Space

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_PIECES = 500  # pieces of the range of a noisy distance, each integrated with eight nodes


def tem_channel(space: Space, epsilon: float) -> np.ndarray:
    """TEM: softmax over the words within a radius and one mark for all others; the last output is its failure.

    It fails where it wants a word beyond the radius and there is none.
    """
    n, gaps = len(space), space.distances
    radius = round(2 / epsilon * math.log((1 - 0.001) * n / 0.001), 1)  # with its failure probability of 0.001
    logs = np.full((n, n + 1), -np.inf)
    for x in range(n):
        inside = gaps[x] <= radius
        mark = -radius + 2 * math.log(n / inside.sum()) / epsilon
        weights = epsilon / 2 * np.append(-gaps[x][inside], mark)
        weights -= np.logaddexp.reduce(weights)
        logs[x, np.flatnonzero(inside)] = weights[:-1]
        beyond = np.flatnonzero(np.append(~inside, inside.all()))
        logs[x, beyond] = weights[-1] - math.log(len(beyond))
    return logs


def truncated_gumbel_channel(space: Space, epsilon: float) -> np.ndarray:
    """TruncatedGumbel: the word of the least noisy distance among the k nearest, k truncated Poisson, itself included.

    The noise is Gumbel noise kept where it does not exceed the largest distance. k is at most n − 1, so the farthest
    word has probability 0.
    """
    n, gaps = len(space), space.distances
    limit, scale = float(gaps.max()), gumbel_scale(gaps, epsilon)
    logs = np.full((n, n), -np.inf)
    for x in range(n):
        order = np.argsort(gaps[x], kind="stable")
        with np.errstate(divide="ignore"):
            logs[x, order] = np.log(_by_rank(gaps[x][order], limit, scale))
    return logs


def gumbel_scale(gaps: np.ndarray, epsilon: float) -> float:
    """The scale of its noise, by its formula, which has a meaning where ε exceeds 2(1 + ln n)/(smallest distance).

    Below that it is the real part of a complex number, and the package goes on with it.
    """
    largest, smallest = float(gaps.max()), float(gaps[gaps > 0].min())
    rest = (epsilon - 2 * (1 + math.log(len(gaps))) / smallest) / 3
    lambert = float(special.lambertw(2 * rest * largest).real)
    return 2 * largest / (min(lambert, math.log(rest * smallest)) if rest > 0 else lambert)


def _by_rank(distances: np.ndarray, limit: float, scale: float) -> np.ndarray:
    """Probability of the nearest word (the word itself), the next one, …, by integration over the least value t.

    Σ_k Pr[k] ∫ f(t − d_r) Π_{j ≤ k, j ≠ r} S(t − d_j) dt, in pieces between which no law begins or ends.
    """
    n = len(distances)
    edges = np.unique(
        np.concatenate([np.linspace(-limit, limit + distances[-1], _PIECES), distances - limit, distances + limit])
    )
    half = np.diff(edges)[:, None] / 2
    times, steps = (edges[:-1, None] + half + half * _NODES).ravel(), (half * _WEIGHTS).ravel()
    noise = times[None, :] - distances[:, None]
    low, high = (math.exp(-math.exp(-end / scale)) for end in (-limit, limit))
    later = (high - np.exp(-np.exp(-np.clip(noise, -limit, limit) / scale))) / (high - low)
    density = np.exp(-noise / scale - np.exp(-noise / scale)) / (scale * (high - low))
    density[np.abs(noise) > limit] = 0.0
    counts = np.arange(n)
    chances = special.softmax(counts * math.log(math.log(n - 1)) - special.gammaln(counts + 1))
    with np.errstate(divide="ignore"):
        all_later = np.exp(np.cumsum(np.log(later), axis=0))[:-1]  # of the k nearest, k = 1 … n − 1
    mixed = np.cumsum((chances[1:, None] * all_later)[::-1], axis=0)[::-1]
    hazard = np.divide(density, later, out=np.zeros_like(density), where=later > 0)
    found = np.append(hazard[:-1] * mixed @ steps, 0.0)
    found[0] += chances[0]
    return np.asarray(found)
