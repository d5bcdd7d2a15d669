"""Distant ties over any number of points: secrets some positions apart, and secrets at fixed places, read from counts.

A tie is a sparse law of one place given another and of the other given the one: for all pairs two, three, … positions
apart, or for two places that count from the start and the end. What each predicts on documents that it was not counted
on is its gain; the strongest ties that form a tree are kept for each length (Chow and Liu), so that inference is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, observations
from oddshift.attackers.law_attacker import ContextLaw, Dense, Terms, length_batches, log_floor
from oddshift.attackers.paired_log_score import Gain, choosing_clusters, gain_of_laws
from oddshift.attackers.positional_pairs import Key, fit_tied_places, place_pairs, spanning_forest
from oddshift.attackers.sparse_law import (
    SparseLaw,
    fit_sparse_law,
    labelled_law,
    place_among,
    seen_by_place,
    within_sets,
)
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release

TIED_POINTS = 64
"""Largest number of points for a table of all pairs of values at each pair of places."""

LAGS = (2, 3, 4, 5, 6, 7, 8)
"""Numbers of positions between secrets that are tied wherever they stand; a chain reads those one apart."""

HELD = 5
"""One unit out of this many says what a tie is worth."""

ROLLS = 8
"""Pairings at random that a tie's repeated pairs are compared with before anything is estimated."""

_WIDTH = 4  # messages both ways and likelihoods, for each position


@dataclass(frozen=True, eq=False, repr=False)
class SparseTie:
    """The law of the later place given the earlier one, that of the earlier given the later, and the gain in nats."""

    ahead: SparseLaw
    back: SparseLaw
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class DistantTies:
    """Ties by name; ("lag", k, 0) is the name of all pairs k positions apart."""

    ties: dict[Key, SparseTie]

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Belief propagation on the tree of the strongest ties, documents of one length at a time."""
        for positions in length_batches(release, _WIDTH * len(known.log_prior)):
            edges = self.tree(positions.shape[1])
            context = np.zeros((*positions.shape, len(known.log_prior)))
            if edges:
                for t, value in _told(edges, *seen_by_place(known, release, positions)):
                    context[:, t] = value.T
            yield Terms(positions.ravel(), context.reshape(positions.size, -1), known.log_prior)

    def tree(self, length: int) -> list[tuple[int, int, SparseTie]]:
        """Edges (p, q, tie), p < q, among the places of a document of that length."""
        found = [(tie.gain, p, q, tie) for key, tie in self.ties.items() for p, q in _places(key, length)]
        return spanning_forest(found, length)


def _places(key: Key, length: int) -> Iterator[tuple[int, int]]:
    """The pairs of places that a name stands for in a document of that length.

    >>> list(_places(("lag", 2, 0), 4)), list(_places(("se", 0, 0), 6)), list(_places(("ss", 0, 5), 4))
    ([(0, 2), (1, 3)], [(0, 5)], [])
    """
    kind, a, b = key
    if kind == "lag":
        yield from ((p, p + a) for p in range(length - a))
        return
    p, q = (length - 1 - a if kind == "ee" else a), (b if kind == "ss" else length - 1 - b)
    if 0 <= p < q < length:
        yield p, q


def _told(
    edges: list[tuple[int, int, SparseTie]], seen: list[FloatArray], sets: list[IntArray]
) -> Iterator[tuple[int, FloatArray]]:
    """What all others say about each tied place, log ratios (points, documents)."""
    near: dict[int, list[tuple[int, SparseLaw]]] = {}
    for p, q, tie in edges:
        near.setdefault(p, []).append((q, tie.ahead))
        near.setdefault(q, []).append((p, tie.back))
    order = _outwards(near)
    heard: dict[int, dict[int, FloatArray]] = {place: {} for place in near}

    def send(source: int, goal: int) -> None:
        law = next(law for other, law in near[goal] if other == source)
        mass = seen[source]
        for other, message in heard[source].items():
            mass = mass * message if other != goal else mass
        heard[goal][source] = law.ratio(mass, sets[source])

    for place, parent in reversed(order):
        send(place, parent)
    for place, parent in order:
        send(parent, place)
    for place, messages in heard.items():
        yield place, sum((log_floor(each) for each in messages.values()), start=np.zeros(()))


def _outwards(near: dict[int, list[tuple[int, SparseLaw]]]) -> list[tuple[int, int]]:
    """(place, the one it hangs on) of every place but the roots, nearer ones first."""
    found: list[tuple[int, int]] = []
    reached: set[int] = set()
    for root in near:
        frontier = [] if root in reached else [root]
        reached.update(frontier)
        while frontier:
            place = frontier.pop()
            for other, _ in near[place]:
                if other not in reached:
                    reached.add(other)
                    found.append((other, place))
                    frontier.append(other)
    return found


def fit_ties(known: Knowledge) -> ContextLaw:
    """Tables of fixed places where the points are few enough, otherwise counted pairs."""
    return Dense(fit_tied_places(known)) if len(known.log_prior) <= TIED_POINTS else fit_distant_ties(known)


def fit_distant_ties(known: Knowledge) -> DistantTies:
    """Estimate every tie that predicts held-out documents beyond chance, and beyond pairs that are named less closely.

    Secrets some positions apart must tell more than those any number of positions apart, which co-occurrence reads, and
    secrets at fixed places more than those as far apart anywhere.
    """
    scale = _Scale(*labelled_law(known), np.exp(known.log_prior))
    held = np.unique(choosing_clusters(known.fit), return_inverse=True)[1] % HELD == 0
    apart = {lag: _apart(known.fit, lag, held) for lag in (1, *LAGS)}
    anywhere = scale.trial(*(np.concatenate([apart[lag][k] for lag in LAGS]) for k in range(3)))
    ties: dict[Key, SparseTie] = {}
    for lag in LAGS:
        tie = scale.tie(apart[lag], anywhere)
        ties |= {("lag", lag, 0): tie} if tie is not None else {}
    broader = {lag: scale.trial(*apart[lag]) for lag in (1, *LAGS) if lag == 1 or ("lag", lag, 0) in ties}
    for key, (p, q, document) in place_pairs(known.fit).items():
        lag = abs(key[1] - key[2]) if key[0] != "se" else 0
        tie = scale.tie((p, q, held[document]), broader.get(lag, anywhere), at_places=True)
        ties |= {key: tie} if tie is not None else {}
    return DistantTies(ties)


def _apart(fit: Records, lag: int, held: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Secrets that many positions apart, and whether their document is held out."""
    document = fit.document_of_position
    same = document[lag:] == document[:-lag]
    return fit.points[:-lag][same], fit.points[lag:][same], held[document[lag:][same]]


