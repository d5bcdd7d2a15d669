"""Adaptation with many tiers: points that the search measures, CPU time, and the choice beside that of a full grid.

The adaptation on AG News is quoted in `stored_studies`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from benchmarks.table import Line, cpu
from oddshift.adapt import Adaptation, AdaptSettings, AdaptTask, Experiment, Goals, Measuring, adapt, crossing
from oddshift.adapt.adapting import select_experiment
from oddshift.adapt.search import TARGET, first_scales
from oddshift.attackers import ATTACKERS
from oddshift.attackers.attacker import knowledge
from oddshift.mechanisms import Mechanism, Tiered
from oddshift.model.records import Records, Split
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

WORDS = 64
LENGTH = 4
EPSILON = 3.0
FINE = {2: tuple(round(0.05 * k, 2) for k in range(2, 21)), 3: tuple(round(0.1 * k, 1) for k in range(1, 11))}
"""The scales of the full grid, by the number of tiers."""


@dataclass(frozen=True)
class Walks:
    """Documents that walk round a circle of words, in which every word belongs to one of several tiers.

    Tiers differ in how far apart their words are, so that each takes a scale of its own.
    """

    tiers: int
    documents: int = 600
    strength: float = 0.8

    @property
    def space(self) -> Space:
        angle = 2 * np.pi * np.arange(WORDS) / WORDS
        wide = 1.0 + self.labels / max(1, self.tiers - 1)
        return Space(np.stack([wide * np.cos(angle), wide * np.sin(angle)], axis=1))

    @property
    def labels(self) -> np.ndarray:
        return np.random.default_rng(1).permutation(np.arange(WORDS) % self.tiers)

    def records(self, seed: int) -> Records:
        rng, order = np.random.default_rng(seed), np.random.default_rng(7).permutation(WORDS)
        walks = [rng.integers(WORDS, size=self.documents)]
        for _ in range(LENGTH - 1):
            goes_on = rng.random(self.documents) < self.strength
            walks.append(np.where(goes_on, order[walks[-1]], rng.integers(WORDS, size=self.documents)))
        return Records.from_documents(self.space, np.stack(walks, axis=1).tolist())

    def task(self, **asked: object) -> AdaptTask:
        fit, select, certify = (self.records(seed) for seed in range(3))
        names = tuple(f"tier {k + 1}" for k in range(self.tiers))
        tiers = Tiers(self.labels, names=names, scales=(1.0,) * self.tiers, is_public=True)
        space = self.space

        def family(scaled: Tiers) -> Mechanism:
            return Tiered(space, scaled, EPSILON, keeps_tier=True)

        known = knowledge(family(tiers), tiers, fit)
        settings = AdaptSettings(**{"epsilon": EPSILON, "delta": 0.1, "remap": "never", **asked})  # type: ignore[arg-type]
        attacker = ATTACKERS["plugin"](known, np.random.default_rng(0))
        split = Split(fit=fit, select=select, certify=certify, by="document")
        return AdaptTask(split=split, known=known, family=family, attackers=(attacker,), settings=settings)


def measuring_of(task: AdaptTask) -> Measuring:
    """The search without certification: select documents, and the attacker at any scales."""
    experiment: Experiment = select_experiment(task)
    return Measuring(experiment, task.attackers[0].against)  # type: ignore[attr-defined]


def least_loss(measuring: Measuring, goals: Goals) -> float:
    """The least loss that was measured within the goals."""
    return min(p.loss for p in measuring.known.values() if goals.strain(p, share=TARGET) <= 1.0)


def searched(task: AdaptTask) -> tuple[Measuring, Goals]:
    """What an adaptation measures before it certifies."""
    measuring, goals = measuring_of(task), Goals(task.settings.delta, {})
    measuring.outcomes(first_scales(task.settings.grid, len(task.known.tiers)))
    crossing(measuring, goals)
    return measuring, goals


def full_grid(task: AdaptTask) -> Measuring:
    """Every ordered combination of fine scales."""
    measuring = measuring_of(task)
    tiers = len(task.known.tiers)
    measuring.outcomes(list(combinations_with_replacement(FINE[tiers], tiers)))
    return measuring


def run() -> list[Line]:
    lines, seconds = [], {}
    for tiers in (2, 4, 8):
        task = Walks(tiers).task()
        found, seconds[tiers] = cpu(lambda task=task: adapt(task))  # type: ignore[misc]
        assert isinstance(found, Adaptation)
        limit = {} if tiers == 2 else {"limit": "4x", "holds": seconds[tiers] <= 4 * seconds[2]}
        lines.append(
            Line(
                f"adaptation with {tiers} tiers, {len(found.grid)} measured points, {found.state}",
                f"{seconds[tiers]:.1f} s",
                ratio=f"{seconds[tiers] / seconds[2]:.2f}x",
                **limit,  # type: ignore[arg-type]
            )
        )
    for tiers in FINE:
        task = Walks(tiers).task()
        (quick, goals), fast = cpu(lambda task=task: searched(task))  # type: ignore[misc]
        full, slow = cpu(lambda task=task: full_grid(task))  # type: ignore[misc]
        ratio = least_loss(quick, goals) / least_loss(full, goals)
        what = f"loss with {tiers} tiers, {len(quick.known)} points against a grid of {len(full.known)}"
        lines.append(Line(what, f"{fast:.1f} s", f"{slow:.1f} s", f"{ratio:.4f} of its loss", "<= 1.01", ratio <= 1.01))
    return lines
