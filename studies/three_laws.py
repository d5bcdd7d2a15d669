"""Worlds with a known posterior in which a value is decided by two others and no pair shows it.

Sums, check digits, codes that are looked up, also by some documents only, parities; two codes that share a place, and
four of them in a ring. There are 8 to 16 values and 4 to 9 places. Each alone and next to an ordinary tie, in which the
last place repeats the one before it. Parameters are drawn by the seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from oddshift.attackers.cherry_tree import Cherry, CherryTree, PlaceTrees
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.space import Space
from studies.world_laws import KnownWorld

SIDE, SHARE = 5.0, 0.9
"""Side of the square that the values are drawn from, and how often the tied place repeats the one before it."""

Decide = Callable[[int, np.random.Generator], FloatArray]
"""Pr[value | two others], (points, points, points), for a number of points."""


def total(points: int, rng: np.random.Generator) -> FloatArray:
    """The sum of both, counted round, 19 times in 20; otherwise any value."""
    return _noisy(np.add.outer(np.arange(points), np.arange(points)) % points, points, 0.95)


def check_digit(points: int, rng: np.random.Generator) -> FloatArray:
    """A weighted sum, always."""
    units = [k for k in range(1, points) if np.gcd(k, points) == 1]
    weights = rng.choice(units, size=2)
    return _noisy(np.add.outer(*(w * np.arange(points) for w in weights)) % points, points, 1.0)


def code(points: int, rng: np.random.Generator) -> FloatArray:
    """A Latin square without any order, always."""
    square = np.add.outer(rng.permutation(points), rng.permutation(points)) % points
    return _noisy(rng.permutation(points)[square], points, 1.0)


def faint_code(points: int, rng: np.random.Generator) -> FloatArray:
    """A code that a tenth to a half of the documents follow."""
    return float(share := rng.uniform(0.1, 0.5)) * code(points, rng) + (1.0 - share) / points


def parity(points: int, rng: np.random.Generator) -> FloatArray:
    """The parity of both in every binary digit, 19 times in 20; there are 8 or 16 values."""
    return _noisy(np.bitwise_xor.outer(np.arange(points), np.arange(points)), points, 0.95)


def _noisy(values: IntArray, points: int, share: float) -> FloatArray:
    return np.asarray(share * np.eye(points)[values] + (1.0 - share) / points)


def world(name: str, decide: Decide, tie: bool, seed: int) -> KnownWorld:
    """One value of 3 to 6 places is decided by two others; with a tie there is one more place."""
    rng = np.random.default_rng([seed, 21, tie])
    points, places = 2 * int(rng.integers(4, 9)), int(rng.integers(4, 7))
    points = points if decide is not parity else 8 if points < 12 else 16
    a, b, c = (int(p) for p in rng.permutation(places - tie)[:3])
    flat = np.full(points, 1.0 / points)
    cherries = [Cherry(p, (), flat) for p in range(places) if p not in (b, c)]
    cherries += [Cherry(b, (a,), np.tile(flat, (points, 1))), Cherry(c, (a, b), decide(points, rng))]
    return _drawn(name, points, cherries, tie, rng)


def shared(name: str, tie: bool, seed: int) -> KnownWorld:
    """Two codes that share a place: x_2 from x_0 and x_1, x_4 from x_1 and x_3."""
    rng = np.random.default_rng([seed, 22, tie])
    points = int(rng.integers(8, 17))
    flat = np.full(points, 1.0 / points)
    rows = np.tile(flat, (points, 1))
    cherries = [Cherry(0, (), flat), Cherry(1, (0,), rows), Cherry(2, (0, 1), code(points, rng))]
    cherries += [Cherry(3, (1,), rows), Cherry(4, (1, 3), code(points, rng))]
    return _drawn(name, points, cherries, tie, rng)


def ring(name: str, tie: bool, seed: int) -> KnownWorld:
    """Four codes in a ring: x_4 from x_0 and x_1, x_5 from x_1 and x_2, x_6 from x_2 and x_3, x_7 from x_3 and x_0."""
    rng = np.random.default_rng([seed, 23, tie])
    points = int(rng.integers(8, 13))
    flat = np.full(points, 1.0 / points)
    free = [np.broadcast_to(flat, (points,) * k) for k in (1, 2, 3)]
    above = [(), (0,), (0, 1), (0, 2)]
    cherries = [Cherry(p, parents, free[len(parents)]) for p, parents in enumerate(above)]
    cherries += [Cherry(4 + p, pair, code(points, rng)) for p, pair in enumerate([(0, 1), (1, 2), (2, 3), (0, 3)])]
    return _drawn(name, points, cherries, tie, rng)


def _drawn(name: str, points: int, cherries: list[Cherry], tie: bool, rng: np.random.Generator) -> KnownWorld:
    """The world of some cherries; with a tie one more place repeats the last one."""
    flat = np.full(points, 1.0 / points)
    if tie:
        last = len(cherries)
        cherries = [*cherries, Cherry(last, (last - 1,), SHARE * np.eye(points) + (1.0 - SHARE) / points)]
    law = CherryTree(tuple(cherries))

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        return law.draw([np.ones((n, points))] * len(cherries), rng)

    dense = PlaceTrees({len(cherries): law}, flat)
    return KnownWorld(name, Space(SIDE * rng.random((points, 2))), draw, dense)


def _all() -> Iterator[tuple[str, Callable[[int], KnownWorld]]]:
    for tie in (False, True):
        beside = " next to a tie" if tie else ""
        kinds = {"sum": total, "check digit": check_digit, "code": code, "parity": parity}
        kinds |= {"faint code": faint_code} if tie else {}
        for name, decide in kinds.items():
            yield name + beside, partial(world, name + beside, decide, tie)
        yield "two codes" + beside, partial(shared, "two codes" + beside, tie)
        yield "ring of codes" + beside, partial(ring, "ring of codes" + beside, tie)


THREES: dict[str, Callable[[int], KnownWorld]] = dict(_all())
