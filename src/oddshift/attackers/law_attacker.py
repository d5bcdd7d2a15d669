"""An attacker made of a law of documents that was estimated from clean records, and of exact inference under it.

c(x) = log Pr[the other outputs | X_l = x] under the law, up to a constant: the mechanism is known, so nothing is
learned again when it changes. A law over few points is *dense*: it says, for likelihoods of all positions, what the
others tell about each; conditioning on public tiers is the same question with the tiers' indicators as likelihoods.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.identity import content
from oddshift.base.logarithms import log_normalise, peak
from oddshift.model.release import CandidateSet, Release, candidates
from oddshift.model.tiers import Tiers

BATCH_ENTRIES = 4_000_000
"""Entries of the messages of one batch of documents; a performance setting."""

TINY = 1e-300
"""Smallest message that is kept apart from 0, so that a context term stays finite."""


@dataclass(frozen=True, eq=False, repr=False)
class Terms:
    """Some positions, their context terms (positions, points), and the log prior of the law there: that or (points,).

    `points` says which points the columns stand for; None is all. Positions with `points` are of one candidate set, and
    those are its candidates.
    """

    positions: IntArray
    context: FloatArray
    log_prior: FloatArray
    points: IntArray | None = None


class ContextLaw(Protocol):
    """A law of documents that gives the context terms of a release."""

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Blocks that together cover every position once; the context of a lone position is 0."""


class DenseLaw(Protocol):
    """A law of documents over few points."""

    @property
    def width(self) -> int:
        """Numbers that inference keeps for one position, in multiples of the number of points."""

    def messages(self, seen: FloatArray) -> FloatArray:
        """log Σ Pr[x_t = x, others]·Π_{s≠t} seen_s(x_s), (documents, length, points), each row up to a constant.

        `seen` holds the likelihood of every value at every position, (documents, length, points).
        """


@dataclass(frozen=True, eq=False, repr=False)
class LawAttacker:
    """Own release plus the context term of a law."""

    known: Knowledge
    law: ContextLaw
    name: str
    with_context: bool = False

    fingerprint = cached_property(content)

    @property
    def reads_outputs(self) -> bool:
        """Whether the context term of the law depends on outputs, and not only on W."""
        return bool(getattr(self.law, "reads_outputs", True))

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus context term, block by block."""
        for block in self.terms(release):
            shift = self.known.mechanism.log_columns(release.outputs[block.positions])
            if block.points is None:
                yield Beliefs(block.positions, shift + block.context, block.log_prior)
                continue
            shift[:, block.points] += block.context
            prior = block.log_prior
            if prior.ndim == 2:  # other points belong to no claim
                prior = np.full_like(shift, -np.inf)
                prior[:, block.points] = block.log_prior
            yield Beliefs(block.positions, shift, prior if prior.ndim == 2 else self.known.log_prior)

    def candidate_beliefs(self, release: Release) -> Iterator[Beliefs]:
        """The same over the candidates of each position alone, one candidate set of a block after the other."""
        for block in over_candidates(self.terms(release), release, self.known.tiers):
            assert block.points is not None
            own = self.known.mechanism.candidate_columns(release.outputs[block.positions], block.points)
            yield Beliefs(block.positions, own + block.context, block.log_prior, block.points)

    def terms(self, release: Release) -> Iterator[Terms]:
        """The context terms of the law."""
        return self.law.terms(self.known, release)

    def prepared(self, release: Release) -> LawAttacker:
        """The same for reading a release block by block: what all blocks have in common is worked out once."""
        if not hasattr(self.law, "prepared"):
            return self
        return replace(self, law=self.law.prepared(self.known, release))

    def against(self, known: Knowledge) -> LawAttacker:
        """The same law against another mechanism: nothing is estimated again."""
        return replace(self, known=known)


@dataclass(frozen=True, eq=False, repr=False)
class Dense:
    """A dense law as a context law: documents of one length at a time, conditioned on the public tiers."""

    law: DenseLaw

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c = the law given outputs and tiers less the law given the tiers alone, in logarithms."""
        width = self.law.width * len(known.log_prior)
        for positions in length_batches(release, width):
            yield Terms(positions.ravel(), *self._batch(known, release, positions))

    def _batch(self, known: Knowledge, release: Release, positions: IntArray) -> tuple[FloatArray, FloatArray]:
        size = len(known.log_prior)
        seen = likelihoods(known, release, positions.ravel()).reshape(*positions.shape, size)
        tiers = np.zeros_like(positions) if release.position_tiers is None else release.position_tiers[positions]
        patterns, pattern = np.unique(tiers, axis=0, return_inverse=True)
        possible = np.stack([candidates(known.tiers, g) for g in range(len(known.tiers))])[patterns].astype(np.float64)
        allowed = possible[pattern.ravel()] > 0
        before = _laws(self.law.messages(possible), possible > 0)[pattern.ravel()]  # the same for these tiers
        after = _laws(self.law.messages(seen * allowed), allowed)
        alone = positions.shape[1] == 1
        context = np.zeros_like(before) if alone else np.where(allowed, after - before, 0.0)
        prior = np.where(allowed, before, -np.inf)
        return context.reshape(-1, size), prior.reshape(-1, size)


