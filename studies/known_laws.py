"""Synthetic chains: words without meaning whose joint law is known, for studies of how faithful an attacker is.

Zero dependence gives independent secrets (then no attacker can beat a single release); strength 1 is deterministic.

A topic model: every word of a document depends on one hidden topic, so distant positions tell as much as near ones.

A chain forgets; a topic does not. Given the topic the words are independent, which keeps the exact posterior cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, indices, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log, log_normalise, log_sum
from oddshift.data.embedded import draw_sequences, invert, share
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


@dataclass(frozen=True, eq=False, repr=False)
class Topics:
    """Words of a space, one law of words (topics, words) for each topic, and the law of the topics."""

    space: Space
    words: FloatArray
    weights: FloatArray

    def __repr__(self) -> str:
        """Sizes only."""
        return f"Topics({len(self.weights)} topics, {len(self.space)} words)"

    @property
    def log_prior(self) -> FloatArray:
        """log Pr[X_t = x], the same at every position."""
        return log(self.weights @ self.words)

    def draw(self, documents: int, length: int, rng: np.random.Generator) -> Records:
        """Independent documents, each of one topic."""
        n, length = whole(documents, "documents", 1), whole(length, "length", 1)
        topic = invert(np.broadcast_to(self.weights, (n, len(self.weights))), rng.random(n))
        values = [invert(self.words[topic], rng.random(n)) for _ in range(length)]
        return Records.from_documents(self.space, list(np.stack(values, axis=1)))

    def log_posterior(self, log_matrices: Sequence[npt.ArrayLike], outputs: Sequence[int]) -> list[FloatArray]:
        """Exact log Pr[X_t = x | all outputs] for every position: Σ_k Pr[k | the other outputs]·Pr[x | k]·M_t(y_t | x).

        O(topics · words · length); `log_matrices` holds one (words, outputs) array for each position.
        """
        if len(log_matrices) != len(outputs) or not len(outputs):
            raise InvalidInput(
                f"{len(log_matrices)} matrices and {len(outputs)} outputs, expected equal numbers, at least one"
            )
        own = [_column(matrix, y, len(self.space)) for matrix, y in zip(log_matrices, outputs, strict=True)]
        words = log(self.words)
        of_topic = np.stack([log_sum(words + likelihood) for likelihood in own])  # (L, topics): log Pr[y_t | k]
        posteriors = []
        for t, likelihood in enumerate(own):
            others = log(self.weights) + np.delete(of_topic, t, axis=0).sum(axis=0)
            posteriors.append(log_normalise(log_sum(others[:, None] + words, axis=0) + likelihood))
        return posteriors


def topics(
    words: int = 200, topics: int = 10, strength: float = 0.95, *, spread: float = SPREAD, rng: np.random.Generator
) -> Topics:
    """Make documents of one topic each, where every topic owns an equal share of the words.

    With probability `strength` a word comes from the topic's own, otherwise from all words equally. Zero strength gives
    independent words.

    >>> topics(words=40, topics=4, rng=np.random.default_rng(0))
    Topics(4 topics, 40 words)
    """
    words, topics = whole(words, "words", 2), whole(topics, "topics", 1, words)
    strength = share(strength, "strength")
    space = gaussian_words(words, spread, rng)
    owner = rng.permutation(np.arange(words) % topics)
    own = (owner[None, :] == np.arange(topics)[:, None]).astype(np.float64)
    law = strength * own / own.sum(axis=1, keepdims=True) + (1.0 - strength) / words
    return Topics(space, law, np.full(topics, 1.0 / topics))


def _column(matrix: npt.ArrayLike, output: int, words: int) -> FloatArray:
    table = np.asarray(matrix, dtype=np.float64)
    if table.ndim != 2 or len(table) != words:
        raise InvalidInput(f"a matrix has shape {table.shape}, expected {words} rows")
    return np.asarray(table[:, int(indices([output], "outputs", table.shape[1])[0])])
