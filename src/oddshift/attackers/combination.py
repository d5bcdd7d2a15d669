"""A combination of attackers: each one's context term with weights of its own, in favour and against.

shift(x) = log M(y_l|x) + Σ_k u_k·max(c_k(x), 0) + v_k·min(c_k(x), 0) with u, v ≥ 0, for each public tier the weights
that give the best log score on held-out documents: that two secrets were seen together and that they never were are
known with unlike certainty. The score is convex in the weights, so what comes back is at least as good there as the
best of the parts and as `own` (all 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, against, knowledge, release_blocks
from oddshift.attackers.candidate_sampling import (
    BLOCK_ENTRIES,
    CandidateTerms,
    held_out_by_tier,
    joined,
    prepared,
    prior_part,
    terms_by_tier,
)
from oddshift.attackers.paired_log_score import choosing_clusters, split
from oddshift.attackers.term_weights import ContextTerms, best_weights_of_sides
from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.model.records import Records
from oddshift.model.release import Release, set_numbers
from oddshift.model.tiers import Tiers

Sides = tuple[float, float]
"""The weight of what a part says in favour of a candidate, and of what it says against it."""

Weights = tuple[tuple[Sides, ...], ...]
"""The weights of each part, in one row for each public tier; in a single row where tiers are secret."""

Weigh = Callable[[Knowledge], Weights]
"""The weights of some parts under a mechanism."""


@dataclass(frozen=True, eq=False, repr=False)
class Combination:
    """Several attackers read as one; the prior is that of one part (`prior_part`), if one has any of its own.

    `weigh` gives the weights under another mechanism: how much a part is worth depends on the noise.
    """

    known: Knowledge
    parts: tuple[Attacker, ...]
    weights: Weights
    name: str = "combination"
    weigh: Weigh | None = None

    fingerprint = property(content)

    def __repr__(self) -> str:
        """Names and weights, tier by tier."""
        rows = [
            ", ".join(f"{_shown(w)} {p.name}" for w, p in zip(row, self.parts, strict=True)) for row in self.weights
        ]
        return f"Combination({'; '.join(rows)})"

    @property
    def with_context(self) -> bool:
        """Whether some part reads W."""
        return any(part.with_context for part in self.parts)

    @property
    def has_weights(self) -> bool:
        """Whether some part counts in some tier; otherwise it reads each position alone."""
        return bool(np.any(self.weights))

    @property
    def weighed(self) -> BoolArray:
        """Which parts count in some tier."""
        return np.asarray(np.array(self.weights).any(axis=(0, 2)))

    def against(self, known: Knowledge) -> Combination:
        """The same parts against another mechanism: nothing is fitted again, only the weights."""
        weights = self.weights if self.weigh is None else self.weigh(known)
        return replace(self, known=known, parts=tuple(against(part, known) for part in self.parts), weights=weights)

    def carried(self, known: Knowledge) -> Combination:
        """The same parts with the same weights against another mechanism, for one that differs little."""
        return replace(self, known=known, parts=tuple(against(part, known) for part in self.parts))

    def towards(self, other: Combination, share: float) -> Combination:
        """The same parts with weights that lie this share of the way to those of another combination of them.

        >>> from types import SimpleNamespace
        >>> one, two = (Combination(SimpleNamespace(), (), (((w, 0.0),),)) for w in (1.0, 3.0))
        >>> one.towards(two, 0.25).weights
        (((1.5, 0.0),),)
        """
        here, there = np.array(self.weights), np.array(other.weights)
        return replace(self, weights=as_weights(here + share * (there - here)))

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus the weighted terms, block by block; other points keep the own one."""
        for first, block, found in self._blocks(release):
            shift = self.known.mechanism.log_columns(block.outputs)
            prior = self.known.log_prior
            if prior_part(self.parts) is not None:
                prior = np.tile(prior, (len(shift), 1))
            for mine in found:
                at = np.ix_(mine.positions, mine.points)
                shift[at] = self.shift_of(mine)
                if prior.ndim == 2:
                    prior[at] = mine.log_prior
            yield Beliefs(first + np.arange(len(shift)), shift, prior)

    def candidate_beliefs(self, release: Release) -> Iterator[Beliefs]:
        """The same over the candidates of each position alone, one candidate set of a block after the other."""
        for first, _, found in self._blocks(release):
            for mine in found:
                yield Beliefs(first + mine.positions, self.shift_of(mine), mine.log_prior, mine.points)

    def _blocks(self, release: Release) -> Iterator[tuple[int, Release, list[CandidateTerms]]]:
        """The number of the first position of some documents, these documents, and the terms of their positions."""
        weighed, prior = self.weighed, prior_part(self.parts)
        parts = prepared(self.parts, release, weighed)
        for first, block in release_blocks(release, len(self.known.log_prior), BLOCK_ENTRIES):
            yield first, block, terms_by_tier(parts, self.known, block, weighed, prior)

    def shift_of(self, mine: CandidateTerms) -> FloatArray:
        """Own release plus the weighted terms of all parts, which `mine` holds in their order."""
        row, shift = self.weights[mine.tier if len(self.weights) > 1 else 0], mine.own
        for (in_favour, adverse), term in zip(row, mine.terms, strict=True):
            if adverse:
                shift = shift + adverse * term
            if in_favour != adverse:
                shift = shift + (in_favour - adverse) * np.maximum(term, 0.0)
        return shift


