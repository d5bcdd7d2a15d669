"""A mixture of hidden kinds of documents, by expectation-maximisation on clean records.

A document is a bag of features in groups (a place and its value; a value and the next one); kind m gives every group a
law of its own. How many kinds there are is decided by how well held-out documents are predicted.

Hidden classes of rows: each class gives every column a law of its own, and columns are independent given the class.

A group of rows has one class. The number of classes is the one that predicts held-out rows best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.law_attacker import Terms
from oddshift.attackers.paired_log_score import choosing_clusters, split
from oddshift.attackers.row_layout import RowLayout, row_batches
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.release import Release

KINDS = (2, 4, 6, 8, 12, 16)
STRENGTHS = (1.0, 3.0, 8.0)
"""Weights of the law of all documents in the law of each group of a kind, in observations."""

USUAL = 3.0
"""The strength at which numbers of kinds are compared."""

HELD_OUT = 0.15
STARTS, WARM, LONG = 4, 30, 60
COLDEST = 0.4
"""Memberships are raised to a power that rises from this one to 1 during a run's first three quarters."""

ENOUGH = 1e-4
"""A run has converged when it gains fewer nats for each document than this."""


@dataclass(frozen=True, eq=False, repr=False)
class Mixture:
    """Shares (kinds,) and laws (kinds, groups, values), or (kinds, features) of those features that occur."""

    shares: FloatArray
    laws: FloatArray

    def log_likelihood(self, features: Any) -> FloatArray:
        """log Pr[document] of every row of a sparse matrix of feature counts."""
        return self.belongs(features)[1]

    def belongs(self, features: Any) -> tuple[FloatArray, FloatArray]:
        """Pr[kind | document], (documents, kinds), and log Pr[document]."""
        scores = self._log_joint(features)
        top, total = _normalise(scores)
        return scores, (np.log(total) + top)[:, 0]

    def vaguely_belongs(self, features: Any, power: float) -> FloatArray:
        """Pr[kind | document] raised to a power, and divided by its sum."""
        scores = self._log_joint(features)
        scores *= power
        _normalise(scores)
        return scores

    def _log_joint(self, features: Any) -> FloatArray:
        """log Pr[kind, document], (documents, kinds)."""
        flat = np.log(np.maximum(self.laws.reshape(len(self.shares), -1), 1e-300))
        scores = np.asarray(features @ flat.T)
        scores += np.log(self.shares)
        return scores


