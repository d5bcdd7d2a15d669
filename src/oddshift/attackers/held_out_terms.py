"""Terms of held-out secrets: what every part of a combination says about them, as the fit of its weights needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.few_candidates import few_candidates
from oddshift.attackers.gains import choosing_units
from oddshift.attackers.held_out import FIT_POSITIONS, foreseeable, held_out_release, positions_over_all_points
from oddshift.attackers.release_blocks import release_blocks
from oddshift.attackers.term_weights import ContextTerms
from oddshift.attackers.tier_terms import BLOCK_ENTRIES, parts_without_outputs, prepared, prior_part, terms_by_tier
from oddshift.base.arrays import FloatArray
from oddshift.model.records import Records


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
    return {tier: _joined(blocks) for tier, blocks in found.items()}


def sides(terms: Sequence[FloatArray]) -> list[FloatArray]:
    """What each term says in favour of candidates, and what it says against them.

    >>> sides([np.array([[-1.0, 2.0]])])
    [array([[0., 2.]]), array([[-1.,  0.]])]
    """
    return [side(term, 0.0) for term in terms for side in (np.maximum, np.minimum)]


def _joined(blocks: list[ContextTerms]) -> ContextTerms:
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
