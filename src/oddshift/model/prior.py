"""The prior: the attacker's law of the secrets X_1..X_L before anything is released.

Three forms, from the paper's independence proposition to its explicit joint attacker and its hidden Markov
example: independent secrets, a Markov chain, any joint table. Position t has its own alphabet of size K_t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import (
    DENSE_LIMIT,
    FloatArray,
    IntArray,
    axes,
    frozen,
    indices,
    listed,
    positive,
    probabilities,
    whole,
)
from oddshift.base.errors import InvalidInput, TooLarge, a_kind

ENUMERATION_LIMIT = 20_000_000
"""Entries up to which a joint table over all positions is built."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Independent:
    """Secrets that say nothing about each other: one probability vector for each position.

    >>> Independent([[0.3, 0.7], [0.6, 0.4]]).joint_table()
    array([[0.18, 0.12],
           [0.42, 0.28]])
    """

    marginals: tuple[FloatArray, ...]

    def __init__(self, marginals: Sequence[npt.ArrayLike]) -> None:
        """One vector for each position; a value of probability 0 is refused."""
        vectors = tuple(_marginal(v, f"marginals[{t}]") for t, v in enumerate(listed(marginals, "marginals")))
        if not vectors:
            raise InvalidInput("marginals is empty, expected one vector for each position")
        object.__setattr__(self, "marginals", vectors)

    def __repr__(self) -> str:
        """Sizes only."""
        return f"Independent(sizes={self.sizes})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Alphabet size of each position."""
        return tuple(len(v) for v in self.marginals)

    def joint_table(self) -> FloatArray:
        """The full table, refused above ENUMERATION_LIMIT entries."""
        _enumerable(self.sizes)
        table: FloatArray = np.ones(())
        for vector in self.marginals:
            table = table[..., None] * vector
        return table


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Joint:
    """Any law of the secrets, as a table with one axis for each position.

    Zeros inside the table are fine; a value whose own probability is 0 is refused, because its odds are undefined.

    >>> Joint([[0.01, 0.49], [0.49, 0.01]]).marginals[0]
    array([0.5, 0.5])
    """

    table: FloatArray

    def __init__(self, table: npt.ArrayLike) -> None:
        """A table of probabilities that sum to one."""
        array = probabilities(table, "table", 0)
        if array.ndim == 0:
            raise InvalidInput("table has no axes, expected one axis for each position")
        object.__setattr__(self, "table", frozen(array))
        for t, vector in enumerate(self.marginals):
            _positive_marginal(vector, f"marginal of position {t}")

    def __repr__(self) -> str:
        """Sizes only."""
        return f"Joint(sizes={self.sizes})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Alphabet size of each position."""
        return self.table.shape

    @cached_property
    def marginals(self) -> tuple[FloatArray, ...]:
        """The law of each secret alone."""
        every = range(self.table.ndim)
        return tuple(self.table.sum(axis=tuple(a for a in every if a != t)) for t in every)

    def joint_table(self) -> FloatArray:
        """The table itself."""
        return self.table


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Markov:
    """A chain: X_1 ~ initial, X_{t+1} ~ transitions[X_t]; one (K, K) matrix or L−1 of them.

    >>> Markov([0.5, 0.5], [[0.02, 0.98], [0.98, 0.02]], length=2).joint_table()
    array([[0.01, 0.49],
           [0.49, 0.01]])
    """

    initial: FloatArray
    transitions: FloatArray

    def __init__(self, initial: npt.ArrayLike, transitions: npt.ArrayLike, length: int) -> None:
        """`transitions` is (K, K), used at every step, or (L−1, K, K)."""
        first = probabilities(initial, "initial", 1)
        whole(length, "length", 1)
        size, ndim = len(first), axes(transitions, "transitions")
        is_none = length == 1 and np.shape(transitions) == (0, size, size)  # L−1 = 0 steps
        steps = np.empty((0, size, size)) if is_none else probabilities(transitions, "transitions", ndim)
        if steps.shape not in {(size, size), (length - 1, size, size)}:
            raise InvalidInput(
                f"transitions has shape {steps.shape}, expected {(size, size)} or {(length - 1, size, size)}"
            )
        object.__setattr__(self, "initial", frozen(first))
        object.__setattr__(self, "transitions", frozen(np.broadcast_to(steps, (length - 1, size, size)).copy()))
        for t, vector in enumerate(self.marginals):
            _positive_marginal(vector, f"marginal of position {t}")

    def __repr__(self) -> str:
        """Sizes only."""
        return f"Markov(states={len(self.initial)}, length={len(self.sizes)})"

    @property
    def sizes(self) -> tuple[int, ...]:
        """Alphabet size of each position."""
        return (len(self.initial),) * (len(self.transitions) + 1)

    @cached_property
    def marginals(self) -> tuple[FloatArray, ...]:
        """The law of each secret alone."""
        vectors = [self.initial]
        for step in self.transitions:
            vectors.append(vectors[-1] @ step)
        return tuple(vectors)

    @cached_property
    def backward(self) -> FloatArray:
        """The time-reversed chain: entry [t, b, a] is Pr[X_t = a | X_{t+1} = b], (L−1, K, K)."""
        steps = [
            (law[:, None] * step / after[None, :]).T
            for law, step, after in zip(self.marginals, self.transitions, self.marginals[1:], strict=False)
        ]
        return np.array(steps).reshape(self.transitions.shape)

    def joint_table(self) -> FloatArray:
        """The full table, refused above ENUMERATION_LIMIT entries."""
        _enumerable(self.sizes)
        table = self.initial
        for step in self.transitions:
            table = table[..., None] * step
        return table


