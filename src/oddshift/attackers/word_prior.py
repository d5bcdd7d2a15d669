"""The prior given W: what the public words around a position and in its document say about the secret there.

log Pr[x | W] = log π(x) + Σ_r β_r·Σ_{w in r} log(Pr[x | w in r]/π(x)) + const over relations r: the two words before,
the two after it, and all rare words of the document. Each Pr[x | w] comes from counts with back-off to π, and β ≥ 0 are
the weights that predict held-out secrets best, for each tier. The context term is 0: this is a prior, and nothing is
read jointly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.backoff import fit_backoff, observations
from oddshift.attackers.combination import FIT_ENTRIES, ContextTerms, likeliest_weights
from oddshift.attackers.cooccurrence import document_blocks
from oddshift.attackers.gains import choosing_clusters, units_of
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.training import split
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, frozen
from oddshift.base.errors import InvalidInput
from oddshift.model.records import MASKED, Context, Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates

OFFSETS = (-2, -1, 1, 2)
"""The places of the words of a window, counted from the secret; the bag of the document is one more relation."""

RARE, FEW = 0.016, 10
"""A word counts in the bag if at most this share of the documents holds it, or at most a few: common words say nearly
the same of every document, and the noise of their counts would add up."""

HELD_OUT = 0.15
BLOCK_ENTRIES = 4_000_000

KEPT_ENTRIES = 20_000_000
"""Entries of priors that are kept for the next mechanism (160 MB); a performance setting."""


@dataclass(frozen=True, eq=False, repr=False)
class WordPrior:
    """For each candidate set: weights of the relations, and sparse log ratios (symbols, points) for each relation."""

    symbols: tuple[str, ...]
    in_bag: BoolArray
    weights: tuple[FloatArray, ...]
    ratios: tuple[tuple[Any, ...], ...]

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
    def _kept(self) -> dict[bytes, tuple[Terms, ...]]:
        """Priors that were computed already: they do not depend on the mechanism, so other scales need them again."""
        return {}

    def _computed(self, known: Knowledge, release: Release, context: Context) -> Iterator[Terms]:
        number = _numbers(context, self.symbols)
        for documents in document_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
            block = release.take(np.arange(documents.start, documents.stop))
            if not len(block.outputs) or block.context is None:
                continue
            words = relations(block.context, block.lengths, number, self.in_bag)
            for mine in candidate_sets(block, known.tiers):
                prior = self._prior(known, mine, words)
                nothing = np.broadcast_to(0.0, prior.shape)
                yield Terms(release.offsets[documents.start] + mine.positions, nothing, prior, mine.points)

    def _prior(self, known: Knowledge, mine: CandidateSet, words: tuple[Any, ...]) -> FloatArray:
        """log Pr[x | W] of the positions of one candidate set, over its candidates."""
        prior = np.tile(known.log_prior[mine.points], (len(mine.positions), 1))
        for weight, ratio, words_in in zip(self.weights[mine.tier], self.ratios[mine.tier], words, strict=True):
            if weight:
                prior += weight * (words_in[mine.positions] @ ratio[:, mine.points]).toarray()
        return frozen(prior)


def _key(release: Release, known: Knowledge) -> bytes:
    """A hash of what the priors of a release depend on: W, the positions with their tiers, and π."""
    assert release.context is not None
    arrays = (release.context.tokens, release.context.offsets, release.offsets, known.tiers.labels, known.log_prior)
    tiers = () if release.position_tiers is None else (release.position_tiers,)
    total = hashlib.sha256(str(known.tiers.is_public).encode())
    for array in (*arrays, *tiers):
        total.update(len(array).to_bytes(8, "little") + np.ascontiguousarray(array).tobytes())
    total.update(repr(hash(release.context.symbols)).encode())
    return total.digest()


def fit_word_prior(known: Knowledge, rng: np.random.Generator) -> WordPrior:
    """Count words around secrets; weigh the relations on a part of the documents that was left out of the counts."""
    if known.fit.context is None:
        raise InvalidInput("the fit records have no context W, expected one for an attacker that reads words")
    learn, held = split(choosing_clusters(known.fit), HELD_OUT, int(rng.integers(1 << 31)))
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    sets = range(len(known.tiers)) if known.tiers.is_public else range(1)
    in_bag = rare_words(part.fit)
    trial = [_ratios(part, g, in_bag) for g in sets]
    kept = known.fit.take(rng.permutation(held))
    weights = tuple(_weights(part, kept, ratios, (g, in_bag)) for g, ratios in zip(sets, trial, strict=True))
    ratios = tuple(_ratios(known, g, in_bag) for g in sets)
    return WordPrior(known.fit.context.symbols, in_bag, weights, ratios)


def _ratios(known: Knowledge, tier: int, in_bag: BoolArray) -> tuple[Any, ...]:
    """log(Pr[x | w]/Pr[unseen x | w]·π(unseen)/π(x)) for each relation: 0 for what was never seen together."""
    from scipy.sparse import csr_array

    fit, allowed = known.fit, candidates(known.tiers, tier)
    law = np.where(allowed, np.exp(known.log_prior), 0.0)
    law /= max(float(law.sum()), 1e-300)
    rows = np.flatnonzero(allowed[fit.points])
    found = []
    for words in _words(fit, in_bag):
        mine = words[rows].tocoo()
        symbol, point = mine.coords[1], fit.points[rows][mine.coords[0]]
        seen = observations(symbol, point, words.shape[1], len(law))
        backoff = fit_backoff(seen, law[seen.value])
        rest = (backoff.strength + backoff.discount * seen.kinds) * law[seen.value]
        ratio = np.log1p(np.maximum(seen.count - backoff.discount, 0.0) / np.maximum(rest, 1e-300))
        found.append(csr_array((ratio, (seen.context, seen.value)), shape=(words.shape[1], len(law))))
    return tuple(found)


def _weights(known: Knowledge, held: Records, ratios: tuple[Any, ...], counted: tuple[int, BoolArray]) -> FloatArray:
    """β of the best log score of clean held-out secrets; 0 for all without any."""
    tier, in_bag = counted
    allowed = candidates(known.tiers, tier)
    columns = np.flatnonzero(allowed)
    rows = np.flatnonzero(allowed[held.points])[: max(1, FIT_ENTRIES // max(1, len(columns)))]
    if not len(rows):
        return np.zeros(len(ratios))
    terms = tuple(
        (words[rows] @ ratio).tocsc()[:, columns].toarray()
        for words, ratio in zip(_words(held, in_bag), ratios, strict=True)
    )
    base = np.tile(known.log_prior[columns], (len(rows), 1))
    truth = np.searchsorted(columns, held.points[rows])
    units = units_of(held)
    left = ContextTerms(base, terms, truth, replace(units, of_position=units.of_position[rows]))
    return likeliest_weights(left)


def _words(fit: Records, in_bag: BoolArray) -> tuple[Any, ...]:
    assert fit.context is not None
    return relations(fit.context, fit.lengths, np.arange(len(in_bag)), in_bag)


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


def relations(context: Context, lengths: IntArray, number: IntArray, in_bag: BoolArray) -> tuple[Any, ...]:
    """For each relation a sparse (positions, symbols) matrix of the words that stand in it; mask and slot count too.

    `number` is that of every token of the context (−1 for none), `in_bag` says which numbers the bag holds.
    """
    width = len(in_bag)
    tokens, slots = number[context.tokens - MASKED], context.slots
    document = np.repeat(np.arange(len(context.offsets) - 1), np.diff(context.offsets))
    found = []
    for offset in OFFSETS:
        at = slots + offset
        inside = (at >= 0) & (at < len(tokens))
        at = np.where(inside, at, 0)
        keep = inside & (document[at] == document[slots]) & (tokens[at] >= 0)
        found.append(_sparse(np.flatnonzero(keep), tokens[at][keep], (len(slots), width)))
    keep = (context.tokens >= 0) & (tokens >= 0) & in_bag[tokens]
    code = np.unique(document[keep] * width + tokens[keep])
    bag = _sparse(code // width, code % width, (len(context.offsets) - 1, width))
    return (*found, bag[np.repeat(np.arange(len(lengths)), lengths)])


def _sparse(row: IntArray, column: IntArray, shape: tuple[int, int]) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(row)), (row, column)), shape=shape)
