"""Positional pairs: secrets some positions apart, and secrets at fixed places, over any number of points.

A tie is the law of one place given another and of the other given the one: for all pairs two, three, … positions apart,
or for two places that count from the start or the end, which is what documents of several lengths share. What each
predicts on documents that it was not counted on is its gain; the strongest ties that form a tree are kept for each
length (Chow and Liu), so that inference is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import law_of_values
from oddshift.attackers.law_attacker import Terms, length_batches, log_floor
from oddshift.attackers.paired_log_score import Gain, choosing_clusters, gain_of_laws
from oddshift.attackers.sparse_law import SparseLaw, fit_pair_law, labelled_law, place_among, seen_by_place, within_sets
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.release import Release

LAGS = (2, 3, 4, 5, 6, 7, 8)
"""Numbers of positions between secrets that are tied wherever they stand; a chain reads those one apart."""

REACH = 8
"""Number of places from either end that may be tied."""

FEWEST = 30
"""Smallest number of documents for the estimate of a tie."""

LONGEST = 104
"""Positions of the longest document whose places are tied; longer ones have ties of pairs some positions apart."""

HELD = 5
"""One unit out of this many says what a tie is worth."""

ROLLS = 8
"""Pairings at random that a tie's repeated pairs are compared with before anything is estimated."""

_WIDTH = 4  # messages both ways and likelihoods, for each position

Key = tuple[str, int, int]
"""How two places are named: counted from the start (ss), the end (ee), or one from each (se)."""


@dataclass(frozen=True, eq=False, repr=False)
class Tie:
    """The law of the later place given the earlier one, that of the earlier given the later, and the gain in nats."""

    ahead: SparseLaw
    back: SparseLaw
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class PositionalPairs:
    """Ties by name; ("lag", k, 0) is the name of all pairs k positions apart, but for places in `loose`."""

    ties: dict[Key, Tie]
    loose: frozenset[Key] = frozenset()

    def terms(self, known: Knowledge, release: Release) -> Iterator[Terms]:
        """Belief propagation on the tree of the strongest ties, documents of one length at a time."""
        for positions in length_batches(release, _WIDTH * len(known.log_prior)):
            edges = self.tree(positions.shape[1])
            context = np.zeros((*positions.shape, len(known.log_prior)))
            if edges:
                for t, value in _told(edges, *seen_by_place(known, release, positions)):
                    context[:, t] = value.T
            yield Terms(positions.ravel(), context.reshape(positions.size, -1), known.log_prior)

    def tree(self, length: int) -> list[tuple[int, int, Tie]]:
        """Edges (p, q, tie), p < q, among the places of a document of that length."""
        loose = {pair for key in self.loose for pair in _places(key, length)}
        found = [
            (tie.gain, p, q, tie)
            for key, tie in self.ties.items()
            for p, q in _places(key, length)
            if key[0] != "lag" or (p, q) not in loose
        ]
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
    edges: list[tuple[int, int, Tie]], seen: list[FloatArray], sets: list[IntArray]
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


def spanning_forest(found: Iterable[tuple[float, int, int, Tie]], length: int) -> list[tuple[int, int, Tie]]:
    """Of edges (gain, p, q, what ties them) those without a circle whose total gain is largest, as (p, q, what)."""
    group, edges = list(range(length)), []
    for _, p, q, tied in sorted(found, key=lambda row: -row[0]):
        if group[p] != group[q]:
            old, new = group[p], group[q]
            group = [new if g == old else g for g in group]
            edges.append((p, q, tied))
    return edges


def keys_of(p: int, q: int, length: int) -> Iterator[Key]:
    """The names of a pair of places p < q in a document of that length, as far as they are within reach.

    >>> list(keys_of(0, 5, 6))
    [('ss', 0, 5), ('ee', 5, 0), ('se', 0, 0)]
    """
    ends = (length - 1 - p, length - 1 - q)
    if q < REACH:
        yield "ss", p, q
    if ends[0] < REACH:
        yield "ee", *ends
    if p < REACH and ends[1] < REACH:
        yield "se", p, ends[1]


