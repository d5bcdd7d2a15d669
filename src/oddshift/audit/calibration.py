"""Calibration: is an attacker as sure as it should be?

Log score is −log posterior of the truth; smaller is better and only the true posterior minimises its mean. The best
temperature T raises posteriors to the power 1/T: T > 1 means that the attacker was too sure. It is for reports, and
never an input of an attacker.

Recalibration: how far an attacker's context term may be trusted, decided on documents it was not fitted on.

The own release is exact, so only the context term is weighed: shift = log M(y|x) + w·c(x), with the w of the best log
score on the select documents. A violation is shown by a recalibrated attacker only, never by one that is too sure.

Several attackers against one release in one pass: what they have in common is worked out once.

A recalibrated attacker reads the beliefs of the one that it recalibrates. What is found is that of a scan of each
attacker alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge
from oddshift.attackers.paired_log_score import Units, gain, units_of
from oddshift.attackers.term_weights import ContextTerms
from oddshift.audit.beliefs import Joining, TierBeliefs, tier_beliefs
from oddshift.audit.scan import Budget, Scan, Scanning, Scores, refuse_gaps
from oddshift.audit.verdict import RECALIBRATED, Basis
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.base.logarithms import log_normalise, log_sum
from oddshift.mechanisms.mechanism import Mechanism
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


ENTRIES = 4_000_000
"""Entries (positions x candidates) that a weight is fitted on; a performance setting."""

LARGEST = 4.0
"""The largest weight that is tried."""

ALIKE = 1.0
"""Standard errors by which the log score must improve before an attacker is changed."""


@dataclass(frozen=True, eq=False, repr=False)
class Recalibrated:
    """Another attacker whose context term counts `weight` times; the own release and the prior stay as they are."""

    mechanism: Mechanism
    attacker: Attacker
    weight: float

    fingerprint = cached_property(content)

    @property
    def name(self) -> str:
        """The attacker's name, marked as recalibrated."""
        return f"{self.attacker.name}{RECALIBRATED}"

    @property
    def with_context(self) -> bool:
        """As the attacker's."""
        return self.attacker.with_context

    @property
    def parts(self) -> tuple[Attacker, ...]:
        """The attacker that is recalibrated."""
        return (self.attacker,)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus the weighted context term; what the own release excludes stays excluded."""
        return (self.weighed(block, release) for block in self.attacker.beliefs(release))

    def candidate_beliefs(self, release: Release) -> Iterator[Beliefs]:
        """The same over candidates alone, where the attacker can do that."""
        method = getattr(self.attacker, "candidate_beliefs", self.attacker.beliefs)
        return (self.weighed(block, release) for block in method(release))

    def weighed(self, block: Beliefs, release: Release) -> Beliefs:
        """A block of the attacker's beliefs with the weighted context term."""
        outputs = release.outputs[block.positions]
        if block.points is None:
            own = self.mechanism.log_columns(outputs)
        else:
            own = self.mechanism.candidate_columns(outputs, block.points)
        possible = np.isfinite(own) & np.isfinite(block.shift)
        context = np.where(possible, block.shift, 0.0) - np.where(possible, own, 0.0)
        return replace(block, shift=np.where(possible, own + self.weight * context, block.shift))


def recalibrated(
    attacker: Attacker, release: Release, truth: Records, budget: Budget, *, alike: float = ALIKE
) -> Attacker:
    """The attacker with the weight of the best log score on these documents; the attacker itself if 1 is as good.

    As good is a score within `alike` standard errors. `release` and `truth` must be select documents: documents that
    certify must not decide the weight.
    """
    held = _held_out(attacker, release, truth, budget)
    weight = held.best_weight()
    better = gain(held.scores(1.0), held.scores(weight), held.units)
    if better.mean <= alike * better.error:
        return attacker
    return Recalibrated(budget.mechanism, attacker, weight)


def recalibrated_judges(
    attackers: Sequence[Attacker], basis: Basis, release: Release, truth: Records, budget: Budget
) -> dict[int, Attacker]:
    """By place, the attackers that decide as recalibrated on select documents, where that changes them.

    Where nobody learned anything the strongest gets the weight of the best log score, however little better that is.
    """
    if basis.carrier:
        return {}
    alike = ALIKE if basis.counting else 0.0
    places = basis.counting or (basis.strongest,)
    made = {place: recalibrated(attackers[place], release, truth, budget, alike=alike) for place in places}
    return {place: judge for place, judge in made.items() if judge is not attackers[place]}


