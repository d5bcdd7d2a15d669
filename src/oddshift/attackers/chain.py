"""The plug-in attacker: a chain of secrets estimated from clean records, then exact inference with the known mechanism.

x_{t+1} follows λ(a)·bigram(a → b) + (1 − λ(a))·topic(b), restricted to the tier of position t+1 when tiers are public;
a document has one hidden topic. The bigram is sparse and the rest has rank one, so forward-backward over a vocabulary
of 10,000 words (`chain_terms`) needs neither a K x K matrix nor pruning. Nothing is trained again when the mechanism
changes.

The chain keyed by spacing: adjacent secrets depend on each other differently from secrets many tokens apart.

x_{t+1} follows counts for this gap, which back off to counts for all gaps, which back off to the hidden topic of the
document. Discounts and strengths predict every pair from all others (leave one out). Inference is that of `plugin`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import Backoff, Observations, fit_backoff, observations
from oddshift.attackers.chain_terms import UNKNOWN, chain_terms, gap_classes
from oddshift.attackers.estimated_chain import ChainStep, EstimatedChain
from oddshift.attackers.law_attacker import LawAttacker, Terms
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, whole
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates, set_numbers
from oddshift.model.tiers import Tiers

_BLOCK_ENTRIES = 500_000  # entries of the forward messages of one block of documents

HELD_OUT = 10
"""One document out of this many decides how far bigrams are trusted."""

TRUST = tuple(np.linspace(0.0, 1.0, 21).tolist())

_ITERATIONS = 25  # of expectation-maximisation for the topics


@dataclass(frozen=True, eq=False, repr=False)
class ChainLaw:
    """Exact forward-backward under an estimated chain; the context term is 0 for a document with one position."""

    chain: EstimatedChain
    has_spacing: bool = False  # whether the chain has a step for every class of gaps

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Terms over the candidates of every position, with the chain's own prior given the public tiers so far."""
        sets = np.zeros(len(release.outputs), dtype=np.int64)
        if release.position_tiers is not None:
            sets = release.position_tiers
        classes = UNKNOWN + 1 if self.has_spacing else 1
        if self.has_spacing:
            sets = sets * classes + gap_classes(release)
        chain = self.chain.over(known.tiers, classes)
        return chain_terms(chain, known, release, sets, _BLOCK_ENTRIES)


def fit_plugin(
    known: Knowledge, topics: int = 1, *, bigram: bool = True, smoothing: float = 0.5, rng: np.random.Generator
) -> LawAttacker:
    """Estimate the chain from the fit records: bigrams with Witten-Bell weights, topics by a mixture of unigrams.

    How far bigrams are trusted is decided on a tenth of the documents, held out of their counts: for independent
    secrets that is not at all. `bigram=False` with one topic is the unigram plug-in, whose context term is 0.
    """
    whole(topics, "topics", 1)
    shares, laws = fit_topics(known, topics, smoothing, rng)
    sets = set_numbers(known.tiers)
    steps = tuple(_trusted_step(known, g, laws, bigram, rng) for g in sets)
    name = "plugin" if topics == 1 else f"plugin-{topics}"
    return LawAttacker(known, ChainLaw(EstimatedChain(shares, steps)), name if bigram else "unigram")


def _trusted_step(known: Knowledge, tier: int, laws: FloatArray, bigram: bool, rng: np.random.Generator) -> ChainStep:
    """The step from all documents, its weights multiplied by what a held-out part supports."""
    step = _counted_step(known.fit, known.tiers, tier, laws, bigram)
    order = rng.permutation(len(known.fit))
    cut = len(order) // HELD_OUT
    if not bigram or not cut:
        return step
    trial = _counted_step(known.fit.take(np.sort(order[cut:])), known.tiers, tier, laws, bigram)
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


def _counted_step(fit: Records, tiers: Tiers, tier: int, laws: FloatArray, bigram: bool) -> ChainStep:
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


