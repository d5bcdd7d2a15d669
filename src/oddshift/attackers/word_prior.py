"""The prior given W: what the public words around a position and in its document say about the secret there.

log Pr[x | W] = log π(x) + Σ_r β_r·Σ_{w in r} log(Pr[x | w in r]/π(x)) + const over relations r: the word before, the
word after it, both of them, the two and three before, the two and three after, all rare words of the document, and the
fit documents with words alike. Another secret counts as a word that says its public tier. Each Pr[x | w] comes from
counts with back-off to π, and β ≥ 0 are the weights that predict held-out secrets best, for each tier. The context term
is 0: this is a prior, and nothing is read jointly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.alike_documents import AlikeDocuments, fit_alike_documents
from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.backoff import fit_backoff, observations
from oddshift.attackers.combination import likeliest_weights
from oddshift.attackers.cooccurrence import document_blocks
from oddshift.attackers.gains import choosing_clusters
from oddshift.attackers.law_attacker import Terms, law_over
from oddshift.attackers.sparse_terms import sparse_terms
from oddshift.attackers.training import split
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, frozen
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.model.records import MASKED, Context, Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates

WINDOWS = ((-1,), (1,), (-2, -1), (-1, 1), (1, 2), (-3, -2, -1), (1, 2, 3))
"""The places of the words of each relation, counted from the secret; two more relations are the bag of the document and
documents alike."""

RARE, FEW = 0.016, 10
"""A word counts in the bag if at most this share of the documents holds it, or at most a few: common words say nearly
the same of every document, and the noise of their counts would add up."""

MOST_TIERS = 1_000
"""Tiers that a code of words leaves room for."""

HELD_OUT = 0.15
WEIGHED = 4_000
"""Held-out positions of a candidate set on which the relations are weighed."""

BLOCK_ENTRIES = 4_000_000

KEPT_ENTRIES = 20_000_000
"""Entries of priors that are kept for the next mechanism (160 MB); a performance setting."""


@dataclass(frozen=True, eq=False, repr=False)
class WordCounts:
    """One relation in one candidate set: its codes that were seen, sorted, and sparse log ratios (codes, points).

    Without codes the rows are the numbers of words, as in the bag.
    """

    ratio: Any
    codes: IntArray | None = None

    def rows(self, words: Any) -> Any:
        """A sparse (positions, rows of the ratio) matrix: which words stand in this relation to each position."""
        if self.codes is None:
            return words
        place = np.minimum(np.searchsorted(self.codes, words), max(len(self.codes) - 1, 0))
        seen = np.flatnonzero(self.codes[place] == words) if len(self.codes) else np.empty(0, dtype=np.int64)
        return _sparse(seen, place[seen], (len(words), len(self.codes)))


@dataclass(frozen=True, eq=False, repr=False)
class WordPrior:
    """For each candidate set: weights of the relations, and the counts of each relation, the bag last.

    One more weight, the last, is that of documents alike.
    """

    symbols: tuple[str, ...]
    in_bag: BoolArray
    weights: tuple[FloatArray, ...]
    counts: tuple[tuple[WordCounts, ...], ...]
    alike: AlikeDocuments

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """No context term; the prior of every position given W."""
        if release.context is None:
            raise InvalidInput("the release has no context W, expected one for an attacker that reads words")
        key = _key(release, known)
        if key in self._kept:
            yield from self._kept[key]
            return
        found = []
        for block in self._computed(known, release, release.context):
            found.append(block)
            yield block
        if sum(block.log_prior.size for block in found) <= KEPT_ENTRIES:
            self._kept[key] = tuple(found)
            while sum(b.log_prior.size for blocks in self._kept.values() for b in blocks) > KEPT_ENTRIES:
                self._kept.pop(next(iter(self._kept)))

    def __getstate__(self) -> dict[str, object]:
        """The fields: priors are computed faster than they are sent to a worker."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _kept(self) -> dict[str, tuple[Terms, ...]]:
        """Priors that were computed already: they do not depend on the mechanism, so other scales need them again."""
        return {}

    def _computed(self, known: Knowledge, release: Release, context: Context) -> Iterator[Terms]:
        number = _numbers(context, self.symbols)
        for documents in document_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
            block = release.take(np.arange(documents.start, documents.stop))
            if not len(block.outputs) or block.context is None:
                continue
            words = relations(block.context, block.lengths, block.position_tiers, (number, self.in_bag))
            inside = document_words(block.context, number, len(self.in_bag))
            for mine in candidate_sets(block, known.tiers):
                document = np.searchsorted(block.offsets, mine.positions, side="right") - 1
                prior = self._prior(known, mine, words)
                prior += self._alike(known, mine, inside)[document].toarray()
                frozen(prior)
                nothing = np.broadcast_to(0.0, prior.shape)
                yield Terms(release.offsets[documents.start] + mine.positions, nothing, prior, mine.points)

    def _prior(self, known: Knowledge, mine: CandidateSet, words: tuple[Any, ...]) -> FloatArray:
        """log Pr[x | W] of the positions of one candidate set, over its candidates."""
        prior = np.tile(known.log_prior[mine.points], (len(mine.positions), 1))
        weights = self.weights[mine.tier][:-1]
        for weight, counts, words_in in zip(weights, self.counts[mine.tier], words, strict=True):
            if weight:
                prior += weight * (counts.rows(words_in[mine.positions]) @ counts.ratio[:, mine.points]).toarray()
        return prior

    def _alike(self, known: Knowledge, mine: CandidateSet, words: Any) -> Any:
        """What documents alike say, weighed, sparse (documents, candidates)."""
        law = law_over(known, mine.points)
        return self.weights[mine.tier][-1] * self.alike.log_ratio(words, mine.points, law)


