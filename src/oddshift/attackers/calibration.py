"""Calibration: is an attacker as sure as it should be, and does it beat the prior and the single release?

Log score is −log posterior of the truth; smaller is better and only the true posterior minimises its mean. The best
temperature T raises posteriors to the power 1/T: T > 1 means that the attacker was too sure. It joins beliefs with the
truth, so it is for fit or select documents and for reports, never an input of an attacker.

Clipped posteriors: no candidate is believed less than γ, as the paper's faithfulness proposition assumes (A1).

An explicit choice, never a default: clipping bounds mPL by |ln γ|/d whatever happened, so a report must say γ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, against, carried
from oddshift.attackers.paired_log_score import Gain, gain, units_of
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks, float_of
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.base.logarithms import log_normalise
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates
from oddshift.model.tiers import Tiers

TEMPERATURE_ENTRIES = 4_000_000
"""Entries (positions x points) that the temperature is fitted on; they are held at once, as 32-bit numbers, so this
bounds the memory."""

_AT_ONCE = 200_000  # entries of posteriors that are raised to a power together
_IMPOSSIBLE = -1e30  # stands for log 0: to any power in range it is 0, and 0 times it is 0

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

    `gain` is how much it beats `own_score`, the single release under the attacker's own prior, with its standard error
    by independent unit. `cosine` and `mean_squared_error`
    compare the posterior mean of the coordinates with the truth; `sequence_accuracy` is the share of documents all of
    whose secrets are guessed.
    """

    attacker: str
    documents: int
    positions: int
    log_score: float
    prior_score: float
    own_score: float
    gain: float
    gain_error: float
    temperature: float
    log_score_at_temperature: float
    reliability: tuple[Bin, ...]
    top_1: float
    top_5: float
    cosine: float
    mean_squared_error: float
    sequence_accuracy: float

    @property
    def learned(self) -> bool:
        """Whether it beats the single release under its prior beyond chance; if not, the context taught it nothing."""
        return Gain(self.gain, self.gain_error).is_significant

    @property
    def calibration_error(self) -> float:
        """Mean gap between confidence and accuracy; all positions have the same weight."""
        return sum(b.positions * abs(b.confidence - b.accuracy) for b in self.reliability) / self.positions


@dataclass(frozen=True, eq=False)
class _Marks:
    """What is kept for every position."""

    score: FloatArray
    prior: FloatArray
    own: FloatArray
    confidence: FloatArray
    rank: FloatArray
    cosine: FloatArray
    squared: FloatArray


