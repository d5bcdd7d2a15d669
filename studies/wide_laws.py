"""Worlds over more points than a table of every pair of places allows, whose exact posterior is known: 6 positions.

Each has one dependence that neighbours do not show: the last point is a function of the first, each point of the one
two before it or of both before it, or six hidden regimes give each point another successor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.chain_laws import RegimeChains
from oddshift.attackers.law_attacker import log_floor
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.space import Space
from studies.world_laws import LENGTH, KnownWorld, pick

POINTS = 150
SIDE = 4.0
"""Side of the square, whatever the number of points."""


def square(points: int, rng: np.random.Generator) -> Space:
    """Points drawn uniformly from the square."""
    return Space(SIDE * rng.random((points, 2)))


def functions(points: int, how_many: int, share: float, rng: np.random.Generator) -> FloatArray:
    """Transitions (functions, points, points): each a permutation that is followed with this share."""
    steps = np.full((how_many, points, points), (1.0 - share) / points)
    for step in steps:
        step[np.arange(points), rng.permutation(points)] += share
    return steps


def first_and_last(seed: int = 1, points: int = POINTS) -> KnownWorld:
    """The last point is a function of the first 90 times in 100; nothing else depends."""
    rng = np.random.default_rng([seed, 11])
    space, step = square(points, rng), functions(points, 1, 0.9, rng)[0]

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = rng.integers(points, size=(n, LENGTH))
        values[:, -1] = pick(step[values[:, 0]], rng)
        return values

    return KnownWorld("first and last", space, draw, EndsLaw(step))


@dataclass(frozen=True, eq=False)
class EndsLaw:
    """The first and the last place through one table; all values equally likely."""

    step: FloatArray
    width: int = 2

    def messages(self, seen: FloatArray) -> FloatArray:
        """Both ends hear from each other."""
        found = np.zeros_like(seen)
        found[:, 0], found[:, -1] = log_floor(seen[:, -1] @ self.step.T), log_floor(seen[:, 0] @ self.step)
        return found


def skip(seed: int = 1, points: int = POINTS) -> KnownWorld:
    """Each point is a function of the one two before it 85 times in 100; neighbours are independent."""
    rng = np.random.default_rng([seed, 12])
    space, steps = square(points, rng), functions(points, 1, 0.85, rng)

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = rng.integers(points, size=(n, LENGTH))
        for t in range(2, LENGTH):
            values[:, t] = pick(steps[0, values[:, t - 2]], rng)
        return values

    flat = np.full((1, points), 1.0 / points)
    return KnownWorld("skip", space, draw, EveryOther(RegimeChains(np.ones(1), flat, steps)))


@dataclass(frozen=True, eq=False)
class EveryOther:
    """Two independent chains in turn: at even places and at odd ones."""

    chain: RegimeChains
    width: int = 2

    def messages(self, seen: FloatArray) -> FloatArray:
        """Each place hears from those of its chain."""
        found = np.empty_like(seen)
        for start in range(2):
            found[:, start::2] = self.chain.messages(seen[:, start::2])
        return found


def regimes(seed: int = 1, points: int = POINTS) -> KnownWorld:
    """Six hidden regimes, each a permutation that is followed 85 times in 100."""
    rng = np.random.default_rng([seed, 13])
    space, steps = square(points, rng), functions(points, 6, 0.85, rng)

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        regime, values = rng.integers(len(steps), size=n), rng.integers(points, size=(n, LENGTH))
        for t in range(1, LENGTH):
            values[:, t] = pick(steps[regime, values[:, t - 1]], rng)
        return values

    law = RegimeChains(np.full(6, 1 / 6), np.full((6, points), 1 / points), steps)
    return KnownWorld("hidden regimes", space, draw, law)


def two_before(seed: int = 1, points: int = POINTS) -> KnownWorld:
    """Each point has three successors, and the one before it says which 90 times in 100; otherwise any of the three."""
    rng = np.random.default_rng([seed, 14])
    space, order = square(points, rng), rng.permutation(points)
    onward = order[(np.argsort(order)[:, None] + np.array([1, 5, 17])) % points]  # three permutations that never agree
    turns, which = np.argsort(rng.random((points, 3)), axis=1), np.zeros((points, points), dtype=np.int64)
    which[np.arange(points)[:, None], onward] = turns[onward, np.arange(3)]  # all points stay equally likely

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = rng.integers(points, size=(n, LENGTH))
        for t in range(1, LENGTH):
            here, free = values[:, t - 1], rng.integers(3, size=n)
            said = which[values[:, t - 2], here] if t > 1 else free
            values[:, t] = onward[here, np.where(rng.random(n) < 0.9, said, free)]
        return values

    return KnownWorld("two before", space, draw, SuccessorLaw(onward, which, 0.9))


@dataclass(frozen=True, eq=False)
class SuccessorLaw:
    """Paths in which each value has few successors: a state is a value with the number of the successor it takes."""

    onward: IntArray
    which: IntArray
    share: float
    width: int = 8

    def messages(self, seen: FloatArray) -> FloatArray:
        """Forward-backward over (value, number of its successor), (documents, points, successors)."""
        found, lefts = np.empty_like(seen), [np.full((len(seen), *self.onward.shape), 1.0 / self.onward.size)]
        for t in range(seen.shape[1] - 1):
            lefts.append(_to_one(self._ahead(lefts[-1] * seen[:, t, :, None])))
        right = np.ones_like(lefts[0])
        for t in range(seen.shape[1] - 1, -1, -1):
            found[:, t] = log_floor((lefts[t] * right).sum(axis=2))
            right = _to_one(self._back(right * seen[:, t, :, None])) if t else right
        return found

    def _ahead(self, mass: FloatArray) -> FloatArray:
        few = self.onward.shape[1]
        moved = np.zeros_like(mass)
        for k in range(few):
            a, b = np.arange(len(self.onward)), self.onward[:, k]
            for j in range(few):
                chance = self.share * (self.which[a, b] == j) + (1.0 - self.share) / few
                moved[:, b, j] += mass[:, :, k] * chance  # b is a permutation
        return moved

    def _back(self, mass: FloatArray) -> FloatArray:
        few = self.onward.shape[1]
        moved = np.zeros_like(mass)
        for k in range(few):
            a, b = np.arange(len(self.onward)), self.onward[:, k]
            for j in range(few):
                chance = self.share * (self.which[a, b] == j) + (1.0 - self.share) / few
                moved[:, :, k] += mass[:, b, j] * chance
        return moved


def _to_one(message: FloatArray) -> FloatArray:
    return np.asarray(message / np.maximum(message.max(axis=(1, 2), keepdims=True), 1e-300))


WIDE_WORLDS: dict[str, Callable[[int], KnownWorld]] = {
    "first and last, 150 points": first_and_last,
    "skip, 150 points": skip,
    "two before, 150 points": two_before,
    "hidden regimes, 150 points": regimes,
}
