"""Five worlds whose exact posterior is known: 30 points in the plane, 6 positions, each with another dependence.

A world draws documents and gives, for likelihoods of all positions, the true message of the others to each: the
posterior without the own release. The true context term is that message against the one without any output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.chain_laws import RegimeChains
from oddshift.attackers.law_attacker import DenseLaw, log_floor
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.space import Space

POINTS, LENGTH = 30, 6


@dataclass(frozen=True, eq=False)
class KnownWorld:
    """A space, a way to draw documents (n, LENGTH), and the true law."""

    name: str
    space: Space
    draw: Callable[[int, np.random.Generator], IntArray]
    law: DenseLaw

    def records(self, n: int, rng: np.random.Generator) -> Records:
        """Fresh documents."""
        return Records.from_documents(self.space, list(self.draw(n, rng)))


def plane(rng: np.random.Generator) -> Space:
    """Points drawn uniformly from a square of side 4."""
    return Space(4.0 * rng.random((POINTS, 2)))


def pick(rows: FloatArray, rng: np.random.Generator) -> IntArray:
    """One value from each row of probabilities."""
    return np.asarray((np.cumsum(rows, axis=1) < rng.random((len(rows), 1))).sum(axis=1).clip(max=rows.shape[1] - 1))


def walk(seed: int = 1) -> KnownWorld:
    """Each step goes to a near point: probability falls as exp(−d/0.35)."""
    rng = np.random.default_rng([seed, 1])
    space = plane(rng)
    step = np.exp(-space.distances / 0.35)
    np.fill_diagonal(step, 0.3)
    return _regimes("local walk", space, step[None] / step.sum(axis=1)[None, :, None])


def regimes(seed: int = 1) -> KnownWorld:
    """Six hidden regimes, each a permutation that is followed 85 times in 100."""
    rng = np.random.default_rng([seed, 2])
    space = plane(rng)
    steps = np.full((6, POINTS, POINTS), 0.15 / POINTS)
    for step in steps:
        step[np.arange(POINTS), rng.permutation(POINTS)] += 0.85
    return _regimes("hidden regimes", space, steps)


def _regimes(name: str, space: Space, steps: FloatArray) -> KnownWorld:
    law = RegimeChains(np.full(len(steps), 1 / len(steps)), np.full((len(steps), POINTS), 1 / POINTS), steps)

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        regime, values = rng.integers(len(steps), size=n), np.empty((n, LENGTH), dtype=np.int64)
        values[:, 0] = rng.integers(POINTS, size=n)
        for t in range(1, LENGTH):
            values[:, t] = pick(steps[regime, values[:, t - 1]], rng)
        return values

    return KnownWorld(name, space, draw, law)


def second_order(seed: int = 1) -> KnownWorld:
    """The next point is a fixed function of the last two 80 times in 100; one of them alone says nothing."""
    rng = np.random.default_rng([seed, 3])
    space, shift = plane(rng), rng.permutation(POINTS)
    a, b = np.meshgrid(np.arange(POINTS), np.arange(POINTS), indexing="ij")
    steps = np.full((POINTS, POINTS, POINTS), 0.2 / POINTS)  # [b, a, c]
    steps[b, a, shift[(a + 7 * b) % POINTS]] += 0.8
    flat = np.full(POINTS, 1 / POINTS)
    law = SecondOrder(flat, np.full((POINTS, POINTS), 1 / POINTS), steps)

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = rng.integers(POINTS, size=(n, LENGTH))
        for t in range(2, LENGTH):
            values[:, t] = pick(steps[values[:, t - 1], values[:, t - 2]], rng)
        return values

    return KnownWorld("second order", space, draw, law)


@dataclass(frozen=True, eq=False, repr=False)
class SecondOrder:
    """First law (points,), first step (points, points), and step[b, a, c] = Pr[c | a before b], (points,)·3."""

    first: FloatArray
    second: FloatArray
    steps: FloatArray

    @property
    def width(self) -> int:
        """A message over pairs, from both sides."""
        return 2 * len(self.first)

    def messages(self, seen: FloatArray) -> FloatArray:
        """Forward-backward over pairs (b, documents, a): a stands one position before b."""
        length = seen.shape[1]
        if length == 1:
            return np.broadcast_to(log_floor(self.first), seen.shape).copy()
        found, lefts = np.empty_like(seen), [self._start(seen)]
        for t in range(2, length):
            lefts.append(_to_one(self._ahead(lefts[-1], seen[:, t - 1])))
        right = np.ones_like(lefts[0])
        for t in range(length - 1, 0, -1):
            both = lefts[t - 1] * right  # (b at t, documents, a at t − 1), the output at a in, that at b not
            found[:, t] = log_floor(both.sum(axis=2).T)
            if t == 1:
                found[:, 0] = self._at_first(right, seen[:, 1])
            else:
                right = _to_one(self._back(right, seen[:, t]))
        return found

    def _start(self, seen: FloatArray) -> FloatArray:
        """The message to position 1: (b, documents, a)."""
        return np.asarray((self.first * self.second.T)[:, None, :] * seen[None, :, 0, :])

    def _ahead(self, left: FloatArray, seen: FloatArray) -> FloatArray:
        """(b, d, a) -> (c, d, b): Σ_a left(a, b)·step[b, a, c], times what is seen at b."""
        moved = np.matmul(left, self.steps)  # (b, d, c)
        return np.asarray(np.transpose(moved, (2, 1, 0)) * seen[None])

    def _back(self, right: FloatArray, seen: FloatArray) -> FloatArray:
        """(c, d, b) -> (b, d, a): Σ_c step[b, a, c]·seen(c)·right(b, c)."""
        weighed = right * seen.T[:, :, None]
        return np.asarray(np.matmul(np.transpose(weighed, (2, 1, 0)), np.swapaxes(self.steps, 1, 2)))

    def _at_first(self, right: FloatArray, seen: FloatArray) -> FloatArray:
        """Σ_b first(a)·second(a, b)·seen(b)·right(a, b), in logarithms (documents, a)."""
        weighed = right * seen.T[:, :, None]
        return log_floor(self.first * np.einsum("bda,ab->da", weighed, self.second, optimize=True))


def _to_one(message: FloatArray) -> FloatArray:
    """Each document's message divided by its peak; what was divided out is the same for all values."""
    return np.asarray(message / np.maximum(message.max(axis=(0, 2), keepdims=True), 1e-300))


