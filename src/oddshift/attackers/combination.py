"""A combination of attackers: each one's context term with a weight of its own.

shift(x) = log M(y_l|x) + Σ_k w_k·c_k(x) with w ≥ 0, the weights that give the best log score on held-out documents.
The score is convex in w, so what comes back is at least as good there as the best of the parts and as `own` (w = 0).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge, against, knowledge
from oddshift.attackers.cooccurrence import document_blocks
from oddshift.attackers.gains import SIGNIFICANT, Units, gain, units_of
from oddshift.attackers.training import split
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.base.logarithms import log_sum
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates, perturb

BLOCK_ENTRIES = 4_000_000
"""Entries (positions x points) of one part in one block; a performance setting."""

FIT_ENTRIES = 12_000_000
"""Entries (positions x points) of each part that the weights are fitted on."""

Weigh = Callable[[Knowledge], tuple[float, ...]]
"""The weights of some parts under a mechanism."""


@dataclass(frozen=True, eq=False, repr=False)
class Combination:
    """Several attackers read as one; the prior is that of the first part that reads W, if any does.

    `weigh` gives the weights under another mechanism: how much a part is worth depends on the noise.
    """

    known: Knowledge
    parts: tuple[Attacker, ...]
    weights: tuple[float, ...]
    name: str = "combination"
    weigh: Weigh | None = None

    fingerprint = property(content)

    def __repr__(self) -> str:
        """Names and weights."""
        inside = ", ".join(f"{w:.3g} {part.name}" for w, part in zip(self.weights, self.parts, strict=True))
        return f"Combination({inside})"

    @property
    def with_context(self) -> bool:
        """Whether some part reads W."""
        return any(part.with_context for part in self.parts)

    def against(self, known: Knowledge) -> Combination:
        """The same parts against another mechanism: nothing is fitted again, only the weights."""
        weights = self.weights if self.weigh is None else self.weigh(known)
        return replace(self, known=known, parts=tuple(against(part, known) for part in self.parts), weights=weights)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus the weighted terms, a block of documents at a time."""
        for documents in document_blocks(release, len(self.known.log_prior), BLOCK_ENTRIES):
            block = release.take(np.arange(documents.start, documents.stop))
            if not len(block.outputs):
                continue
            own = self.known.mechanism.log_columns(block.outputs)
            terms, prior = context_terms(self.parts, block, own)
            shift = own
            for weight, term in zip(self.weights, terms, strict=True):
                shift = shift + weight * term if weight else shift
            positions = np.arange(release.offsets[documents.start], release.offsets[documents.stop])
            yield Beliefs(positions, shift, self.known.log_prior if prior is None else prior)


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
        normal = log_sum(total)
        rows = np.arange(len(self.truth))
        value = float(np.mean(normal - total[rows, self.truth]))
        posterior = np.exp(total - normal[:, None])
        gradient = [
            np.mean(np.einsum("ij,ij->i", posterior, term) - term[rows, self.truth], dtype=np.float64)
            for term in self.terms
        ]
        return value, np.array(gradient)

    def _total(self, weights: FloatArray) -> FloatArray:
        total = self.base.copy()
        for weight, term in zip(weights, self.terms, strict=True):
            if weight:
                total += weight * term
        return total


def context_terms(
    parts: Sequence[Attacker], release: Release, own: FloatArray
) -> tuple[list[FloatArray], FloatArray | None]:
    """The context term of every part, (positions, points) each, and the prior given W of the first that reads W."""
    terms, context_prior = [], None
    for part in parts:
        term, priors = np.empty_like(own), np.empty_like(own) if part.with_context and context_prior is None else None
        for block in part.beliefs(release):
            mine = own[block.positions]
            possible = np.isfinite(mine)
            term[block.positions] = np.where(possible, block.shift - np.where(possible, mine, 0.0), 0.0)
            if priors is not None:
                priors[block.positions] = block.log_prior
        terms.append(term)
        context_prior = priors if context_prior is None else context_prior
    return terms, context_prior


def held_out_terms(
    parts: Sequence[Attacker], known: Knowledge, held_out: Records, rng: np.random.Generator
) -> ContextTerms:
    """Perturb held-out documents (as many as FIT_ENTRIES allows) and run every part on them."""
    useful = np.flatnonzero(held_out.lengths > 0)
    if not len(useful):
        raise InvalidInput("held-out documents hold no secret, expected at least one")
    order = rng.permutation(useful)
    size = FIT_ENTRIES // len(known.log_prior)
    documents = order[: max(1, int(np.searchsorted(np.cumsum(held_out.lengths[order]), size, side="right")))]
    chosen = held_out.take(np.sort(documents))
    release = perturb(chosen, known.mechanism, known.tiers, rng)
    own = known.mechanism.log_columns(release.outputs)
    terms, prior = context_terms(parts, release, own)
    tiers = chosen.tier_of_position(known.tiers)
    base = own + (known.log_prior if prior is None else prior)
    for tier in np.unique(tiers):
        base[np.ix_(tiers == tier, ~candidates(known.tiers, int(tier)))] = -np.inf
    return ContextTerms(base, tuple(terms), chosen.points, units_of(chosen))


def best_weights(held: ContextTerms) -> FloatArray:
    """Weights ≥ 0 of the best log score, as plain as the evidence allows.

    The best part alone stays unless the optimum beats it by a standard error, and all weights are 0 when the gain over
    `own` is within SIGNIFICANT standard errors.
    """
    from scipy.optimize import minimize

    size = len(held.terms)
    corner = min(np.eye(size), key=lambda w: held.loss(w)[0])
    start = min(corner, np.zeros(size), key=lambda w: held.loss(w)[0])
    found = minimize(held.loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * size)
    best = np.asarray(found.x) if _is_better(held, np.asarray(found.x), corner, 1.0) else corner
    return best if _is_better(held, best, np.zeros(size), SIGNIFICANT) else np.zeros(size)


def _is_better(held: ContextTerms, weights: FloatArray, than: FloatArray, errors: float) -> bool:
    """Whether the log score gains more than so many standard errors."""
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
    weights = best_weights(held_out_terms(parts, known, held_out, rng))
    return Combination(known, tuple(parts), tuple(float(w) for w in weights))


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
    another training is another attacker.
    """
    if not 0.0 < share < 1.0:
        raise InvalidInput(f"{share=}, expected 0 < share < 1")
    learn, held = split(known.fit.clusters, share, int(rng.integers(1 << 31)))
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    fitted = [fit(part) for fit in fits]
    kept = known.fit.take(held)
    combined = fit_combination(part, fitted, kept, rng=rng)
    again = [True] * len(fits) if refit is None else refit
    final = [fit(known) if anew else old for fit, old, anew in zip(fits, fitted, again, strict=True)]
    weigh = _Weighing(part, tuple(fitted), kept, int(rng.integers(1 << 31)))
    return Combination(known, tuple(final), combined.weights, weigh=weigh)


@dataclass(frozen=True, eq=False, repr=False)
class _Weighing:
    """Weights of the parts, as fitted without the held-out documents, on those documents under any mechanism."""

    part: Knowledge
    fitted: tuple[Attacker, ...]
    held: Records
    seed: int

    def __call__(self, known: Knowledge) -> tuple[float, ...]:
        """The weights under the mechanism and tiers of `known`."""
        there = replace(self.part, mechanism=known.mechanism, tiers=known.tiers)
        read = [against(attacker, there) for attacker in self.fitted]
        terms = held_out_terms(read, there, self.held, np.random.default_rng(self.seed))
        return tuple(float(w) for w in best_weights(terms))
