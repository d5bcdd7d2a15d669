"""A combination of attackers: each one's context term with a weight of its own.

shift(x) = log M(y_l|x) + Σ_k w_k·c_k(x) with w ≥ 0, for each public tier the weights that give the best log score on
held-out documents. The score is convex in w, so what comes back is at least as good there as the best of the parts and
as `own` (w = 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, against, knowledge
from oddshift.attackers.cooccurrence import Cooccurrence, document_blocks
from oddshift.attackers.gains import SIGNIFICANT, Units, choosing_units, gain
from oddshift.attackers.law_attacker import LawAttacker, Terms
from oddshift.attackers.plugin import Plugin
from oddshift.attackers.training import split
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.base.logarithms import log, log_sum, peak
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates, perturb
from oddshift.model.tiers import Tiers

BLOCK_ENTRIES = 4_000_000
"""Entries (positions x points) of one part in one block; a performance setting."""

FIT_ENTRIES = 12_000_000
"""Entries (positions x points) of each part that the weights are fitted on."""

FIT_POSITIONS = 6_000
"""Largest number of positions on which the weights are fitted."""

Weights = tuple[tuple[float, ...], ...]
"""A weight for each part, in one row for each public tier; in a single row where tiers are secret."""

Weigh = Callable[[Knowledge], Weights]
"""The weights of some parts under a mechanism."""

NOISES = 4
"""Largest number of releases of each held-out document for fitting weights: fresh noise makes up for few ones."""


@dataclass(frozen=True, eq=False, repr=False)
class Combination:
    """Several attackers read as one; the prior is that of the first part that reads W, if any does.

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
        rows = [", ".join(f"{w:.3g} {p.name}" for w, p in zip(row, self.parts, strict=True)) for row in self.weights]
        return f"Combination({'; '.join(rows)})"

    @property
    def with_context(self) -> bool:
        """Whether some part reads W."""
        return any(part.with_context for part in self.parts)

    def against(self, known: Knowledge) -> Combination:
        """The same parts against another mechanism: nothing is fitted again, only the weights."""
        weights = self.weights if self.weigh is None else self.weigh(known)
        return replace(self, known=known, parts=tuple(against(part, known) for part in self.parts), weights=weights)

    def carried(self, known: Knowledge) -> Combination:
        """The same parts with the same weights against another mechanism, for one that differs little."""
        return replace(self, known=known, parts=tuple(against(part, known) for part in self.parts))

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus the weighted terms, a block of documents at a time."""
        weights = np.atleast_2d(np.array(self.weights))
        used = tuple(p for p, w in zip(self.parts, weights.T, strict=True) if w.any() or p.with_context)
        weights = weights[..., [k for k, part in enumerate(self.parts) if part in used]]
        for documents in document_blocks(release, len(self.known.log_prior), BLOCK_ENTRIES):
            block = release.take(np.arange(documents.start, documents.stop))
            if not len(block.outputs):
                continue
            remembered = remember(self.known, block)
            shift = remembered.mechanism.log_columns(block.outputs)
            terms, prior = context_terms(recalled(used, remembered), block, shift)
            rows = np.zeros(len(shift), dtype=np.int64)
            if block.position_tiers is not None and len(weights) > 1:
                rows = block.position_tiers
            for weight, term in zip(weights.T, terms, strict=True):
                shift = shift + weight[rows, None] * term if weight.any() else shift
            positions = np.arange(release.offsets[documents.start], release.offsets[documents.stop])
            yield Beliefs(positions, shift, self.known.log_prior if prior is None else prior)


@dataclass(frozen=True, eq=False, repr=False)
class RememberedColumns:
    """The columns of a mechanism for the outputs of one block, computed once for all parts."""

    mechanism: Mechanism
    outputs: IntArray
    columns: FloatArray

    def log_columns(self, outputs: IntArray) -> FloatArray:
        """As the mechanism's, for outputs of the block."""
        return np.asarray(self.columns[np.searchsorted(self.outputs, outputs)])


def remember(known: Knowledge, block: Release) -> Knowledge:
    """What is known, with a mechanism that has the columns of a block at hand."""
    outputs = np.unique(block.outputs)
    columns = known.mechanism.log_columns(outputs)
    return replace(known, mechanism=cast(Mechanism, RememberedColumns(known.mechanism, outputs, columns)))


