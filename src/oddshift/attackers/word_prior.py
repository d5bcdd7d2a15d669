"""The prior given W: what the public words around a position and in its document say about the secret there.

log Pr[x | W] = γ·log π(x) + Σ_r β_r·Σ_{w in r} log(Pr[x | w in r]/π(x)) + const over relations r: the word before, the
word after it, both of them, the two and three before, the two and three after, all rare words of the document, and the
fit documents with words alike. Another secret counts as a word that says its public tier. Each Pr[x | w] comes from
counts with back-off to π, and γ and β ≥ 0 are those that predict held-out secrets best, for each tier. The place in the
document counts as far as it still says something next to the words (`prior_by_place`).
The context term is 0: this is a prior, and nothing is read jointly.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge, release_blocks
from oddshift.attackers.backoff import Backoff, Observations, fit_backoff, observations
from oddshift.attackers.candidate_sampling import foreseeable
from oddshift.attackers.law_attacker import Terms, law_over, law_within, log_floor
from oddshift.attackers.paired_log_score import choosing_clusters, split
from oddshift.attackers.prior_by_place import (
    REACHES,
    PlacePrior,
    fit_place_prior,
    next_to,
    place_codes,
    place_weights,
)
from oddshift.attackers.sparse_law import place_among, sparse_terms
from oddshift.attackers.term_weights import NearWeights, likeliest_weights
from oddshift.attackers.word_relations import (
    AlikeDocuments,
    document_words,
    fit_alike_documents,
    numbers_in,
    rare_words,
    relations,
    zero_one,
)
from oddshift.base.arrays import BoolArray, FloatArray, IntArray, frozen
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import fingerprint
from oddshift.model.records import Context, Records
from oddshift.model.release import CandidateSet, Release, candidate_sets, candidates, set_numbers

ABOUT_DOCUMENTS = 2
"""The number of relations, the last ones, that concern the document and not the place in it."""

HELD_OUT = 0.15
WEIGHED = 4_000
"""Held-out positions of a candidate set on which the relations are weighed."""

PLACED_ENTRIES = 3_000_000
"""Entries (positions x candidates) on which the place is weighed next to the words."""

BLOCK_ENTRIES = 4_000_000

KEPT_ENTRIES = 10_000_000
"""Entries of priors that are kept for the next mechanism (80 MB); a performance setting."""


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
        place, is_counted = place_among(self.codes, words)
        seen = np.flatnonzero(is_counted)
        return zero_one(seen, place[seen], (len(words), len(self.codes)))


@dataclass(frozen=True, eq=False, repr=False)
class WordLaws:
    """log Pr[x | W] of some positions over their candidates, and the share of it that concerns the whole document."""

    positions: IntArray
    points: IntArray
    log_prior: FloatArray
    by_document: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class WordPrior:
    """For each candidate set: γ, weights of the relations, and the counts of each relation, the bag last.

    One more weight, the last, is that of documents alike. `places` is what the place adds, if it does.
    """

    symbols: tuple[str, ...]
    in_bag: BoolArray
    powers: tuple[float, ...]
    weights: tuple[FloatArray, ...]
    counts: tuple[tuple[WordCounts, ...], ...]
    alike: AlikeDocuments
    places: PlacePrior | None = None

    reads_outputs = False

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """No context term; the prior of every position given W."""
        for block in self.laws(known, release):
            nothing = np.broadcast_to(0.0, block.log_prior.shape)
            yield Terms(block.positions, nothing, block.log_prior, block.points)

    def laws(self, known: Knowledge, release: Release) -> Iterator[WordLaws]:
        """What W says, block by block."""
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
        if _entries(found) <= KEPT_ENTRIES:
            self._kept[key] = tuple(found)
            while sum(_entries(blocks) for blocks in self._kept.values()) > KEPT_ENTRIES:
                self._kept.pop(next(iter(self._kept)))

    def __getstate__(self) -> dict[str, object]:
        """The fields: priors are computed faster than they are sent to a worker."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def _kept(self) -> dict[str, tuple[WordLaws, ...]]:
        """Priors that were computed already: they do not depend on the mechanism, so other scales need them again."""
        return {}

    def _computed(self, known: Knowledge, release: Release, context: Context) -> Iterator[WordLaws]:
        number = numbers_in(context, self.symbols)
        for first, block in release_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
            assert block.context is not None
            words = relations(block.context, block.lengths, block.position_tiers, (number, self.in_bag))
            inside = document_words(block.context, number, len(self.in_bag))
            for mine in candidate_sets(block, known.tiers):
                told = frozen(self._by_document(known, mine, block, (words[-1], inside)))
                prior = told + self._by_place(known, mine, words[:-1])
                if self.places is not None and self.places.weights[mine.tier].any():
                    prior += self.places.log_ratio(mine, place_codes(block.lengths))
                yield WordLaws(first + mine.positions, mine.points, frozen(prior), told)

    def _by_place(self, known: Knowledge, mine: CandidateSet, words: Sequence[IntArray]) -> FloatArray:
        """γ·log π and what the words near each position say, over the candidates of one set."""
        alone = known.log_prior[mine.points]
        alone = np.where(np.isfinite(alone), self.powers[mine.tier] * alone, -np.inf)
        prior = np.tile(alone, (len(mine.positions), 1))
        counts = self.counts[mine.tier][: len(words)]
        for weight, each, words_in in zip(self.weights[mine.tier], counts, words, strict=False):
            if weight:
                prior += weight * (each.rows(words_in[mine.positions]) @ each.ratio[:, mine.points]).toarray()
        return prior

    def _by_document(self, known: Knowledge, mine: CandidateSet, block: Release, words: tuple[Any, Any]) -> FloatArray:
        """What the rare words of the document and documents alike say; `words` are by position and by document."""
        bag, inside = words
        document = np.searchsorted(block.offsets, mine.positions, side="right") - 1
        of_bag, of_alike = self.weights[mine.tier][-ABOUT_DOCUMENTS:]
        law, counts = law_over(known, mine.points), self.counts[mine.tier][-1]
        lent = of_alike * self.alike.log_ratio(inside, mine.points, law)
        told = np.asarray(lent[document].toarray())
        if of_bag:
            told += of_bag * (counts.rows(bag[mine.positions]) @ counts.ratio[:, mine.points]).toarray()
        return told


