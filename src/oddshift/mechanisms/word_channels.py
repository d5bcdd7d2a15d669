"""Channels that act on the word itself, as text filters do: they mask it, delete it, substitute it, or add a character.

The paper's discussion of text-space perturbation: each is a stochastic map like any other, so its leakage is
measured the same way. Except for the mask they release the word itself some of the time, and then no ε bounds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, float_of, listed, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.model.space import Space, space_of
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=True)
class Mask(Mechanism):
    """Every point becomes the same placeholder: one output.

    **Guarantee**: ε = 0 for its own position. Its secret can still be inferred from correlated positions that
    are released.

    >>> Mask(Space([[0.0], [1.0]])).exact_epsilon
    0.0
    """

    space: Space

    def __post_init__(self) -> None:
        """Check that there are points."""
        space_of(self.space)

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """No number is needed."""
        return cls(space)

    @property
    def claimed_epsilon(self) -> float:
        """0: the output never depends on the point."""
        return 0.0

    @property
    def n_outputs(self) -> int:
        """The placeholder."""
        return 1

    @property
    def outputs(self) -> None:
        """A placeholder is not a point."""

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """log 1 for the placeholder."""
        return np.zeros((len(index), 1))

    @cached_property
    def exact_epsilon(self) -> float:
        """0, for any number of points."""
        return 0.0


@dataclass(frozen=True, eq=False, init=False)
class Deletion(Mechanism):
    """Delete the word with the given probability, otherwise keep it; its position stays visible.

    Outputs 0..n−1 are the points, output n is the gap. ε is infinite unless everything is deleted.
    """

    space: Space
    probability: float

    def __init__(self, space: Space, probability: float) -> None:
        """Probability in (0, 1]."""
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "probability", _share(probability))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With the probability of the settings; no ε is spent."""
        return cls(space, settings.stated_probability)

    @property
    def claimed_epsilon(self) -> float:
        """0 when everything is deleted, otherwise none."""
        return 0.0 if self.probability == 1.0 else inf

    @property
    def n_outputs(self) -> int:
        """The points and the gap."""
        return len(self.space) + 1

    @property
    def outputs(self) -> None:
        """A gap is not a point."""

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """log p for the gap, log(1 − p) for the word itself."""
        rows = np.zeros((len(index), self.n_outputs))
        rows[np.arange(len(index)), index] = 1.0 - self.probability
        rows[:, -1] = self.probability
        return log(rows)


@dataclass(frozen=True, eq=False, init=False)
class Substitution(Mechanism):
    """Replace the word with the given probability by one of its nearest neighbours, otherwise keep it.

    The k nearest points other than itself are equally likely; ε is infinite as soon as two supports differ.
    """

    space: Space
    probability: float
    neighbours: int

    def __init__(self, space: Space, probability: float, neighbours: int) -> None:
        """Probability in (0, 1]; fewer neighbours than points."""
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "probability", _share(probability))
        object.__setattr__(self, "neighbours", whole(neighbours, "neighbours", 1, len(space) - 1))

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """With the probability and the number of neighbours of the settings; no ε is spent."""
        return cls(space, settings.stated_probability, settings.neighbours)

    @property
    def claimed_epsilon(self) -> float:
        """None."""
        return inf

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """log(1 − p) for the word itself and log(p/k) for each neighbour."""
        distance = self.space.between(index)
        distance[np.arange(len(index)), index] = np.inf
        order = np.argsort(distance, axis=1, kind="stable")  # ties go to the lower index, for every block alike
        rows = np.zeros(distance.shape)
        np.put_along_axis(rows, order[:, : self.neighbours], self.probability / self.neighbours, axis=1)
        rows[np.arange(len(index)), index] = 1.0 - self.probability
        return log(rows)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class NoiseCharacter(Mechanism):
    """Insert, with the given probability, one uniform character at a uniform place of the word.

    Outputs are all strings that can come out, in sorted order (`strings`); ε is infinite as soon as some string
    can come from one word only.

    >>> noise = NoiseCharacter(Space([[0.0], [1.0]]), ("a", "ab"), probability=0.5, alphabet="ab")
    >>> noise.strings
    ('a', 'aa', 'aab', 'ab', 'aba', 'abb', 'ba', 'bab')
    """

    space: Space
    words: tuple[str, ...]
    probability: float
    alphabet: str

    def __init__(self, space: Space, words: Sequence[str], probability: float, alphabet: str = "") -> None:
        """One distinct word for each point; the default alphabet is a to z."""
        if not all(isinstance(word, str) for word in listed(words, "words")):
            raise InvalidInput("words has an entry that is not a string, expected one word for each point")
        letters = alphabet or "abcdefghijklmnopqrstuvwxyz"
        if len(words) != len(space_of(space)) or len(set(words)) != len(words):
            raise InvalidInput(f"{len(set(words))} distinct words, expected {len(space)}, one for each point")
        if len(set(letters)) != len(letters):
            raise InvalidInput("alphabet repeats a character, expected distinct characters")
        object.__setattr__(self, "space", space_of(space))
        object.__setattr__(self, "words", tuple(words))
        object.__setattr__(self, "probability", _share(probability))
        object.__setattr__(self, "alphabet", letters)

    def __repr__(self) -> str:
        """Sizes; never the words."""
        return f"NoiseCharacter({self.space}, probability={self.probability:g})"

    @property
    def claimed_epsilon(self) -> float:
        """None."""
        return inf

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """Every string that can come out."""
        return tuple(sorted({*self.words, *(s for word in self.words for s in self._inserted(word))}))

    @property
    def n_outputs(self) -> int:
        """Number of strings."""
        return len(self.strings)

    @property
    def outputs(self) -> None:
        """Strings are not points."""

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """Each insertion has p/((length + 1)·|alphabet|); equal strings add up."""
        rows = np.zeros((len(index), self.n_outputs))
        for row, point in enumerate(index):
            word = self.words[point]
            inserted = self._inserted(word)
            np.add.at(rows[row], [self._place[s] for s in inserted], self.probability / len(inserted))
            rows[row, self._place[word]] += 1.0 - self.probability
        return log(rows)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {string: k for k, string in enumerate(self.strings)}

    def _inserted(self, word: str) -> list[str]:
        return [word[:k] + letter + word[k:] for k in range(len(word) + 1) for letter in self.alphabet]


def _share(probability: float) -> float:
    if not 0.0 < float_of(probability, "probability") <= 1.0:
        raise InvalidInput(f"{probability=}, expected 0 < probability <= 1")
    return float(probability)