def _key(release: Release, known: Knowledge) -> str:
    """What the priors of a release depend on: W, the positions with their tiers, and π."""
    tiers = known.tiers
    return fingerprint(
        (release.context, release.offsets, release.position_tiers, tiers.labels, tiers.is_public, known.log_prior)
    )


def fit_word_prior(known: Knowledge, rng: np.random.Generator) -> WordPrior:
    """Count words around secrets; weigh the relations on a part of the documents that was left out of the counts."""
    if known.fit.context is None:
        raise InvalidInput("the fit records have no context W, expected one for an attacker that reads words")
    learn, held = split(choosing_clusters(known.fit), HELD_OUT, int(rng.integers(1 << 31)))
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    sets = range(len(known.tiers)) if known.tiers.is_public else range(1)
    in_bag = rare_words(part.fit)
    kept, alike = known.fit.take(rng.permutation(held)), _alike(part.fit, len(in_bag))
    weights = tuple(_weights(part, kept, (_counts(part, g, in_bag), alike), (g, in_bag)) for g in sets)
    counts = tuple(_counts(known, g, in_bag) for g in sets)
    return WordPrior(known.fit.context.symbols, in_bag, weights, counts, _alike(known.fit, len(in_bag)))


def _alike(fit: Records, width: int) -> AlikeDocuments:
    assert fit.context is not None
    return fit_alike_documents(fit, document_words(fit.context, np.arange(width), width))


def _counts(known: Knowledge, tier: int, in_bag: BoolArray) -> tuple[WordCounts, ...]:
    """The counts of each relation in one candidate set."""
    fit, allowed = known.fit, candidates(known.tiers, tier)
    law = np.where(allowed, np.exp(known.log_prior), 0.0)
    law /= max(float(law.sum()), 1e-300)
    rows = np.flatnonzero(allowed[fit.points])
    *windows, bag = _words(known, fit, in_bag)
    found = []
    for words in windows:
        inside = rows[words[rows] >= 0]
        codes, number = np.unique(words[inside], return_inverse=True)
        found.append(WordCounts(_ratio(number, fit.points[inside], len(codes), law), codes))
    pairs = bag[rows].tocoo()
    point = fit.points[rows][pairs.coords[0]]
    return (*found, WordCounts(_ratio(pairs.coords[1], point, bag.shape[1], law)))


def _ratio(word: IntArray, point: IntArray, words: int, law: FloatArray) -> Any:
    """log(Pr[x | w]/Pr[unseen x | w]·π(unseen)/π(x)): 0 for what was never seen together."""
    from scipy.sparse import csr_array

    seen = observations(word, point, words, len(law))
    backoff = fit_backoff(seen, law[seen.value])
    rest = (backoff.strength + backoff.discount * seen.kinds) * law[seen.value]
    ratio = np.log1p(np.maximum(seen.count - backoff.discount, 0.0) / np.maximum(rest, 1e-300))
    return csr_array((ratio, (seen.context, seen.value)), shape=(words, len(law)))


