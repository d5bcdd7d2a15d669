"""Clipped posteriors: no candidate is believed less than γ, as the paper's faithfulness proposition assumes (A1).

An explicit choice, never a default: clipping bounds mPL by |ln γ|/d whatever happened, so a report must say γ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, against, carried
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, float_of
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.base.logarithms import log_normalise
from oddshift.model.release import Release, candidates
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class Clipped:
    """Another attacker with its posterior raised to at least γ before the shift is computed."""

    known: Knowledge
    attacker: Attacker
    gamma: float

    fingerprint = property(content)

    def __post_init__(self) -> None:
        """γ in (0, 1)."""
        if not 0.0 < float_of(self.gamma, "gamma") < 1.0:
            raise InvalidInput(f"gamma={self.gamma!r}, expected 0 < gamma < 1")

    @property
    def name(self) -> str:
        """The attacker's name and γ."""
        return f"{self.attacker.name}, posterior >= {self.gamma:g}"

    @property
    def with_context(self) -> bool:
        """As the attacker's."""
        return self.attacker.with_context

    @property
    def parts(self) -> tuple[Attacker, ...]:
        """The attacker that is clipped."""
        return (self.attacker,)

    def against(self, known: Knowledge) -> Clipped:
        """The same attacker against another mechanism, clipped in the same way."""
        return Clipped(known, against(self.attacker, known), self.gamma)

    def carried(self, known: Knowledge) -> Clipped:
        """The same attacker, carried over and clipped in the same way."""
        return Clipped(known, carried(self.attacker, known), self.gamma)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """log max(posterior, γ) − log prior over the candidates; other points keep a shift of 0."""
        for block in self.attacker.beliefs(release):
            allowed = allowed_points(self.known.tiers, release, block.positions)
            prior = np.broadcast_to(block.log_prior, block.shift.shape)
            posterior = log_posterior(block, allowed)
            clipped = np.maximum(posterior, np.log(self.gamma))
            shift = np.where(allowed, clipped - np.where(allowed, prior, 0.0), 0.0)
            yield Beliefs(block.positions, shift, block.log_prior)


def allowed_points(tiers: Tiers, release: Release, positions: IntArray) -> BoolArray:
    """Which points each position may hold, for all the attacker knows, (positions, points)."""
    if release.position_tiers is None:
        return np.broadcast_to(tiers.sensitive, (len(positions), len(tiers.labels)))
    rows = np.stack([candidates(tiers, tier) for tier in range(len(tiers))])
    return rows[release.position_tiers[positions]]


def log_posterior(block: Beliefs, allowed: BoolArray) -> FloatArray:
    """Normalised log posterior over the candidates, −inf elsewhere."""
    with np.errstate(invalid="ignore"):
        return log_normalise(np.where(allowed, block.shift + block.log_prior, -np.inf))
