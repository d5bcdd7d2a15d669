"""Examples: what an attacker comes to believe about a few documents. They hold SECRETS and are made only on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.audit.beliefs import TierBeliefs, tier_beliefs
from oddshift.base.arrays import FloatArray
from oddshift.base.logarithms import log_normalise
from oddshift.model.records import Records
from oddshift.model.release import Release

SHOWN_CANDIDATES = 3
"""Number of candidates shown from each posterior, the most believed first."""


@dataclass(frozen=True, repr=False)
class Example:
    """One position: the secret, what was released, how far belief in the truth went, and what is believed now."""

    document: int
    position: int
    tier: str
    secret: str
    released: str
    prior: float
    posterior: float
    candidates: tuple[tuple[str, float], ...]


def examples(
    attacker: Attacker, secrets: Records, release: Release, known: Knowledge, names: Sequence[str] | None
) -> tuple[Example, ...]:
    """Every position of a release of the given documents; `names` are the points' words; without them numbers are
    shown.
    """
    found = []
    for block in tier_beliefs(attacker, release, secrets, known.tiers):
        before = np.exp(log_normalise(np.broadcast_to(block.log_prior, block.shift.shape)))
        after = np.exp(log_normalise(block.score))
        for row, position in enumerate(block.positions):
            top = np.argsort(-after[row], kind="stable")[:SHOWN_CANDIDATES]
            document = int(secrets.document_of_position[position])
            found.append(
                Example(
                    document=document,
                    position=int(position - secrets.offsets[document]),
                    tier=known.tiers.names[block.tier],
                    secret=_name(names, int(secrets.points[position])),
                    released=_released(known, names, int(release.outputs[position])),
                    prior=float(before[row, block.truth[row]]),
                    posterior=float(after[row, block.truth[row]]),
                    candidates=tuple((_name(names, int(block.index[k])), float(after[row, k])) for k in top),
                )
            )
    return tuple(sorted(found, key=lambda example: (example.document, example.position)))


def _name(names: Sequence[str] | None, point: int) -> str:
    return f"point {point}" if names is None else names[point]


def _released(known: Knowledge, names: Sequence[str] | None, output: int) -> str:
    """The released word, where outputs are the points themselves; otherwise the output's number."""
    return _name(names, output) if known.mechanism.outputs is known.mechanism.space else f"output {output}"


SHOWN = 8
"""Number of candidates that are listed; the others are counted."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Candidate:
    """One value of the secret: its probability before, after its own release alone, and after all releases together."""

    name: str
    prior: float
    alone: float
    together: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Belief:
    """The position of some documents whose truth leaks most: its candidates, the most believed first.

    `truth` and `other` are rows of `candidates`: the pair of the largest mPL, `leakage`, at `distance`. `remaining`
    counts the candidates that are not listed. `documents` and `positions` say among how many this one was the worst.
    """

    attacker: str
    tier: str
    documents: int
    positions: int
    candidates: tuple[Candidate, ...]
    remaining: int
    truth: int
    other: int
    leakage: float
    distance: float


def belief(
    attacker: Attacker, secrets: Records, release: Release, known: Knowledge, names: Sequence[str] | None = None
) -> Belief:
    """The worst position of a release that has secrets; with words only when `names`, those of all points, are given.

    mPL is taken between the truth and every other candidate: |shift_truth − shift_other| / d(truth, other).
    """
    everyone = [
        (block, row)
        for block in tier_beliefs(attacker, release, secrets, known.tiers)
        for row in range(len(block.positions))
    ]
    block, row = max(everyone, key=lambda place: _leakage(place[0], place[1], secrets)[0].max())
    leakage, distance = _leakage(block, row, secrets)
    other = int(np.argmax(leakage))
    columns = _listed(block, row, other)
    return Belief(
        attacker=attacker.name,
        tier=known.tiers.names[block.tier],
        documents=len(secrets),
        positions=len(secrets.points),
        candidates=_candidates(block, row, columns, _alone(block, row, release, known), names),
        remaining=len(block.index) - len(columns),
        truth=columns.index(int(block.truth[row])),
        other=columns.index(other),
        leakage=float(leakage[other]),
        distance=float(distance[other]),
    )


def _leakage(block: TierBeliefs, row: int, secrets: Records) -> tuple[FloatArray, FloatArray]:
    """mPL and distance between the truth of one position and every candidate; 0 and ∞ for the truth itself."""
    truth, points = block.truth[row], secrets.space.points
    distance = secrets.space.metric.between(points[block.index[truth]][None, :], points[block.index])[0]
    distance[truth] = np.inf
    return np.abs(block.shift[row] - block.shift[row, truth]) / distance, distance


def _listed(block: TierBeliefs, row: int, other: int) -> list[int]:
    """The columns to show, most believed first; the truth and the other of its worst pair are always among them."""
    order = [int(k) for k in np.argsort(-block.score[row], kind="stable")]
    kept = {int(block.truth[row]), other}
    kept |= set([k for k in order if k not in kept][: SHOWN - len(kept)])
    return [k for k in order if k in kept]


def _alone(block: TierBeliefs, row: int, release: Release, known: Knowledge) -> FloatArray:
    """The posterior given the position's own release only."""
    own = known.mechanism.log_columns(release.outputs[block.positions[[row]]])[0, block.index]
    return np.exp(log_normalise((_prior(block, row) + own)[None, :]))[0]


def _prior(block: TierBeliefs, row: int) -> FloatArray:
    return block.log_prior if block.log_prior.ndim == 1 else block.log_prior[row]


def _candidates(
    block: TierBeliefs, row: int, columns: list[int], alone: FloatArray, names: Sequence[str] | None
) -> tuple[Candidate, ...]:
    before, after = (np.exp(log_normalise(v[None, :]))[0] for v in (_prior(block, row), block.score[row]))
    return tuple(
        Candidate(
            name=f"w{k + 1}" if names is None else names[int(block.index[c])],
            prior=float(before[c]),
            alone=float(alone[c]),
            together=float(after[c]),
        )
        for k, c in enumerate(columns)
    )