def _entries(blocks: Sequence[WordLaws]) -> int:
    return sum(2 * block.log_prior.size for block in blocks)


def _key(release: Release, known: Knowledge) -> str:
    """What the priors of a release depend on: W, the positions with their tiers, and π."""
    tiers = known.tiers
    return fingerprint(
        (release.context, release.offsets, release.position_tiers, tiers.labels, tiers.is_public, known.log_prior)
    )


@dataclass(frozen=True, eq=False, repr=False)
class WordTrial:
    """The relations as counted without some of the fit documents, and those documents, which weigh them.

    `by_place` are the weights of places without any words, None where places say nothing.
    """

    known: Knowledge
    held: Records
    in_bag: BoolArray
    counts: tuple[tuple[WordCounts, ...], ...]
    alike: AlikeDocuments
    by_place: tuple[FloatArray, ...] | None

    def columns(self, tier: int) -> IntArray:
        """The points of one candidate set."""
        return np.flatnonzero(candidates(self.known.tiers, tier))

    def rows(self, tier: int) -> IntArray:
        """The held-out positions of one candidate set that count."""
        counts_it = candidates(self.known.tiers, tier) & foreseeable(self.known, self.held)
        return np.flatnonzero(counts_it[self.held.points])[:WEIGHED]

    def law(self, tier: int) -> FloatArray:
        """π over the candidates of one set."""
        return law_over(self.known, self.columns(tier))

    def terms(self, tier: int) -> list[Any]:
        """What each relation says at these positions, sparse (positions, candidates); documents alike last."""
        held, columns, rows = self.held, self.columns(tier), self.rows(tier)
        found = [
            (each.rows(words[rows]) @ each.ratio[:, columns]).tocsr()
            for words, each in zip(_words(self.known, held, self.in_bag), self.counts[tier], strict=True)
        ]
        assert held.context is not None
        inside = document_words(held.context, np.arange(len(self.in_bag)), len(self.in_bag))
        alike = self.alike.log_ratio(inside, columns, self.law(tier))
        return [*found, alike[held.document_of_position[rows]]]

    def truth(self, tier: int) -> IntArray:
        """The place of the truth among the candidates."""
        return np.searchsorted(self.columns(tier), self.held.points[self.rows(tier)])


def word_trial(known: Knowledge, rng: np.random.Generator) -> WordTrial:
    """Leave some of the fit documents out, and count in the others."""
    if known.fit.context is None:
        raise InvalidInput("the fit records have no context W, expected one for an attacker that reads words")
    learn, held = split(choosing_clusters(known.fit), HELD_OUT, int(rng.integers(1 << 31)))
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    in_bag = rare_words(part.fit)
    counts = tuple(_counts(part, g, in_bag) for g in set_numbers(known.tiers))
    fresh = known.fit.take(rng.permutation(held))
    return WordTrial(part, fresh, in_bag, counts, _alike(part.fit, len(in_bag)), place_weights(part, rng))


