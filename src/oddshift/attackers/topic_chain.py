"""The plug-in attacker: a chain of secrets estimated from clean records, then exact inference with the known mechanism.

x_{t+1} follows λ(a)·bigram(a → b) + (1 − λ(a))·topic(b), restricted to the tier of position t+1 when tiers are public;
a document has one hidden topic. The bigram is sparse and the rest has rank one, so forward-backward over a vocabulary
of 10,000 words (`chain_terms`) needs neither a K x K matrix nor pruning. Nothing is trained again when the mechanism
changes.

Inference under an estimated chain over few points: all documents of one length at once, whatever their patterns.

With few points a message costs less than the work around it, so documents are not cut by the sets of their positions
as in `chain_terms`: messages are over all points, and positions of different sets stand in one array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge
from oddshift.attackers.chain_terms import UNKNOWN, ChainTerms, chain_terms, gap_classes, log_mix
from oddshift.attackers.estimated_chain import CandidateChain, CandidateStep, ChainStep, EstimatedChain
from oddshift.attackers.law_attacker import Terms, length_batches, of_outputs
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, whole
from oddshift.base.identity import content
from oddshift.base.logarithms import log
from oddshift.leakage.forward_backward import both_sides
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates, set_numbers
from oddshift.model.tiers import Tiers

_BATCH_ENTRIES = 500_000  # entries of the forward messages of one batch of documents
FEW_ENTRIES = 2_000
"""Entries (topics x points) of a message up to which documents are read in one batch whatever their patterns; a
performance setting."""

HELD_OUT = 10
"""One document out of this many decides how far bigrams are trusted."""

TRUST = tuple(np.linspace(0.0, 1.0, 21).tolist())

_ITERATIONS = 25  # of expectation-maximisation for the topics


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
        """Own release plus context term, a block of documents at a time."""
        for block in self._blocks(release):
            positions = np.concatenate([mine.positions for mine in block])
            shift = self.known.mechanism.log_columns(release.outputs[positions])
            prior = np.full_like(shift, -np.inf)
            start = 0
            for mine in block:
                at = np.ix_(start + np.arange(len(mine.positions)), mine.points)
                shift[at] = mine.own + mine.context
                prior[at] = mine.log_prior
                start += len(mine.positions)
            yield Beliefs(positions, shift, prior)

    def candidate_beliefs(self, release: Release) -> Iterator[Beliefs]:
        """The same over the candidates of each position alone, one candidate set of a block after the other."""
        for block in self._blocks(release):
            for mine in block:
                shift = np.add(mine.own, mine.context, out=mine.context)
                yield Beliefs(mine.positions, shift, mine.log_prior, mine.points)

    def against(self, known: Knowledge) -> Plugin:
        """The same chain against another mechanism: nothing is estimated again."""
        return replace(self, known=known)

    def terms(self, release: Release) -> Iterator[Terms]:
        """Context terms over the candidates of every position, with the chain's own prior there."""
        for block in self._blocks(release):
            for mine in block:
                yield Terms(mine.positions, mine.context, mine.log_prior, mine.points)

    def _blocks(self, release: Release) -> Iterator[list[ChainTerms]]:
        """Some documents at a time, tier by tier; the prior is that given the public tiers so far."""
        sets = np.zeros(len(release.outputs), dtype=np.int64)
        if release.position_tiers is not None:
            sets = release.position_tiers
        classes = UNKNOWN + 1 if self.has_spacing else 1
        if self.has_spacing:
            sets = sets * classes + gap_classes(release)
        chain = self.chain.over(self.known.tiers, classes)
        is_small = self.chain.n_topics * len(self.known.log_prior) <= FEW_ENTRIES
        return (batch_terms if is_small else chain_terms)(chain, self.known, release, sets, _BATCH_ENTRIES)


def fit_plugin(
    known: Knowledge, topics: int = 1, *, bigram: bool = True, smoothing: float = 0.5, rng: np.random.Generator
) -> Plugin:
    """Estimate the chain from the fit records: bigrams with Witten-Bell weights, topics by a mixture of unigrams.

    How far bigrams are trusted is decided on a tenth of the documents, held out of their counts: for independent
    secrets that is not at all. `bigram=False` with one topic is the unigram plug-in, whose context term is 0.
    """
    whole(topics, "topics", 1)
    shares, laws = fit_topics(known, topics, smoothing, rng)
    sets = set_numbers(known.tiers)
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


