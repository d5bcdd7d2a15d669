"""Few candidates: the likeliest of a held-out position one by one, and some that stand for all others.

Weights are fitted on sums over candidates, Z = Σ_x e^{s(x)}, s = base + Σ_k w_k·c_k. With q a first idea of s, the
others are drawn at even steps of their mass Σ e^q, each of D draws with e^{base'} = e^{base − q}·Σ e^q/D: the sum is
exact at s = q, and right on average for any weights. A fit then costs what a few hundred candidates cost.

Held-out secrets: fit records that were left out of an estimate and now weigh what it says, perturbed like any other.

What they tell must hold for a release. A vocabulary made from the fit records has no point that they never hold, so no
release has one; among held-out secrets, however, some occur nowhere else, and on those every count is silent.

Terms of held-out secrets: what every part of a combination says about them, as the fit of its weights needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge, release_blocks
from oddshift.attackers.paired_log_score import choosing_units
from oddshift.attackers.term_weights import ContextTerms
from oddshift.attackers.tier_terms import BLOCK_ENTRIES, parts_without_outputs, prepared, prior_part, terms_by_tier
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import log, peak
from oddshift.model.records import Records
from oddshift.model.release import Release, perturb

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

FIT_ENTRIES = 12_000_000
"""Entries (positions x points) of a term that is held over all points, for fewer positions."""

NOISES = 4
"""Largest number of releases of each held-out document for fitting weights: fresh noise makes up for few ones."""


def foreseeable(known: Knowledge, held_out: Records) -> BoolArray:
    """Whether a held-out secret with this point counts, for every point: those that the other records hold.

    All count where some candidate is in no record at all, because then a release may hold such a one too.
    """
    seen = known.fit.counts() > 0
    is_from_records = bool((seen | (held_out.counts() > 0))[known.tiers.sensitive].all())
    return seen if is_from_records else np.ones_like(seen)


def positions_over_all_points(points: int) -> int:
    """How many positions weights are fitted on where terms are held over all points."""
    return min(FIT_POSITIONS, FIT_ENTRIES // points)


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
    """The positions of several blocks."""
    one = blocks[0]
    return replace(
        one,
        base=np.concatenate([each.base for each in blocks]),
        terms=tuple(np.concatenate([each.terms[k] for each in blocks]) for k in range(one.size)),
        truth=np.concatenate([each.truth for each in blocks]),
        units=replace(one.units, of_position=np.concatenate([each.units.of_position for each in blocks])),
    )


def held_out_terms(
    parts: Sequence[Attacker], known: Knowledge, held_out: Records, rng: np.random.Generator
) -> ContextTerms:
    """The terms as they are, in one set over all points, −inf outside the candidates."""
    chosen, release = held_out_release(known, held_out, positions_over_all_points(len(known.log_prior)), rng)
    shape = (len(chosen.points), len(known.log_prior))
    base, terms = np.full(shape, -np.inf), tuple(np.zeros(shape) for _ in parts)
    everything = np.ones(len(parts), dtype=np.bool_)
    for mine in terms_by_tier(parts, known, release, everything, prior_part(parts)):
        at = np.ix_(mine.positions, mine.points)
        base[at] = mine.own + mine.log_prior
        for whole, term in zip(terms, mine.terms, strict=True):
            whole[at] = term
    rows, units = np.flatnonzero(foreseeable(known, held_out)[chosen.points]), choosing_units(chosen)
    units = replace(units, of_position=units.of_position[rows])
    return ContextTerms(
        base[rows], tuple(term[rows] for term in terms), chosen.points[rows], units, parts_without_outputs(parts)
    )