@dataclass(frozen=True, eq=False, repr=False)
class _Terms:
    """Some positions of one tier: log prior plus own release, the context term, and the column of the truth."""

    base: FloatArray
    context: FloatArray
    truth: IntArray

    def scores(self, weight: float) -> FloatArray:
        total = self.base + weight * self.context
        return log_sum(total) - TierBeliefs.at(total, self.truth)


@dataclass(frozen=True, eq=False, repr=False)
class _HeldOut:
    """Terms of all tiers, and the independent unit of every position among them."""

    terms: tuple[_Terms, ...]
    units: Units

    def scores(self, weight: float) -> FloatArray:
        """−log posterior of the truth at every position."""
        return np.concatenate([part.scores(weight) for part in self.terms])

    def best_weight(self) -> float:
        """The weight of the best log score, every unit counting once; the score is convex in it."""
        from scipy.optimize import minimize_scalar

        def loss(weight: float) -> float:
            return float(self.units.means(self.scores(weight)).mean())

        found = minimize_scalar(loss, bounds=(0.0, LARGEST), method="bounded", options={"xatol": 1e-3})
        return float(found.x)


def _held_out(attacker: Attacker, release: Release, truth: Records, budget: Budget) -> _HeldOut:
    """The terms of as many documents, in their order, as ENTRIES allows."""
    limit = max(1, ENTRIES // len(budget.space))
    documents = max(1, int(np.searchsorted(truth.offsets, limit, side="right")) - 1)
    while not truth.offsets[documents] and documents < len(truth):
        documents += 1
    some = np.arange(documents)
    few, secrets = release.take(some), truth.take(some)
    terms, positions = [], []
    for block in tier_beliefs(attacker, few, secrets, budget.tiers):
        own = block.own_shift(budget.mechanism, few.outputs[block.positions])
        terms.append(_Terms(block.log_prior + own, block.shift - own, block.truth))
        positions.append(block.positions)
    everyone = units_of(secrets)
    return _HeldOut(tuple(terms), Units(everyone.of_position[np.concatenate(positions)], everyone.total))


def joint_scan(
    attackers: Sequence[Attacker],
    release: Release,
    truth: Records,
    budget: Budget,
    rng: np.random.Generator,
    *,
    law: str,
) -> list[Scan]:
    """A scan of every attacker under one law, without detail."""
    scanning = Scanning.begin(release, truth, budget, rng, needs_uniform=law == "uniform")
    found = [scanning.empty(detailed=False) for _ in attackers]
    for place, mine in _joined(attackers, release, truth, budget):
        scanning.take(found[place], mine)
    for attacker, each in zip(attackers, found, strict=True):
        refuse_gaps(attacker, each.scores)
    return found


def joint_scores(attackers: Sequence[Attacker], release: Release, truth: Records, budget: Budget) -> list[Scores]:
    """The log scores of every attacker."""
    scanning = Scanning.begin(release, truth, budget, np.random.default_rng(0), needs_uniform=False)
    found = [scanning.empty(detailed=False).scores for _ in attackers]
    for place, mine in _joined(attackers, release, truth, budget):
        scanning.score(found[place], mine)
    for attacker, each in zip(attackers, found, strict=True):
        refuse_gaps(attacker, each)
    return found


def _joined(
    attackers: Sequence[Attacker], release: Release, truth: Records, budget: Budget
) -> Iterator[tuple[int, TierBeliefs]]:
    """The beliefs of all attackers joined with the truth, each with the attacker's place."""
    joining = Joining(truth, budget.tiers)
    for place, block in beliefs_together(attackers, release):
        for mine in joining.of(attackers[place], block):
            yield place, mine


def beliefs_together(attackers: Sequence[Attacker], release: Release) -> Iterator[tuple[int, Beliefs]]:
    """The blocks of all attackers, each with the attacker's place.

    A recalibrated attacker reads the beliefs of the one that it recalibrates, which need not be among them.
    """
    readers: dict[int, tuple[Attacker, list[int]]] = {}
    for place, attacker in enumerate(attackers):
        base = attacker.attacker if isinstance(attacker, Recalibrated) else attacker
        readers.setdefault(id(base), (base, []))[1].append(place)
    for base, places in readers.values():
        for block in getattr(base, "candidate_beliefs", base.beliefs)(release):
            for place in places:
                reader = attackers[place]
                yield place, reader.weighed(block, release) if isinstance(reader, Recalibrated) else block
