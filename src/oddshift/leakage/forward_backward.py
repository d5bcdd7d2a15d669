"""Forward-backward: what the outputs on both sides of a position say about its secret, for any chain of secrets.

left_{t+1} = (left_t · seen_t) T_t and right_{t-1} = T_{t-1} (right_t · seen_t); the posterior of position t is
left_t · seen_t · right_t up to a constant. The recursion exists only here. Transitions are a protocol, so that a small
dense chain, a batch of documents and a sparse chain over a large vocabulary share it; `Arithmetic` says whether
messages are numbers rescaled to a peak of one (fast) or logarithms (exact however small they are).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oddshift.base.arrays import FloatArray
from oddshift.base.logarithms import log_apply


class Steps(Protocol):
    """The transitions of a chain, applied to messages whose last axis is the value of the secret."""

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_a mass(a)·T_t(a, b): from position t to position t + 1."""

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_b T_t(a, b)·mass(b): from position t + 1 to position t."""


@dataclass(frozen=True, eq=False, repr=False)
class DenseSteps:
    """One (K, K) matrix for each step, for batches of messages (..., K)."""

    transitions: FloatArray

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """Multiply from the left."""
        moved: FloatArray = mass @ self.transitions[t]
        return moved

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """Multiply from the right."""
        moved: FloatArray = mass @ self.transitions[t].T
        return moved


@dataclass(frozen=True, eq=False, repr=False)
class LogSteps:
    """One (K, K) matrix for each step, for one message (K,) of logarithms."""

    transitions: FloatArray

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """log Σ_a exp(mass(a))·T(a, b)."""
        return log_apply(mass, self.transitions[t])

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """log Σ_b T(a, b)·exp(mass(b))."""
        return log_apply(mass, self.transitions[t].T)


@dataclass(frozen=True, eq=False, repr=False)
class Message:
    """Values of a message and, for every row of it, the logarithm of what was divided out."""

    values: FloatArray
    log_scale: FloatArray


@dataclass(frozen=True)
class Arithmetic:
    """How messages are multiplied and kept in range."""

    times: Callable[[FloatArray, FloatArray], FloatArray]
    one: float
    rescaled: Callable[[FloatArray], tuple[FloatArray, FloatArray]]


def _to_peak_of_one(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    peak = values.max(axis=-1)
    return values / peak[..., None], np.log(peak)


def _unchanged(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    return values, np.zeros(values.shape[:-1])


SCALED = Arithmetic(np.multiply, 1.0, _to_peak_of_one)
"""Probabilities, each message divided by its largest entry."""

LOGARITHMS = Arithmetic(np.add, 0.0, _unchanged)
"""Log probabilities, as they are."""


def forward(
    first: FloatArray, seen: Sequence[FloatArray], steps: Steps, arithmetic: Arithmetic = SCALED
) -> list[Message]:
    """The message from the left at every position: the law of its secret and of all outputs before it.

    `first` is the law of the first secret, (..., K), and seen[t] the likelihood of the output at t for every value.
    """
    messages = [Message(first, np.zeros(first.shape[:-1]))]
    for t in range(len(seen) - 1):
        values, grown = arithmetic.rescaled(steps.ahead(t, arithmetic.times(messages[-1].values, seen[t])))
        messages.append(Message(values, messages[-1].log_scale + grown))
    return messages


def both_sides(
    first: FloatArray, seen: Sequence[FloatArray], steps: Steps, arithmetic: Arithmetic = SCALED
) -> Iterator[tuple[int, Message, Message]]:
    """(t, from the left, from the right) for every position, the last one first; the output at t is in neither.

    >>> steps = DenseSteps(np.array([[[0.9, 0.1], [0.2, 0.8]]]))
    >>> seen = [np.array([0.7, 0.3]), np.array([0.4, 0.6])]
    >>> sides = {t: left.values * right.values for t, left, right in both_sides(np.array([0.5, 0.5]), seen, steps)}
    >>> found = sides[0] * seen[0]
    >>> (found / found.sum()).round(4)  # 0.35·(0.9·0.4 + 0.1·0.6) against 0.15·(0.2·0.4 + 0.8·0.6)
    array([0.6364, 0.3636])
    """
    lefts = forward(first, seen, steps, arithmetic)
    last = lefts[-1]  # the values of the last secret may be others than those of the first
    right = Message(np.full_like(last.values, arithmetic.one), np.zeros_like(last.log_scale))
    for t in range(len(seen) - 1, -1, -1):
        yield t, lefts[t], right
        if t:
            values, grown = arithmetic.rescaled(steps.back(t - 1, arithmetic.times(right.values, seen[t])))
            right = Message(values, right.log_scale + grown)