def calibration(attacker: Attacker, known: Knowledge, secrets: Records, release: Release) -> Calibration:
    """Run an attacker on a release of known secrets and judge its beliefs."""
    if len(secrets.points) != len(release.outputs) or not len(release.outputs):
        raise InvalidInput(
            f"{len(secrets.points)} secrets and {len(release.outputs)} outputs, expected as many and at least one"
        )
    marks = _Marks(*np.full((7, len(release.outputs)), np.nan))
    kept: list[npt.NDArray[np.float32]] = []
    truths: list[IntArray] = []
    room = max(1, TEMPERATURE_ENTRIES // len(known.log_prior))
    for block in _blocks(attacker, known, release):
        column = np.searchsorted(block.points, secrets.points[block.positions])
        _mark(marks, block, column, secrets)
        few = np.flatnonzero(block.positions < room)
        kept.append(np.maximum(block.posterior[few], _IMPOSSIBLE).astype(np.float32))
        truths.append(column[few])
    temperature = _best_temperature(kept, truths)
    return _summary(attacker.name, marks, secrets, temperature)


@dataclass(frozen=True, eq=False, repr=False)
class _Judged:
    """Some positions with their log posteriors over `points`: the attacker's and those of the two controls.

    The controls are the common prior, and the single release under the attacker's prior.
    """

    positions: IntArray
    points: IntArray
    posterior: FloatArray
    prior: FloatArray
    own: FloatArray


def _blocks(attacker: Attacker, known: Knowledge, release: Release) -> Iterator[_Judged]:
    """Over the candidates of each position alone, where the attacker can tell them."""
    over_candidates = getattr(attacker, "candidate_beliefs", None)
    everyone = np.arange(len(known.log_prior))
    for block in attacker.beliefs(release) if over_candidates is None else over_candidates(release):
        points = everyone if block.points is None else block.points
        for part in blocks(len(block.positions), len(points), _AT_ONCE):
            prior = block.log_prior if block.log_prior.ndim == 1 else block.log_prior[part]
            yield _judged(Beliefs(block.positions[part], block.shift[part], prior), points, known, release)


def _judged(block: Beliefs, points: IntArray, known: Knowledge, release: Release) -> _Judged:
    allowed = allowed_points(known.tiers, release, block.positions)[:, points]
    own = known.mechanism.candidate_columns(release.outputs[block.positions], points)
    nothing = np.zeros(own.shape)
    return _Judged(
        block.positions,
        points,
        log_posterior(block, allowed),
        log_posterior(Beliefs(block.positions, nothing, known.log_prior[points]), allowed),
        log_posterior(Beliefs(block.positions, own, block.log_prior), allowed),
    )


def _mark(marks: _Marks, block: _Judged, column: IntArray, secrets: Records) -> None:
    """Fill in the results of one block; `column` is that of the truth in each row."""
    at, rows, truth = block.positions, np.arange(len(block.positions)), secrets.points[block.positions]
    posterior = block.posterior
    mine = posterior[rows, column]
    marks.score[at] = -mine
    marks.prior[at], marks.own[at] = -block.prior[rows, column], -block.own[rows, column]
    marks.confidence[at] = np.exp(posterior.max(axis=1))
    above, equal = (posterior > mine[:, None]).sum(axis=1), (posterior == mine[:, None]).sum(axis=1)
    marks.rank[at] = above + equal // 2  # a tie is worth half
    guess, real = np.exp(posterior) @ secrets.space.points[block.points], secrets.space.points[truth]
    length = np.linalg.norm(guess, axis=1) * np.linalg.norm(real, axis=1)
    marks.cosine[at] = np.where(length > 0, (guess * real).sum(axis=1) / np.where(length > 0, length, 1.0), 0.0)
    marks.squared[at] = ((guess - real) ** 2).mean(axis=1)


def _summary(name: str, marks: _Marks, secrets: Records, temperature: tuple[float, float]) -> Calibration:
    gained = gain(marks.own, marks.score, units_of(secrets))
    right = (marks.rank == 0).astype(np.float64)
    wrong_in = np.bincount(secrets.document_of_position, weights=1.0 - right, minlength=len(secrets))
    filled = secrets.lengths > 0
    return Calibration(
        attacker=name,
        documents=int(filled.sum()),
        positions=len(right),
        log_score=float(marks.score.mean()),
        prior_score=float(marks.prior.mean()),
        own_score=float(marks.own.mean()),
        gain=gained.mean,
        gain_error=gained.error,
        temperature=temperature[0],
        log_score_at_temperature=temperature[1],
        reliability=_reliability(marks.confidence, right),
        top_1=float(right.mean()),
        top_5=float((marks.rank < 5).mean()),
        cosine=float(marks.cosine.mean()),
        mean_squared_error=float(marks.squared.mean()),
        sequence_accuracy=float((wrong_in[filled] == 0).mean()),
    )


def _reliability(confidence: FloatArray, right: FloatArray) -> tuple[Bin, ...]:
    number = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    bins = [np.flatnonzero(number == k) for k in range(BINS)]
    return tuple(Bin(len(b), float(confidence[b].mean()), float(right[b].mean())) for b in bins if len(b))


def _best_temperature(kept: Sequence[npt.NDArray[np.float32]], truths: Sequence[IntArray]) -> tuple[float, float]:
    """The temperature of the best log score and that score, on the positions kept."""
    from scipy.optimize import minimize

    positions = sum(len(truth) for truth in truths)

    def loss(inverse: FloatArray) -> tuple[float, float]:
        each = [_score_at(posterior, truth, float(inverse[0])) for posterior, truth in zip(kept, truths, strict=True)]
        return sum(value for value, _ in each) / positions, sum(slope for _, slope in each) / positions

    found = minimize(loss, np.ones(1), jac=True, method="L-BFGS-B", bounds=[(1e-3, 1e3)])
    return 1.0 / float(found.x[0]), float(found.fun)


def _score_at(posterior: npt.NDArray[np.float32], truth: IntArray, inverse: float) -> tuple[float, float]:
    """Summed −log of the truth's probability under posteriors to the power `inverse`, and its derivative.

    The derivative is the mean log posterior under that power minus the one of the truth. A few rows at a time, so that
    nothing of the size of all of them is held next to them.
    """
    value = slope = 0.0
    for part in blocks(len(posterior), posterior.shape[1], _AT_ONCE):
        rows = posterior[part].astype(np.float64)
        at_truth = rows[np.arange(len(rows)), truth[part]]
        powers = rows * inverse
        top = powers.max(axis=1, keepdims=True)
        powers -= top
        mass = np.exp(powers, out=powers).sum(axis=1)
        value += float((np.log(mass) + top[:, 0] - inverse * at_truth).sum())
        slope += float((np.einsum("ij,ij->i", powers, rows) / mass - at_truth).sum())
    return value, slope


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
