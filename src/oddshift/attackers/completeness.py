"""Completeness: whether real documents show dependence between fixed places that no attacker reads.

Select documents are looked at as they are. For a relation (a value and one or two others) the tables of the fit
documents and the attackers predict the value, the attackers from all other values of the document in the clear: p. The
gain is g = log(½ + ½·table/p). Were p the truth, Pr[Σ g > log(m/α)] ≤ α/m for any table (Markov), so with m relations
the level is α for all together. What counts must also be worth something: more than WORTH nats beyond two errors.

**Guarantee**: under the law that the attackers have in mind a false alarm has probability at most α. A relation of four
or more places that no three of them show is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from oddshift.attackers.attacker import Attacker, Knowledge, against, release_blocks
from oddshift.attackers.candidate_sampling import BLOCK_ENTRIES, joined, prepared, prior_part, sides, terms_by_tier
from oddshift.attackers.cherry_tree import MOST_VALUES, Binned, column_cells, place_cells
from oddshift.attackers.combination import Combination
from oddshift.attackers.law_attacker import LawAttacker
from oddshift.attackers.paired_log_score import choosing_clusters, choosing_units, standard_error
from oddshift.attackers.row_layout import row_layout
from oddshift.attackers.term_weights import ContextTerms, NearWeights, likeliest_weights
from oddshift.attackers.threes import FEWEST, MOST_PLACES, Ties, information, quick_threes
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.records import Records
from oddshift.model.release import Release
from oddshift.model.space import Space

LEVEL, WORTH = 0.01, 0.01
"""The level of a false alarm, and the smallest gain in nats for each document that is worth an alarm."""

MOST_RELATIONS = 15
"""Largest number of pairs and of threes that are looked at closely; those of the fit documents that tell most."""

MOST_DOCUMENTS = 2_000
"""Largest number of select documents that are looked at."""

BLUR = 1e-3
"""The share of outputs that are not the secret where attackers read the others in the clear: no likelihood is 0."""

IMPOSSIBLE = (
    "whether records show dependence that no attacker reads could not be tested: that takes attackers that count, "
    f"and at most {MOST_PLACES} columns of a table or as many positions over at most {MOST_VALUES} values"
)
"""What is assumed where the test is not possible."""


@dataclass(frozen=True)
class Completeness:
    """What the test found: how many relations it looked at closely, and those that no attacker reads, strongest first.

    A relation is named by its places, without those that hold a missing one; `gains` are nats for each document, at
    least half of what is missing.
    """

    tested: int
    missing: tuple[tuple[str, ...], ...] = ()
    gains: tuple[float, ...] = ()

    @property
    def sentence(self) -> str:
        """What the test found."""
        found = self.reason or "no dependence beyond what attackers read"
        return f"real records in {self.tested} relations of two or three places or columns: {found}; not of four"

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


def completeness(
    attackers: Sequence[Attacker], known: Knowledge, release: Release, truth: Records
) -> Completeness | None:
    """Test select documents, of which `release` has the public side, against attackers; None where that is impossible.

    The attackers are those that a verdict rests on, with the weights they have there; the best of them predicts.
    """
    readers = [each for each in attackers if isinstance(each, Combination) and _reads_counts(each)]
    some = _documents(truth)
    release, truth = release.take(some), truth.take(some)
    views = list(_views(known, release, truth))
    if not readers or 2 * sum(len(positions) for _, positions in views) < len(truth):
        return None
    asked = [(*view, *relation) for view in views for relation in _relations(view[0].ties)]
    if not asked:
        return Completeness(0)
    scores = min((_in_the_clear(each, known, release, truth) for each in readers), key=lambda row: float(row.mean()))
    bar, found = np.log(len(asked) / LEVEL), []
    for fit, positions, place, parents in asked:
        rows = positions[(positions[:, (place, *parents)] >= 0).all(axis=1)]
        if len(rows) < FEWEST:
            continue
        table = fit.predicted(place, parents, truth.points[rows])
        gains = np.log(0.5 + 0.5 * table * np.exp(scores[rows[:, place]]))
        if gains.sum() > bar and gains.mean() - 2.0 * standard_error(gains) > WORTH:
            found.append((float(gains.mean()), tuple(fit.names[p] for p in sorted((place, *parents)))))
    best = {names: gain for gain, names in sorted(found)}
    least = [names for names in best if not any(set(other) < set(names) for other in best)]
    order = sorted(least, key=lambda names: -best[names])
    return Completeness(len(asked), tuple(order), tuple(best[names] for names in order))


def _reads_counts(attacker: Combination) -> bool:
    return all(isinstance(part, LawAttacker) for part in attacker.parts)


def _documents(truth: Records) -> IntArray:
    """One document of each unit, at most MOST_DOCUMENTS: those are independent."""
    useful = np.flatnonzero(truth.lengths > 0)
    _, first = np.unique(choosing_clusters(truth)[useful], return_index=True)
    return np.sort(useful[first])[:MOST_DOCUMENTS]


def _views(known: Knowledge, release: Release, truth: Records) -> Iterator[tuple[Binned, IntArray]]:
    """Fit documents with fixed places, and where select documents of that kind have them: positions, −1 for none."""
    layout = row_layout(known)
    if layout is not None and release.position_tiers is not None:
        if len(layout.members) > MOST_PLACES:
            return
        row, column = layout.places(release.position_tiers, release.offsets)
        positions = np.full((int(row.max(initial=-1)) + 1, len(layout.members)), -1)
        positions[row, column] = np.arange(len(row))
        yield column_cells(known, layout), positions[row[release.offsets[:-1]]]  # the first row of each document
        return
    lengths = np.unique(truth.lengths) if len(known.log_prior) <= MOST_VALUES else np.empty(0, dtype=np.int64)
    for length in lengths[lengths <= MOST_PLACES]:
        fit = place_cells(known, int(length))
        positions = truth.offsets[:-1][truth.lengths == length][:, None] + np.arange(length)
        if len(fit.ties.values) >= FEWEST:
            yield fit, positions


def _relations(ties: Ties) -> list[tuple[int, tuple[int, ...]]]:
    """(place, others) of the pairs and threes of the fit documents that tell most, each of them told by the others."""
    pairs = sorted(((information(ties, pair), pair) for pair in combinations(range(len(ties.sizes)), 2)), reverse=True)
    sets: list[tuple[int, ...]] = [pair for told, pair in pairs[:MOST_RELATIONS] if told > WORTH]
    sets += [three for _, three in quick_threes(ties)[:MOST_RELATIONS]]
    return [(place, tuple(p for p in each if p != place)) for each in sets for place in each]


def _in_the_clear(reader: Combination, known: Knowledge, release: Release, truth: Records) -> FloatArray:
    """−log Pr[secret | all others of its document in the clear] at every position, by the parts that have weight.

    How much each part counts there is fitted on half of the documents, and predicts the other half.
    """
    mine = prior_part(reader.parts)
    kept = [k for k, is_used in enumerate(reader.weighed) if is_used or k == mine]
    clear = replace(known, mechanism=Clear(known.mechanism.space))
    parts = [against(reader.parts[k], clear) for k in kept]
    wanted, prior = reader.weighed[kept], prior_part(parts)
    shown, units, found = replace(release, outputs=truth.points), choosing_units(truth), np.zeros(len(truth.points))
    terms: dict[int, list[ContextTerms]] = {}
    where: dict[int, list[IntArray]] = {}
    ready = prepared(parts, shown, wanted)
    for first, block in release_blocks(shown, len(known.log_prior), BLOCK_ENTRIES):
        for each in terms_by_tier(ready, clear, block, wanted, prior):
            at, shape = first + each.positions, each.own.shape
            told = sides([term for term, is_used in zip(each.terms, wanted, strict=True) if is_used])
            column = np.searchsorted(each.points, truth.points[at])
            here = replace(units, of_position=units.of_position[at])
            base = np.broadcast_to(each.log_prior, shape).copy()
            terms.setdefault(each.tier, []).append(ContextTerms(base, tuple(told), column, here))
            where.setdefault(each.tier, []).append(at)
    for tier, blocks in terms.items():
        found[np.concatenate(where[tier])] = _cross_fitted(joined(blocks))
    return found


def _cross_fitted(held: ContextTerms) -> FloatArray:
    """Scores of every position, with the weights of the other half of the units."""
    found, start = np.zeros(len(held.truth)), np.ones(held.size)
    half = held.units.of_position % 2
    for side in (0, 1):
        learn, read = held.taken(np.flatnonzero(half != side)), held.taken(np.flatnonzero(half == side))
        weights = likeliest_weights(NearWeights(learn, start, max(1, len(learn.truth))), start) if held.size else start
        found[half == side] = read.scores(weights)
    return found