def _laws(messages: FloatArray, allowed: BoolArray) -> FloatArray:
    """Messages as laws over the allowed points, so that 0 between two of them says nothing; 0 elsewhere."""
    return np.where(allowed, log_normalise(np.where(allowed, messages, -np.inf)), 0.0)


def likelihoods(known: Knowledge, release: Release, positions: IntArray, points: IntArray | None = None) -> FloatArray:
    """Likelihood of the output at each position under every point, or some; the largest of each row scaled to one."""
    return of_outputs(known, release.outputs[positions], points)


def of_outputs(known: Knowledge, outputs: IntArray, points: IntArray | None = None) -> FloatArray:
    """Return the same for outputs in any shape, (..., points); every distinct output is computed once."""
    distinct, number = np.unique(outputs, return_inverse=True)
    if points is None:
        columns = known.mechanism.log_columns(distinct)
    else:
        columns = known.mechanism.candidate_columns(distinct, points)
    columns = columns - peak(columns, axis=1)
    return np.asarray(np.exp(columns, out=columns)[number.reshape(outputs.shape)])


def law_over(known: Knowledge, points: IntArray) -> FloatArray:
    """π over some points, as a law of its own."""
    law = np.exp(known.log_prior[points])
    return np.asarray(law / max(float(law.sum()), 1e-300))


def law_within(known: Knowledge, tier: int) -> FloatArray:
    """π over all points as a law of one candidate set, 0 outside it."""
    law = np.where(candidates(known.tiers, tier), np.exp(known.log_prior), 0.0)
    return np.asarray(law / max(float(law.sum()), 1e-300))


def likelihood_ratios(known: Knowledge, release: Release, mine: CandidateSet, law: FloatArray) -> FloatArray:
    """M(y_s|x)/P(y_s), P(y) = Σ_x law(x)·M(y|x); 1 for an output that no candidate gives, which says nothing."""
    seen = likelihoods(known, release, mine.positions, mine.points)
    average = seen @ law
    seen /= np.where(average > 0, average, 1.0)[:, None]
    seen[average <= 0] = 1.0
    return seen


def over_candidates(blocks: Iterable[Terms], release: Release, tiers: Tiers) -> Iterator[Terms]:
    """The same terms, those over all points cut into candidate sets."""
    for block in blocks:
        if block.points is not None:
            yield block
            continue
        labels = None if release.position_tiers is None else release.position_tiers[block.positions]
        for tier in [0] if labels is None else np.unique(labels):
            points = np.flatnonzero(candidates(tiers, int(tier)))
            rows = np.arange(len(block.positions)) if labels is None else np.flatnonzero(labels == tier)
            at, prior = np.ix_(rows, points), block.log_prior
            mine = prior[points] if prior.ndim == 1 else prior[at]
            yield Terms(block.positions[rows], block.context[at], mine, points)


def length_batches(release: Release, width: int, entries: int = BATCH_ENTRIES) -> Iterator[IntArray]:
    """Yield positions (documents, length), for documents of one length at a time, in the order of their public tiers.

    Those of one batch then seldom differ in them. A batch has about `entries` entries, where every position counts for
    `width` of them.
    """
    for length in np.unique(release.lengths[release.lengths > 0]):
        positions = release.offsets[:-1][release.lengths == length][:, None] + np.arange(length)
        if release.position_tiers is not None:
            positions = positions[np.lexsort(release.position_tiers[positions].T[::-1])]
        size = max(1, entries // int(length * width))
        yield from (positions[start : start + size] for start in range(0, len(positions), size))


def log_floor(values: FloatArray) -> FloatArray:
    """Logarithm of messages, finite everywhere."""
    return np.asarray(np.log(np.maximum(values, TINY)))