def recalled(parts: Sequence[Attacker], remembered: Knowledge) -> list[Attacker]:
    """The parts with remembered columns: those from counts, which need nothing else of a mechanism."""
    return [against(p, remembered) if isinstance(p, LawAttacker | Plugin | Cooccurrence) else p for p in parts]


@dataclass(frozen=True, eq=False, repr=False)
class ContextTerms:
    """Held-out positions with their truth: log prior plus own release, and the context term of every part."""

    base: FloatArray  # (positions, points), −inf outside the candidates
    terms: tuple[FloatArray, ...]
    truth: IntArray
    units: Units

    def scores(self, weights: FloatArray) -> FloatArray:
        """−log posterior of the truth at every position."""
        total = self._total(weights)
        return log_sum(total) - total[np.arange(len(self.truth)), self.truth]

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Mean of the scores, and its gradient: E[c_k] under the posterior minus c_k at the truth."""
        total = self._total(weights)
        rows = np.arange(len(self.truth))
        at_truth, top = total[rows, self.truth], peak(total, axis=1)
        total -= top
        mass = np.exp(total, out=total).sum(axis=1, keepdims=True)
        value = float(np.mean(log(mass[:, 0]) + top[:, 0] - at_truth))
        total /= mass  # the posterior
        gradient = [np.vdot(total, term) - term[rows, self.truth].sum(dtype=np.float64) for term in self.terms]
        return value, np.array(gradient) / len(rows)

    def inside(self, candidates: BoolArray) -> ContextTerms:
        """The positions whose truth is among some candidates, and those candidates alone."""
        rows, columns = np.flatnonzero(candidates[self.truth]), np.flatnonzero(candidates)
        at = np.ix_(rows, columns)
        truth = np.searchsorted(columns, self.truth[rows])
        units = replace(self.units, of_position=self.units.of_position[rows])
        return ContextTerms(self.base[at], tuple(term[at] for term in self.terms), truth, units)

    def _total(self, weights: FloatArray) -> FloatArray:
        total, scaled = self.base.copy(), np.empty_like(self.base)
        for weight, term in zip(weights, self.terms, strict=True):
            if weight:
                total += np.multiply(term, weight, out=scaled)
        return total


def context_terms(
    parts: Sequence[Attacker], release: Release, own: FloatArray
) -> tuple[list[FloatArray], FloatArray | None]:
    """The context term of every part, (positions, points) each, and the prior given W of the first that reads W."""
    terms, context_prior = [], None
    impossible = ~np.isfinite(own)
    for part in parts:
        term, priors = np.empty_like(own), np.empty_like(own) if part.with_context and context_prior is None else None
        for positions, context, log_prior in _terms(part, release, own):
            term[positions] = context
            if priors is not None:
                priors[positions] = log_prior
        np.putmask(term, impossible, 0.0)
        terms.append(term)
        context_prior = priors if context_prior is None else context_prior
    return terms, context_prior


def _terms(part: Attacker, release: Release, own: FloatArray) -> Iterator[Terms]:
    """Yield the context terms of one part: as it computes them, or what its beliefs add to the own release."""
    if isinstance(part, LawAttacker):
        yield from part.law.terms(part.known, release)
    elif isinstance(part, Plugin | Cooccurrence):
        yield from part.terms(release)
    else:
        for block in part.beliefs(release):
            with np.errstate(invalid="ignore"):  # −inf less −inf, which the caller puts to 0
                yield block.positions, block.shift - own[block.positions], block.log_prior


def held_out_terms(
    parts: Sequence[Attacker], known: Knowledge, held_out: Records, rng: np.random.Generator
) -> ContextTerms:
    """Perturb held-out documents (as many as FIT_ENTRIES allows; few ones several times) and run every part."""
    useful = np.flatnonzero(held_out.lengths > 0)
    if not len(useful):
        raise InvalidInput("held-out documents hold no secret, expected at least one")
    size = min(FIT_POSITIONS, FIT_ENTRIES // len(known.log_prior))
    noises = min(NOISES, max(1, size // int(held_out.lengths.sum())))
    order = np.concatenate([rng.permutation(useful) for _ in range(noises)])
    documents = order[: max(1, int(np.searchsorted(np.cumsum(held_out.lengths[order]), size, side="right")))]
    chosen = held_out.take(np.sort(documents))
    release = perturb(chosen, known.mechanism, known.tiers, rng)
    remembered = remember(known, release)
    own = remembered.mechanism.log_columns(release.outputs)
    terms, prior = context_terms(recalled(parts, remembered), release, own)
    tiers = chosen.tier_of_position(known.tiers)
    base = own + (known.log_prior if prior is None else prior)
    for tier in np.unique(tiers):
        base[np.ix_(tiers == tier, ~candidates(known.tiers, int(tier)))] = -np.inf
    return ContextTerms(base, tuple(terms), chosen.points, choosing_units(chosen))


def weights_by_tier(held: ContextTerms, tiers: Tiers) -> Weights:
    """The best weights of every public tier, or of all positions where tiers are secret; 0 where none was seen."""
    rows = []
    for tier in range(len(tiers)) if tiers.is_public else range(1):
        mine = held.inside(candidates(tiers, tier))
        found = best_weights(mine) if len(mine.truth) else np.zeros(len(held.terms))
        rows.append(tuple(float(w) for w in found))
    return tuple(rows)


def likeliest_weights(held: ContextTerms, start: FloatArray | None = None) -> FloatArray:
    """Weights ≥ 0 of the best log score, however little evidence there is for them."""
    from scipy.optimize import minimize

    first, bounds = np.zeros(len(held.terms)) if start is None else start, [(0.0, None)] * len(held.terms)
    return np.asarray(minimize(held.loss, first, jac=True, method="L-BFGS-B", bounds=bounds).x)


def best_weights(held: ContextTerms) -> FloatArray:
    """Weights ≥ 0 of the best log score, as simple as the evidence allows.

    The best part alone stays unless the optimum beats it by a standard error, and all weights are 0 when the gain over
    `own` is within SIGNIFICANT standard errors.
    """
    size = len(held.terms)
    corner = min(np.eye(size), key=lambda w: held.loss(w)[0])
    start = min(corner, np.zeros(size), key=lambda w: held.loss(w)[0])
    found = likeliest_weights(held, start)
    best = found if _is_better(held, found, corner, 1.0) else corner
    return best if _is_better(held, best, np.zeros(size), SIGNIFICANT) else np.zeros(size)


def _is_better(held: ContextTerms, weights: FloatArray, than: FloatArray, errors: float) -> bool:
    """Whether the log score gains more than this number of standard errors."""
    found = gain(held.scores(than), held.scores(weights), held.units)
    return found.mean > errors * found.error


def fit_combination(
    known: Knowledge, parts: Sequence[Attacker], held_out: Records, *, rng: np.random.Generator
) -> Combination:
    """Weigh attackers by their log score on held-out documents: records that none of them was fitted on.

    **Guarantee**: on the held-out releases the log score is at least as good as that of every part alone, unless no
    weighting beats `own` by more than chance: then all weights are 0.
    """
    if not parts:
        raise InvalidInput("parts is empty, expected at least one attacker")
    weights = weights_by_tier(held_out_terms(parts, known, held_out, rng), known.tiers)
    return Combination(known, tuple(parts), weights)


def fit_and_combine(
    known: Knowledge,
    fits: Sequence[Callable[[Knowledge], Attacker]],
    *,
    share: float = 0.2,
    refit: Sequence[bool] | None = None,
    rng: np.random.Generator,
) -> Combination:
    """Fit every part on most of the fit records and weigh them on the rest.

    Then those marked in `refit` (default: all) are fitted again on all records; the weights stay. Not for a network:
    another training is another attacker. Parts without weight are left out, unless no part has any: they may help under
    other noise.
    """
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"{share=}, expected 0 < share < 1")
    learn, held = split(known.fit.clusters, share, int(rng.integers(1 << 31)))
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    fitted = [fit(part) for fit in fits]
    kept = known.fit.take(held)
    combined = fit_combination(part, fitted, kept, rng=rng)
    again = [True] * len(fits) if refit is None else refit
    used = _used(combined)
    final = [fits[k](known) if again[k] else fitted[k] for k in used]
    weigh = _Weighing(part, tuple(fitted[k] for k in used), kept, int(rng.integers(1 << 31)))
    weights = tuple(tuple(row[k] for k in used) for row in combined.weights)
    return Combination(known, tuple(final), weights, weigh=weigh)


def _used(combined: Combination) -> list[int]:
    """The parts with some weight, and those that give a prior; all of them when none has weight."""
    worth = [any(row[k] for row in combined.weights) for k in range(len(combined.parts))]
    if not any(worth):
        return list(range(len(worth)))
    return [k for k, part in enumerate(combined.parts) if worth[k] or part.with_context]


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
        terms = held_out_terms(read, there, self.held, np.random.default_rng(self.seed))
        return weights_by_tier(terms, there.tiers)