def fit_positional_pairs(known: Knowledge) -> PositionalPairs:
    """Estimate every tie that predicts held-out documents beyond chance, and beyond pairs that are named less closely.

    Secrets some positions apart must tell more than those any number of positions apart, which co-occurrence reads, and
    secrets at fixed places more than those as far apart anywhere.
    """
    scale = _Scale(known, *labelled_law(known))
    held = np.unique(choosing_clusters(known.fit), return_inverse=True)[1] % HELD == 0
    apart = {lag: _apart(known.fit, lag, held) for lag in (1, *LAGS)}
    anywhere = scale.trial(*(np.concatenate([apart[lag][k] for lag in LAGS]) for k in range(3)))
    ties: dict[Key, Tie] = {}
    for lag in LAGS:
        tie = scale.tie(apart[lag], anywhere)
        ties |= {("lag", lag, 0): tie} if tie is not None else {}
    broader = {lag: scale.trial(*apart[lag]) for lag in (1, *LAGS) if lag == 1 or ("lag", lag, 0) in ties}
    loose = set()
    for key, (p, q, document) in place_pairs(known.fit).items():
        lag = abs(key[1] - key[2]) if key[0] != "se" else 0
        pairs = p, q, held[document]
        tie = scale.tie(pairs, broader.get(lag, anywhere), at_places=True)
        if tie is not None:
            ties[key] = tie
        elif ("lag", lag, 0) in ties and not scale.is_told(pairs, broader[lag]):
            loose.add(key)
    return PositionalPairs(ties, frozenset(loose))


def place_pairs(fit: Records) -> dict[Key, tuple[IntArray, IntArray, IntArray]]:
    """The secrets at both places of every named pair, over all documents that have them, and those documents.

    With a single length the three names mean the same, and one is enough.
    """
    lengths = np.unique(fit.lengths[fit.lengths > 1])
    found: dict[Key, list[IntArray]] = {}
    for length in lengths[lengths <= LONGEST]:
        documents = np.flatnonzero(fit.lengths == length)
        starts = fit.offsets[documents]
        for p, q in combinations(range(int(length)), 2):
            names = list(keys_of(p, q, int(length)))
            for key in names if len(lengths) > 1 else names[:1]:
                found.setdefault(key, []).append(np.stack([fit.points[starts + p], fit.points[starts + q], documents]))
    joined = {key: np.concatenate(parts, axis=1) for key, parts in found.items()}
    return {key: (rows[0], rows[1], rows[2]) for key, rows in joined.items() if rows.shape[1] >= FEWEST}


def _apart(fit: Records, lag: int, held: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
    """Secrets that many positions apart, and whether their document is held out."""
    document = fit.document_of_position
    same = document[lag:] == document[:-lag]
    return fit.points[:-lag][same], fit.points[lag:][same], held[document[lag:][same]]


@dataclass(frozen=True, eq=False, repr=False)
class _Scale:
    """What ties of all names have in common: what is known, candidate sets, and the prior inside each."""

    known: Knowledge
    labels: IntArray
    sets: int
    law: FloatArray

    def trial(self, p: IntArray, q: IntArray, held: BoolArray) -> SparseLaw:
        """The law of q given p without the held-out documents."""
        return fit_pair_law(self.known, p[~held], q[~held], self.law)

    def place_law(self, values: IntArray) -> FloatArray:
        """The law of one place, inside each set."""
        return within_sets(law_of_values(values, np.exp(self.known.log_prior)), self.labels, self.sets)

    def tie(
        self, pairs: tuple[IntArray, IntArray, BoolArray], broader: SparseLaw, *, at_places: bool = False
    ) -> Tie | None:
        """The tie of some pairs, None where it predicts nothing beyond chance, or nothing beyond a broader law."""
        p, q, held = pairs
        if not held.any() or held.all() or not repeats(p, q, held, len(self.law)):
            return None
        at = p[held], q[held]
        if not self._gain(self.trial(p, q, held), at, broader.predicted(*at, self.labels)).is_significant:
            return None
        first, second = (self.place_law(p), self.place_law(q)) if at_places else (self.law, self.law)
        trial = fit_pair_law(self.known, p[~held], q[~held], second)
        gain = self._gain(trial, at, second[at[1]])
        if not gain.is_significant:
            return None
        ahead, back = fit_pair_law(self.known, p, q, second), fit_pair_law(self.known, q, p, first)
        return Tie(ahead, back, gain.mean)

    def is_told(self, pairs: tuple[IntArray, IntArray, BoolArray], broader: SparseLaw) -> bool:
        """Whether the law of all pairs so far apart predicts these at all."""
        p, q, held = pairs
        at = p[held], q[held]
        return not held.any() or self._gain(broader, at, self.place_law(q)[at[1]]).mean > 0

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
