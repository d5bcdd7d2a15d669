"""What any weights could reach: every choice of scales on the surfaces, with its ratio and its losses.

λ_1 and λ_2 only pick a point of this front, so that a claim held against the whole of it needs neither of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from studies.paper.paper_claims import Results, count
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS
from studies.paper.search_surface import Surface, between

SCALES = tuple(round(0.1 * k, 1) for k in range(1, 11))
NEARLY_EQUAL = 0.02
"""A loss that much above that of EM is nearly equal."""

RELATIVE = 0.2989
"""The printed mean relative reduction."""

WAYS = {"drawn": "as drawn", "remapped": "remapped", "repaired": "repaired jointly"}
"""How a release is made, as it is said."""


@dataclass(frozen=True)
class Front:
    """Ratios and losses over all pairs of scales for one network and one ε; the last pair is EM."""

    place: tuple[str, str, float]
    ratios: tuple[float, ...]
    losses: dict[str, tuple[float, ...]]

    @property
    def falls(self) -> bool:
        """Whether some scales have a lower ratio than EM."""
        return min(self.ratios) < self.ratios[-1]

    def reduction(self, extra: float, way: str) -> float:
        """The largest fall of the ratio, in points, among scales that lose at most `extra` more than EM does.

        >>> Front(("imdb", "rnn", 2.5), (0.1, 0.15, 0.2), {"drawn": (0.4, 0.21, 0.2)}).reduction(0.02, "drawn")
        5.0
        """
        cheap = [
            r for r, loss in zip(self.ratios, self.losses[way], strict=True) if loss <= self.losses[way][-1] + extra
        ]
        return round(100 * (self.ratios[-1] - min(cheap)), 6)

    def price(self, points: float, way: str) -> float | None:
        """The least loss above that of EM at which the ratio falls by so many points; None where nothing does."""
        enough = [
            loss - self.losses[way][-1]
            for ratio, loss in zip(self.ratios, self.losses[way], strict=True)
            if 100 * (self.ratios[-1] - ratio) >= points
        ]
        return min(enough) if enough else None


def fronts(results: Results) -> list[Front]:
    """The front of every network and ε whose surface and whose losses were computed."""
    found = []
    for corpus, attacker in product(CORPORA, ATTACKERS):
        surface = results.values("table-violations", f"{corpus}-{attacker}-surface")
        losses = results.values("tradeoff", corpus)
        if surface is None or losses is None:
            continue
        grid = np.asarray(losses["grid"])
        tables = {way: np.asarray(losses["losses"][way]) for way in WAYS}
        for epsilon in EPSILONS:
            at, pairs = Surface.of(surface, epsilon), [epsilon * np.array(pair) for pair in product(SCALES, SCALES)]
            ratios = tuple(float(at.rate(pair) @ at.shares) for pair in pairs)
            by_way = {way: tuple(between(grid, table, pair) for pair in pairs) for way, table in tables.items()}
            found.append(Front((corpus, attacker, epsilon), ratios, by_way))
    return found


def reached(found: Sequence[Front], relative: float) -> list[bool]:
    """Where the ratio can fall by a share of that of EM at a loss that is nearly equal, however it is released."""
    return [
        any(front.reduction(NEARLY_EQUAL, way) >= 100 * relative * front.ratios[-1] for way in WAYS) for front in found
    ]


def fronts_said(found: Sequence[Front], relative: float) -> str:
    """In how many settings the ratio can fall so far, for what loss at least, and how far it falls for nearly none."""
    prices = {way: [front.price(100 * relative * front.ratios[-1], way) for front in found] for way in WAYS}
    reachable = count([price is not None for price in prices["drawn"]])
    paid = [
        f"{min(known):+.3f} to {max(known):+.3f} {WAYS[way]}"
        for way, mine in prices.items()
        if (known := [price for price in mine if price is not None])
    ]
    near = [
        f"{max(front.reduction(NEARLY_EQUAL, way) / (100 * front.ratios[-1]) for front in found):.1%} {says}"
        for way, says in WAYS.items()
    ]
    return (
        f"-{relative:.1%} can be had in {reachable} settings, at a loss above that of EM of {', '.join(paid)}; within "
        f"+{NEARLY_EQUAL} of it the ratio falls by at most {', '.join(near)}"
    )
