"""Examples: what an attacker comes to believe about a few documents. They hold SECRETS and are made only on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.audit.beliefs import tier_beliefs
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
