"""The co-occurrence attacker: words of one document say something about each other, in any order.

c_l(x) = n^{-1/2}·Σ_{s≠l} log(1 − μ(x) + μ(x)·Σ_b C(b|x)·M(y_s|b)/P(y_s)) over the n others, where C(b|x) is how
often b occurs in a document of x (x itself too: copies), μ(x) its Witten-Bell weight and P(y) = Σ_b π(b)·M(y|b).
Treating the other positions as independent given x counts evidence twice, the more of them there are, so the sum is
divided by √n, and the term is meant to be scaled by a fitted weight (`combination`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, document_blocks
from oddshift.attackers.law_attacker import LawAttacker, Terms
from oddshift.attackers.sparse_law import SparseLaw, labelled_law
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.logarithms import peak
from oddshift.model.records import Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates

KEPT_EVIDENCE = 64_000_000
"""Entries (outputs x points) of evidence that are kept while a release is read (512 MB); a performance setting."""

_TOGETHER = 64  # outputs whose evidence is worked out together: their columns stay in a core's cache
_BLOCK_ENTRIES = 8_000_000  # entries (positions x points) of one block of documents


@dataclass(frozen=True, eq=False, repr=False)
class _Kept:
    """The distinct outputs of each tier in a release, and what those of one tier say about the points of another."""

    outputs: dict[int, IntArray]
    evidence: dict[tuple[int, int], FloatArray]

    def of(self, tier: int, outputs: IntArray, about: int) -> FloatArray:
        """What some of the outputs say, (outputs, points of the tier `about`)."""
        return np.asarray(self.evidence[tier, about][np.searchsorted(self.outputs[tier], outputs)])


@dataclass(frozen=True, eq=False, repr=False)
class Cooccurrence:
    """The evidence of every other position, each read through co-occurrence counts."""

    law: SparseLaw
    kept: _Kept | None = None  # of one release under one mechanism

    def prepared(self, known: Knowledge, release: Release) -> Cooccurrence:
        """The same with the evidence of every output of a release at hand, for blocks of it; not if it is too much."""
        tiers = release.position_tiers
        sets = np.zeros(len(release.outputs), dtype=np.int64) if tiers is None else tiers
        outputs = {int(tier): np.unique(release.outputs[sets == tier]) for tier in np.unique(sets)}
        targets = {mine.tier: mine.points for mine in candidate_sets(release, known.tiers)}
        if sum(map(len, outputs.values())) * sum(map(len, targets.values())) > KEPT_EVIDENCE:
            return self
        pairs = product(outputs, targets)
        found = {(tier, about): self._of_outputs(known, tier, outputs[tier], targets[about]) for tier, about in pairs}
        return replace(self, kept=_Kept(outputs, found))

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c_l(x) for the candidates x of every position, one candidate set after the other; 0 for a lone position."""
        everyone = candidate_sets(release, known.tiers)
        for documents in document_blocks(release, len(known.log_prior), _BLOCK_ENTRIES):
            low, high = (int(release.offsets[end]) for end in (documents.start, documents.stop))
            for mine in everyone if low < high else ():
                positions = mine.positions[slice(*np.searchsorted(mine.positions, [low, high]))]
                evidence = self._evidence(known, release, (low, high), mine)
                context = _context(release, documents, evidence, positions - low)
                yield Terms(positions, context, known.log_prior[mine.points], mine.points)

    def _evidence(self, known: Knowledge, release: Release, block: tuple[int, int], about: CandidateSet) -> FloatArray:
        """What each position says about the points of a set at any other one, (positions, points)."""
        low, high = block
        tiers, outputs = release.position_tiers, release.outputs[low:high]
        sets = np.zeros(high - low, dtype=np.int64) if tiers is None else tiers[low:high]
        result = np.empty((high - low, len(about.points)))
        for tier in np.unique(sets).tolist():
            rows = np.flatnonzero(sets == tier)
            if self.kept is not None and (tier, about.tier) in self.kept.evidence:
                result[rows] = self.kept.of(tier, outputs[rows], about.tier)
            else:
                distinct, number = np.unique(outputs[rows], return_inverse=True)  # equal outputs say the same
                result[rows] = self._of_outputs(known, tier, distinct, about.points)[number]
        return result

    def _of_outputs(self, known: Knowledge, tier: int, outputs: IntArray, about: IntArray) -> FloatArray:
        """What outputs of one tier say about some points: log of a likelihood ratio, (outputs, points)."""
        points, result = np.flatnonzero(candidates(known.tiers, tier)), np.empty((len(outputs), len(about)))
        own, prior, rest = self.law.own[about][:, points], self.law.law[points], self.law.rest[about, tier]
        for start in range(0, len(outputs), _TOGETHER):
            part = slice(start, start + _TOGETHER)
            seen = known.mechanism.candidate_columns(outputs[part], points)
            seen = np.exp(seen - peak(seen, axis=1))
            average = seen @ prior
            ratio = (own @ seen.T).T / np.where(average > 0, average, 1.0)[:, None]
            ratio += rest  # above 0, since every point has some rest
            ratio[average <= 0] = 1.0  # an output that no candidate gives says nothing
            np.log(ratio, out=result[part])
        return result


def _context(release: Release, documents: range, evidence: FloatArray, rows: IntArray) -> FloatArray:
    """The context terms of some rows of a block: the evidence of their whole document less their own, over √n."""
    lengths = release.lengths[documents.start : documents.stop]
    lengths = lengths[lengths > 0]
    total = np.add.reduceat(evidence, np.cumsum(lengths) - lengths, axis=0)
    document, others = (np.repeat(each, lengths)[rows] for each in (np.arange(len(lengths)), lengths - 1))
    context = total[document]
    context -= evidence[rows]
    context /= np.sqrt(np.maximum(others, 1))[:, None]
    context[others == 0] = 0.0
    return context


def fit_cooccurrence(known: Knowledge) -> LawAttacker:
    """Count, in the fit records, which points occur in one document; nothing is trained.

    **Guarantee**: a document with one position gets its own release and nothing else.
    """
    return LawAttacker(known, Cooccurrence(_law(known)), "cooccurrence")


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


def _law(known: Knowledge) -> SparseLaw:
    """C(b|x) with Witten-Bell weights, set by set of b."""
    from scipy.sparse import csr_array

    labels, sets, law = labelled_law(known)
    counts = _pairs(known.fit).tocoo()
    inside = labels[counts.coords[1]] >= 0
    (row, column), count = (each[inside] for each in counts.coords), counts.data[inside]
    group, shape = row * sets + labels[column], (len(law), sets)
    seen, kinds = (np.bincount(group, weights=each, minlength=len(law) * sets) for each in (count, np.ones(len(count))))
    rest = np.where(seen > 0, kinds / np.maximum(seen + kinds, 1.0), 1.0)
    own = csr_array((count / (seen + kinds)[group], (row, column)), shape=(len(law), len(law)))
    return SparseLaw(own, rest.reshape(shape), law)
