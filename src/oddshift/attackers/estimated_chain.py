"""An estimated chain of secrets: sparse bigrams and a rest of rank one, for each candidate set of the next secret.

x_{t+1} follows λ(a)·bigram(a → b) + (1 − λ(a))·topic(b). Steps are cut down to the points that both positions may hold:
a message then costs what the candidates cost, not what the vocabulary does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, frozen
from oddshift.model.release import candidates, set_numbers
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, eq=False, repr=False)
class ChainStep:
    """The law of the next secret when it lies in one candidate set."""

    bigram: Any  # sparse (points, points), rows sum to one where λ > 0
    weight: FloatArray  # λ of every point
    topics: FloatArray  # (topics, points), rows sum to one over the candidates
    first: FloatArray  # (topics, points), the law of a document's first secret

    def between(self, before: IntArray, after: IntArray) -> CandidateStep:
        """The same from some points to some points."""
        from scipy.sparse import diags_array

        weight = self.weight[before]
        weighed = (diags_array(weight) @ self.bigram[before][:, after]).tocsr()
        return CandidateStep(weighed, weighed.T.tocsr(), 1.0 - weight, np.ascontiguousarray(self.topics[:, after].T))


@dataclass(frozen=True, eq=False, repr=False)
class CandidateStep:
    """A step from the candidates of one position to those of the next; messages are (topics, documents, candidates).

    In memory a message holds its candidates first: a sparse matrix then takes all topics and documents at once.
    """

    weighed: Any  # sparse: λ(a)·bigram(a → b)
    across: Any  # the same with rows and columns exchanged
    rest: FloatArray  # 1 − λ
    topics: FloatArray  # (candidates of the next position, topics)

    def ahead(self, mass: FloatArray) -> FloatArray:
        """Σ_a mass(a)·T(a, b)."""
        shape, flat = mass.shape[:2], by_candidate(mass)
        moved = _times(self.across, flat)
        moved += _scaled(self.topics, (self._rest @ flat)[0].reshape(shape))
        return moved.reshape(-1, *shape).transpose(1, 2, 0)

    def back(self, mass: FloatArray) -> FloatArray:
        """Σ_b T(a, b)·mass(b)."""
        shape, flat = mass.shape[:2], by_candidate(mass)
        moved = _times(self.weighed, flat)
        drawn = _means(self.topics, flat.reshape(-1, *shape)).ravel()
        moved += self._rest.T @ np.stack([drawn, np.zeros_like(drawn)])
        return moved.reshape(-1, *shape).transpose(1, 2, 0)

    @cached_property
    def _rest(self) -> FloatArray:
        """1 − λ and a row of zeros: a product of matrices is several times faster than one with a vector."""
        return np.stack([self.rest, np.zeros_like(self.rest)])


def by_candidate(mass: FloatArray) -> FloatArray:
    """Messages (topics, documents, candidates) as (candidates, topics · documents); what a step gave is not copied."""
    return mass.transpose(2, 0, 1).reshape(mass.shape[2], -1)


def totals(flat: FloatArray) -> FloatArray:
    """Sums over candidates (candidates, …), as a product: faster than a sum where few numbers stand in a row."""
    return np.asarray((_ones(len(flat)) @ flat)[0])


@lru_cache(maxsize=16)
def _ones(size: int) -> FloatArray:
    """Two rows of ones, for a product of matrices."""
    return frozen(np.ones((2, size)))


def _scaled(topics: FloatArray, factors: FloatArray) -> FloatArray:
    """topics(b, k)·factors(k, d) as (candidates, topics · documents); of one document as a product of matrices."""
    if factors.shape[1] == 1:
        return topics @ np.diag(factors[:, 0])
    return (topics[:, :, None] * factors).reshape(len(topics), -1)


def _means(topics: FloatArray, mass: FloatArray) -> FloatArray:
    """Σ_b topics(b, k)·mass(b, k, d), (topics, documents); of one document as a product of matrices."""
    if mass.shape[2] == 1:
        return np.diagonal(topics.T @ mass[:, :, 0])
    return totals((mass * topics[:, :, None]).reshape(len(mass), -1))


def _times(matrix: Any, flat: FloatArray) -> FloatArray:
    """A sparse matrix (rows, candidates) times messages (candidates, …)."""
    return np.asarray((matrix @ flat[:, 0])[:, None] if flat.shape[1] == 1 else matrix @ flat)


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedChain:
    """An estimated law of documents: topic shares, and one step for each candidate set (tier)."""

    shares: FloatArray
    steps: tuple[ChainStep, ...]

    @property
    def n_topics(self) -> int:
        """Number of hidden topics."""
        return len(self.shares)

    def over(self, tiers: Tiers, classes: int) -> CandidateChain:
        """The same over the candidates of each tier; every tier has steps for this number of classes of spacing."""
        key = (tiers.labels.tobytes(), tiers.is_public, classes)
        if key not in self._cut:
            self._cut.clear()
            sets = [candidates(tiers, tier) for tier in set_numbers(tiers)]
            self._cut[key] = CandidateChain(self, tuple(np.flatnonzero(each) for each in sets), classes)
        return self._cut[key]

    @cached_property
    def _cut(self) -> dict[tuple[bytes, bool, int], CandidateChain]:
        """What was asked for last: other scales have the same tiers."""
        return {}

    def __getstate__(self) -> dict[str, object]:
        """The fields: steps are cut down faster than they are sent to a worker."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False, repr=False)
class CandidateChain:
    """An estimated chain over the candidates of each tier; set number = tier · classes + class of spacing."""

    chain: EstimatedChain
    points: tuple[IntArray, ...]
    classes: int
    laws: dict[tuple[int, ...], Any] = field(default_factory=dict)  # before any output, kept where they are worked out

    def tier_of(self, number: int) -> int:
        """The tier of a set."""
        return number // self.classes

    def first(self, number: int) -> FloatArray:
        """The law of a document's first secret over the candidates, (topics, 1, candidates)."""
        if number not in self._firsts:
            law = self.chain.steps[number].first[:, self.points[self.tier_of(number)]]
            self._firsts[number] = np.asfortranarray(law[:, None, :])
        return self._firsts[number]

    def step(self, before: int, after: int) -> CandidateStep:
        """The step from the candidates of one set to those of another."""
        key = (self.tier_of(before), after)
        if key not in self._steps:
            points = self.points[key[0]], self.points[self.tier_of(after)]
            self._steps[key] = self.chain.steps[after].between(*points)
        return self._steps[key]

    @cached_property
    def _steps(self) -> dict[tuple[int, int], CandidateStep]:
        return {}

    @cached_property
    def _firsts(self) -> dict[int, FloatArray]:
        return {}


@dataclass(frozen=True, eq=False, repr=False)
class PatternSteps:
    """The transitions of documents whose positions lie in the same sets, one after the other."""

    chain: CandidateChain
    pattern: Sequence[int]

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """From position t to position t + 1."""
        return self.chain.step(self.pattern[t], self.pattern[t + 1]).ahead(mass)

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """From position t + 1 to position t."""
        return self.chain.step(self.pattern[t], self.pattern[t + 1]).back(mass)
