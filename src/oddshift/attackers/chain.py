"""The plug-in attacker: a chain of secrets estimated from clean records, then exact inference with the known mechanism.

x_{t+1} follows λ(a)·bigram(a → b) + (1 − λ(a))·π(b), restricted to the tier of position t+1 when tiers are public. The
bigram is sparse and the rest has rank one, so forward-backward over a vocabulary of 10,000 words (`estimated_chain`)
needs neither a K x K matrix nor pruning. Nothing is trained again when the mechanism changes.

The chain keyed by spacing: adjacent secrets depend on each other differently from secrets many tokens apart.

x_{t+1} follows counts for this gap, which back off to counts for all gaps, which back off to π. Discounts and strengths
predict every pair from all others (leave one out). Inference is that of `plugin`. A gap is the number of tokens from
one sensitive position to the next, 1 for adjacent ones, which is public whether or not the words between are read;
without a context W it is the number of positions, always 1, so there is only one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import Backoff, Observations, fit_backoff, observations
from oddshift.attackers.estimated_chain import ChainStep, EstimatedChain, chain_terms
from oddshift.attackers.law_attacker import LawAttacker, Terms, law_within
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Context, Records
from oddshift.model.release import Release, candidates, set_numbers
from oddshift.model.tiers import Tiers

GAPS = (1, 2, 4)
"""Gaps from which a new class starts: adjacent, 2 to 3 tokens, and more."""

UNKNOWN = len(GAPS)
"""Class of a position with nothing before it, and of all positions where no spacing is known."""


def gap_classes(documents: Records | Release) -> IntArray:
    """For every position, the class of the gap to the position before it in the same document.

    >>> from oddshift.model.space import Space
    >>> bare = Records.from_documents(Space([[0.0], [1.0]]), [[0, 1]])
    >>> gap_classes(bare)
    array([3, 3])
    """
    offsets, context = documents.offsets, documents.context
    classes = np.full(int(offsets[-1]), UNKNOWN, dtype=np.int64)
    if context is None or len(classes) < 2:
        return classes
    inner = np.ones(len(classes), dtype=bool)
    inner[offsets[:-1][np.diff(offsets) > 0]] = False
    gaps = _token_gaps(context)
    classes[inner] = np.searchsorted(GAPS, gaps[inner], side="right") - 1
    return classes


def _token_gaps(context: Context) -> IntArray:
    """Tokens between each slot and the slot before it, that one counted; 0 for the first slot of all."""
    return np.diff(context.slots, prepend=context.slots[:1])


_BLOCK_ENTRIES = 500_000  # entries of the forward messages of one block of documents

HELD_OUT = 10
"""One document out of this many decides how far bigrams are trusted."""

TRUST = tuple(np.linspace(0.0, 1.0, 21).tolist())


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


def fit_plugin(known: Knowledge, *, bigram: bool = True, rng: np.random.Generator) -> LawAttacker:
    """Estimate the chain from the fit records: bigrams with Witten-Bell weights over π.

    How far bigrams are trusted is decided on a tenth of the documents, held out of their counts: for independent
    secrets that is not at all. `bigram=False` is the unigram plug-in, whose context term is 0.
    """
    steps = tuple(_trusted_step(known, g, bigram, rng) for g in set_numbers(known.tiers))
    return LawAttacker(known, ChainLaw(EstimatedChain(steps)), "plugin" if bigram else "unigram")


def _trusted_step(known: Knowledge, tier: int, bigram: bool, rng: np.random.Generator) -> ChainStep:
    """The step from all documents, its weights multiplied by what a held-out part supports."""
    law = law_within(known, tier)
    step = _counted_step(known.fit, known.tiers, tier, law, bigram)
    order = rng.permutation(len(known.fit))
    cut = len(order) // HELD_OUT
    if not bigram or not cut:
        return step
    trial = _counted_step(known.fit.take(np.sort(order[cut:])), known.tiers, tier, law, bigram)
    before, after = successive(known.fit.take(np.sort(order[:cut])))
    inside = law[after] > 0
    before, after = before[inside], after[inside]
    if not len(before):
        return step
    follows = np.asarray(trial.bigram[before, after]).ravel()
    return replace(step, weight=step.weight * _trust(trial.weight[before], follows, law[after]))


def _trust(weight: FloatArray, follows: FloatArray, plain: FloatArray) -> float:
    """The factor of the bigrams' weights that suits held-out pairs best; 1 unless it is better by a standard error."""
    scores = [np.log(t * weight * follows + (1.0 - t * weight) * plain) for t in TRUST]
    best = int(np.argmax([score.mean() for score in scores]))
    better = scores[best] - scores[-1]
    return TRUST[best] if better.mean() * np.sqrt(len(better)) > better.std() else 1.0