def fit_word_prior(known: Knowledge, rng: np.random.Generator) -> WordPrior:
    """Count words around secrets; weigh the relations on a part of the documents that was left out of the counts."""
    return weighed_prior(known, word_trial(known, rng))


def weighed_prior(known: Knowledge, trial: WordTrial) -> WordPrior:
    """The prior with the counts of all fit documents, weighed by a trial."""
    assert known.fit.context is not None
    found = [_weights(trial, tier) for tier in set_numbers(known.tiers)]
    powers, weights = tuple(power for power, *_ in found), tuple(each for _, each, _ in found)
    by_place = tuple(each for *_, each in found)
    places = fit_place_prior(known, by_place) if any(each.any() for each in by_place) else None
    counts = tuple(_counts(known, g, trial.in_bag) for g in set_numbers(known.tiers))
    alike = _alike(known.fit, len(trial.in_bag))
    return WordPrior(known.fit.context.symbols, trial.in_bag, powers, weights, counts, alike, places)


def _weights(trial: WordTrial, tier: int) -> tuple[float, FloatArray, FloatArray]:
    """γ and β of the best log score of clean held-out secrets, the last that of documents alike; then β of the place.

    All β are 0 without held-out secrets.
    """
    found, rows = np.append(1.0, np.zeros(len(trial.counts[tier]) + 1)), trial.rows(tier)
    by_place = np.zeros(len(REACHES))
    if len(rows):
        terms, law = trial.terms(tier), trial.law(tier)
        found = likeliest_weights(NearWeights(sparse_terms(terms, law, trial.truth(tier)), found, len(rows)), found)
        if trial.by_place is not None and trial.by_place[tier].any():
            few = slice(max(1, PLACED_ENTRIES // len(law)))
            told = np.tile(found[0] * log_floor(law), (len(rows[few]), 1))
            for weight, each in zip(found[1:], terms, strict=True):
                told += weight * each[few].toarray()
            power, by_place = next_to(told, trial.known, trial.held, tier, rows[few])
            found *= power
    return float(found[0]), found[1:], by_place


def _alike(fit: Records, width: int) -> AlikeDocuments:
    assert fit.context is not None
    return fit_alike_documents(fit, document_words(fit.context, np.arange(width), width))


def _counts(known: Knowledge, tier: int, in_bag: BoolArray) -> tuple[WordCounts, ...]:
    """The counts of each relation in one candidate set."""
    fit, law = known.fit, law_within(known, tier)
    rows = np.flatnonzero(candidates(known.tiers, tier)[fit.points])
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
    seen = observations(word, point, words, len(law))
    return counted_ratio(seen, fit_backoff(seen, law[seen.value]), law[seen.value], (words, len(law)))[0]


def counted_ratio(
    seen: Observations, backoff: Backoff, base: FloatArray, shape: tuple[int, int]
) -> tuple[Any, FloatArray]:
    """The same over any broader law, sparse of this shape, and Pr[unseen x | w]/base(unseen) of every word, 1 for none.

    `base` is the broader law of every pair that was seen.
    """
    from scipy.sparse import csr_array

    rest = backoff.strength + backoff.discount * seen.kinds
    ratio = np.log1p(np.maximum(seen.count - backoff.discount, 0.0) / np.maximum(rest * base, 1e-300))
    unseen = np.ones(shape[0])
    unseen[seen.context] = rest / (seen.total + backoff.strength)
    return csr_array((ratio, (seen.context, seen.value)), shape=shape), unseen


def _words(known: Knowledge, secrets: Records, in_bag: BoolArray) -> tuple[Any, ...]:
    assert secrets.context is not None
    tiers = secrets.tier_of_position(known.tiers) if known.tiers.is_public else None
    return relations(secrets.context, secrets.lengths, tiers, (np.arange(len(in_bag)), in_bag))


@dataclass(frozen=True, eq=False, repr=False)
class TakenBack:
    """Minus what the words of the whole document say, much of which its other secrets say again; a weight scales it."""

    words: WordPrior

    reads_outputs = False

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Block by block, as the prior gives them."""
        is_lone = np.repeat(release.lengths == 1, release.lengths)
        for block in self.words.laws(known, release):
            context = np.where(is_lone[block.positions, None], 0.0, -block.by_document)
            yield Terms(block.positions, context, known.log_prior[block.points], block.points)
