"""Spacing: how far apart neighbouring secrets are, which is public whether or not the words between them are read.

A gap is the number of tokens from one sensitive position to the next, 1 for adjacent ones; without a context W it is
the number of positions, always 1, so there is only one class.

Inference under an estimated chain: forward-backward over the candidates of each position, and nothing else.

Documents whose positions lie in the same sets (tier and spacing) are read together. The law before any output depends
on these sets alone, so documents are put in their order and each beginning of a pattern is worked out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.estimated_chain import CandidateChain, PatternSteps, by_candidate, totals
from oddshift.attackers.law_attacker import Terms, likelihoods
from oddshift.base.arrays import CACHED_ENTRIES, BoolArray, FloatArray, IntArray
from oddshift.base.logarithms import log
from oddshift.leakage.forward_backward import Arithmetic, both_sides
from oddshift.model.records import Context, Records
from oddshift.model.release import Release

GAPS = (1, 2, 4)
"""Gaps from which a new class starts: adjacent, 2 to 3 tokens, and more."""

UNKNOWN = len(GAPS)
"""Class of a position with nothing before it, and of all positions where no spacing is known."""


def gap_classes(documents: Records | Release) -> IntArray:
    """For every position, the class of the gap to the position before it in the same document.

    >>> from oddshift.model.space import Space
    >>> bare = Records.from_documents(Space([[0.0], [1.0]]), [[0, 1]])
    >>> gap_classes(bare)
    array([3, 3])
    """
    offsets, context = documents.offsets, documents.context
    classes = np.full(int(offsets[-1]), UNKNOWN, dtype=np.int64)
    if context is None or len(classes) < 2:
        return classes
    inner = np.ones(len(classes), dtype=bool)
    inner[offsets[:-1][np.diff(offsets) > 0]] = False
    gaps = _token_gaps(context)
    classes[inner] = np.searchsorted(GAPS, gaps[inner], side="right") - 1
    return classes


def _token_gaps(context: Context) -> IntArray:
    """Tokens between each slot and the slot before it, that one counted; 0 for the first slot of all."""
    return np.diff(context.slots, prepend=context.slots[:1])


KEPT_LAWS = 24_000_000
"""Entries of laws before any output that all chains together keep (192 MB): other noise has the same; a performance
setting."""

_KEPT: WeakKeyDictionary[CandidateChain, int] = WeakKeyDictionary()  # entries that each chain keeps, while it is alive


@dataclass(frozen=True, eq=False, repr=False)
class _Law:
    """The log law of a position before any output, all topics mixed."""

    log_mixture: FloatArray
    is_possible: BoolArray | None  # which candidates have mass, None where all have


@dataclass(eq=False, repr=False)
class _Laws:
    """Laws before any output by the sets up to the position; the chain keeps them while they are not too many.

    `masses` are those under every topic for the pattern that was asked for last: the next one often begins like it.
    """

    chain: CandidateChain
    log_shares: FloatArray
    masses: dict[tuple[int, ...], FloatArray] = field(default_factory=dict)

    def along(self, pattern: Sequence[int]) -> list[_Law]:
        """The laws of all positions of a pattern."""
        prefixes = [tuple(pattern[: t + 1]) for t in range(len(pattern))]
        found = [self.chain.laws.get(prefix) or self._law(prefix) for prefix in prefixes]
        for other in self.masses.keys() - set(prefixes):
            del self.masses[other]
        return found

    def _mass(self, prefix: tuple[int, ...]) -> FloatArray:
        """The law after some sets under every topic, from the longest beginning that is at hand."""
        self.masses.setdefault(prefix[:1], self.chain.first(prefix[0]))
        known = next(t for t in range(len(prefix), 0, -1) if prefix[:t] in self.masses)
        for t in range(known, len(prefix)):
            step = self.chain.step(prefix[t - 1], prefix[t])
            self.masses[prefix[: t + 1]] = step.ahead(self.masses[prefix[:t]])
        return self.masses[prefix]

    def _law(self, prefix: tuple[int, ...]) -> _Law:
        mixture = log_mix(self._mass(prefix), self.log_shares)[0]
        is_possible = np.isfinite(mixture)
        law = _Law(mixture, None if is_possible.all() else is_possible)
        if sum(_KEPT.values()) + len(mixture) <= KEPT_LAWS:
            _KEPT[self.chain] = _KEPT.get(self.chain, 0) + len(mixture)
            self.chain.laws[prefix] = law
        return law


def chain_terms(
    chain: CandidateChain, known: Knowledge, release: Release, sets: IntArray, entries: int
) -> Iterator[Terms]:
    """Blocks of documents of about `entries` entries, for every tier in it one set of terms over its candidates.

    `sets` is the number of every position's set.
    """
    laws = _Laws(chain, log(chain.chain.shares)[:, None, None])
    widths = np.array([len(points) for points in chain.points])[sets // chain.classes] * chain.chain.n_topics
    for documents in _blocks(release, sets, widths, entries):
        yield from _block(laws, known, release, sets, documents)


def _blocks(release: Release, sets: IntArray, widths: IntArray, entries: int) -> Iterator[list[int]]:
    """Documents with positions, in the order of their patterns, about `entries` entries together."""
    shown, ends = sets.astype(">u4"), release.offsets.tolist()
    order = sorted(np.flatnonzero(release.lengths).tolist(), key=lambda d: shown[ends[d] : ends[d + 1]].tobytes())
    costs = np.diff(np.append(0, np.cumsum(widths))[release.offsets])[order].tolist()
    block: list[int] = []
    room = entries
    for document, cost in zip(order, costs, strict=True):
        if block and cost > room:
            yield block
            block, room = [], entries
        block.append(document)
        room -= cost
    if block:
        yield block


@dataclass(frozen=True, eq=False, repr=False)
class _TierRows:
    """The positions of one tier in a block: likelihoods with a peak of one, and what is found."""

    positions: IntArray
    points: IntArray
    seen: FloatArray
    context: FloatArray
    log_prior: FloatArray


def _block(laws: _Laws, known: Knowledge, release: Release, sets: IntArray, documents: list[int]) -> list[Terms]:
    """The terms of some documents, tier by tier."""
    chain = laws.chain
    flat = np.concatenate([np.arange(release.offsets[d], release.offsets[d + 1]) for d in documents])
    tier = sets[flat] // chain.classes
    rows = {int(g): _tier_rows(known, release, flat[tier == g], chain.points[g]) for g in np.unique(tier)}
    place = np.empty(len(flat), dtype=np.int64)  # the row of every position in its tier
    for g in rows:
        place[tier == g] = np.arange(int((tier == g).sum()))
    start = 0
    lengths = release.lengths[documents].tolist()
    patterns = [tuple(each.tolist()) for each in np.split(sets[flat], np.cumsum(lengths)[:-1])]
    for pattern, count in _runs(patterns, chain):
        stop = start + count * len(pattern)
        _together(PatternSteps(chain, pattern), laws, rows, place[start:stop].reshape(count, len(pattern)))
        start = stop
    return [Terms(each.positions, each.context, each.log_prior, each.points) for each in rows.values()]


def _tier_rows(known: Knowledge, release: Release, positions: IntArray, points: IntArray) -> _TierRows:
    seen = likelihoods(known, release, positions, points)
    return _TierRows(positions, points, seen, np.empty_like(seen), np.empty_like(seen))


def _runs(patterns: list[tuple[int, ...]], chain: CandidateChain) -> Iterator[tuple[tuple[int, ...], int]]:
    """Each pattern with how many documents in a row have it, as far as their messages stay in a core's cache."""
    start = 0
    while start < len(patterns):
        pattern = patterns[start]
        widest = max(len(chain.points[chain.tier_of(number)]) for number in pattern)
        most = max(1, CACHED_ENTRIES // (chain.chain.n_topics * widest))
        stop = start + 1
        while stop < len(patterns) and stop - start < most and patterns[stop] == pattern:
            stop += 1
        yield pattern, stop - start
        start = stop


def _together(steps: PatternSteps, laws: _Laws, rows: dict[int, _TierRows], place: IntArray) -> None:
    """Fill in the terms of documents with one pattern; `place` is (documents, length)."""
    chain, before = steps.chain, laws.along(steps.pattern)
    mine = [rows[chain.tier_of(number)] for number in steps.pattern]
    at = [_evenly(place[:, t]) for t in range(len(mine))]
    seen = [_for_topics(each.seen[here], chain.chain.n_topics) for each, here in zip(mine, at, strict=True)]
    first = chain.first(steps.pattern[0])
    first = np.broadcast_to(first, (len(first), len(place), first.shape[2]))
    for t, left, right in both_sides(first, seen, steps, _SELDOM_SCALED):
        weights = laws.log_shares + (left.log_scale + right.log_scale)[:, :, None]
        both, prior = log_mix(left.values * right.values, weights), before[t].log_mixture
        is_possible = before[t].is_possible
        if is_possible is None:
            np.subtract(both, prior, out=mine[t].context[at[t]])
        else:
            mine[t].context[at[t]] = np.where(is_possible, both - np.where(is_possible, prior, 0.0), 0.0)
        mine[t].log_prior[at[t]] = prior


def _for_topics(seen: FloatArray, topics: int) -> FloatArray:
    """Likelihoods (documents, candidates) once for every topic, in the order in which messages hold their numbers."""
    return np.repeat(seen.T[:, None, :], topics, axis=1).transpose(1, 2, 0)


def _in_range(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Messages as they are while their sums are not small, otherwise with a sum of one; the log of what was divided."""
    sums = totals(by_candidate(values)).reshape(values.shape[:2])
    if sums.min() >= _SMALL:
        return values, np.zeros_like(sums)
    return values / sums[:, :, None], np.log(sums)


_SMALL = 1e-30  # sums below this are scaled: far from what underflows, and seldom reached
_SELDOM_SCALED = Arithmetic(np.multiply, 1.0, _in_range)


def _evenly(rows: IntArray) -> slice:
    """Rows of documents with one pattern as a slice: between two of them are as many rows as the pattern has."""
    step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
    return slice(int(rows[0]), int(rows[-1]) + 1, step)


def log_mix(values: FloatArray, log_weights: FloatArray) -> FloatArray:
    """Σ_topics exp(log_weights)·values as a law over the points, in logarithms, (documents, points).

    >>> np.exp(log_mix(np.array([[[1.0, 3.0]]]), np.zeros((1, 1, 1))))
    array([[0.25, 0.75]])
    """
    if len(values) == 1:
        mixed = values[0]
    else:
        weights = np.exp(log_weights - log_weights.max(axis=0))
        mixed = (weights.transpose(1, 2, 0) @ values.transpose(1, 0, 2))[:, 0]
    found = log(mixed)
    found -= log(mixed.sum(axis=1, keepdims=True))
    return found
