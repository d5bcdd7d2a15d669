"""Completeness: whether real documents show dependence that no attacker reads.

Select documents are looked at as they are. Attackers predict every value from all others of its document in the clear,
p. A relation, learned from the fit documents, says by which factor the others change the odds of each candidate, r. It
bets on p·r^λ/Z against p. Were p the truth, a document would multiply the stake by 1 on average, and the product over
documents, averaged over some λ, would exceed m/α with probability at most α/m (Markov): with m relations the level is α
for all together. What counts must also be worth something: more than WORTH nats beyond two errors.

**Guarantee**: under the law that the attackers have in mind a false alarm has probability at most α. A relation of four
or more values that no three of them show is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from oddshift.attackers.attacker import Attacker, Knowledge, against, release_blocks
from oddshift.attackers.candidate_sampling import (
    BLOCK_ENTRIES,
    few_candidates,
    joined,
    prepared,
    prior_part,
    sides,
    terms_by_tier,
)
from oddshift.attackers.combination import Combination
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.paired_log_score import choosing_clusters, choosing_units, standard_error
from oddshift.attackers.relations import VOTED, Relation, Votes, relations_of, votes_of
from oddshift.attackers.term_weights import ContextTerms, NearWeights, likeliest_weights
from oddshift.attackers.threes import FEWEST
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release
from oddshift.model.space import Space

LEVEL, WORTH = 0.01, 0.01
"""The level of a false alarm, and the smallest gain in nats for each document that is worth an alarm."""

STRENGTHS = (0.25, 0.5, 1.0, 2.0)
"""The λ of the bets on one relation."""

MOST_DOCUMENTS, MOST_VOTED = 2_000, 400
"""Largest numbers of select documents that are looked at, with fixed places and without."""

BLUR = 1e-3
"""The share of outputs that are not the secret where attackers read the others in the clear: no likelihood is 0."""

IMPOSSIBLE = "whether records show dependence that no attacker reads was not tested: that takes attackers that count"
"""What is assumed where the test is not possible."""


@dataclass(frozen=True)
class Completeness:
    """What the test found: how many relations it looked at closely, and those that no attacker reads, strongest first.

    A relation is named by its places, without those that hold a missing one; `gains` are nats by which it improves the
    prediction of one value, for each document.
    """

    tested: int
    missing: tuple[tuple[str, ...], ...] = ()
    gains: tuple[float, ...] = ()

    @property
    def sentence(self) -> str:
        """What the test found."""
        found = self.reason or "no dependence beyond what attackers read"
        return f"real records in {self.tested} relations of two or three values: {found}; not of four"

    @property
    def reason(self) -> str:
        """Why nothing is certified; empty where nothing is missing."""
        if not self.missing:
            return ""
        places = [" with ".join(each) for each in self.missing[:3]]
        return (
            f"records show dependence that no attacker reads, between {' and between '.join(places)} "
            f"({self.gains[0]:.2f} nats for each document, level {LEVEL:g})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Clear(Mechanism):
    """Outputs that are the secret, but for a share BLUR of any other point."""

    space: Space

    @property
    def claimed_epsilon(self) -> float:
        """None is proved."""
        return np.inf

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """The same for every point but its own."""
        points = len(self.space)
        rows = np.full((len(index), points), np.log(BLUR / max(1, points - 1)))
        rows[np.arange(len(index)), index] = np.log1p(-BLUR)
        return rows

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """The channel is symmetric, and no table of all of it is needed."""
        return self.log_likelihood(np.atleast_1d(np.asarray(outputs)))


@dataclass(frozen=True, eq=False, repr=False)
class Foretold:
    """What an attacker predicts of positions of one tier: log posteriors, and the column of the truth.

    Columns stand for `points`, all candidates of the tier, unless there are `votes`: then only for some.
    """

    positions: IntArray
    points: IntArray
    log_posterior: FloatArray
    truth: IntArray
    votes: tuple[FloatArray, ...]

    @property
    def scores(self) -> FloatArray:
        """−log posterior of the truth."""
        return -self.log_posterior[np.arange(len(self.truth)), self.truth]

    def bets(self, rows: IntArray, log_ratios: FloatArray) -> FloatArray:
        """log of p·r^λ/Z against p at the truth, (STRENGTHS, rows)."""
        law, won = self.log_posterior[rows], log_ratios[np.arange(len(rows)), self.truth[rows]]
        return np.stack([strength * won - log_sum(law + strength * log_ratios) for strength in STRENGTHS])


def completeness(
    attackers: Sequence[Attacker], known: Knowledge, release: Release, truth: Records
) -> Completeness | None:
    """Test select documents, of which `release` has the public side, against attackers; None where that is impossible.

    The attackers are those that a verdict rests on, with the weights they have there; the best of them predicts.
    """
    readers = [each for each in attackers if isinstance(each, Combination) and _reads_counts(each)]
    some = _documents(truth)
    if not readers or len(some) < FEWEST:
        return None
    relations = relations_of(known, release.take(some), truth.take(some))
    if relations is None:
        some = some[:MOST_VOTED]
    release, truth = release.take(some), truth.take(some)
    votes = votes_of(known, truth) if relations is None else None
    told = min((foretold(each, known, release, truth, votes) for each in readers), key=_score)
    if relations is None:
        return _judged(VOTED, [_voted(told, truth, k) for k in range(len(VOTED))])
    return _judged([each.names for each in relations], [_related(told, truth, each) for each in relations])


def _judged(names: Sequence[tuple[str, ...]], bets: Sequence[FloatArray]) -> Completeness:
    """The relations that raise an alarm, strongest first, without those that hold another one."""
    gains = [_gain(won, len(bets)) for won in bets]
    alarms = {name: gain for gain, name in sorted(zip(gains, names, strict=True), reverse=True) if gain > 0.0}
    least = [name for name in alarms if not any(set(other) < set(name) for other in alarms)]
    return Completeness(len(bets), tuple(least), tuple(alarms[name] for name in least))


def _reads_counts(attacker: Combination) -> bool:
    return all(isinstance(part, LawAttacker) for part in attacker.parts)


def _documents(truth: Records) -> IntArray:
    """One document of each unit, at most MOST_DOCUMENTS: those are independent."""
    useful = np.flatnonzero(truth.lengths > 0)
    _, first = np.unique(choosing_clusters(truth)[useful], return_index=True)
    return np.sort(useful[first])[:MOST_DOCUMENTS]


def _score(foretold: Sequence[Foretold]) -> float:
    return float(np.concatenate([each.scores for each in foretold]).mean())


def _gain(bets: FloatArray, relations: int) -> float:
    """Nats for each document where bets (STRENGTHS, documents) raise an alarm; 0 elsewhere."""
    total = bets.sum(axis=1)
    if log_sum(total) - np.log(len(STRENGTHS)) <= np.log(relations / LEVEL):
        return 0.0
    best = bets[np.argmax(total)]
    return float(best.mean()) if best.mean() - 2.0 * standard_error(best) > WORTH else 0.0


def _related(foretold: Sequence[Foretold], truth: Records, relation: Relation) -> FloatArray:
    """Bets on a relation, (STRENGTHS, documents): each of its places is one stake of several."""
    values = truth.points[relation.positions]
    won = np.empty((len(STRENGTHS), *values.shape))
    for number, at in enumerate(relation.positions.T):
        for each in foretold:
            here = np.flatnonzero(np.isin(at, each.positions))
            if len(here):
                rows = np.searchsorted(each.positions, at[here])
                won[:, here, number] = each.bets(rows, relation.log_ratios(number, values[here], each.points))
    return np.asarray(log_sum(won) - np.log(values.shape[1]))


def _voted(foretold: Sequence[Foretold], truth: Records, number: int) -> FloatArray:
    """Bets on what one kind of vote says, (STRENGTHS, documents): each position is one stake of several."""
    won = np.empty((len(STRENGTHS), len(truth.points)))
    for each in foretold:
        won[:, each.positions] = each.bets(np.arange(len(each.truth)), each.votes[number])
    return np.asarray(np.logaddexp.reduceat(won, truth.offsets[:-1], axis=1) - np.log(truth.lengths))


def foretold(
    reader: Combination, known: Knowledge, release: Release, truth: Records, votes: Votes | None = None
) -> list[Foretold]:
    """Pr[secret | all others of its document in the clear] by the parts that have weight, tier by tier.

    How much each part counts there is fitted on half of the documents, and predicts the other half.
    """
    mine = prior_part(reader.parts)
    kept = [k for k, is_used in enumerate(reader.weighed) if is_used or k == mine]
    clear = replace(known, mechanism=Clear(known.mechanism.space))
    parts = [against(reader.parts[k], clear) for k in kept]
    wanted, prior = reader.weighed[kept], prior_part(parts)
    shown, units = replace(release, outputs=truth.points), choosing_units(truth)
    blocks: dict[int, list[tuple[IntArray, IntArray, ContextTerms, list[FloatArray]]]] = {}
    ready = prepared(parts, shown, wanted)
    for first, block in release_blocks(shown, len(known.log_prior), BLOCK_ENTRIES):
        for each in terms_by_tier(ready, clear, block, wanted, prior):
            at = first + each.positions
            column = np.searchsorted(each.points, truth.points[at])
            base = np.broadcast_to(each.log_prior, each.own.shape).copy()
            terms = [term for term, is_used in zip(each.terms, wanted, strict=True) if is_used]
            told = [] if votes is None else votes.log_ratios(at, each.points)
            if votes is not None:
                base, few, column = few_candidates(base, [*terms, *told], column)
                terms, told = few[: len(terms)], few[len(terms) :]
            here = replace(units, of_position=units.of_position[at])
            held = ContextTerms(base, tuple(sides(terms)), column, here)
            blocks.setdefault(each.tier, []).append((at, each.points, held, told))
    return [_together(several) for several in blocks.values()]


def _together(blocks: Sequence[tuple[IntArray, IntArray, ContextTerms, list[FloatArray]]]) -> Foretold:
    positions, points, terms, told = zip(*blocks, strict=True)
    held = joined(list(terms))
    law = _cross_fitted(held)
    votes = tuple(np.concatenate(each) for each in zip(*told, strict=True))
    return Foretold(np.concatenate(positions), points[0], law, held.truth, votes)


def _cross_fitted(held: ContextTerms) -> FloatArray:
    """Log posteriors of every position, with the weights of the other half of the units."""
    found, start = np.empty_like(held.base), np.ones(held.size)
    half = held.units.of_position % 2
    for side in (0, 1):
        learn, read = held.taken(np.flatnonzero(half != side)), held.taken(np.flatnonzero(half == side))
        weights = likeliest_weights(NearWeights(learn, start, max(1, len(learn.truth))), start) if held.size else start
        found[half == side] = read.log_posterior(weights)
    return found
