"""What the portfolio finds where every place of a document has a law of its own, with the exact posterior known.

Places are public, so what they say about a secret is no leak: in the first world secrets are independent, and the true
rate is 0. In the second, documents follow one of twelve hidden routes; in the third, two pairs of places are tied. Two
more worlds with twelve routes and one with six, all places of which have the same law, were drawn after the attackers
were finished. The verdict is asked at delta below the truth, where `certified` would be wrong, and above it, where
`violated` would be; in the first world at .00083 and .00125.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.chain_laws import PlaceClasses
from oddshift.attackers.law_attacker import log_floor
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.mechanisms import Exponential
from oddshift.model.space import Space
from studies.tables import table, write
from studies.world_laws import LENGTH, POINTS, KnownWorld, pick, plane
from studies.worlds import ABOVE, BELOW, EPSILON, SIZES, Outcome, audit_of, exact_rate

AUDITS = 8
"""Audits of each world and size."""

LEAST = 0.001
"""The rate that limits are multiples of where the truth is 0."""

ROUTES, STRAYS = 12, 0.3
"""Hidden routes, and how often a document leaves what it follows for the law of the place."""


def place_laws(rng: np.random.Generator) -> FloatArray:
    """A law for every place, (places, points)."""
    return rng.dirichlet(np.full(POINTS, 0.4), size=LENGTH)


def independent(seed: int = 1) -> KnownWorld:
    """Secrets do not depend on each other."""
    rng = np.random.default_rng([seed, 11])
    space = plane(rng)
    return _classes("independent", space, place_laws(rng)[None])


def routes(seed: int = 1, number: int = ROUTES, *, one_law: bool = False) -> KnownWorld:
    """A hidden route has one point for each place, drawn from the law there; with `one_law` all places have the first.

    World 1 was looked at while the attackers were made, and so was world 2.
    """
    rng = np.random.default_rng([seed, 12])
    space, own = plane(rng), place_laws(rng)
    own = np.tile(own[0], (LENGTH, 1)) if one_law else own
    laws = np.tile(STRAYS * own, (number, 1, 1))
    for route in laws:
        route[np.arange(LENGTH), pick(own, rng)] += 1.0 - STRAYS
    return _classes("hidden routes", space, laws)


def _classes(name: str, space: Space, laws: FloatArray) -> KnownWorld:
    def draw(n: int, rng: np.random.Generator) -> IntArray:
        kind = rng.integers(len(laws), size=n)
        return np.stack([pick(laws[kind, t], rng) for t in range(LENGTH)], axis=1)

    return KnownWorld(name, space, draw, PlaceClasses(np.full(len(laws), 1 / len(laws)), laws))


def tied(seed: int = 1) -> KnownWorld:
    """The last point is the first and the fifth a function of the second, 70 times in 100."""
    rng = np.random.default_rng([seed, 13])
    space, own = plane(rng), place_laws(rng)
    shift = rng.permutation(POINTS)
    tables = STRAYS * own[[5, 4]][:, None, :] + (1.0 - STRAYS) * np.stack([np.eye(POINTS), np.eye(POINTS)[shift]])

    def draw(n: int, rng: np.random.Generator) -> IntArray:
        values = np.stack([pick(np.tile(law, (n, 1)), rng) for law in own], axis=1)
        values[:, 5] = pick(tables[0][values[:, 0]], rng)
        values[:, 4] = pick(tables[1][values[:, 1]], rng)
        return values

    return KnownWorld("ties", space, draw, PlacedTies(own, tables))


@dataclass(frozen=True, eq=False)
class PlacedTies:
    """Places 0 and 5, and 1 and 4, through two tables of the second given the first; a law for each other place."""

    own: FloatArray
    tables: FloatArray
    width: int = 2

    def messages(self, seen: FloatArray) -> FloatArray:
        """Each tied place hears from its partner."""
        found = np.tile(log_floor(self.own), (len(seen), 1, 1))
        for given, (p, q) in zip(self.tables, ((0, 5), (1, 4)), strict=True):
            joint = self.own[p][:, None] * given
            found[:, p], found[:, q] = log_floor(seen[:, q] @ joint.T), log_floor(seen[:, p] @ joint)
        return found


PLACE_WORLDS: dict[str, Callable[[], KnownWorld]] = {
    "independent": independent,
    "hidden routes": routes,
    "ties": tied,
    "hidden routes, world 11": lambda: routes(11),
    "hidden routes, world 12": lambda: routes(12),
    "six routes, one law, world 13": lambda: routes(13, 6, one_law=True),
}


def row(name: str, size: int, rate: float, done: Sequence[Outcome]) -> list[object]:
    """One line: a world at one size."""
    found, exact = (np.array([getattr(o, f) for o in done]) for f in ("found", "exact"))
    scores = [np.mean([getattr(o, f) for o in done]) for f in ("own_score", "found_score", "exact_score")]
    ratio = f"{(found / rate).mean():.2f} ({(found / rate).min():.2f}-{(found / rate).max():.2f})" if rate else ""
    states = [[getattr(o, side) for o in done] for side in ("below", "above")]
    return [
        name,
        f"{size:,}",
        f"{rate:.2%}",
        f"{found.mean():.2%}",
        f"{exact.mean():.2%}",
        ratio,
        *(f"{score:.3f}" for score in scores),
        f"{sum(outcome.certifies(BELOW * max(rate, LEAST)) for outcome in done)} of {len(done)}" if rate else "",
        *(f"{each.count('violated')} of {len(done)}" for each in states),
    ]


def main() -> None:
    """Audit every world and write the page."""
    audits = int(sys.argv[1]) if len(sys.argv) > 1 else AUDITS
    lines = []
    for name, made in PLACE_WORLDS.items():
        world = made()
        rate = exact_rate(world, Exponential(world.space, EPSILON))
        for size in sorted(SIZES):
            done = [audit_of(world, size, seed, max(rate, LEAST)) for seed in range(audits)]
            lines.append(row(name, size, rate, done))
    header = [
        "world", "fit documents", "true rate", "found", "exact on the same documents", "found / true (range)",
        "log score own", "found", "exact", "certified below", "violated below", "violated above",
    ]  # fmt: skip
    about = " ".join((__doc__ or "").split())
    note = (
        f"Epsilon {EPSILON}; `below` is truth/1.2, `above` {ABOVE} times the truth. `own` reads each release under one "
        "law for all places; the portfolio has the law of each place as its prior, which is most of what it gains over "
        "`own` in log score and no part of the rates. Hidden routes of world 1 were overstated 1.21 times with 1,000 "
        "and 1.17 times with 5,000 documents, and 4 of 16 audits said `violated` above the truth, as long as the laws "
        "of routes were counts over one strength of the law of the place, and as long as parts that gain nothing on "
        "other documents could get weight. With 1,000 documents rates are now understated by 2 to 14 %. Worlds 1 and 2 "
        "of the routes, their audits 0 to 7 and routes under five other sets of parameters were looked at while that "
        "was changed; worlds 11 to 13 were not."
    )
    write(
        "place_worlds",
        "What the portfolio finds where places have laws of their own",
        f"{about}\n\n{table(header, lines)}\n\n{note}",
    )


if __name__ == "__main__":
    main()
