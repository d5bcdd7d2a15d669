"""A sparse law: one secret given another from the pairs that were counted, and a rest of rank one, over any points.

p(b|a) = own(a, b) + rest(a)·law(b) inside the candidate set of b, where own are discounted counts (`backoff`). Messages
are ratios: m(a) = Σ_b p(b|a)·seen(b)/Σ_b law(b)·seen(b) is 1 where nothing was counted after a, or nothing was seen.

Weights of sparse terms: the log score of a log-linear law whose terms are 0 for most candidates.

log p(x) = γ·log π(x) + Σ_k β_k·t_k(x) − log Z, Z = Σ_x π(x)^γ·e^{Σβt}: where all terms are 0 the mass is that of π^γ,
so a position costs what its terms hold and not what the vocabulary does. The score is convex in (γ, β).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import Observations, fit_backoff, observations, supported
from oddshift.attackers.chain_laws import smoothed_table
from oddshift.attackers.law_attacker import of_outputs
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.release import Release, candidates, set_numbers
from oddshift.model.tiers import Tiers

TABLE_POINTS = 64
"""Largest number of points for a table of all pairs of values at each pair of places."""


@dataclass(frozen=True, eq=False, repr=False)
class SparseLaw:
    """Shares of counted pairs (points, points), the rest of each row (points, sets), and the law (points,).

    The law sums to one inside each candidate set, and so does every row with its rest.
    """

    own: Any
    rest: FloatArray
    law: FloatArray

    def ratio(self, seen: FloatArray, sets: IntArray) -> FloatArray:
        """m(a), (points, documents), from likelihoods of b of that shape, 0 outside its set; `sets` names the sets."""
        average = np.maximum(self.law @ seen, 1e-300)
        found = np.asarray(self.own @ seen)
        found /= average
        found += self.rest[:, sets]
        return found

    def predicted(self, before: IntArray, after: IntArray, labels: IntArray) -> FloatArray:
        """p(b|a) of some pairs, each inside the set of b."""
        return entries(self.own, before, after) + np.asarray(self.rest[before, labels[after]] * self.law[after])

    def ahead(self, mass: FloatArray, sets: IntArray) -> FloatArray:
        """Σ_a mass(a)·p(b|a), (documents, points), where the next secret is of `sets`."""
        lent = np.take_along_axis(mass @ self.rest, sets[:, None], axis=1)
        return np.asarray((self.own.T @ mass.T).T) + lent * self.law

    def back(self, mass: FloatArray, sets: IntArray) -> FloatArray:
        """Σ_b p(b|a)·mass(b), where b is of `sets` and `mass` 0 outside them."""
        return np.asarray((self.own @ mass.T).T) + (mass @ self.law)[:, None] * self.rest[:, sets].T

    def into(self, points: IntArray, sets: IntArray) -> FloatArray:
        """p(b|a) of given b for every a, (documents, points)."""
        own = self.own[:, points]
        own = own.toarray() if hasattr(own, "toarray") else own
        return np.asarray(own.T + self.rest[:, sets].T * self.law[points][:, None])


def entries(matrix: Any, rows: IntArray, columns: IntArray) -> FloatArray:
    """Some entries of a sparse matrix, in order."""
    return np.asarray(matrix[rows, columns]).ravel() if len(rows) else np.empty(0)


def set_labels(tiers: Tiers) -> IntArray:
    """The candidate set of every point, −1 for those of none."""
    return tiers.labels if tiers.is_public else np.where(tiers.sensitive, 0, -1)


def within_sets(law: FloatArray, labels: IntArray, sets: int) -> FloatArray:
    """A law divided by its sum inside each candidate set, 0 outside all of them.

    >>> within_sets(np.array([0.2, 0.3, 0.5, 0.1]), np.array([0, 0, 1, -1]), 2)
    array([0.4, 0.6, 1. , 0. ])
    """
    known = np.where(labels >= 0, law, 0.0)
    total = np.bincount(np.maximum(labels, 0), weights=known, minlength=sets)
    return np.asarray(known / np.maximum(total, 1e-300)[np.maximum(labels, 0)])


def labelled_law(known: Knowledge) -> tuple[IntArray, int, FloatArray]:
    """The candidate set of every point, how many sets there are, and π inside each."""
    labels, sets = set_labels(known.tiers), number_of_sets(known.tiers)
    return labels, sets, within_sets(np.exp(known.log_prior), labels, sets)


def place_among(codes: IntArray, asked: IntArray) -> tuple[IntArray, BoolArray]:
    """Where each number stands among sorted ones, and whether it does.

    >>> place_among(np.array([2, 5]), np.array([5, 3, 9]))
    (array([1, 1, 1]), array([ True, False, False]))
    """
    if not len(codes):
        return np.zeros(len(asked), dtype=np.int64), np.zeros(len(asked), dtype=np.bool_)
    place = np.minimum(np.searchsorted(codes, asked), len(codes) - 1)
    return place, codes[place] == asked


def fit_pair_law(known: Knowledge, before: IntArray, after: IntArray, law: FloatArray) -> SparseLaw:
    """The law of pairs: a smoothed table where the points are few enough, otherwise what was counted, set by set.

    `law` is that of the second value on its own, inside each candidate set.
    """
    labels, sets, _ = labelled_law(known)
    if len(law) > TABLE_POINTS:
        found = counted((before, after), (len(law), sets), labels, lambda seen: law[seen.value])
        return SparseLaw(found.own, found.rest, law)
    table = smoothed_table(known, before, after, law / law.sum())
    rows = np.array([within_sets(row, labels, sets) for row in table])
    return SparseLaw(rows, np.zeros((len(law), sets)), law)


@dataclass(frozen=True, eq=False, repr=False)
class Counted:
    """Shares of counted values, sparse (contexts, points), and the rest of each context, (contexts, sets).

    `left_out` is what predicts each pair without one of its observations, sparse (contexts, points).
    """

    own: Any
    rest: FloatArray
    left_out: Any


def counted(
    pairs: tuple[IntArray, IntArray],
    shape: tuple[int, int],
    labels: IntArray,
    broader: Callable[[Observations], FloatArray],
    *,
    support: tuple[IntArray, int] | None = None,
) -> Counted:
    """Count values after contexts; how far they are trusted predicts each from all others, set by set.

    `shape` is how many contexts and candidate sets there are, `broader` what a broader law says of every distinct pair.
    Pairs that fewer units hold than `support` says, which names the unit of every pair, have no share.
    """
    from scipy.sparse import csr_array

    (context, value), (contexts, sets), points = pairs, shape, len(labels)
    rest, found = np.ones(shape), [np.empty((4, 0))]
    for number in range(sets):
        inside = labels[value] == number
        seen = observations(context[inside], value[inside], contexts, points)
        base = broader(seen)
        backoff = fit_backoff(seen, base)
        share = backoff.shares(seen)
        if support is not None:
            share = share * supported(context[inside], value[inside], points, support[0][inside], support[1])
        rest[:, number] -= np.bincount(seen.context, weights=share, minlength=contexts)
        found.append(np.stack([seen.context, seen.value, share, backoff.left_out(seen, base)]))
    rows = np.concatenate(found, axis=1)
    at = rows[0].astype(np.int64), rows[1].astype(np.int64)
    own, left_out = (csr_array((rows[k], at), shape=(contexts, points)) for k in (2, 3))
    return Counted(own, np.maximum(rest, 0.0), left_out)


def likelihoods_in_sets(known: Knowledge, release: Release, flat: IntArray) -> tuple[FloatArray, IntArray]:
    """Likelihoods at some positions, (positions, points), 0 outside the candidate set of each, and these sets.

    An output that no candidate gives says nothing: its likelihood is 1 for all of them.
    """
    sets = np.zeros(len(flat), dtype=np.int64) if release.position_tiers is None else release.position_tiers[flat]
    found = np.zeros((len(flat), len(known.log_prior)))
    for number in np.unique(sets):
        rows, points = np.flatnonzero(sets == number), np.flatnonzero(candidates(known.tiers, int(number)))
        likely = of_outputs(known, release.outputs[flat[rows]], points)
        likely[~(likely > 0).any(axis=1)] = 1.0
        found[np.ix_(rows, points)] = likely
    return found, sets


def seen_by_place(known: Knowledge, release: Release, positions: IntArray) -> tuple[list[FloatArray], list[IntArray]]:
    """For documents of one length, place by place: the same as (points, documents), and the sets."""
    found, sets = likelihoods_in_sets(known, release, positions.ravel())
    found, sets = found.reshape(*positions.shape, -1), sets.reshape(positions.shape)
    places = range(positions.shape[1])
    return [np.ascontiguousarray(found[:, t].T) for t in places], [sets[:, t] for t in places]


def number_of_sets(tiers: Tiers) -> int:
    """How many candidate sets there are."""
    return len(set_numbers(tiers))


@dataclass(frozen=True, eq=False, repr=False)
class SparseTerms:
    """Entries where some term is not 0 or the truth is, row by row: their term values and points; log π of all points.

    The first weight is γ, those of the terms follow.
    """

    starts: IntArray  # (positions,): the first entry of every row
    row: IntArray  # (entries,)
    values: Any  # sparse (entries, terms)
    point: IntArray  # (entries,)
    truth: IntArray  # (positions,): the entry of the truth
    log_law: FloatArray  # (points,): 0 where the law is
    is_possible: BoolArray  # (points,)

    def loss(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Mean −log p of the truth, and its gradient: E[t] minus t at the truth, log π being the first t."""
        power, here = weights[0], self.log_law[self.point]
        law = np.where(self.is_possible, np.exp(power * self.log_law), 0.0)
        alone = law[self.point]
        rest, rest_of_log = (
            total - np.add.reduceat(entries, self.starts)
            for total, entries in ((law.sum(), alone), (law @ self.log_law, alone * here))
        )
        has_rest = rest > 0
        total = np.where(self.is_possible[self.point], power * here + self.values @ weights[1:], -np.inf)
        top = np.maximum.reduceat(total, self.starts)
        top = np.where(has_rest, np.maximum(top, 0.0), top)
        mass, scale = np.exp(total - top[self.row]), np.where(has_rest, np.exp(-np.maximum(top, 0.0)), 0.0)
        norm = np.add.reduceat(mass, self.starts) + rest * scale
        score = np.log(norm) + top - total[self.truth]
        mass /= norm[self.row]  # the posterior
        of_law = mass @ here + (rest_of_log * scale / norm).sum() - here[self.truth].sum()
        mass[self.truth] -= 1.0
        gradient = np.append(of_law, self.values.T @ mass)
        return float(score.mean()), gradient / len(self.truth)


