"""Relations: how much more or less likely other values of a document make a value, counted in the fit documents.

Relations of fixed places (positions, columns) are tables of two and of three of them: a table of two against the law of
the place, one of three against what pairs say. Where places are not fixed, or values many, fit documents vote for what
they hold: once for each of the other values that they share, against the prior, and once for every two of them, against
the first vote. Those are pairs and triples in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.cherry_tree import MOST_VALUES, Binned, place_cells
from oddshift.attackers.row_law import column_cells
from oddshift.attackers.row_layout import row_layout
from oddshift.attackers.threes import FEWEST, MOST_PLACES, Ties, information, quick_threes
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release

MOST_RELATIONS = 15
"""Largest number of pairs and of threes of a kind of document; those of the fit documents that tell most."""

DOUBT = 100.0
"""Votes for the broader law."""

VOTED: tuple[tuple[str, ...], ...] = (("a value", "another of its document"), ("a value", "two others of its document"))
"""What votes are about."""


@dataclass(frozen=True, eq=False, repr=False)
class Relation:
    """Places that may depend, and where other documents have them: positions (documents, places)."""

    fit: Binned
    places: tuple[int, ...]
    positions: IntArray

    @property
    def names(self) -> tuple[str, ...]:
        """The places in words."""
        return tuple(self.fit.names[place] for place in self.places)

    def log_ratios(self, number: int, values: IntArray, points: IntArray) -> FloatArray:
        """What the other places say of one of them, (documents, points asked), from points (documents, places)."""
        everywhere = np.zeros((len(values), len(self.fit.names)), dtype=np.int64)
        everywhere[:, self.places] = self.fit.number[values]
        others = tuple(place for place in self.places if place != self.places[number])
        found = self.fit.ties.log_ratios(self.places[number], others, everywhere)
        return found[:, self.fit.number[points]]


def relations_of(known: Knowledge, release: Release, truth: Records) -> list[Relation] | None:
    """The relations of fixed places of which fit documents tell most; None where most documents have none."""
    views = list(_fixed_places(known, release, truth))
    if 2 * sum(len(positions) for _, positions in views) < len(truth):
        return None
    found = []
    for fit, positions in views:
        for places in _telling(fit.ties):
            there = positions[:, places]
            found.append(Relation(fit, places, there[(there >= 0).all(axis=1)]))
    return [each for each in found if len(each.positions) >= FEWEST]


def _fixed_places(known: Knowledge, release: Release, truth: Records) -> Iterator[tuple[Binned, IntArray]]:
    """Fit documents with fixed places, and where other documents of that kind have them: positions, −1 for none."""
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


def _telling(ties: Ties) -> list[tuple[int, ...]]:
    """The pairs and threes of the fit documents that tell most."""
    pairs = sorted(((information(ties, pair), pair) for pair in combinations(range(len(ties.sizes)), 2)), reverse=True)
    return [pair for _, pair in pairs[:MOST_RELATIONS]] + [three for _, three in quick_threes(ties)[:MOST_RELATIONS]]


@dataclass(frozen=True, eq=False, repr=False)
class Votes:
    """Which points fit documents and other documents hold (sparse), and the prior; of every position its document.

    `value` is the point of each position, and `alone` says whether no other position of its document has that point.
    """

    fit: Any
    held: Any
    document: IntArray
    value: IntArray
    alone: BoolArray
    law: FloatArray

    def log_ratios(self, positions: IntArray, points: IntArray) -> list[FloatArray]:
        """What the others of a document say of each position, (positions, points asked): by ones and by twos."""
        others = self.held[self.document[positions]] - self._themselves(positions)
        shared = (others @ self.fit.T).tocsr()
        prior = np.broadcast_to(self.law[points] / self.law[points].sum(), (len(positions), len(points)))
        ones = self._law(shared, points, prior)
        shared.data *= (shared.data - 1.0) / 2.0
        return [np.log(ones / prior), np.log(self._law(shared, points, ones) / ones)]

    def _themselves(self, positions: IntArray) -> Any:
        from scipy.sparse import csr_matrix

        ends = np.arange(len(positions) + 1)
        marks = self.alone[positions].astype(np.float64)
        return csr_matrix((marks, self.value[positions], ends), shape=(len(positions), self.fit.shape[1]))

    def _law(self, shared: Any, points: IntArray, broader: FloatArray) -> FloatArray:
        votes = (shared @ self.fit)[:, points].toarray()
        return np.asarray((votes + DOUBT * broader) / (votes.sum(axis=1, keepdims=True) + DOUBT))


def votes_of(known: Knowledge, truth: Records) -> Votes:
    """The votes of the fit documents on other documents."""
    size = len(known.log_prior)
    held, document = _held(truth, size), truth.document_of_position
    _, number, count = np.unique(document * size + truth.points, return_inverse=True, return_counts=True)
    return Votes(_held(known.fit, size), held, document, truth.points, count[number] == 1, known.weights)


def _held(records: Records, size: int) -> Any:
    """Which points each document holds, (documents, points)."""
    from scipy.sparse import csr_matrix

    ones = np.ones(len(records.points))
    found = csr_matrix((ones, records.points, records.offsets), shape=(len(records), size))
    found.sum_duplicates()
    found.data[:] = 1.0
    return found