@dataclass(frozen=True, eq=False, repr=False)
class _Scale:
    """What ties of all names have in common: candidate sets, the prior inside each, and over all points."""

    labels: IntArray
    sets: int
    law: FloatArray
    prior: FloatArray

    def trial(self, p: IntArray, q: IntArray, held: BoolArray) -> SparseLaw:
        """The law of q given p without the held-out documents."""
        return fit_sparse_law(p[~held], q[~held], self.law, self.labels, self.sets)

    def place_law(self, values: IntArray) -> FloatArray:
        """The law of one place, inside each set."""
        seen = observations(np.zeros_like(values), values, 1, len(self.prior))
        counts = np.bincount(values, minlength=len(self.prior)).astype(np.float64)[None]
        return within_sets(backed_off(seen, counts, [self.prior])[0], self.labels, self.sets)

    def tie(
        self, pairs: tuple[IntArray, IntArray, BoolArray], broader: SparseLaw, *, at_places: bool = False
    ) -> SparseTie | None:
        """The tie of some pairs, None where it predicts nothing beyond chance, or nothing beyond a broader law."""
        p, q, held = pairs
        if not held.any() or held.all() or not repeats(p, q, held, len(self.law)):
            return None
        at = p[held], q[held]
        if not self._gain(self.trial(p, q, held), at, broader.predicted(*at, self.labels)).is_significant:
            return None
        first, second = (self.place_law(p), self.place_law(q)) if at_places else (self.law, self.law)
        trial = fit_sparse_law(p[~held], q[~held], second, self.labels, self.sets)
        gain = self._gain(trial, at, second[at[1]])
        if not gain.is_significant:
            return None
        ahead = fit_sparse_law(p, q, second, self.labels, self.sets)
        return SparseTie(ahead, fit_sparse_law(q, p, first, self.labels, self.sets), gain.mean)

    def _gain(self, trial: SparseLaw, at: tuple[IntArray, IntArray], plain: FloatArray) -> Gain:
        """How much better a trial predicts some pairs than what is said of them otherwise."""
        found = trial.predicted(*at, self.labels)
        return gain_of_laws(found, plain)


def repeats(p: IntArray, q: IntArray, held: BoolArray, size: int) -> bool:
    """Whether held-out pairs occur among the others more often than pairs put together at random do.

    This costs far less than an estimate, and most pairs of places fail it.
    """
    code, count = np.unique(p[~held] * size + q[~held], return_counts=True)

    def found(second: IntArray) -> int:
        at, is_counted = place_among(code, p[held] * size + second)
        return int(count[at][is_counted].sum())

    far = (1 + np.arange(ROLLS)) * max(1, int(held.sum()) // (ROLLS + 1))  # other documents, not the next position
    chance = np.array([found(np.roll(q[held], shift)) for shift in far])
    return found(q[held]) > chance.mean() + 2.0 * max(float(chance.std()), float(np.sqrt(chance.mean())))
