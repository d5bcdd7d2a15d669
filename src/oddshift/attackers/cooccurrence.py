"""The co-occurrence attacker: words of one document say something about each other, in any order.

c_l(x) = n^{-1/2}·Σ_{s≠l} log(1 − μ(x) + μ(x)·Σ_b C(b|x)·M(y_s|b)/P(y_s)) over the n others, where C(b|x) is how
often b occurs in a document of x (x itself too: copies), μ(x) its Witten-Bell weight and P(y) = Σ_b π(b)·M(y|b).
Treating the other positions as independent given x counts evidence twice, the more of them there are, so the sum is
divided by √n, and the term is meant to be scaled by a fitted weight (`combination`).

Reuse: a document takes some of its secrets from among its other ones.

X_l is, with probability ρ, one of the n others of its candidate set, each with the same chance, and otherwise follows
π: c_l(x) = log(1 − ρ + ρ/n·Σ_{s≠l} M(y_s|x)/P(y_s)), P(y) = Σ_b π(b)·M(y|b). Unlike `copies`, which multiplies what
every other position says, this asks that some position holds x, and others that hold something else do no harm: in
a long text a name that was seen once is likely again.

Copies: the same secret again anywhere in a document, or never again.

e(x) = Pr[X_s = x | X_l = x] exceeds chance where secrets repeat and falls below it where each is drawn once. Then
c_l(x) = Σ_{s≠l} log(e·r + (1 − e)·(1 − π(x)·r)/(1 − π(x))), r = M(y_s|x)/P(y_s), exact for two positions. The excess is
one number for each tier and distance, so it is known for words that were seen once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, document_blocks, release_blocks
from oddshift.attackers.law_attacker import BATCH_ENTRIES, LawAttacker, Terms, law_over, law_within, likelihood_ratios
from oddshift.attackers.sparse_law import SparseLaw, labelled_law
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.logarithms import peak
from oddshift.model.records import Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates, set_numbers

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


REUSED = 0.5
"""ρ. The weight of the term is fitted, which makes up for most of what this number misses."""


@dataclass(frozen=True)
class Reuse:
    """The law above."""

    share: float = REUSED

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        for first, block in release_blocks(release.without_context(), len(known.log_prior), BATCH_ENTRIES):
            for mine in candidate_sets(block, known.tiers):
                ratio = likelihood_ratios(known, block, mine, law_over(known, mine.points))
                document = np.searchsorted(block.offsets, mine.positions, side="right")
                _, starts, count = np.unique(document, return_index=True, return_counts=True)
                others = np.repeat(np.add.reduceat(ratio, starts, axis=0), count, axis=0) - ratio
                others /= np.maximum(np.repeat(count, count) - 1, 1)[:, None]
                others[np.repeat(count == 1, count)] = 1.0
                context = np.log1p(self.share * np.maximum(others - 1.0, -1.0))
                yield Terms(first + mine.positions, context, known.log_prior[mine.points], mine.points)


DISTANCES = (1, 2, 3, 4, 8)
"""Numbers of positions from which a new distance class starts; the last class has no end."""


@dataclass(frozen=True, eq=False, repr=False)
class Copies:
    """Excess (candidate sets, distance classes) in [−1, 1] of equal pairs over chance: 1 always, −1 never."""

    excess: FloatArray

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        for first, block in release_blocks(release.without_context(), len(known.log_prior), BATCH_ENTRIES):
            for found in candidate_sets(block, known.tiers):
                context = self._context(known, block, found)
                yield Terms(first + found.positions, context, known.log_prior[found.points], found.points)

    def _context(self, known: Knowledge, release: Release, mine: CandidateSet) -> FloatArray:
        """The terms between positions of one candidate set, over its candidates."""
        law, excess = law_within(known, mine.tier)[mine.points], self.excess[mine.tier]
        seen = likelihood_ratios(known, release, mine, law)
        context = np.zeros_like(seen)
        for number, pairs in _pairs_by_distance(release, mine.positions):
            e = equal_again(law, float(excess[number]))
            rest = (1.0 - e) / np.maximum(1.0 - law, 1e-12)
            # e·r + rest·(1 − π·r), a line in r
            factor = (e - rest * law) * seen
            factor += rest
            np.log(np.maximum(factor, 1e-12, out=factor), out=factor)
            context += pairs @ np.where(law > 0, factor, 0.0)
        return context


def _pairs_by_distance(release: Release, positions: IntArray) -> Iterator[tuple[int, Any]]:
    """For every distance class the pairs of these positions in one document, a sparse 0-1 matrix both ways."""
    from scipy.sparse import csr_array

    document = np.searchsorted(release.offsets, positions, side="right")
    most = int(np.bincount(document).max(initial=0))
    first = [np.flatnonzero(document[k:] == document[:-k]) for k in range(1, most)]
    left = np.concatenate([np.empty(0, dtype=np.int64), *first])
    right = np.concatenate([np.empty(0, dtype=np.int64), *(rows + k for k, rows in enumerate(first, 1))])
    number = _distance_class(positions[right] - positions[left])
    for each in np.unique(number):
        rows, columns = left[number == each], right[number == each]
        both = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        yield int(each), csr_array((np.ones(len(both[0])), both), shape=(len(positions), len(positions)))


def equal_again(law: FloatArray, excess: float) -> FloatArray:
    """e(x): π(x) moved towards 1 for an excess above 0, towards 0 for one below.

    >>> equal_again(np.array([0.2]), 0.5), equal_again(np.array([0.2]), -1.0)
    (array([0.6]), array([0.]))
    """
    return np.asarray(excess + (1.0 - excess) * law if excess >= 0 else (1.0 + excess) * law)


def fit_copies(known: Knowledge) -> Copies:
    """Count equal pairs of every distance class within each candidate set, against chance."""
    sets = set_numbers(known.tiers)
    return Copies(np.array([_excess(known, g) for g in sets]))


def _excess(known: Knowledge, tier: int) -> FloatArray:
    law, allowed = law_within(known, tier), candidates(known.tiers, tier)
    chance = float(law @ law)
    equal, pairs = np.zeros(len(DISTANCES)), np.zeros(len(DISTANCES))
    for gap, same in _pairs_at(known.fit, allowed):
        number = _distance_class(np.array([gap]))[0]
        equal[number] += same.sum()
        pairs[number] += len(same)
    rate = (equal + 2.0 * chance) / (pairs + 2.0)  # two pairs of chance where nothing was seen
    return np.where(rate >= chance, (rate - chance) / max(1.0 - chance, 1e-12), rate / max(chance, 1e-12) - 1.0)


def _pairs_at(fit: Records, allowed: BoolArray) -> Iterator[tuple[int, BoolArray]]:
    """For every distance, whether the two secrets are equal, over pairs inside the candidate set."""
    inside, document = allowed[fit.points], fit.document_of_position
    for gap in range(1, int(fit.lengths.max(initial=0))):
        keep = (document[gap:] == document[:-gap]) & inside[gap:] & inside[:-gap]
        yield gap, (fit.points[gap:] == fit.points[:-gap])[keep]


def _distance_class(gap: IntArray) -> IntArray:
    return np.searchsorted(DISTANCES, gap, side="right") - 1