Prior = Independent | Joint | Markov


def prior_of(value: object) -> Prior:
    """The argument when it is a prior; otherwise a refusal."""
    if not isinstance(value, Prior):
        raise InvalidInput(f"prior is {a_kind(value)}, expected Independent, Joint or Markov")
    return value


def estimate_independent(
    documents: Sequence[npt.ArrayLike], size: int, length: int, smoothing: float = 1.0
) -> Independent:
    """Estimate one law shared by every position: counts of each value plus `smoothing`, normalised."""
    counts = np.full(whole(size, "size", 1), positive(smoothing, "smoothing"))
    for sequence in _sequences(documents, size):
        counts += np.bincount(sequence, minlength=size)
    return Independent([counts / counts.sum()] * whole(length, "length", 1))


def estimate_markov(documents: Sequence[npt.ArrayLike], size: int, length: int, smoothing: float = 1.0) -> Markov:
    """Estimate a homogeneous chain: counts of first values and of successive pairs plus `smoothing`/size.

    The same total `smoothing` is spread over every row, so that rarely seen values keep a flat row.
    """
    if whole(size, "size", 1) ** 2 > DENSE_LIMIT:
        raise TooLarge(f"{size=} needs {size}x{size} transitions, expected at most {DENSE_LIMIT} entries")
    each = positive(smoothing, "smoothing") / size
    first, pairs = np.full(size, each), np.full((size, size), each)
    for sequence in _sequences(documents, size):
        first[sequence[:1]] += 1
        np.add.at(pairs, (sequence[:-1], sequence[1:]), 1)
    return Markov(first / first.sum(), pairs / pairs.sum(axis=1, keepdims=True), length)


def estimate_joint(documents: Sequence[npt.ArrayLike], sizes: Sequence[int], smoothing: float = 1.0) -> Joint:
    """Estimate a full table from documents that all have one value for each position, smoothed over all cells."""
    if not len(sizes):
        raise InvalidInput("sizes is empty, expected the alphabet size of each position")
    _enumerable(tuple(whole(size, "sizes", 1) for size in sizes))
    cells = int(np.prod(sizes))
    counts = np.full(tuple(sizes), positive(smoothing, "smoothing") / cells)
    for t, sequence in enumerate(_sequences(documents, max(sizes))):
        if len(sequence) != len(sizes) or (sequence >= np.array(sizes)).any():
            raise InvalidInput(f"document {t} does not have one value in each of {len(sizes)} positions")
        counts[tuple(sequence)] += 1
    return Joint(counts / counts.sum())


def _sequences(documents: Sequence[npt.ArrayLike], size: int) -> list[IntArray]:
    sequences = listed(documents, "documents")
    if not sequences:
        raise InvalidInput("documents is empty, expected at least one sequence of values")
    return [indices(sequence, f"document {i}", size, is_secret=True) for i, sequence in enumerate(sequences)]


def _marginal(value: npt.ArrayLike, name: str) -> FloatArray:
    return frozen(_positive_marginal(probabilities(value, name, 1), name))


def _positive_marginal(vector: FloatArray, name: str) -> FloatArray:
    if not vector.all():
        raise InvalidInput(f"{name} gives value {int(np.argmin(vector))} probability 0, expected > 0 for every value")
    return vector


def _enumerable(sizes: tuple[int, ...]) -> None:
    cells = float(np.prod(np.array(sizes, dtype=np.float64)))
    if cells > ENUMERATION_LIMIT:
        raise TooLarge(
            f"a joint table over alphabets {sizes} has {cells:.3g} entries, expected at most {ENUMERATION_LIMIT}; "
            "a Markov prior has exact posteriors at any length"
        )
