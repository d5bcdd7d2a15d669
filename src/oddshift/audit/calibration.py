"""Calibration: is an attacker as sure as it should be?

Log score is −log posterior of the truth; smaller is better and only the true posterior minimises its mean. The best
temperature T raises posteriors to the power 1/T: T > 1 means that the attacker was too sure. It is for reports, and
never an input of an attacker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.paired_log_score import Units
from oddshift.attackers.term_weights import ContextTerms
from oddshift.audit.beliefs import TierBeliefs, tier_beliefs
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log_normalise
from oddshift.model.records import Records
from oddshift.model.release import Release

TEMPERATURE_ENTRIES = 4_000_000
"""Entries (positions x points) that the temperature is fitted on; they are held at once, so this bounds the memory."""

BINS = 10
"""Number of equal steps of confidence in the reliability curve."""


@dataclass(frozen=True)
class Bin:
    """Positions whose most likely candidate had a probability in one range: how sure, and how often right."""

    positions: int
    confidence: float
    accuracy: float


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How good an attacker's beliefs are on documents with known secrets.

    `prior_score` is the log score before any release, `own_score` that of the single release under the attacker's own
    prior.
    """

    attacker: str
    documents: int
    positions: int
    log_score: float
    prior_score: float
    own_score: float
    temperature: float
    reliability: tuple[Bin, ...]

    @property
    def calibration_error(self) -> float:
        """Mean gap between confidence and accuracy; all positions have the same weight."""
        return sum(b.positions * abs(b.confidence - b.accuracy) for b in self.reliability) / self.positions


def calibration(attacker: Attacker, known: Knowledge, secrets: Records, release: Release) -> Calibration:
    """Run an attacker on a release of known secrets and judge its beliefs."""
    if len(secrets.points) != len(release.outputs) or not len(release.outputs):
        raise InvalidInput(
            f"{len(secrets.points)} secrets and {len(release.outputs)} outputs, expected as many and at least one"
        )
    marks = np.full((5, len(release.outputs)), np.nan)
    kept: list[ContextTerms] = []
    room = max(1, TEMPERATURE_ENTRIES // len(known.log_prior))
    for block in tier_beliefs(attacker, release, secrets, known.tiers):
        posterior = log_normalise(block.score)
        marks[:, block.positions] = _marks(block, posterior, known, release)
        few = np.flatnonzero(block.positions < room)
        if len(few):
            nothing, units = np.zeros((len(few), posterior.shape[1])), Units(block.positions[few], len(marks[0]))
            kept.append(ContextTerms(nothing, (posterior[few],), block.truth[few], units))
    score, prior, own, confidence, right = marks
    return Calibration(
        attacker=attacker.name,
        documents=int((secrets.lengths > 0).sum()),
        positions=len(score),
        log_score=float(score.mean()),
        prior_score=float(prior.mean()),
        own_score=float(own.mean()),
        temperature=_best_temperature(kept),
        reliability=_reliability(confidence, right),
    )


def _marks(
    block: TierBeliefs, posterior: FloatArray, known: Knowledge, release: Release
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """−log probability of the truth: posterior, prior, own; how sure the first guess is, and whether it is right."""
    mine = block.at(posterior, block.truth)
    above, equal = (posterior > mine[:, None]).sum(axis=1), (posterior == mine[:, None]).sum(axis=1)
    right = (above + equal // 2 == 0).astype(np.float64)  # a tie is worth half
    prior = log_normalise(known.log_prior[block.index])[block.truth]
    own = block.own_score(known.mechanism, release.outputs[block.positions])
    return -mine, -prior, own, np.exp(posterior.max(axis=1)), right


def _reliability(confidence: FloatArray, right: FloatArray) -> tuple[Bin, ...]:
    number = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    bins = [np.flatnonzero(number == k) for k in range(BINS)]
    return tuple(Bin(len(b), float(confidence[b].mean()), float(right[b].mean())) for b in bins if len(b))


def _best_temperature(kept: Sequence[ContextTerms]) -> float:
    """The temperature of the best log score on the positions kept; the score is convex in 1/T."""
    from scipy.optimize import minimize

    shares = np.array([len(each.truth) for each in kept]) / sum(len(each.truth) for each in kept)

    def loss(inverse: FloatArray) -> tuple[float, FloatArray]:
        values, slopes = zip(*(each.loss(inverse) for each in kept), strict=True)
        return float(shares @ values), np.asarray(shares @ np.array(slopes))

    found = minimize(loss, np.ones(1), jac=True, method="L-BFGS-B", bounds=[(1e-3, 1e3)])
    return 1.0 / float(found.x[0])
