"""Phrases: what the words around a secret say together with the other secrets among them.

The key k of a window is its words, where another secret counts as its point: "Secretary _ Powell" tells more than the
word before and the tier after, k_W. c(x) = Σ_r β_r·log(Σ_k p(k)·Pr[x | k]/Pr[x | k_W]) over windows r that hold another
secret, less the same without outputs; p(k) = Π_s p_s(b), p_s(b) ∝ Pr[b | W]·M(y_s|b) over the likeliest values b of
every other secret s, without outputs Pr[b | W] alone, and what is left of the mass says nothing. What W tells alone
does not leak and is taken off: outputs that say nothing give 0. Counts of k back off to those of k_W, which the prior
given W has already; β are the weights of clean held-out secrets next to that prior (`word_prior`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, release_blocks
from oddshift.attackers.backoff import Observations, fit_backoff, observations, observed
from oddshift.attackers.law_attacker import BATCH_ENTRIES, Terms, law_within
from oddshift.attackers.sparse_law import place_among, sparse_terms
from oddshift.attackers.term_weights import NearWeights, likeliest_weights
from oddshift.attackers.word_prior import (
    WordCounts,
    WordPrior,
    WordTrial,
    counted_ratio,
)
from oddshift.attackers.word_relations import WINDOWS, numbers_in, token_documents, window_codes, window_relations
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.logarithms import peak
from oddshift.model.records import MASKED, Context, Records
from oddshift.model.release import Release, candidate_sets, candidates, set_numbers

GUESSES = {1: 40, 2: 12, 3: 5}
"""The likeliest values of another secret that are tried in a window, by its length."""


@dataclass(frozen=True, eq=False, repr=False)
class PhraseCounts:
    """One window in one candidate set: its keys, Pr[x | k]/Pr[x | k_W] less what an unseen x has, and that less one."""

    keys: IntArray
    ratio: Any  # sparse (keys, points)
    unseen: FloatArray  # (keys,)

    def log_ratio(self, probability: Any, points: IntArray) -> FloatArray:
        """log Σ_k p(k)·Pr[x | k]/Pr[x | k_W] for sparse p, (positions, keys)."""
        found = np.asarray((probability @ self.ratio[:, points]).toarray())
        found += (probability @ self.unseen)[:, None]
        return np.log1p(found, out=found)


@dataclass(frozen=True, eq=False, repr=False)
class Phrases:
    """For each candidate set, weights and counts of every window; `words` guesses the secrets in it."""

    words: WordPrior
    weights: tuple[FloatArray, ...]
    counts: tuple[tuple[PhraseCounts, ...], ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """A block of documents at a time, and in it one candidate set after the other."""
        if release.context is None:
            raise InvalidInput("the release has no context W, expected one for an attacker that reads words")
        number = numbers_in(release.context, self.words.symbols)
        for first, block in release_blocks(release, len(known.log_prior), BATCH_ENTRIES):
            assert block.context is not None
            text = _Text(block.context, number, len(self.words.in_bag), len(known.log_prior))
            before, after = self._guesses(known, block)
            for mine in candidate_sets(block, known.tiers):
                context = np.zeros((len(mine.positions), len(mine.points)))
                counts = zip(WINDOWS, self.weights[mine.tier], self.counts[mine.tier], strict=True)
                for window, weight, counted in counts:
                    if weight:
                        told, known_before = (
                            counted.log_ratio(text.keys(window, mine.positions, guesses, counted.keys), mine.points)
                            for guesses in (after, before)
                        )
                        context += weight * (told - known_before)
                yield Terms(first + mine.positions, context, known.log_prior[mine.points], mine.points)

    def _guesses(self, known: Knowledge, block: Release) -> tuple[Guesses, Guesses]:
        """The likeliest values of every secret given W, and given W and its own output."""
        most = min(max(GUESSES.values()), len(known.log_prior))
        before, after = (Guesses.none(len(block.outputs), most) for _ in range(2))
        for mine in self.words.laws(known, block):
            own = known.mechanism.candidate_columns(block.outputs[mine.positions], mine.points)
            before.put(mine.positions, mine.points, mine.log_prior)
            after.put(mine.positions, mine.points, mine.log_prior + own)
        return before, after


@dataclass(eq=False, repr=False)
class Guesses:
    """Likely values of every secret, the likeliest first, and their probabilities, (positions, guesses).

    They are filled in one candidate set after the other.
    """

    points: IntArray
    mass: FloatArray

    @classmethod
    def none(cls, positions: int, most: int) -> Guesses:
        """No guess at any position yet."""
        return cls(np.zeros((positions, most), dtype=np.int64), np.zeros((positions, most)))

    def put(self, positions: IntArray, points: IntArray, log_weights: FloatArray) -> None:
        """Guess at some positions by the logarithms of the weights that their candidates have."""
        total = np.exp(log_weights - peak(log_weights, axis=1))
        total /= np.maximum(total.sum(axis=1, keepdims=True), 1e-300)
        width = min(self.mass.shape[1], total.shape[1])
        likely = np.argpartition(-total, width - 1, axis=1)[:, :width]
        shares = np.take_along_axis(total, likely, axis=1)
        order = np.argsort(-shares, axis=1)
        self.points[positions, :width] = points[np.take_along_axis(likely, order, axis=1)]
        self.mass[positions, :width] = np.take_along_axis(shares, order, axis=1)

    def first(self, count: int) -> Guesses:
        """The likeliest ones."""
        return Guesses(self.points[:, :count], self.mass[:, :count])


@dataclass(frozen=True, eq=False, repr=False)
class _Ways:
    """Ways to fill the places of a window that were read so far: whose they are, their key, and their probability."""

    row: IntArray
    key: IntArray
    mass: FloatArray
    has_secret: BoolArray

    def take(self, index: IntArray) -> _Ways:
        """Some of them, or some several times."""
        return _Ways(self.row[index], self.key[index], self.mass[index], self.has_secret[index])


class _Text:
    """Documents as numbers: of the word at every token, or of the secret there."""

    def __init__(self, context: Context, number: IntArray, width: int, points: int) -> None:
        self.words, self.slots = number[context.tokens - MASKED], context.slots
        self.document, self.width, self.base = token_documents(context), width, width + points
        self.secret = np.full(len(self.words), -1)
        self.secret[self.slots] = np.arange(len(self.slots))

    def keys(self, window: tuple[int, ...], positions: IntArray, guesses: Guesses, known: IntArray) -> Any:
        """p(k) over the keys that were counted, sparse (positions, keys); windows without a secret have none."""
        from scipy.sparse import csr_array

        count = len(positions)
        ways = _Ways(np.arange(count), np.zeros(count, dtype=np.int64), np.ones(count), np.zeros(count, dtype=np.bool_))
        for offset in window:
            ways = self._further(ways, self.slots[positions], offset, guesses.first(GUESSES[len(window)]))
        place, is_counted = place_among(known, ways.key)
        kept = np.flatnonzero(ways.has_secret & is_counted & (ways.mass > 0))
        return csr_array((ways.mass[kept], (ways.row[kept], place[kept])), shape=(count, len(known)))

    def _further(self, ways: _Ways, slots: IntArray, offset: int, guesses: Guesses) -> _Ways:
        """The same ways with one more place: its word, or each guess of the secret there."""
        at = slots[ways.row] + offset
        is_inside = (at >= 0) & (at < len(self.words))
        at = np.where(is_inside, at, 0)
        is_inside &= self.document[at] == self.document[slots[ways.row]]
        is_inside &= (self.words[at] >= 0) | (self.secret[at] >= 0)
        here = np.flatnonzero(is_inside)
        copies = np.where(self.secret[at[here]] >= 0, guesses.points.shape[1], 1)
        here, guess = np.repeat(here, copies), np.arange(copies.sum()) - np.repeat(np.cumsum(copies) - copies, copies)
        found, at = ways.take(here), at[here]
        secret = self.secret[at]
        is_secret = secret >= 0
        word = np.where(is_secret, self.width + guesses.points[secret, guess], self.words[at])
        mass = np.where(is_secret, found.mass * guesses.mass[secret, guess], found.mass)
        return _Ways(found.row, found.key * self.base + word, mass, found.has_secret | is_secret)


def fit_phrases(known: Knowledge, prior: WordPrior, trial: WordTrial) -> Phrases:
    """Count phrases; weigh them next to the relations of the prior, on the held-out documents of its trial."""
    weights = tuple(_weights(trial, prior, tier) for tier in set_numbers(known.tiers))
    counts = tuple(tuple(_soft(each) for each in _counts(known, known.fit, tier)) for tier in set_numbers(known.tiers))
    return Phrases(prior, weights, counts)


@dataclass(frozen=True, eq=False, repr=False)
class _Counted:
    """A window in one candidate set as the words of `word_prior` are counted, with Pr[unseen x | k]/Pr[x | k_W]."""

    clean: WordCounts
    unseen: FloatArray


def _soft(counted: _Counted) -> PhraseCounts:
    """The same for keys of which only the probability is known."""
    from scipy.sparse import diags_array

    ratio = counted.clean.ratio.copy()
    ratio.data = np.expm1(ratio.data)
    assert counted.clean.codes is not None
    return PhraseCounts(counted.clean.codes, (diags_array(counted.unseen) @ ratio).tocsr(), counted.unseen - 1.0)


def _counts(known: Knowledge, fit: Records, tier: int) -> list[_Counted]:
    """The keys of every window and the points seen with them, in one candidate set."""
    allowed, law, size = candidates(known.tiers, tier), law_within(known, tier), len(known.log_prior)
    found = []
    for keys, words in zip(_clean_keys(fit, size), _word_windows(known, fit), strict=True):
        inside = np.flatnonzero(allowed[fit.points] & (keys >= 0))
        codes, number = np.unique(keys[inside], return_inverse=True)
        seen = observations(number, fit.points[inside], len(codes), size)
        word_of = np.zeros(len(codes), dtype=np.int64)
        word_of[number] = np.unique(words[inside], return_inverse=True)[1]
        broader, left_out = _broader(seen, word_of, law)
        ratio, unseen = counted_ratio(seen, fit_backoff(seen, left_out), broader, (len(codes), size))
        found.append(_Counted(WordCounts(ratio, codes), unseen))
    return found


def _word_windows(known: Knowledge, fit: Records) -> list[IntArray]:
    """The code of each window at every position as the prior given W counts it: k_W."""
    assert fit.context is not None
    width = len(fit.context.symbols) + 2
    tiers = fit.tier_of_position(known.tiers) if known.tiers.is_public else None
    return window_relations(fit.context, tiers, np.arange(width), width)


def _broader(seen: Observations, word_of: IntArray, law: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pr[x | k_W] of every pair seen, from all counts and without one of its own; `word_of` gives each key's k_W."""
    pairs, place = np.unique(word_of[seen.context] * len(law) + seen.value, return_inverse=True)
    word, value, count = pairs // len(law), pairs % len(law), np.bincount(place, weights=seen.count)
    of_words = observed(word, value, count.astype(np.float64), int(word_of.max(initial=-1)) + 1)
    backoff = fit_backoff(of_words, law[value])
    return backoff.predicted(of_words, law[value])[place], backoff.left_out(of_words, law[value])[place]