def as_weights(values: FloatArray) -> Weights:
    """Weights from an array (tiers, parts, 2)."""
    return tuple(tuple((float(u), float(v)) for u, v in row) for row in values)


def _shown(sides: Sides) -> str:
    """Weights in few digits, one number where both sides have the same."""
    u, v = (f"{weight:.3g}" for weight in sides)
    return u if u == v else f"{u}/{v}"


def weights_by_tier(held: Mapping[int, ContextTerms], tiers: Tiers, parts: int) -> Weights:
    """The best weights of every public tier, or of all positions where tiers are secret; 0 where none was seen.

    Tiers in which nothing is beyond chance by itself share the weights that are best in all of them together.
    """
    rows = np.array([best_weights_of_sides(held[g]) if g in held else np.zeros((parts, 2)) for g in set_numbers(tiers)])
    quiet = [k for k, g in enumerate(set_numbers(tiers)) if g in held and not rows[k].any()]
    if len(quiet) > 1:
        rows[quiet] = best_weights_of_sides(joined([held[set_numbers(tiers)[k]] for k in quiet]))
    return as_weights(rows)


def fit_combination(
    known: Knowledge, parts: Sequence[Attacker], held_out: Records, *, rng: np.random.Generator
) -> Combination:
    """Weigh attackers by their log score on held-out documents: records that none of them was fitted on.

    **Guarantee**: on the held-out releases the log score is at least as good as that of every part alone, unless no
    weighting beats `own` by more than chance: then all weights are 0.
    """
    if not parts:
        raise InvalidInput("parts is empty, expected at least one attacker")
    weights = weights_by_tier(held_out_by_tier(parts, known, held_out, rng), known.tiers, len(parts))
    return Combination(known, tuple(parts), weights)


def fit_and_combine(
    known: Knowledge,
    fits: Sequence[Callable[[Knowledge], Attacker]],
    *,
    share: float = 0.2,
    rng: np.random.Generator,
) -> Combination:
    """Fit every part on most of the fit records and weigh them on the rest.

    Then they are fitted again on all records; the weights stay. Parts without weight are left out, unless no part has
    any: they may help under other noise.
    """
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"{share=}, expected 0 < share < 1")
    learn, held = split(choosing_clusters(known.fit), share, int(rng.integers(1 << 31)))
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    fitted = [fit(part) for fit in fits]
    kept = known.fit.take(held)
    combined = fit_combination(part, fitted, kept, rng=rng)
    used = _used(combined)
    final = [fits[k](known) for k in used]
    weigh = _Weighing(part, tuple(fitted[k] for k in used), kept, int(rng.integers(1 << 31)))
    weights = tuple(tuple(row[k] for k in used) for row in combined.weights)
    return Combination(known, tuple(final), weights, weigh=weigh)


def _used(combined: Combination) -> list[int]:
    """The parts with some weight, and the one that gives the prior; all of them when none has weight."""
    if not combined.has_weights:
        return list(range(len(combined.parts)))
    return [k for k, is_worth in enumerate(combined.weighed) if is_worth or k == prior_part(combined.parts)]


@dataclass(frozen=True, eq=False, repr=False)
class _Weighing:
    """Weights of the parts, as fitted without the held-out documents, on those documents under any mechanism."""

    part: Knowledge
    fitted: tuple[Attacker, ...]
    held: Records
    seed: int

    def __call__(self, known: Knowledge) -> Weights:
        """The weights under the mechanism and tiers of `known`."""
        there = replace(self.part, mechanism=known.mechanism, tiers=known.tiers)
        read = [against(attacker, there) for attacker in self.fitted]
        terms = held_out_by_tier(read, there, self.held, np.random.default_rng(self.seed))
        return weights_by_tier(terms, there.tiers, len(read))
