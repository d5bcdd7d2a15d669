"""An estimated chain of secrets: sparse laws of one given the one before it, and exact inference.

x_{t+1} follows own(a, b) + rest(a)·law(b) inside the candidate set of b (`sparse_law`). Steps are cut down to the
points that both positions may hold: a message then costs what the candidates cost, not what the vocabulary does.
Documents whose positions lie in the same sets (tier and spacing) are read together by forward-backward. The law before
any output depends on these sets alone, so documents are put in their order and each beginning of a pattern is worked
out once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import Terms, likelihoods
from oddshift.attackers.sparse_law import SparseLaw
from oddshift.base.arrays import CACHED_ENTRIES, BoolArray, FloatArray, IntArray, frozen
from oddshift.base.logarithms import log
from oddshift.leakage.forward_backward import Arithmetic, both_sides
from oddshift.model.release import Release, candidates, set_numbers
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class CandidateStep:
    """A step from the candidates of one position to those of the next; messages are (documents, candidates).

    In memory a message holds its candidates first: a sparse matrix then takes all documents at once.
    """

    own: Any  # sparse: own(a, b)
    across: Any  # the same with rows and columns exchanged
    rest: FloatArray  # of every a
    law: FloatArray  # of the candidates of the next position

    def ahead(self, mass: FloatArray) -> FloatArray:
        """Σ_a mass(a)·T(a, b)."""
        moved = _times(self.across, mass.T)
        moved += self._law.T @ (self._rest @ mass.T)
        return moved.T

    def back(self, mass: FloatArray) -> FloatArray:
        """Σ_b T(a, b)·mass(b)."""
        moved = _times(self.own, mass.T)
        moved += self._rest.T @ (self._law @ mass.T)
        return moved.T

    @cached_property
    def _rest(self) -> FloatArray:
        """The rest and a row of zeros: a product of matrices is several times faster than one with a vector."""
        return np.stack([self.rest, np.zeros_like(self.rest)])

    @cached_property
    def _law(self) -> FloatArray:
        return np.stack([self.law, np.zeros_like(self.law)])


def totals(flat: FloatArray) -> FloatArray:
    """Sums over candidates (candidates, …), as a product: faster than a sum where few numbers stand in a row."""
    return np.asarray((_ones(len(flat)) @ flat)[0])


@lru_cache(maxsize=16)
def _ones(size: int) -> FloatArray:
    """Two rows of ones, for a product of matrices."""
    return frozen(np.ones((2, size)))


def _times(matrix: Any, flat: FloatArray) -> FloatArray:
    """A sparse matrix (rows, candidates) times messages (candidates, …)."""
    return np.asarray((matrix @ flat[:, 0])[:, None] if flat.shape[1] == 1 else matrix @ flat)


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedChain:
    """An estimated law of documents: a law of the next secret for each class of spacing, and that of the first one."""

    laws: tuple[SparseLaw, ...]
    first: FloatArray

    def over(self, tiers: Tiers) -> CandidateChain:
        """The same over the candidates of each tier."""
        key = (tiers.labels.tobytes(), tiers.is_public)
        if key not in self._cut:
            self._cut.clear()
            sets = [candidates(tiers, tier) for tier in set_numbers(tiers)]
            self._cut[key] = CandidateChain(self, tuple(np.flatnonzero(each) for each in sets))
        return self._cut[key]

    @cached_property
    def _cut(self) -> dict[tuple[bytes, bool], CandidateChain]:
        """What was asked for last: other scales have the same tiers."""
        return {}

    def __getstate__(self) -> dict[str, object]:
        """The fields: steps are cut down faster than they are sent to a worker."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False, repr=False)
class CandidateChain:
    """An estimated chain over the candidates of each tier; set number = tier · classes + class of spacing."""

    chain: EstimatedChain
    points: tuple[IntArray, ...]
    laws: dict[tuple[int, ...], Any] = field(default_factory=dict)  # before any output, kept where they are worked out

    @property
    def classes(self) -> int:
        """The number of classes of spacing."""
        return len(self.chain.laws)

    def tier_of(self, number: int) -> int:
        """The tier of a set."""
        return number // self.classes

    def first(self, number: int) -> FloatArray:
        """The law of a document's first secret over the candidates, (1, candidates)."""
        if number not in self._firsts:
            self._firsts[number] = self.chain.first[None, self.points[self.tier_of(number)]]
        return self._firsts[number]

    def step(self, before: int, after: int) -> CandidateStep:
        """The step from the candidates of one set to those of another."""
        key = (self.tier_of(before), after)
        if key not in self._steps:
            law, tier = self.chain.laws[after % self.classes], self.tier_of(after)
            rows, columns = self.points[key[0]], self.points[tier]
            own = law.own[rows][:, columns].tocsr()
            self._steps[key] = CandidateStep(own, own.T.tocsr(), law.rest[rows, tier], law.law[columns])
        return self._steps[key]

    @cached_property
    def _steps(self) -> dict[tuple[int, int], CandidateStep]:
        return {}

    @cached_property
    def _firsts(self) -> dict[int, FloatArray]:
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class PatternSteps:
    """The transitions of documents whose positions lie in the same sets, one after the other."""

    chain: CandidateChain
    pattern: Sequence[int]

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """From position t to position t + 1."""
        return self.chain.step(self.pattern[t], self.pattern[t + 1]).ahead(mass)

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """From position t + 1 to position t."""
        return self.chain.step(self.pattern[t], self.pattern[t + 1]).back(mass)


