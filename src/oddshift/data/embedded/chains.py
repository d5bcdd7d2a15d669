"""Synthetic chains: words without meaning whose joint law is known, for studies of how faithful an attacker is.

Zero dependence gives independent secrets (then no attacker can beat a single release); strength 1 is deterministic.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, float_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.model.prior import Markov
from oddshift.model.records import Records
from oddshift.model.space import Space

DIMENSIONS = 100
"""Coordinates of a synthetic word, as many as the word vectors have."""

SPREAD = 0.54
"""Standard deviation of each coordinate: words are about 7.6 apart, as frequent words of GloVe are."""


@dataclass(frozen=True, eq=False)
class SyntheticChain:
    """A space of synthetic words and the exact prior of every sequence."""

    space: Space
    prior: Markov

    def draw(self, documents: int, rng: np.random.Generator) -> Records:
        """Independent sequences from the prior."""
        values = draw_sequences(self.prior, documents, rng)
        return Records.from_documents(self.space, list(values))


def chain(
    words: int = 200, length: int = 8, strength: float = 0.95, *, spread: float = SPREAD, rng: np.random.Generator
) -> SyntheticChain:
    """Make a chain that follows a fixed permutation of the words with probability `strength`, else starts again.

    X_1 is uniform; Pr[X_{t+1} = j | X_t = i] = strength·[j = π(i)] + (1 − strength)/words. Every position is uniform,
    so the prior alone reveals nothing. Points are Gaussian with standard deviation `spread` in each coordinate.

    >>> chain(words=20, length=3, strength=0.0, rng=np.random.default_rng(0)).prior
    Markov(states=20, length=3)
    """
    words, length = whole(words, "words", 2), whole(length, "length", 1)
    strength = share(strength, "strength")
    space = gaussian_words(words, spread, rng)
    follow = np.zeros((words, words))
    follow[np.arange(words), rng.permutation(words)] = 1.0
    transitions = strength * follow + (1.0 - strength) / words
    return SyntheticChain(space, Markov(np.full(words, 1.0 / words), transitions, length))


def gaussian_words(words: int, spread: float, rng: np.random.Generator) -> Space:
    """Points of independent Gaussian coordinates."""
    return Space(positive(spread, "spread") * rng.standard_normal((words, DIMENSIONS)))


def draw_sequences(prior: Markov, documents: int, rng: np.random.Generator) -> IntArray:
    """(documents, length) independent sequences of a chain, each value by inverting its cumulative row."""
    uniforms = rng.random((whole(documents, "documents", 1), len(prior.sizes)))
    values = np.empty(uniforms.shape, dtype=np.int64)
    values[:, 0] = invert(np.broadcast_to(prior.initial, (documents, len(prior.initial))), uniforms[:, 0])
    for t, step in enumerate(prior.transitions, start=1):
        values[:, t] = invert(step[values[:, t - 1]], uniforms[:, t])
    return values


def invert(rows: FloatArray, uniforms: FloatArray) -> IntArray:
    """The value whose interval of the cumulative row holds the uniform, row by row; never one of probability 0."""
    cumulative = np.cumsum(rows, axis=1)
    return (cumulative <= (uniforms * cumulative[:, -1])[:, None]).sum(axis=1).astype(np.int64)


def share(value: float, name: str) -> float:
    """A float in [0, 1]."""
    if not 0.0 <= float_of(value, name) <= 1.0:
        raise InvalidInput(f"{name}={value!r}, expected 0 <= {name} <= 1")
    return float(value)