def triples(fit: Records) -> tuple[IntArray, IntArray, IntArray]:
    """Each secret with the next two of the same document."""
    same = fit.document_of_position[2:] == fit.document_of_position[:-2]
    return fit.points[:-2][same], fit.points[1:-1][same], fit.points[2:][same]


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
class _Pairs:
    """Successive secrets of one document, with the class of the gap between them."""

    before: IntArray
    after: IntArray
    gap: IntArray

    def keep(self, chosen: BoolArray) -> _Pairs:
        """Some of them."""
        return _Pairs(self.before[chosen], self.after[chosen], self.gap[chosen])


def fit_gap_chain(known: Knowledge, topics: int = 1, *, rng: np.random.Generator) -> LawAttacker:
    """Estimate the chain from the fit records; without a context in them it is one chain for all gaps.

    **Guarantee**: the context term is 0 for a document with one position, and the same counts serve any mechanism.
    """
    shares, laws = fit_topics(known, whole(topics, "topics", 1), 0.5, rng)
    sets = set_numbers(known.tiers)
    steps: list[ChainStep] = []
    for tier in sets:
        steps += _steps_by_gap(known, tier, laws)
    return LawAttacker(known, ChainLaw(EstimatedChain(shares, tuple(steps)), has_spacing=True), "gap-chain")


def _steps_by_gap(known: Knowledge, tier: int, laws: FloatArray) -> list[ChainStep]:
    """One step for each gap class of one candidate set; the last one is for all gaps."""
    allowed, prior = candidates(known.tiers, tier), np.exp(known.log_prior)
    size = len(prior)
    inside = np.where(allowed, laws, 0.0)
    inside /= inside.sum(axis=1, keepdims=True)
    law = np.where(allowed, prior, 0.0) / prior[allowed].sum()
    pairs = _successive_pairs(known.fit)
    pairs = pairs.keep(allowed[pairs.after])
    seen = observations(pairs.before, pairs.after, size, size)
    broad = fit_backoff(seen, law[seen.value])
    common = _sparse(seen, broad, size)
    first = first_law(known.fit, allowed, inside)
    steps = [
        _law_of_rows(_own_rows(pairs, g, common, _left_out(seen, broad, law, size), size), inside, first)
        for g in range(UNKNOWN)
    ]
    return [*steps, _law_of_rows(common, inside, first)]


def _law_of_rows(rows: Any, topics: FloatArray, first: FloatArray) -> ChainStep:
    """Rows of sum λ as laws and weights."""
    weight = np.asarray(rows.sum(axis=1)).ravel()
    scale = np.where(weight > 0, 1.0 / np.where(weight > 0, weight, 1.0), 0.0)
    law = rows.copy()
    law.data *= np.repeat(scale, np.diff(rows.indptr))
    return ChainStep(law, weight, topics, first)


def _own_rows(pairs: _Pairs, gap: int, common: Any, left_out: Any, size: int) -> Any:
    """Rows for one gap: its counts discounted, and the rest of each row spread as the common rows are."""
    from scipy.sparse import csr_array, diags_array

    mine = pairs.keep(pairs.gap == gap)
    seen = observations(mine.before, mine.after, size, size)
    if not len(seen.count):
        return common
    found = fit_backoff(seen, np.asarray(left_out[seen.context, seen.value]).ravel())
    own = _sparse(seen, found, size)
    rest = 1.0 - np.asarray(own.sum(axis=1)).ravel()
    return csr_array(own + diags_array(rest) @ common)


def _sparse(seen: Observations, backoff: Backoff, size: int) -> Any:
    """Discounted counts as shares of their rows: what is not left to the broader law."""
    from scipy.sparse import csr_array

    share = np.maximum(seen.count - backoff.discount, 0.0) / (seen.total + backoff.strength)
    return csr_array((share, (seen.context, seen.value)), shape=(size, size))


def _left_out(seen: Observations, backoff: Backoff, law: FloatArray, size: int) -> Any:
    """Pr[b | a] for every pair seen, as predicted without one of its observations, sparse."""
    from scipy.sparse import csr_array

    return csr_array((backoff.left_out(seen, law[seen.value]), (seen.context, seen.value)), shape=(size, size))


def _successive_pairs(fit: Records) -> _Pairs:
    same = fit.document_of_position[1:] == fit.document_of_position[:-1]
    return _Pairs(fit.points[:-1][same], fit.points[1:][same], gap_classes(fit)[1:][same])