KEPT_LAWS = 24_000_000
"""Entries of laws before any output that all chains together keep (192 MB): other noise has the same; a performance
setting."""

_KEPT: WeakKeyDictionary[CandidateChain, int] = WeakKeyDictionary()  # entries that each chain keeps, while it is alive


@dataclass(frozen=True, eq=False, repr=False)
class _Law:
    """The log law of a position before any output."""

    log_law: FloatArray
    is_possible: BoolArray | None  # which candidates have mass, None where all have


@dataclass(eq=False, repr=False)
class _Laws:
    """Laws before any output by the sets up to the position; the chain keeps them while they are not too many.

    `masses` are those of the pattern that was asked for last: the next one often begins like it.
    """

    chain: CandidateChain
    masses: dict[tuple[int, ...], FloatArray] = field(default_factory=dict)

    def along(self, pattern: Sequence[int]) -> list[_Law]:
        """The laws of all positions of a pattern."""
        prefixes = [tuple(pattern[: t + 1]) for t in range(len(pattern))]
        found = [self.chain.laws.get(prefix) or self._law(prefix) for prefix in prefixes]
        for other in self.masses.keys() - set(prefixes):
            del self.masses[other]
        return found

    def _mass(self, prefix: tuple[int, ...]) -> FloatArray:
        """The law after some sets, (1, candidates), from the longest beginning that is at hand."""
        self.masses.setdefault(prefix[:1], self.chain.first(prefix[0]))
        known = next(t for t in range(len(prefix), 0, -1) if prefix[:t] in self.masses)
        for t in range(known, len(prefix)):
            step = self.chain.step(prefix[t - 1], prefix[t])
            self.masses[prefix[: t + 1]] = step.ahead(self.masses[prefix[:t]])
        return self.masses[prefix]

    def _law(self, prefix: tuple[int, ...]) -> _Law:
        found = log_law(self._mass(prefix))[0]
        is_possible = np.isfinite(found)
        law = _Law(found, None if is_possible.all() else is_possible)
        if sum(_KEPT.values()) + len(found) <= KEPT_LAWS:
            _KEPT[self.chain] = _KEPT.get(self.chain, 0) + len(found)
            self.chain.laws[prefix] = law
        return law


def chain_terms(
    chain: CandidateChain, known: Knowledge, release: Release, sets: IntArray, entries: int
) -> Iterator[Terms]:
    """Blocks of documents of about `entries` entries, for every tier in it one set of terms over its candidates.

    `sets` is the number of every position's set.
    """
    laws = _Laws(chain)
    widths = np.array([len(points) for points in chain.points])[sets // chain.classes]
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
        most = max(1, CACHED_ENTRIES // widest)
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
    seen = [np.asfortranarray(each.seen[here]) for each, here in zip(mine, at, strict=True)]
    first = np.broadcast_to(chain.first(steps.pattern[0]), (len(place), seen[0].shape[1]))
    for t, left, right in both_sides(first, seen, steps, _SELDOM_SCALED):
        both, prior = log_law(left.values * right.values), before[t].log_law
        is_possible = before[t].is_possible
        if is_possible is None:
            np.subtract(both, prior, out=mine[t].context[at[t]])
        else:
            mine[t].context[at[t]] = np.where(is_possible, both - np.where(is_possible, prior, 0.0), 0.0)
        mine[t].log_prior[at[t]] = prior


def _in_range(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Messages as they are while their sums are not small, otherwise with a sum of one; the log of what was divided."""
    sums = totals(values.T)
    if sums.min() >= _SMALL:
        return values, np.zeros_like(sums)
    return values / sums[:, None], np.log(sums)


_SMALL = 1e-30  # sums below this are scaled: far from what underflows, and seldom reached
_SELDOM_SCALED = Arithmetic(np.multiply, 1.0, _in_range)


def _evenly(rows: IntArray) -> slice:
    """Rows of documents with one pattern as a slice: between two of them are as many rows as the pattern has."""
    step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
    return slice(int(rows[0]), int(rows[-1]) + 1, step)


def log_law(mass: FloatArray) -> FloatArray:
    """Mass as a law over the candidates, in logarithms, (documents, candidates)."""
    found = log(mass)
    found -= log(mass.sum(axis=1, keepdims=True))
    return found