def copies(seed: int = 1, share: float = 0.5) -> KnownWorld:
    """Each position copies a uniform earlier one with probability one half, otherwise it is drawn anew."""
    rng = np.random.default_rng([seed, 4])
    space = plane(rng)
    prior = rng.dirichlet(np.full(POINTS, 3.0))

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = pick(np.broadcast_to(prior, (n * LENGTH, POINTS)), rng).reshape(n, LENGTH)
        for t in range(1, LENGTH):
            source = rng.integers(t, size=n)
            values[:, t] = np.where(rng.random(n) < share, values[np.arange(n), source], values[:, t])
        return values

    return KnownWorld("copies", space, draw, CopyLaw(prior, share))


@dataclass(frozen=True, eq=False)
class CopyLaw:
    """Documents as partitions: the positions of a block hold one value, and blocks are independent."""

    prior: FloatArray
    share: float
    width: int = 2

    def messages(self, seen: FloatArray) -> FloatArray:
        """Sum over all partitions of the positions (203 of six)."""
        total = np.zeros_like(seen)
        for chance, blocks in partitions(seen.shape[1], self.share):
            inside = [self.prior * np.prod(seen[:, block], axis=1) for block in blocks]
            mass = [value.sum(axis=1) for value in inside]
            for k, block in enumerate(blocks):
                others = np.prod([mass[j] for j in range(len(blocks)) if j != k], axis=0) * np.ones(len(seen))
                for t in block:
                    rest = [s for s in block if s != t]
                    mine = (
                        self.prior * np.prod(seen[:, rest], axis=1) if rest else self.prior * np.ones_like(seen[:, t])
                    )
                    total[:, t] += chance * others[:, None] * mine
        return log_floor(total)


def partitions(length: int, share: float) -> Iterator[tuple[float, list[list[int]]]]:
    """Every partition of the positions with its probability: position t joins a block of k with share·k/t."""
    found: list[tuple[float, list[list[int]]]] = [(1.0, [[0]])]
    for t in range(1, length):
        grown = []
        for chance, blocks in found:
            grown.append((chance * (1 - share), [*blocks, [t]]))
            for k, block in enumerate(blocks):
                joined = [[*b, t] if j == k else b for j, b in enumerate(blocks)]
                grown.append((chance * share * len(block) / t, joined))
        found = grown
    yield from found


def ties(seed: int = 1) -> KnownWorld:
    """The last point is the first and the fifth a function of the second, 90 times in 100; nothing else depends."""
    rng = np.random.default_rng([seed, 5])
    space, shift = plane(rng), rng.permutation(POINTS)
    same = np.full((2, POINTS, POINTS), 0.1 / POINTS)
    same[0] += 0.9 * np.eye(POINTS)
    same[1, np.arange(POINTS), shift] += 0.9

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = rng.integers(POINTS, size=(n, LENGTH))
        values[:, 5] = pick(same[0][values[:, 0]], rng)
        values[:, 4] = pick(same[1][values[:, 1]], rng)
        return values

    return KnownWorld("distant ties", space, draw, TieLaw(same))


@dataclass(frozen=True, eq=False)
class TieLaw:
    """Places 0 and 5, and 1 and 4, through two tables; all values equally likely."""

    tables: FloatArray
    width: int = 2

    def messages(self, seen: FloatArray) -> FloatArray:
        """Each tied place hears from its partner."""
        found = np.zeros_like(seen)
        for table, (p, q) in zip(self.tables, ((0, 5), (1, 4)), strict=True):
            found[:, p], found[:, q] = log_floor(seen[:, q] @ table.T), log_floor(seen[:, p] @ table)
        return found


WORLDS: dict[str, Callable[[int], KnownWorld]] = {
    "local walk": walk,
    "hidden regimes": regimes,
    "second order": second_order,
    "copies": copies,
    "distant ties": ties,
}
