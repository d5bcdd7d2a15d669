"""The co-occurrence attacker: words of one document say something about each other, in any order.

c_l(x) = n^{-1/2}·Σ_{s≠l} log(1 − μ(x) + μ(x)·Σ_b C(b|x)·M(y_s|b)/P(y_s)) over the n others, where C(b|x) is how
often b occurs in a document of x (x itself too: copies), μ(x) its Witten-Bell weight and P(y) = Σ_b π(b)·M(y|b).
Treating the other positions as independent given x counts evidence twice, the more of them there are, so the sum is
divided by √n, and the term is meant to be scaled by a fitted weight (`combination`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge
from oddshift.attackers.law_attacker import Terms
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.identity import content
from oddshift.base.logarithms import peak
from oddshift.model.records import Records
from oddshift.model.release import Release, candidate_sets, candidates

_BLOCK_ENTRIES = 8_000_000  # entries (positions x points) of one block of documents


@dataclass(frozen=True, eq=False, repr=False)
class _Neighbours:
    """What occurs together with each point, among the candidates of one tier."""

    law: Any  # sparse (points, points): C(b|x), rows sum to one where something was seen
    weight: FloatArray  # μ of every point
    prior: FloatArray  # π of every point, normalised over the candidates
    allowed: BoolArray


@dataclass(frozen=True, eq=False, repr=False)
class Cooccurrence:
    """Own release plus the evidence of every other position, each read through co-occurrence counts."""

    known: Knowledge
    neighbours: tuple[_Neighbours, ...]
    name: str = "cooccurrence"
    with_context: bool = False

    fingerprint = cached_property(content)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus context term, a block of documents at a time."""
        for positions, context in self.context_terms(release):
            columns = self.known.mechanism.log_columns(release.outputs[positions])
            yield Beliefs(positions, columns + context, self.known.log_prior)

    def against(self, known: Knowledge) -> Cooccurrence:
        """The same counts against another mechanism: nothing is estimated again."""
        return replace(self, known=known)

    def context_terms(self, release: Release) -> Iterator[tuple[IntArray, FloatArray]]:
        """c_l(x) for every point x; 0 for a document with one position."""
        for low, evidence, (total, document, others) in self._blocks(release):
            context = (total[document] - evidence) / np.sqrt(np.maximum(others, 1))[:, None]
            context[others == 0] = 0.0
            yield np.arange(low, low + len(evidence)), context

    def terms(self, release: Release) -> Iterator[Terms]:
        """c_l(x) for the candidates x of every position, one candidate set after the other."""
        everyone = candidate_sets(release, self.known.tiers)
        for low, evidence, (total, document, others) in self._blocks(release):
            for mine in everyone:
                positions = mine.positions[slice(*np.searchsorted(mine.positions, [low, low + len(evidence)]))]
                rows = positions - low
                context = total[np.ix_(document[rows], mine.points)] - evidence[np.ix_(rows, mine.points)]
                context /= np.sqrt(np.maximum(others[rows], 1))[:, None]
                context[others[rows] == 0] = 0.0
                yield Terms(positions, context, self.known.log_prior[mine.points], mine.points)

    def _blocks(self, release: Release) -> Iterator[tuple[int, FloatArray, tuple[FloatArray, IntArray, IntArray]]]:
        """Documents together: the first position, the evidence of every position, and that of whole documents."""
        for documents in document_blocks(release, len(self.known.log_prior)):
            low, high = (int(release.offsets[end]) for end in (documents.start, documents.stop))
            if low < high:
                evidence = self._evidence(release, low, high)
                yield low, evidence, self._totals(release, documents, evidence)

    @staticmethod
    def _totals(release: Release, documents: range, evidence: FloatArray) -> tuple[FloatArray, IntArray, IntArray]:
        """The evidence of whole documents, the row there of every position, and the number of others next to it."""
        lengths = release.lengths[documents.start : documents.stop]
        lengths = lengths[lengths > 0]
        total = np.add.reduceat(evidence, np.cumsum(lengths) - lengths, axis=0)
        return total, np.repeat(np.arange(len(lengths)), lengths), np.repeat(lengths - 1, lengths)

    def _evidence(self, release: Release, low: int, high: int) -> FloatArray:
        """What each position says about any other one: log of a likelihood ratio, (positions, points)."""
        tiers = release.position_tiers
        sets = np.zeros(high - low, dtype=np.int64) if tiers is None else tiers[low:high]
        outputs = release.outputs[low:high]
        result = np.empty((high - low, len(self.known.log_prior)))
        for tier in np.unique(sets):
            rows, near = np.flatnonzero(sets == tier), self.neighbours[tier]
            points = np.flatnonzero(near.allowed)
            distinct, number = np.unique(outputs[rows], return_inverse=True)  # equal outputs say the same
            seen = self.known.mechanism.candidate_columns(distinct, points)
            seen = np.exp(seen - peak(seen, axis=1))
            average = seen @ near.prior[points]
            ratio = (near.law[:, points] @ seen.T).T / np.where(average > 0, average, 1.0)[:, None]
            ratio[average <= 0] = 1.0  # an output that no candidate gives says nothing
            ratio -= 1.0
            ratio *= near.weight
            result[rows] = np.log1p(ratio, out=ratio)[number]
        return result


def fit_cooccurrence(known: Knowledge) -> Cooccurrence:
    """Count, in the fit records, which points occur in one document; nothing is trained.

    **Guarantee**: a document with one position gets its own release and nothing else.
    """
    counts = _pairs(known.fit)
    sets = range(len(known.tiers)) if known.tiers.is_public else [0]
    return Cooccurrence(known, tuple(_neighbours(counts, known, tier) for tier in sets))


def document_blocks(release: Release, width: int, entries: int = _BLOCK_ENTRIES) -> Iterator[range]:
    """Runs of whole documents of about `entries` entries, a row of `width` for each position; one document or more."""
    start, limit = 0, max(1, entries // width)
    while start < len(release):
        stop = int(np.searchsorted(release.offsets, release.offsets[start] + limit, side="right")) - 1
        stop = min(max(stop, start + 1), len(release))
        yield range(start, stop)
        start = stop


def _pairs(fit: Records) -> Any:
    """How often two points occur at two positions of one document, sparse (points, points)."""
    from scipy.sparse import csr_array, diags_array

    ones = np.ones(len(fit.points))
    shape = (len(fit), len(fit.space))
    inside = csr_array((ones, (fit.document_of_position, fit.points)), shape=shape)
    inside.sum_duplicates()
    together = (
        inside.T @ inside - diags_array(fit.counts().astype(np.float64))
    ).tocsr()  # a position does not pair with itself
    together.eliminate_zeros()
    return together


def _neighbours(counts: Any, known: Knowledge, tier: int) -> _Neighbours:
    from scipy.sparse import csr_array, diags_array

    allowed = candidates(known.tiers, tier)
    mine = (counts @ diags_array(allowed.astype(np.float64))).tocsr()
    mine.eliminate_zeros()
    seen, kinds = np.asarray(mine.sum(axis=1)).ravel(), np.diff(mine.indptr)
    law = csr_array((mine.data / np.repeat(np.maximum(seen, 1.0), kinds), mine.indices, mine.indptr), shape=mine.shape)
    prior = np.where(allowed, np.exp(known.log_prior), 0.0)
    weight = np.where(seen > 0, seen / np.maximum(seen + kinds, 1.0), 0.0)
    return _Neighbours(law, weight, prior / max(float(prior.sum()), 1e-300), allowed)