@dataclass(frozen=True, eq=False, repr=False)
class _BatchSteps:
    """The transitions of documents of one length; `sets` is the set of every position, (documents, length)."""

    steps: tuple[CandidateStep, ...]
    sets: IntArray

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_a mass(a)·T(a, b), b at position t + 1."""
        result = np.empty_like(mass)
        for number, rows in self._groups(t + 1):
            result[:, rows] = self.steps[number].ahead(mass[:, rows])
        return result

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_b T(a, b)·mass(b), b at position t + 1."""
        result = np.empty_like(mass)
        for number, rows in self._groups(t + 1):
            result[:, rows] = self.steps[number].back(mass[:, rows])
        return result

    def _groups(self, t: int) -> list[tuple[int, IntArray]]:
        """The sets at a position, each with its documents."""
        here = self.sets[:, t]
        return [(int(number), np.flatnonzero(here == number)) for number in np.unique(here)]


def batch_terms(
    chain: CandidateChain, known: Knowledge, release: Release, sets: IntArray, entries: int
) -> Iterator[list[ChainTerms]]:
    """As `chain_terms`, documents of one length at a time."""
    width = chain.chain.n_topics * len(known.log_prior)
    for positions in length_batches(release, width, entries):
        context, prior = _batch(chain, known, release.outputs[positions], sets[positions])
        yield _by_tier(chain, known, release, sets, (positions.ravel(), context, prior))


def _batch(chain: CandidateChain, known: Knowledge, outputs: IntArray, sets: IntArray) -> tuple[FloatArray, FloatArray]:
    """Context terms and log priors of documents of one length, each (documents·length, points)."""
    documents, length = outputs.shape
    likelihoods = of_outputs(known, outputs)
    seen = [likelihoods[:, t] for t in range(length)]
    first = np.stack([chain.chain.steps[number].first for number in sets[:, 0]], axis=1)
    shares = log(chain.chain.shares)[:, None, None]
    patterns, start, which = np.unique(sets, axis=0, return_index=True, return_inverse=True)
    before = _priors(first[:, start], _BatchSteps(chain.everywhere, patterns), shares)
    priors = before[which.ravel()]  # the law before any output depends on the sets alone
    context = np.empty_like(priors)
    for t, left, right in both_sides(first, seen, _BatchSteps(chain.everywhere, sets)):
        weights = shares + (left.log_scale + right.log_scale)[:, :, None]
        both = log_mix(left.values * right.values, weights)
        possible = np.isfinite(priors[:, t])
        context[:, t] = np.where(possible, both - np.where(possible, priors[:, t], 0.0), 0.0)
    return context.reshape(documents * length, -1), priors.reshape(documents * length, -1)


def _priors(first: FloatArray, steps: _BatchSteps, shares: FloatArray) -> FloatArray:
    """log of the chain's law at every position before any output, (documents, length, points)."""
    length, mass = steps.sets.shape[1], first
    priors = np.empty((first.shape[1], length, first.shape[2]))
    for t in range(length):
        mass = steps.ahead(t - 1, mass) if t else mass
        priors[:, t] = log_mix(mass, shares)
    return priors


def _by_tier(
    chain: CandidateChain,
    known: Knowledge,
    release: Release,
    sets: IntArray,
    found: tuple[IntArray, FloatArray, FloatArray],
) -> list[ChainTerms]:
    """The terms over the candidates of each tier."""
    positions, context, prior = found
    tier = sets[positions] // chain.classes
    terms = []
    for number in np.unique(tier):
        rows, points = np.flatnonzero(tier == number), chain.points[number]
        own = known.mechanism.candidate_columns(release.outputs[positions[rows]], points)
        at = np.ix_(rows, points)
        terms.append(ChainTerms(positions[rows], points, own, context[at], prior[at]))
    return terms