def _normalise(scores: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Exponentials of every row, divided by their sum, in place; returns the largest logarithms and the sums.

    Rows are short: numpy takes the largest of columns, and a product, many times faster.
    """
    top = np.ascontiguousarray(scores.T).max(axis=0)[:, None]
    scores -= top
    np.exp(scores, out=scores)
    total = scores @ np.ones((scores.shape[1], 1))
    scores /= total
    return top, total


def one_kind(base: FloatArray) -> Mixture:
    """The mixture of one kind: the law of all documents."""
    return Mixture(np.ones(1), base[None])


@dataclass(frozen=True, eq=False, repr=False)
class Bags:
    """Documents as counts of the features that occur at all, sparse (documents, features), group after group.

    `starts` is the first feature of each group that occurs, `base` the law of every feature inside its group.
    """

    features: Any
    base: FloatArray
    starts: IntArray

    @cached_property
    def across(self) -> Any:
        """The same counts with features as rows."""
        return self.features.T.tocsr()

    @cached_property
    def group(self) -> IntArray:
        """The number of every feature's group, among those that occur."""
        sizes = np.diff(np.append(self.starts, len(self.base)))
        return np.repeat(np.arange(len(self.starts)), sizes)

    def take(self, rows: IntArray) -> Bags:
        """Some documents."""
        return Bags(self.features[rows], self.base, self.starts)

    def maximise(self, belongs: FloatArray, strength: float) -> Mixture:
        """Laws (kinds, features) and shares from memberships: counts over the base, group by group."""
        counts = np.ascontiguousarray((self.across @ belongs).T)
        totals = np.add.reduceat(counts, self.starts, axis=1)
        counts += strength * self.base
        counts /= (totals + strength)[:, self.group]
        return Mixture((belongs.sum(axis=0) + 1.0) / (len(belongs) + belongs.shape[1]), counts)


def bags_of(features: Any, base: FloatArray) -> Bags:
    """Features (documents, groups · values) as bags; `base` is (groups, values)."""
    kept = np.unique(features.indices)
    starts = np.searchsorted(kept // base.shape[1], np.unique(kept // base.shape[1]))
    return Bags(features[:, kept], base.ravel()[kept], starts)


@dataclass(frozen=True, eq=False, repr=False)
class Kinds:
    """Memberships (documents, kinds) that predict best, and the strength of the law of all documents with them."""

    belongs: FloatArray
    strength: float

    @property
    def shares(self) -> FloatArray:
        """The share of every kind, each with one document more than it has."""
        return np.asarray((self.belongs.sum(axis=0) + 1.0) / (len(self.belongs) + self.belongs.shape[1]))

    def counts(self, features: Any, base: FloatArray) -> FloatArray:
        """How often each kind holds every feature, (kinds, groups, values); `base` is (groups, values)."""
        return np.asarray((features.T @ self.belongs).T).reshape(-1, *base.shape)


def _run(
    bags: Bags, kinds: int, strength: float, rng: np.random.Generator, *, starts: int = STARTS, warm: int = WARM
) -> tuple[FloatArray, Mixture]:
    """Several runs from random memberships, vague at first, the best one continued: memberships and their mixture."""
    made: list[tuple[float, int, FloatArray]] = []
    for _ in range(starts):
        belongs = rng.dirichlet(np.full(kinds, 0.3), size=bags.features.shape[0])
        for step in range(warm - 1):
            found = bags.maximise(belongs, strength)
            belongs = found.vaguely_belongs(bags.features, min(1.0, COLDEST + (1.0 - COLDEST) * step / (0.75 * warm)))
        belongs, score = bags.maximise(belongs, strength).belongs(bags.features)
        made.append((float(score.mean()), len(made), belongs))
    before, _, belongs = max(made, key=lambda run: run[:2])
    for _ in range(LONG):
        last, found = belongs, bags.maximise(belongs, strength)
        belongs, score = found.belongs(bags.features)
        if score.mean() - before < ENOUGH:
            break
        before = float(score.mean())
    return last, found


def choose_kinds(bags: Bags, clusters: IntArray, rng: np.random.Generator, *, warm: int = WARM) -> Kinds | None:
    """The number of kinds and the strength that predict held-out documents best; None where one kind does.

    `warm` is the number of steps with vague memberships.
    """
    if len(np.unique(clusters)) < 10:
        return None
    learn, held = split(clusters, HELD_OUT, int(rng.integers(1 << 31)))
    known, fresh = bags.take(learn), bags.features[held]

    def score(kinds: int, strength: float) -> float:
        return float(_run(known, kinds, strength, rng, starts=2, warm=warm)[1].log_likelihood(fresh).mean())

    best, kinds = float(one_kind(bags.base).log_likelihood(fresh).mean()), 1
    for more in KINDS:
        found = score(more, USUAL)
        if found > best:
            best, kinds = found, more
        elif more > 2 * kinds:
            break  # more kinds than that do not help
    if kinds == 1:
        return None
    strength = max(STRENGTHS, key=lambda s: best if s == USUAL else score(kinds, s))
    return Kinds(_run(bags, kinds, strength, rng, warm=warm)[0], strength)


def over_all(features: Any, base: FloatArray, found: Kinds) -> Mixture:
    """Laws of all features from memberships, those that never occur too."""
    counts = found.counts(features, base)
    laws = (counts + found.strength * base) / (counts.sum(axis=2, keepdims=True) + found.strength)
    return Mixture(found.shares, laws)


def choose_mixture(features: Any, base: FloatArray, clusters: IntArray, rng: np.random.Generator) -> Mixture:
    """The mixture whose number of kinds and strength predict held-out documents best; one kind if none is better."""
    found = choose_kinds(bags_of(features, base), clusters, rng)
    return one_kind(base) if found is None else over_all(features, base, found)


_TINY = 1e-300


@dataclass(frozen=True, eq=False, repr=False)
class RowClasses:
    """Shares of the classes, and for every column its law in each class, (classes, values)."""

    layout: RowLayout
    shares: FloatArray
    laws: tuple[FloatArray, ...]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """c(x) = log Σ_m Pr[m | all other cells]·law_m(x) − log Σ_m share_m·law_m(x)."""
        before = [np.log(np.maximum(self.shares @ law, _TINY)) for law in self.laws]
        for batch in row_batches(known, release, self.layout):
            said = self.messages(batch.seen)
            for c, points, mine, at in batch.cells(self.layout):
                context = said[c].reshape(-1, len(points))[at] - before[c]
                yield Terms(mine, context, known.log_prior[points], points)

    def messages(self, seen: list[FloatArray]) -> list[FloatArray]:
        """For every cell the log law that all others give it, (documents, rows, values) by column."""
        alone = [np.log(np.maximum(cells @ law.T, _TINY)) for cells, law in zip(seen, self.laws, strict=True)]
        total = sum(part.sum(axis=1) for part in alone) + np.log(self.shares)
        found = []
        for part, law in zip(alone, self.laws, strict=True):
            score = total[:, None, :] - part
            weight = np.exp(score - score.max(axis=2, keepdims=True))
            found.append(np.log(np.maximum(weight / weight.sum(axis=2, keepdims=True) @ law, _TINY)))
        return found


def fit_row_classes(known: Knowledge, layout: RowLayout, rng: np.random.Generator) -> RowClasses:
    """Classes by expectation-maximisation on the clean rows."""
    from scipy.sparse import csr_array

    fit, size, columns = known.fit, len(known.log_prior), len(layout.members)
    column_of_point = np.zeros(size, dtype=np.int64)
    base = np.full((columns, size), _TINY)
    counts = fit.counts() + 0.5
    for c, points in enumerate(layout.members):
        column_of_point[points] = c
        base[c, points] = counts[points] / counts[points].sum()
    feature = column_of_point[fit.points] * size + fit.points
    shape = (len(fit), columns * size)
    features = csr_array((np.ones(len(feature)), (fit.document_of_position, feature)), shape=shape)
    found = choose_mixture(features, base, choosing_clusters(fit), rng)
    laws = tuple(found.laws[:, c, points] for c, points in enumerate(layout.members))
    return RowClasses(layout, found.shares, tuple(law / law.sum(axis=1, keepdims=True) for law in laws))
