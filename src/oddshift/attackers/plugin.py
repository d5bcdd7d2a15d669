"""The plug-in attacker: a chain of secrets estimated from clean records, then exact inference with the known mechanism.

x_{t+1} follows λ(a)·bigram(a → b) + (1 − λ(a))·topic(b), restricted to the tier of position t+1 when tiers are public;
a document has one hidden topic. The bigram is sparse and the rest has rank one, so forward-backward over a vocabulary
of 10,000 words needs neither a K x K matrix nor pruning. Nothing is trained again when the mechanism changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge
from oddshift.attackers.law_attacker import Terms, of_outputs, over_candidates
from oddshift.attackers.spacing import UNKNOWN, gap_classes
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, whole
from oddshift.base.identity import content
from oddshift.base.logarithms import log
from oddshift.leakage.forward_backward import both_sides
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates
from oddshift.model.tiers import Tiers

_BATCH_ENTRIES = 500_000  # entries of the forward messages of one batch of documents
HELD_OUT = 10
"""One document out of this many decides how far bigrams are trusted."""

TRUST = tuple(np.linspace(0.0, 1.0, 21).tolist())

_ITERATIONS = 25  # of expectation-maximisation for the topics


@dataclass(frozen=True, eq=False, repr=False)
class ChainStep:
    """The law of the next secret when it lies in one candidate set."""

    bigram: Any  # sparse (points, points), rows sum to one where λ > 0
    weight: FloatArray  # λ of every point
    topics: FloatArray  # (topics, points), rows sum to one over the candidates
    first: FloatArray  # (topics, points), the law of a document's first secret

    @cached_property
    def across(self) -> Any:
        """The bigram with rows and columns exchanged."""
        return self.bigram.T


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedChain:
    """An estimated law of documents: topic shares, and one step for each candidate set (tier)."""

    shares: FloatArray
    steps: tuple[ChainStep, ...]

    @property
    def n_topics(self) -> int:
        """Number of hidden topics."""
        return len(self.shares)


@dataclass(frozen=True, eq=False, repr=False)
class Plugin:
    """Exact forward-backward under an estimated chain; the context term is 0 for a document with one position."""

    known: Knowledge
    chain: EstimatedChain
    name: str = "plugin"
    with_context: bool = False
    has_spacing: bool = False  # whether the chain has a step for every class of gaps

    fingerprint = cached_property(content)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Own release plus context term, document batch by document batch."""
        for block in self._dense_terms(release):
            columns = self.known.mechanism.log_columns(release.outputs[block.positions])
            yield Beliefs(block.positions, columns + block.context, block.log_prior)

    def candidate_beliefs(self, release: Release) -> Iterator[Beliefs]:
        """The same over the candidates of each position alone, one candidate set of a batch after the other."""
        for block in self.terms(release):
            assert block.points is not None
            own = self.known.mechanism.candidate_columns(release.outputs[block.positions], block.points)
            yield Beliefs(block.positions, own + block.context, block.log_prior, block.points)

    def against(self, known: Knowledge) -> Plugin:
        """The same chain against another mechanism: nothing is estimated again."""
        return replace(self, known=known)

    def context_terms(self, release: Release) -> Iterator[tuple[IntArray, FloatArray]]:
        """log Pr[the other outputs | x] for every point x, up to a constant for each position."""
        return ((block.positions, block.context) for block in self._dense_terms(release))

    def terms(self, release: Release) -> Iterator[Terms]:
        """Context terms over the candidates of every position, with the chain's own prior there."""
        return over_candidates(self._dense_terms(release), release, self.known.tiers)

    def _dense_terms(self, release: Release) -> Iterator[Terms]:
        """Positions, context term, and the chain's own prior there (given the public tiers so far)."""
        sets = np.zeros(len(release.outputs), dtype=np.int64)
        if release.position_tiers is not None:
            sets = release.position_tiers
        if self.has_spacing:
            sets = sets * (UNKNOWN + 1) + gap_classes(release)
        order = np.argsort(release.lengths, kind="stable")
        order = order[release.lengths[order] > 0]
        start = 0
        while start < len(order):
            length = int(release.lengths[order[start]])
            size = max(1, _BATCH_ENTRIES // (self.chain.n_topics * length * len(self.known.log_prior)))
            same = int(np.searchsorted(release.lengths[order], length, side="right"))
            batch = order[start : min(start + size, same)]
            positions = release.offsets[batch][:, None] + np.arange(length)
            yield Terms(positions.ravel(), *self._batch(release.outputs[positions], sets[positions]))
            start += len(batch)

    def _batch(self, outputs: IntArray, sets: IntArray) -> tuple[FloatArray, FloatArray]:
        """Context terms and log priors of documents of one length, each (documents·length, points)."""
        documents, length = outputs.shape
        likelihoods = of_outputs(self.known, outputs)
        seen = [likelihoods[:, t] for t in range(length)]
        steps = _SparseSteps(self.chain, sets)
        first = np.stack([self.chain.steps[g].first for g in sets[:, 0]], axis=1)
        patterns, start, which = np.unique(sets, axis=0, return_index=True, return_inverse=True)
        laws = self._priors(first[:, start], _SparseSteps(self.chain, patterns), length)
        priors = laws[which.ravel()]  # the law before any output depends on the public tiers alone
        context = np.empty_like(priors)
        shares = log(self.chain.shares)[:, None, None]
        for t, left, right in both_sides(first, seen, steps):
            weights = shares + (left.log_scale + right.log_scale)[:, :, None]
            both = log_mix(left.values * right.values, weights)
            possible = np.isfinite(priors[:, t])
            context[:, t] = np.where(possible, both - np.where(possible, priors[:, t], 0.0), 0.0)
        return context.reshape(documents * length, -1), priors.reshape(documents * length, -1)

    def _priors(self, first: FloatArray, steps: _SparseSteps, length: int) -> FloatArray:
        """log of the chain's law at every position before any output, (documents, length, points)."""
        shares, mass = log(self.chain.shares)[:, None, None], first
        priors = np.empty((first.shape[1], length, first.shape[2]))
        for t in range(length):
            mass = steps.ahead(t - 1, mass) if t else mass
            priors[:, t] = log_mix(mass, shares)
        return priors


@dataclass(frozen=True, eq=False, repr=False)
class _SparseSteps:
    """The transitions of an estimated chain for a batch of documents: sparse bigrams and a rest of rank one.

    Messages are (topics, documents, points); `sets` is the candidate set of every position, (documents, length).
    """

    chain: EstimatedChain
    sets: IntArray

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_a mass(a)·T(a, b), b at position t + 1."""
        result = np.empty_like(mass)
        for g, rows in self._groups(t + 1):
            step, part = self.chain.steps[g], mass[:, rows]
            flat = (part * step.weight).reshape(-1, part.shape[2])
            moved = (step.across @ flat.T).T.reshape(part.shape)
            rest = part.sum(axis=2) - flat.sum(axis=1).reshape(part.shape[:2])
            result[:, rows] = moved + rest[:, :, None] * step.topics[:, None, :]
        return result

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_b T(a, b)·mass(b), b at position t + 1."""
        result = np.empty_like(mass)
        for g, rows in self._groups(t + 1):
            step, part = self.chain.steps[g], mass[:, rows]
            moved = (step.bigram @ part.reshape(-1, part.shape[2]).T).T.reshape(part.shape)
            flat = np.einsum("zdk,zk->zd", part, step.topics)
            result[:, rows] = step.weight * moved + (1.0 - step.weight) * flat[:, :, None]
        return result

    def _groups(self, t: int) -> list[tuple[int, IntArray]]:
        """The candidate sets at a position, each with its documents."""
        here = self.sets[:, t]
        return [(int(g), np.flatnonzero(here == g)) for g in np.unique(here)]


def fit_plugin(
    known: Knowledge, topics: int = 1, *, bigram: bool = True, smoothing: float = 0.5, rng: np.random.Generator
) -> Plugin:
    """Estimate the chain from the fit records: bigrams with Witten-Bell weights, topics by a mixture of unigrams.

    How far bigrams are trusted is decided on a tenth of the documents, held out of their counts: for independent
    secrets that is not at all. `bigram=False` with one topic is the unigram plug-in, whose context term is 0.
    """
    whole(topics, "topics", 1)
    shares, laws = fit_topics(known, topics, smoothing, rng)
    sets = range(len(known.tiers)) if known.tiers.is_public else [0]
    steps = tuple(_trusted_step(known, g, laws, bigram, rng) for g in sets)
    name = "plugin" if topics == 1 else f"plugin-{topics}"
    return Plugin(known, EstimatedChain(shares, steps), name if bigram else "unigram")


def _trusted_step(known: Knowledge, tier: int, laws: FloatArray, bigram: bool, rng: np.random.Generator) -> ChainStep:
    """The step from all documents, its weights multiplied by what a held-out part supports."""
    step = _step(known.fit, known.tiers, tier, laws, bigram)
    order = rng.permutation(len(known.fit))
    cut = len(order) // HELD_OUT
    if not bigram or not cut:
        return step
    trial = _step(known.fit.take(np.sort(order[cut:])), known.tiers, tier, laws, bigram)
    before, after = successive(known.fit.take(np.sort(order[:cut])))
    inside = trial.topics[0, after] > 0
    before, after = before[inside], after[inside]
    if not len(before):
        return step
    follows = np.asarray(trial.bigram[before, after]).ravel()
    plain = (np.exp(known.log_prior) * (trial.topics[0] > 0))[after]
    plain = plain / (np.exp(known.log_prior) * (trial.topics[0] > 0)).sum()
    return replace(step, weight=step.weight * _trust(trial.weight[before], follows, plain))


def _trust(weight: FloatArray, follows: FloatArray, plain: FloatArray) -> float:
    """The factor of the bigrams' weights that suits held-out pairs best; 1 unless it is better by a standard error."""
    scores = [np.log(t * weight * follows + (1.0 - t * weight) * plain) for t in TRUST]
    best = int(np.argmax([score.mean() for score in scores]))
    better = scores[best] - scores[-1]
    return TRUST[best] if better.mean() * np.sqrt(len(better)) > better.std() else 1.0


def _step(fit: Records, tiers: Tiers, tier: int, laws: FloatArray, bigram: bool) -> ChainStep:
    from scipy.sparse import csr_array

    allowed = candidates(tiers, tier)
    size = len(allowed)
    before, after = successive(fit)
    keep = allowed[after] & bigram
    counts = csr_array((np.ones(int(keep.sum())), (before[keep], after[keep])), shape=(size, size))
    counts.sum_duplicates()
    seen = np.asarray(counts.sum(axis=1)).ravel()
    kinds = np.diff(counts.indptr)
    weight = np.where(seen > 0, seen / np.maximum(seen + kinds, 1.0), 0.0)  # Witten-Bell
    rows = csr_array(
        (counts.data / np.repeat(np.maximum(seen, 1.0), kinds), counts.indices, counts.indptr), (size, size)
    )
    inside = np.where(allowed, laws, 0.0)
    inside /= inside.sum(axis=1, keepdims=True)
    return ChainStep(rows, weight, inside, first_law(fit, allowed, inside))


def first_law(fit: Records, allowed: BoolArray, laws: FloatArray) -> FloatArray:
    """The law of first secrets, Witten-Bell between their counts and the topics."""
    starts = fit.points[fit.offsets[:-1][fit.lengths > 0]]
    counts = np.bincount(starts[allowed[starts]], minlength=len(allowed)).astype(np.float64)
    seen, kinds = counts.sum(), np.count_nonzero(counts)
    return (counts + kinds * laws) / (seen + kinds) if seen else laws


def successive(fit: Records) -> tuple[IntArray, IntArray]:
    """Each secret and the next one of the same document."""
    same = fit.document_of_position[1:] == fit.document_of_position[:-1]
    return fit.points[:-1][same], fit.points[1:][same]


def fit_topics(
    known: Knowledge, topics: int, smoothing: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Shares and word laws of a mixture of unigrams, by expectation-maximisation on the fit documents."""
    from scipy.sparse import csr_array

    base = np.exp(known.log_prior)
    if topics == 1:
        return np.ones(1), base[None, :]
    fit = known.fit
    counts = csr_array((np.ones(len(fit.points)), (fit.document_of_position, fit.points)), shape=(len(fit), len(base)))
    belongs = rng.dirichlet(np.full(topics, 0.5), size=len(fit))
    strength = smoothing * np.count_nonzero(base)
    for _ in range(_ITERATIONS):
        shares = (belongs.sum(axis=0) + 1.0) / (len(fit) + topics)
        laws = (counts.T @ belongs).T + strength * base
        laws /= laws.sum(axis=1, keepdims=True)
        score = counts @ np.where(laws > 0, np.log(np.maximum(laws, 1e-300)), 0.0).T + np.log(shares)
        belongs = np.exp(score - score.max(axis=1, keepdims=True))
        belongs /= belongs.sum(axis=1, keepdims=True)
    return shares, laws


def log_mix(values: FloatArray, log_weights: FloatArray) -> FloatArray:
    """log Σ_topics exp(log_weights)·values, (documents, points)."""
    top = log_weights.max(axis=0)
    return log((values * np.exp(log_weights - top)).sum(axis=0)) + top
