"""The terms of several attackers on one block of a release: over the candidates of each position, and nothing else.

With public tiers a position holds a point of its own tier, so work and memory are those of the tiers and not of the
vocabulary. Columns of the mechanism are computed once for all attackers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.law_attacker import LawAttacker, Terms, over_candidates
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.release import CandidateSet, Release, candidate_sets

BLOCK_ENTRIES = 2_000_000
"""Entries (positions x points) of one part in one block; a performance setting."""


@dataclass(frozen=True, eq=False, repr=False)
class CandidateTerms:
    """Positions of one candidate set: the own release and the context term of every part, (positions, candidates).

    `log_prior` is that too where a part has a prior for each position, given W or the place, otherwise (candidates,).
    """

    tier: int
    positions: IntArray
    points: IntArray
    own: FloatArray
    terms: tuple[FloatArray, ...]
    log_prior: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class RememberedColumns:
    """The columns of a mechanism for the outputs of one block over its candidate sets, computed once for all parts."""

    mechanism: Mechanism
    outputs: tuple[IntArray, ...]
    columns: tuple[FloatArray, ...]
    points: tuple[IntArray, ...]

    def log_columns(self, outputs: IntArray) -> FloatArray:
        """As the mechanism's."""
        return self.mechanism.log_columns(outputs)

    def candidate_columns(self, outputs: IntArray, points: IntArray) -> FloatArray:
        """As the mechanism's; remembered for outputs and candidates of the block."""
        for mine, seen, columns in zip(self.points, self.outputs, self.columns, strict=True):
            if len(mine) == len(points) and len(mine) and mine[0] == points[0] and mine[-1] == points[-1]:
                row = np.searchsorted(seen, outputs)
                if len(seen) and (seen[np.minimum(row, len(seen) - 1)] == outputs).all():
                    return np.asarray(columns[row])
        return self.mechanism.candidate_columns(outputs, points)


def remember(known: Knowledge, block: Release, sets: Sequence[CandidateSet]) -> Knowledge:
    """What is known, with a mechanism that has the columns of a block at hand."""
    outputs = tuple(np.unique(block.outputs[mine.positions]) for mine in sets)
    points = tuple(mine.points for mine in sets)
    columns = tuple(known.mechanism.candidate_columns(*both) for both in zip(outputs, points, strict=True))
    return replace(known, mechanism=cast(Mechanism, RememberedColumns(known.mechanism, outputs, columns, points)))


def prepared(parts: Sequence[Attacker], release: Release, wanted: BoolArray) -> list[Attacker]:
    """The parts for reading a release block by block: what all blocks have in common is worked out once."""
    return [
        part.prepared(release) if use and isinstance(part, LawAttacker) else part
        for part, use in zip(parts, wanted, strict=True)
    ]


def prior_part(parts: Sequence[Attacker]) -> int | None:
    """The part whose prior counts: the first that reads W, otherwise the first that reads no output, if any."""
    reads_words = (k for k, part in enumerate(parts) if part.with_context)
    return next(reads_words, next(iter(parts_without_outputs(parts)), None))


def parts_without_outputs(parts: Sequence[Attacker]) -> tuple[int, ...]:
    """The parts whose term does not depend on any output, but only on what is public."""
    return tuple(k for k, part in enumerate(parts) if not getattr(part, "reads_outputs", True))


def terms_by_tier(
    parts: Sequence[Attacker], known: Knowledge, release: Release, wanted: BoolArray, prior: int | None
) -> list[CandidateTerms]:
    """The terms of the parts that are wanted (0 for the others), candidate set by candidate set.

    `prior` is the part whose prior counts, if any does.
    """
    sets = candidate_sets(release, known.tiers)
    remembered = remember(known, release, sets)
    row = np.empty(len(release.outputs), dtype=np.int64)
    for mine in sets:
        row[mine.positions] = np.arange(len(mine.positions))
    own = [remembered.mechanism.candidate_columns(release.outputs[mine.positions], mine.points) for mine in sets]
    priors = [known.log_prior[mine.points] for mine in sets]
    terms: list[list[FloatArray]] = [[] for _ in sets]
    place = {mine.tier: k for k, mine in enumerate(sets)}
    for number, part in enumerate(parts):
        filled = [np.zeros_like(each) if wanted[number] else np.broadcast_to(0.0, each.shape) for each in own]
        if wanted[number] or number == prior:
            for tier, block in _numbered(_terms_of(part, remembered, release), release):
                at, k = row[block.positions], place[tier]
                if wanted[number]:
                    filled[k][at] = block.context
                if number == prior:
                    priors[k] = _with_rows(priors[k], at, block.log_prior, len(own[k]))
        for k, each in enumerate(filled):
            if wanted[number]:
                np.putmask(each, ~np.isfinite(own[k]), 0.0)
            terms[k].append(each)
    return [
        CandidateTerms(mine.tier, mine.positions, mine.points, own[k], tuple(terms[k]), priors[k])
        for k, mine in enumerate(sets)
    ]


def _with_rows(priors: FloatArray, at: IntArray, given: FloatArray, positions: int) -> FloatArray:
    """Priors with those of some rows put in; they stay one row as long as all are the same."""
    if given.ndim == 1 and priors.ndim == 1:
        return given
    whole = priors if priors.ndim == 2 else np.tile(priors, (positions, 1))
    whole[at] = given
    return whole


def _terms_of(part: Attacker, known: Knowledge, release: Release) -> Iterator[Terms]:
    """Context terms over candidates: the part's own, or its beliefs less the own release."""
    if isinstance(part, LawAttacker):  # it needs nothing of a mechanism but its columns
        return over_candidates(part.against(known).terms(release), release, known.tiers)
    return over_candidates(_less_own(part, known, release), release, known.tiers)


def _less_own(part: Attacker, known: Knowledge, release: Release) -> Iterator[Terms]:
    for block in part.beliefs(release):
        with np.errstate(invalid="ignore"):  # −inf less −inf, which is put to 0 later
            context = block.shift - known.mechanism.log_columns(release.outputs[block.positions])
        yield Terms(block.positions, context, block.log_prior)


def _numbered(blocks: Iterator[Terms], release: Release) -> Iterator[tuple[int, Terms]]:
    """Each block with its tier, 0 where tiers are secret; blocks without positions are left out."""
    for block in blocks:
        if len(block.positions):
            labels = release.position_tiers
            yield 0 if labels is None else int(labels[block.positions[0]]), block
