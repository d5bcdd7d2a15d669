"""The terms of several attackers over the candidates of each position, on a release or on held-out secrets.

With public tiers a position holds a point of its own tier, so work and memory are those of the tiers and not of the
vocabulary. Columns of the mechanism are computed once for all attackers.

Few candidates: the likeliest of a held-out position one by one, and some that stand for all others. Weights are fitted
on sums over candidates, Z = Σ_x e^{s(x)}, s = base + Σ_k w_k·c_k. With q a first idea of s, the others are drawn at
even steps of their mass Σ e^q, each of D draws with e^{base'} = e^{base − q}·Σ e^q/D: the sum is exact at s = q, and
right on average for any weights. A fit then costs what a few hundred candidates cost.

Held-out secrets are fit records that were left out of an estimate and now weigh what it says, perturbed like any other.
What they tell must hold for a release. A vocabulary made from the fit records has no point that they never hold, so no
release has one; among held-out secrets, however, some occur nowhere else, and on those every count is silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge, release_blocks
from oddshift.attackers.law_attacker import LawAttacker, Terms, over_candidates
from oddshift.attackers.paired_log_score import choosing_units
from oddshift.attackers.term_weights import ContextTerms
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log, peak
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, perturb

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


LIKELY, DRAWN = 256, 128
"""Candidates that are kept one by one, and draws from the others; a performance setting."""

_TOGETHER = 1_000_000  # entries of a term that are put in order together
_TRUSTED = 0.25  # the weight of every term in q


def few_candidates(
    base: FloatArray, terms: Sequence[FloatArray], truth: IntArray
) -> tuple[FloatArray, list[FloatArray], IntArray]:
    """Base and terms over few columns, and the column of the truth; the same where candidates are few.

    >>> base, (term,), truth = few_candidates(np.zeros((1, 3)), [np.array([[1.0, 0.0, 2.0]])], np.array([2]))
    >>> base, term, truth
    (array([[0., 0., 0.]]), array([[1., 0., 2.]]), array([2]))
    """
    if base.shape[1] <= LIKELY + DRAWN:
        return base, list(terms), truth
    found = [np.empty((len(base), LIKELY + DRAWN)) for _ in (base, *terms)]
    column = np.empty_like(truth)
    for part in blocks(len(base), base.shape[1], _TOGETHER):
        guess = base[part] + _TRUSTED * sum(term[part] for term in terms)
        chosen, column[part], gained = _chosen(guess, truth[part])
        for whole, each in zip(found, (base, *terms), strict=True):
            whole[part] = np.take_along_axis(each[part], chosen, axis=1)
        found[0][part, LIKELY:] += gained
    return found[0], found[1:], column


def _chosen(guess: FloatArray, truth: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
    """The chosen candidates of every row, the column of the truth, and what the base of each draw gains.

    `guess` is q; it is changed.
    """
    rows = np.arange(len(guess))
    at_truth = guess[rows, truth]
    guess[rows, truth] = np.inf  # the truth is always kept
    likely = np.argpartition(guess, -LIKELY, axis=1)[:, -LIKELY:]
    guess[rows, truth] = at_truth
    left = guess.copy()
    np.put_along_axis(left, likely, -np.inf, axis=1)
    top = peak(left, axis=1)
    mass = np.exp(left - top)
    total = mass.sum(axis=1, keepdims=True)
    drawn = _at_even_steps(mass, total)
    gained = log(total / DRAWN) + top - np.take_along_axis(guess, drawn, axis=1)
    impossible = np.isneginf(np.take_along_axis(left, drawn, axis=1))  # nothing is left to draw from
    return (
        np.hstack([likely, drawn]),
        np.argmax(likely == truth[:, None], axis=1),
        np.where(impossible, -np.inf, gained),
    )


def _at_even_steps(mass: FloatArray, total: FloatArray) -> IntArray:
    """The candidate where the cumulated mass of a row reaches each of DRAWN even steps."""
    reached = np.cumsum(mass, axis=1)
    steps = (np.arange(DRAWN) + 0.5) / DRAWN * total
    found = [np.searchsorted(row, step) for row, step in zip(reached, steps, strict=True)]
    return np.minimum(np.array(found), mass.shape[1] - 1)


FIT_POSITIONS = 6_000
"""Largest number of positions on which weights are fitted."""

NOISES = 4
"""Largest number of releases of each held-out document for fitting weights: fresh noise makes up for few ones."""


def foreseeable(known: Knowledge, held_out: Records) -> BoolArray:
    """Whether a held-out secret with this point counts, for every point: those that the other records hold.

    All count where some candidate is in no record at all, because then a release may hold such a one too.
    """
    seen = known.fit.counts() > 0
    is_from_records = bool((seen | (held_out.counts() > 0))[known.tiers.sensitive].all())
    return seen if is_from_records else np.ones_like(seen)


def held_out_release(
    known: Knowledge, held_out: Records, size: int, rng: np.random.Generator
) -> tuple[Records, Release]:
    """Held-out documents, about `size` positions of them and few ones several times, and their release."""
    useful = np.flatnonzero(held_out.lengths > 0)
    if not len(useful):
        raise InvalidInput("held-out documents hold no secret, expected at least one")
    noises = min(NOISES, max(1, size // int(held_out.lengths.sum())))
    order = np.concatenate([rng.permutation(useful) for _ in range(noises)])
    documents = order[: max(1, int(np.searchsorted(np.cumsum(held_out.lengths[order]), size, side="right")))]
    chosen = held_out.take(np.sort(documents))
    return chosen, perturb(chosen, known.mechanism, known.tiers, rng)


def held_out_by_tier(
    parts: Sequence[Attacker], known: Knowledge, held_out: Records, rng: np.random.Generator
) -> dict[int, ContextTerms]:
    """Perturb held-out documents and run every part; for each tier both sides of all terms, over few candidates."""
    chosen, release = held_out_release(known, held_out, FIT_POSITIONS, rng)
    units, counts_it = choosing_units(chosen), foreseeable(known, held_out)[chosen.points]
    found: dict[int, list[ContextTerms]] = {}
    everything = np.ones(len(parts), dtype=np.bool_)
    ready = prepared(parts, release, everything)
    silent = tuple(2 * k + side for k in parts_without_outputs(parts) for side in (0, 1))
    for first, block in release_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
        for mine in terms_by_tier(ready, known, block, everything, prior_part(parts)):
            keep = counts_it[first + mine.positions]
            at = first + mine.positions[keep]
            if len(at):
                truth = np.searchsorted(mine.points, chosen.points[at])
                base, terms, column = few_candidates(
                    (mine.own + mine.log_prior)[keep], [term[keep] for term in mine.terms], truth
                )
                here = replace(units, of_position=units.of_position[at])
                found.setdefault(mine.tier, []).append(ContextTerms(base, tuple(sides(terms)), column, here, silent))
    return {tier: joined(blocks) for tier, blocks in found.items()}


def sides(terms: Sequence[FloatArray]) -> list[FloatArray]:
    """What each term says in favour of candidates, and what it says against them.

    >>> sides([np.array([[-1.0, 2.0]])])
    [array([[0., 2.]]), array([[-1.,  0.]])]
    """
    return [side(term, 0.0) for term in terms for side in (np.maximum, np.minimum)]


def joined(blocks: list[ContextTerms]) -> ContextTerms:
    """The positions of several blocks; those with fewer candidates than others get some that are impossible."""
    one, width = blocks[0], max(each.base.shape[1] for each in blocks)

    def wide(values: FloatArray, beyond: float) -> FloatArray:
        return np.pad(values, ((0, 0), (0, width - values.shape[1])), constant_values=beyond)

    return replace(
        one,
        base=np.concatenate([wide(each.base, -np.inf) for each in blocks]),
        terms=tuple(np.concatenate([wide(each.terms[k], 0.0) for each in blocks]) for k in range(one.size)),
        truth=np.concatenate([each.truth for each in blocks]),
        units=replace(one.units, of_position=np.concatenate([each.units.of_position for each in blocks])),
    )
