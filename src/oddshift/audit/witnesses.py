"""Witnesses from records: a guess game on fresh documents, which trusts no attacker and no model.

Documents are compared only within a stratum (same length, same place, same public tiers), where what an attacker knows
beforehand about the place is the same. In each stratum a pair of values is frozen on the select split; on the certify
split a fair coin says which of the two the next document must hold, and the attacker guesses from the outputs alone,
abstaining unless it believes the leakage to exceed ε. Every document is used once; all rounds are pooled.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from oddshift.arrays import FloatArray, IntArray
from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.audit.result import Settings
from oddshift.records import Records, Split
from oddshift.release import Release, perturb
from oddshift.witness import Witness, pooled_log_e, witness_of

FREQUENT = 48
"""Values among which pairs are looked for: the most frequent of the fit records."""

MOST_PAIRS = 40
"""Pairs frozen for the game, over all strata."""

FEWEST = 3
"""Documents of the select split that must hold a value before it is looked at."""

Stratum = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class _Places:
    """One place of each document: its stratum, its true value, and the attacker's shift of the frequent values."""

    strata: list[Stratum]
    truth: IntArray
    shift: FloatArray


def search_witness(attacker: Attacker, split: Split, known: Knowledge, settings: Settings) -> Witness | None:
    """Freeze pairs on the select split, play on the certify split; None when no pair occurs often enough.

    **Guarantee**: the lower bound is too high with probability at most `settings.alpha`, whatever the attacker.
    """
    seeds = [np.random.default_rng(s) for s in np.random.SeedSequence([settings.seed, 7]).spawn(2)]
    frequent = np.argsort(-split.fit.counts(), kind="stable")[:FREQUENT]
    frozen = _freeze(_places(attacker, split.select, known, frequent, seeds[0]), known, frequent, settings.epsilon)
    if not frozen:
        return None
    places = _places(attacker, split.certify, known, frequent, seeds[1])
    rounds = _play(places, frozen, frequent, settings.epsilon, seeds[1])
    if not rounds:
        return None
    distances = tuple(sorted(rounds))
    counts = tuple(n for d in distances for n in rounds[d])
    return witness_of(
        "pooled",
        counts,
        distances,
        alpha=settings.alpha,
        epsilon=settings.epsilon,
        event=f"guess of attacker {attacker.name} between {len(frozen)} frozen pairs",
    )


def _places(
    attacker: Attacker, secrets: Records, known: Knowledge, frequent: IntArray, rng: np.random.Generator
) -> _Places:
    """One uniform place of each document, with what the attacker believes there."""
    release = perturb(secrets, known.mechanism, known.tiers, rng)
    filled = np.flatnonzero(secrets.lengths)
    chosen = secrets.offsets[filled] + rng.integers(0, secrets.lengths[filled])
    row = np.full(len(secrets.points), -1)
    row[chosen] = np.arange(len(chosen))
    shift = np.empty((len(chosen), len(frequent)))
    for block in attacker.beliefs(release):
        mine = row[block.positions] >= 0
        shift[row[block.positions[mine]]] = block.shift[np.ix_(np.flatnonzero(mine), frequent)]
    strata = [_stratum(release, int(d), int(p)) for d, p in zip(filled, chosen, strict=True)]
    return _Places(strata, secrets.points[chosen], shift)


def _stratum(release: Release, document: int, position: int) -> Stratum:
    start, end = release.offsets[document], release.offsets[document + 1]
    tiers = () if release.position_tiers is None else tuple(int(t) for t in release.position_tiers[start:end])
    return (int(end - start), int(position - start), *tiers)


def _freeze(
    places: _Places, known: Knowledge, frequent: IntArray, epsilon: float
) -> dict[tuple[Stratum, int, int], float]:
    """The (stratum, a, b) whose guesses on these documents give the most evidence, with their distance."""
    members: dict[Stratum, list[int]] = defaultdict(list)
    for row, stratum in enumerate(places.strata):
        members[stratum].append(row)
    column = {int(point): k for k, point in enumerate(frequent)}
    points = known.mechanism.space.points[frequent]
    distances = known.mechanism.space.metric.between(points, points)
    allowed = known.tiers.comparable(frequent, frequent)
    scored = []
    for stratum, rows in members.items():
        held = np.array([column.get(int(places.truth[r]), -1) for r in rows])
        values, counts = np.unique(held[held >= 0], return_counts=True)
        present = [int(v) for v in values[counts >= FEWEST]]
        for i, a in enumerate(present):
            for b in present[i + 1 :]:
                distance = float(distances[a, b])
                if not allowed[a, b]:
                    continue
                here = np.array(rows)[(held == a) | (held == b)]
                correct, guesses = _count(places, here, (a, b), frequent, epsilon * distance)
                if guesses:
                    scored.append((pooled_log_e([(distance, correct, guesses)], epsilon), (stratum, a, b), distance))
    best = sorted((s for s in scored if s[0] > 0), key=lambda s: -s[0])[:MOST_PAIRS]
    return {key: distance for _, key, distance in best}


def _count(
    places: _Places, rows: IntArray, pair: tuple[int, int], frequent: IntArray, threshold: float
) -> tuple[int, int]:
    a, b = pair
    lean = places.shift[rows, a] - places.shift[rows, b]
    guessed = np.abs(lean) > threshold
    right = (lean > 0) == (places.truth[rows] == frequent[a])
    return int((right & guessed).sum()), int(guessed.sum())


def _play(
    places: _Places,
    frozen: dict[tuple[Stratum, int, int], float],
    frequent: IntArray,
    epsilon: float,
    rng: np.random.Generator,
) -> dict[float, tuple[int, int]]:
    """Rounds of the game: distance → (correct, guesses)."""
    waiting: dict[tuple[Stratum, int], list[int]] = defaultdict(list)
    column = {int(point): k for k, point in enumerate(frequent)}
    for row, stratum in enumerate(places.strata):
        waiting[stratum, column.get(int(places.truth[row]), -1)].append(row)
    result: dict[float, tuple[int, int]] = {}
    for (stratum, a, b), distance in frozen.items():
        used = []
        while True:
            side = (a, b)[int(rng.integers(0, 2))]
            if not waiting[stratum, side]:
                break
            used.append(waiting[stratum, side].pop())
        correct, guesses = _count(places, np.array(used, dtype=np.int64), (a, b), frequent, epsilon * distance)
        before = result.get(distance, (0, 0))
        if guesses:
            result[distance] = (before[0] + correct, before[1] + guesses)
    return result
