"""AmPL under other weights of its objective, replayed on the stored surfaces: where it ends, and what that is worth.

The paper states neither λ_1 nor λ_2. A replay needs no network, so that the claims can be held against several of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from studies.paper.paper_claims import Results, count
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS
from studies.paper.search_surface import LoopWeights, Surface, replayed

RATE_WEIGHTS = (5.0, 10.0, 20.0)
"""λ_1 with λ_2 = 1: the weight of the reported cells, and larger ones."""


@dataclass(frozen=True)
class ReplayedLoop:
    """Where AmPL ends on one surface for one ε and one λ_1; ratios and losses are those of the surface, at T = 1."""

    corpus: str
    attacker: str
    epsilon: float
    weight: float
    scales: tuple[float, float]
    ratios: tuple[float, float]
    losses: tuple[float, float]

    @property
    def falls(self) -> bool:
        """Whether AmPL's ratio is below that of EM."""
        return self.ratios[1] < self.ratios[0]


def replayed_loops(results: Results, weights: Sequence[float] = RATE_WEIGHTS) -> list[ReplayedLoop]:
    """AmPL on every stored surface, for every ε and weight; EM comes first in ratios and losses."""
    found = []
    for corpus in CORPORA:
        for attacker in ATTACKERS:
            values = results.values("table-violations", f"{corpus}-{attacker}-surface")
            if values is None:
                continue
            for epsilon in EPSILONS:
                surface = Surface.of(values, epsilon)
                found += [_replayed_loop((corpus, attacker), surface, epsilon, weight) for weight in weights]
    return found


def _replayed_loop(where: tuple[str, str], surface: Surface, epsilon: float, weight: float) -> ReplayedLoop:
    scales = replayed(surface, epsilon, "AmPL", LoopWeights(rate=weight))
    plain, scaled = epsilon * np.ones(2), epsilon * np.asarray(scales)
    return ReplayedLoop(
        *where,
        epsilon,
        weight,
        scales,
        ratios=(float(surface.rate(plain) @ surface.shares), float(surface.rate(scaled) @ surface.shares)),
        losses=(float(surface.loss(plain) @ surface.weights), float(surface.loss(scaled) @ surface.weights)),
    )


def weights_compared(loops: Sequence[ReplayedLoop]) -> str:
    """In how many settings AmPL falls under each weight, and how much it loses on average."""
    parts = []
    for weight in sorted({loop.weight for loop in loops}):
        mine = [loop for loop in loops if loop.weight == weight]
        drop = float(np.mean([100 * (loop.ratios[0] - loop.ratios[1]) for loop in mine]))
        loss = [float(np.mean([loop.losses[k] for loop in mine])) for k in range(2)]
        parts.append(
            f"λ_1 = {weight:g}: lower in {count([loop.falls for loop in mine])}, by {drop:.2f} points on average, at a "
            f"loss of {loss[1]:.3f} for {loss[0]:.3f}"
        )
    return "; ".join(parts)


def weights_in_short(loops: Sequence[ReplayedLoop]) -> str:
    """In how many settings AmPL falls under each weight, and nothing else."""
    weights = sorted({loop.weight for loop in loops})
    return ", ".join(f"{count([w.falls for w in loops if w.weight == each])} at λ_1 = {each:g}" for each in weights)