def _weights(
    known: Knowledge,
    held: Records,
    trial: tuple[tuple[WordCounts, ...], AlikeDocuments],
    counted: tuple[int, BoolArray],
) -> FloatArray:
    """β of the best log score of clean held-out secrets, the last one that of documents alike; 0 without any."""
    (counts, alike), (tier, in_bag) = trial, counted
    allowed = candidates(known.tiers, tier)
    columns = np.flatnonzero(allowed)
    rows = np.flatnonzero(allowed[held.points])[:WEIGHED]
    if not len(rows):
        return np.zeros(len(counts) + 1)
    law = law_over(known, columns)
    terms = [
        (each.rows(words[rows]) @ each.ratio[:, columns]).tocsr()
        for words, each in zip(_words(known, held, in_bag), counts, strict=True)
    ]
    assert held.context is not None
    inside = document_words(held.context, np.arange(len(in_bag)), len(in_bag))
    terms.append(alike.log_ratio(inside, columns, law)[held.document_of_position[rows]])
    return likeliest_weights(sparse_terms(terms, law, np.searchsorted(columns, held.points[rows])))


def _words(known: Knowledge, secrets: Records, in_bag: BoolArray) -> tuple[Any, ...]:
    assert secrets.context is not None
    tiers = secrets.tier_of_position(known.tiers) if known.tiers.is_public else None
    return relations(secrets.context, secrets.lengths, tiers, (np.arange(len(in_bag)), in_bag))


def rare_words(fit: Records) -> BoolArray:
    """The numbers (mask, slot, then every symbol) of words that few documents hold."""
    assert fit.context is not None
    width = len(fit.context.symbols) + 2
    document = np.repeat(np.arange(len(fit)), np.diff(fit.context.offsets))
    held_by = np.bincount(np.unique(document * width + fit.context.tokens - MASKED) % width, minlength=width)
    return np.asarray(held_by <= max(FEW, RARE * len(fit)))


def _numbers(context: Context, symbols: tuple[str, ...]) -> IntArray:
    """The number under which each token (mask, slot, then every symbol) was counted; −1 for a symbol that was not."""
    if context.symbols == symbols:
        return np.arange(len(symbols) + 2)
    place = {symbol: k + 2 for k, symbol in enumerate(symbols)}
    return np.array([0, 1, *(place.get(symbol, -1) for symbol in context.symbols)], dtype=np.int64)


def relations(
    context: Context, lengths: IntArray, tiers: IntArray | None, counted: tuple[IntArray, BoolArray]
) -> tuple[Any, ...]:
    """For each window a code of its words at every position, −1 for none; then the bag, sparse (positions, symbols).

    `counted` is the number of every token of the context (−1 for one that was not counted), and which numbers the bag
    holds. `tiers` are the public tiers of the positions. A mask counts as a word, and so does a slot, by its tier.
    """
    number, in_bag = counted
    width = len(in_bag)
    words, slots = number[context.tokens - MASKED], context.slots
    document = _documents(context)
    bag = document_words(context, np.where(in_bag[number], number, -1), width)
    tokens = words.copy()
    tokens[slots] = width + (0 if tiers is None else tiers)
    base = width + MOST_TIERS
    windows = [_codes(window, tokens, (slots, document), base) for window in WINDOWS]
    return (*windows, bag[np.repeat(np.arange(len(lengths)), lengths)])


def document_words(context: Context, number: IntArray, width: int) -> Any:
    """Which words every document holds, sparse 0-1 (documents, width); words with the number −1 do not count."""
    words = number[context.tokens - MASKED]
    keep = (context.tokens >= 0) & (words >= 0)
    code = np.unique(_documents(context)[keep] * width + words[keep])
    return _sparse(code // width, code % width, (len(context.offsets) - 1, width))


def _documents(context: Context) -> IntArray:
    """The document of every token."""
    return np.repeat(np.arange(len(context.offsets) - 1), np.diff(context.offsets))


def _codes(window: tuple[int, ...], tokens: IntArray, places: tuple[IntArray, IntArray], base: int) -> IntArray:
    """One number for the words at these offsets from every slot; −1 where one is missing or was never counted."""
    slots, document = places
    code, known = np.zeros(len(slots), dtype=np.int64), np.ones(len(slots), dtype=np.bool_)
    for offset in window:
        at = slots + offset
        inside = (at >= 0) & (at < len(tokens))
        at = np.where(inside, at, 0)
        known &= inside & (document[at] == document[slots]) & (tokens[at] >= 0)
        code = code * base + tokens[at]
    return np.where(known, code, -1)


def _sparse(row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(row)), (row, column)), shape=shape)