def sparse_terms(terms: Sequence[Any], law: FloatArray, truth: IntArray) -> SparseTerms:
    """Put compressed sparse rows (positions, points) on one pattern; `law` is π, positive at every truth."""
    from scipy.sparse import csc_array, csr_array

    positions, points = terms[0].shape
    here = csr_array((np.ones(positions), (np.arange(positions), truth)), shape=(positions, points))
    code = _codes(sum((_ones(each) for each in terms), start=here))
    entries = [np.searchsorted(code, _codes(each)) for each in terms]
    ends = np.cumsum([0, *(len(each) for each in entries)])
    data = np.concatenate([each.data for each in terms])  # in the order of the codes, which sorts each row
    values = csc_array((data, np.concatenate(entries), ends), shape=(len(code), len(terms)))
    row = code // points
    starts, truths = np.searchsorted(row, np.arange(positions)), np.searchsorted(code, _codes(here))
    log_law = np.log(np.where(law > 0, law / law.max(), 1.0))  # the largest is 0, so that no power of all underflows
    return SparseTerms(starts, row, values, code % points, truths, log_law, law > 0)


def _ones(term: Any) -> Any:
    """The same entries, each 1: their sum over terms has an entry wherever some term has one."""
    return type(term)((np.ones(len(term.data)), term.indices, term.indptr), shape=term.shape)


def _codes(term: Any) -> IntArray:
    """row·points + point of every stored entry, in order."""
    term.sort_indices()
    row = np.repeat(np.arange(term.shape[0], dtype=np.int64), np.diff(term.indptr))
    return np.asarray(row * term.shape[1] + term.indices)
