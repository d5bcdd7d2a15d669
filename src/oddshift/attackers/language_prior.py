"""The prior given W, read by counts and by a language model together.

log Pr[x | W] = what the words around give (`word_prior`) + β·(s(x) − s̄(x)) + const, s(x) the score of a local masked
language model at the slot and s̄(x) its mean over fit documents: how common a word is, the counts know better. β ≥ 0 is
the weight that predicts held-out secrets best, for each tier. The context term is 0: nothing is read jointly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.gains import units_of
from oddshift.attackers.held_out import positions_over_all_points
from oddshift.attackers.language_model import LanguageModel
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.release_blocks import release_blocks
from oddshift.attackers.term_weights import ContextTerms, likeliest_weights
from oddshift.attackers.training import split
from oddshift.attackers.word_prior import BLOCK_ENTRIES, HELD_OUT, WordPrior, fit_word_prior
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.model.records import Records
from oddshift.model.release import Release, candidate_sets, perturb, set_numbers


@dataclass(frozen=True, eq=False, repr=False)
class LanguagePrior:
    """The prior from counts, the model, its mean scores (points,), and β of every candidate set."""

    words: WordPrior
    model: LanguageModel
    average: FloatArray
    weights: FloatArray

    reads_outputs = False

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """No context term; the prior of every position given W, a block of documents at a time."""
        for first, block in release_blocks(release, len(known.log_prior), BLOCK_ENTRIES):
            read = centred(self.model, block, self.average) if self.weights.any() else None
            for mine in self.words.terms(known, block):
                assert mine.points is not None
                tier = 0 if block.position_tiers is None else block.position_tiers[mine.positions[0]]
                more = 0.0 if read is None else self.weights[tier] * read[np.ix_(mine.positions, mine.points)]
                yield replace(mine, positions=first + mine.positions, log_prior=mine.log_prior + more)


def centred(model: LanguageModel, documents: Release | Records, average: FloatArray | float = 0.0) -> FloatArray:
    """s(x) − s̄(x) at every position, 0 for words that the model does not know."""
    if documents.context is None:
        raise InvalidInput("the documents have no context W, expected one for a language model to read")
    return np.asarray(np.where(model.knows, model.log_scores(documents.context) - average, 0.0))


def fit_language_prior(known: Knowledge, model: LanguageModel, rng: np.random.Generator) -> LanguagePrior:
    """Fit the counts, then β on a part of the documents that was left out of the counts.

    **Guarantee**: β is 0 where the model does not help to predict held-out secrets.
    """
    if len(model.words) != len(known.log_prior):
        raise InvalidInput(
            f"{len(model.words)} words for a language model, expected {len(known.log_prior)}, the points'"
        )
    seed = int(rng.integers(1 << 31))
    learn, held = split(known.fit.clusters, HELD_OUT, seed)
    part = knowledge(known.mechanism, known.tiers, known.fit.take(learn))
    trial = fit_word_prior(part, np.random.default_rng([seed, 1]))
    kept = _some(known.fit.take(held), len(known.log_prior), rng)
    scores = centred(model, kept)
    average = scores.mean(axis=0)
    scores -= np.where(model.knows, average, 0.0)
    weights = _weights(part, trial, kept, scores)
    return LanguagePrior(fit_word_prior(known, np.random.default_rng([seed, 2])), model, average, weights)


def _some(held: Records, points: int, rng: np.random.Generator) -> Records:
    """As many held-out documents as weights need, at least one."""
    order = rng.permutation(np.flatnonzero(held.lengths > 0))
    if not len(order):
        raise InvalidInput("held-out documents hold no secret, expected at least one")
    most = positions_over_all_points(points)
    count = int(np.searchsorted(np.cumsum(held.lengths[order]), most, side="right"))
    return held.take(np.sort(order[: max(1, count)]))


def _weights(known: Knowledge, words: WordPrior, held: Records, scores: FloatArray) -> FloatArray:
    """β of the best log score of clean held-out secrets in every candidate set."""
    release = perturb(held, known.mechanism, known.tiers, np.random.default_rng(0))  # only its public side is read
    units, found = units_of(held), list(words.terms(known, release))
    weights = np.zeros(len(set_numbers(known.tiers)))
    for mine in candidate_sets(release, known.tiers):
        inside = [block for block in found if np.isin(block.positions[0], mine.positions)]
        base = np.concatenate([block.log_prior for block in inside])
        truth = np.searchsorted(mine.points, held.points[mine.positions])
        terms = (scores[np.ix_(mine.positions, mine.points)],)
        some = replace(units, of_position=units.of_position[mine.positions])
        weights[mine.tier] = likeliest_weights(ContextTerms(base, terms, truth, some), np.zeros(1))[0]
    return weights