def _counted_step(fit: Records, tiers: Tiers, tier: int, law: FloatArray, bigram: bool) -> ChainStep:
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
    return ChainStep(rows, weight, law, first_law(fit, allowed, law))


def first_law(fit: Records, allowed: BoolArray, law: FloatArray) -> FloatArray:
    """The law of first secrets, Witten-Bell between their counts and that of all."""
    starts = fit.points[fit.offsets[:-1][fit.lengths > 0]]
    counts = np.bincount(starts[allowed[starts]], minlength=len(allowed)).astype(np.float64)
    seen, kinds = counts.sum(), np.count_nonzero(counts)
    return (counts + kinds * law) / (seen + kinds) if seen else law


def successive(fit: Records) -> tuple[IntArray, IntArray]:
    """Each secret and the next one of the same document."""
    same = fit.document_of_position[1:] == fit.document_of_position[:-1]
    return fit.points[:-1][same], fit.points[1:][same]


def triples(fit: Records) -> tuple[IntArray, IntArray, IntArray]:
    """Each secret with the next two of the same document."""
    same = fit.document_of_position[2:] == fit.document_of_position[:-2]
    return fit.points[:-2][same], fit.points[1:-1][same], fit.points[2:][same]


@dataclass(frozen=True, eq=False, repr=False)
class _Pairs:
    """Successive secrets of one document, with the class of the gap between them."""

    before: IntArray
    after: IntArray
    gap: IntArray

    def keep(self, chosen: BoolArray) -> _Pairs:
        """Some of them."""
        return _Pairs(self.before[chosen], self.after[chosen], self.gap[chosen])


def fit_gap_chain(known: Knowledge) -> LawAttacker:
    """Estimate the chain from the fit records; without a context in them it is one chain for all gaps.

    **Guarantee**: the context term is 0 for a document with one position, and the same counts serve any mechanism.
    """
    steps = [step for tier in set_numbers(known.tiers) for step in _steps_by_gap(known, tier)]
    return LawAttacker(known, ChainLaw(EstimatedChain(tuple(steps)), has_spacing=True), "gap-chain")


def _steps_by_gap(known: Knowledge, tier: int) -> list[ChainStep]:
    """One step for each gap class of one candidate set; the last one is for all gaps."""
    allowed, law = candidates(known.tiers, tier), law_within(known, tier)
    size = len(law)
    pairs = _successive_pairs(known.fit)
    pairs = pairs.keep(allowed[pairs.after])
    seen = observations(pairs.before, pairs.after, size, size)
    broad = fit_backoff(seen, law[seen.value])
    common = _sparse(seen, broad, size)
    first = first_law(known.fit, allowed, law)
    steps = [
        _law_of_rows(_own_rows(pairs, g, common, _left_out(seen, broad, law, size), size), law, first)
        for g in range(UNKNOWN)
    ]
    return [*steps, _law_of_rows(common, law, first)]


def _law_of_rows(rows: Any, broad: FloatArray, first: FloatArray) -> ChainStep:
    """Rows of sum λ as laws and weights."""
    weight = np.asarray(rows.sum(axis=1)).ravel()
    scale = np.where(weight > 0, 1.0 / np.where(weight > 0, weight, 1.0), 0.0)
    law = rows.copy()
    law.data *= np.repeat(scale, np.diff(rows.indptr))
    return ChainStep(law, weight, broad, first)


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