def _clean_keys(records: Records, points: int) -> Iterator[IntArray]:
    """The key of each window at every position of clean records; −1 where it holds no other secret."""
    context = records.context
    assert context is not None
    width = len(context.symbols) + 2
    tokens = context.tokens - MASKED
    tokens[context.slots] = width + records.points
    places = context.slots, token_documents(context)
    for window in WINDOWS:
        keys = window_codes(window, tokens, places, width + points)
        yield np.where(_holds_secret(window, context, places[1]), keys, -1)


def _holds_secret(window: tuple[int, ...], context: Context, document: IntArray) -> BoolArray:
    """Whether another secret of the document stands in the window, at every position."""
    is_slot = np.zeros(len(context.tokens), dtype=np.bool_)
    is_slot[context.slots] = True
    at = np.clip(context.slots[:, None] + np.array(window), 0, max(len(is_slot) - 1, 0))
    return np.asarray((is_slot[at] & (document[at] == document[context.slots][:, None])).any(axis=1))


def _weights(trial: WordTrial, prior: WordPrior, tier: int) -> FloatArray:
    """β of every window, weighed on clean held-out secrets next to the relations of the prior."""
    rows = trial.rows(tier)
    if not len(rows):
        return np.zeros(len(WINDOWS))
    columns = trial.columns(tier)
    keys = [each[rows] for each in _clean_keys(trial.held, len(trial.known.log_prior))]
    phrases = [
        (each.clean.rows(mine) @ each.clean.ratio[:, columns]).tocsr()
        for mine, each in zip(keys, _counts(trial.known, trial.known.fit, tier), strict=True)
    ]
    held = sparse_terms([*trial.terms(tier), *phrases], trial.law(tier), trial.truth(tier))
    start = np.concatenate([[prior.powers[tier]], prior.weights[tier], np.zeros(len(WINDOWS))])
    return likeliest_weights(NearWeights(held, start, len(rows)), start)[-len(WINDOWS) :]
