"""Chains over few points: one with transitions smoothed through the metric, or one for each hidden regime.

Under regime m, which holds for a whole document, X_1 ~ first_m and X_{t+1} ~ step_m[X_t]. Inference is forward-backward
in every regime; regimes are weighed by how well they explain the other outputs.

Lifts: how much likelier a hidden kind of document makes a value than all documents do.

count(x | kind) ~ Poisson(n·base(x)·g) with a lift g ~ G; the law of a kind is base(x)·E[g | count], normalised. G is
learned from all kinds and groups at once, for values about as frequent as each other, as a mixture of three sorts: no
lift (g = 1), Gamma laws whose means lie on a grid (DuMouchel, 1999; nonparametric maximum likelihood: Kiefer and
Wolfowitz, 1956), and the Gamma laws of a few strengths of the base, which are what counts over a Dirichlet law give.

Counts over a Dirichlet law alone have one strength for all values. Where each kind has a few values of its own and
shares the others with the rest, that strength comes out small, and a rare value that was seen once belongs to the kind
where that happened, with odds of a hundred to one. Under a law of lifts one count says next to nothing there. The log
score hardly tells the two apart, because rare values are hardly ever the truth; rates over pairs of candidates do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import (
    backed_off,
    first_values,
    law_of_values,
    local_laws,
    measured_steps,
    neighbour_laws,
    observations,
    step_laws,
    successive,
)
from oddshift.attackers.hidden_classes import bags_of, choose_kinds
from oddshift.attackers.law_attacker import log_floor
from oddshift.attackers.paired_log_score import choosing_clusters
from oddshift.base.arrays import FloatArray, IntArray, blocks
from oddshift.base.logarithms import log
from oddshift.leakage.forward_backward import both_sides
from oddshift.model.records import Records


@dataclass(frozen=True, eq=False, repr=False)
class RegimeChains:
    """Shares (regimes,), first laws (regimes, points) and transitions (regimes, points, points)."""

    shares: FloatArray
    first: FloatArray
    steps: FloatArray

    @property
    def width(self) -> int:
        """One message for each regime, from both sides."""
        return 2 * len(self.shares)

    def messages(self, seen: FloatArray) -> FloatArray:
        """Forward-backward in every regime, mixed."""
        documents, length, size = seen.shape
        first = np.broadcast_to(self.first[:, None, :], (len(self.shares), documents, size))
        shares, found = log(self.shares)[:, None, None], np.empty_like(seen)
        by_position = [seen[:, t] for t in range(length)]
        for t, left, right in both_sides(first, by_position, _RegimeSteps(self.steps)):
            weights = shares + (left.log_scale + right.log_scale)[:, :, None]
            found[:, t] = log_mix(np.maximum(left.values * right.values, 1e-300), weights)
        return found


def log_mix(values: FloatArray, log_weights: FloatArray) -> FloatArray:
    """Σ_regimes exp(log_weights)·values as a law over the points, in logarithms, (documents, points).

    >>> np.exp(log_mix(np.array([[[1.0, 3.0]]]), np.zeros((1, 1, 1))))
    array([[0.25, 0.75]])
    """
    if len(values) == 1:
        mixed = values[0]
    else:
        weights = np.exp(log_weights - log_weights.max(axis=0))
        mixed = (weights.transpose(1, 2, 0) @ values.transpose(1, 0, 2))[:, 0]
    found = log(mixed)
    found -= log(mixed.sum(axis=1, keepdims=True))
    return found


@dataclass(frozen=True, eq=False, repr=False)
class _RegimeSteps:
    """Transitions (regimes, points, points) for messages (regimes, documents, points)."""

    steps: FloatArray

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """Multiply from the left, regime by regime."""
        return np.asarray(np.matmul(mass, self.steps))

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """Multiply from the right, regime by regime."""
        return np.asarray(np.matmul(mass, np.swapaxes(self.steps, 1, 2)))


@dataclass(frozen=True, eq=False, repr=False)
class PlaceClasses:
    """Hidden classes of documents in which every place has a law of its own, (classes, places, points).

    Given the class, positions are independent. Places beyond the last one take its law.
    """

    shares: FloatArray
    laws: FloatArray

    @property
    def width(self) -> int:
        """One number for each class."""
        return 1 + len(self.shares) // self.laws.shape[2]

    def messages(self, seen: FloatArray) -> FloatArray:
        """Σ_m share_m·Π_{s≠t} Pr[output_s | m]·law_m,t(x)."""
        places = np.minimum(np.arange(seen.shape[1]), self.laws.shape[1] - 1)
        laws = self.laws[:, places]
        outputs = np.log(np.maximum(np.einsum("dtx,mtx->dtm", seen, laws, optimize=True), 1e-300))
        total = outputs.sum(axis=1, keepdims=True) - outputs + log(self.shares)
        total = np.exp(total - total.max(axis=2, keepdims=True))
        return log_floor(np.einsum("dtm,mtx->dtx", total, laws, optimize=True))


def fit_chain(known: Knowledge) -> RegimeChains:
    """One chain: counts of successive secrets over broader laws, those that read the metric among them."""
    prior = np.exp(known.log_prior)
    before, after = successive(known.fit)
    step = smoothed_table(known, before, after, prior)
    first = law_of_values(first_values(known.fit), prior)
    return RegimeChains(np.ones(1), first[None], step[None])


def smoothed_table(known: Knowledge, before: IntArray, after: IntArray, law: FloatArray) -> FloatArray:
    """Pr[after | before], (points, points), from pairs; `law` is that of the second value on its own."""
    size, space = len(law), known.fit.space
    seen = observations(before, after, size, size)
    counts = seen.table(size, size)
    plain = np.broadcast_to(law, counts.shape)
    equal = 0.999 * np.diag((law > 0).astype(np.float64)) + 0.001 * plain
    equal[law <= 0] = law
    moves = (*step_laws(space, law), *measured_steps(space, counts, law))
    bases = [plain, equal, *local_laws(space, law), *moves, *neighbour_laws(space, counts, law)]
    return backed_off(seen, counts, bases)


def fit_regimes(known: Knowledge, rng: np.random.Generator) -> RegimeChains:
    """Hidden regimes by expectation-maximisation; their number is the one that predicts held-out documents best."""
    one = fit_chain(known)
    size = len(known.log_prior)
    base = np.concatenate([one.first, one.steps[0]])
    features = _chain_features(known.fit, size)
    kinds = choose_kinds(bags_of(features, base), choosing_clusters(known.fit), rng, warm=WARM_STEPS)
    if kinds is None:
        return one
    laws = lifted_laws(kinds.counts(features, base), base)
    return RegimeChains(kinds.shares, laws[:, 0], laws[:, 1:])


def fit_classes(known: Knowledge, rng: np.random.Generator) -> PlaceClasses:
    """Hidden classes with a law for each place, found in the same way."""
    size, fit = len(known.log_prior), known.fit
    places = max(1, min(int(fit.lengths.max(initial=1)), PLACES))
    place = np.minimum(_places(fit), places - 1)
    prior = np.exp(known.log_prior)
    seen = observations(place, fit.points, places, size)
    counts = seen.table(places, size)
    base = backed_off(seen, counts, [np.broadcast_to(prior, counts.shape)])
    features = _by_document(fit, place * size + fit.points, places * size)
    kinds = choose_kinds(bags_of(features, base), choosing_clusters(fit), rng)
    if kinds is None:
        return PlaceClasses(np.ones(1), base[None])
    return PlaceClasses(kinds.shares, lifted_laws(kinds.counts(features, base), base))


WARM_STEPS = 100
"""Steps with vague memberships for regimes, which differ in many laws of few observations each."""

PLACES = 32
"""Places of a document that have laws of their own."""


def _places(fit: Records) -> IntArray:
    return np.arange(len(fit.points)) - np.repeat(fit.offsets[:-1], fit.lengths)


def _chain_features(fit: Records, size: int) -> Any:
    """What a document consists of under a chain: its first secret, then one transition for each other secret."""
    before = np.concatenate([[0], fit.points[:-1]])
    feature = np.where(_places(fit) == 0, fit.points, size * (1 + before) + fit.points)
    return _by_document(fit, feature, size * (size + 1))


def _by_document(fit: Records, feature: IntArray, features: int) -> Any:
    from scipy.sparse import csr_array

    return csr_array((np.ones(len(feature)), (fit.document_of_position, feature)), shape=(len(fit), features))


SMALLEST, LARGEST, MEANS = 0.02, 100.0, 33
"""The least and the largest mean on the grid, and their number."""

SHAPE = 16.0
"""Shape of the Gamma laws on the grid: their spread, a quarter of the mean, is the distance of two means."""

STRENGTHS = np.array([1.0, 3.0, 10.0, 30.0])
"""Strengths of the base, in observations."""

BAND = 3.0
"""The most by which probabilities differ that are learned from together."""

COMMON = 20.0
"""How many counts the G of all values is worth in that of a band."""

STEPS = 50
"""Steps of expectation-maximisation."""

CELLS = 10_000
"""Largest number of counts that a G is learned from, evenly spaced; a performance setting."""

AT_ONCE = 2_000_000
"""Entries (counts x laws) that are held together; a performance setting."""

_RATES = SHAPE / np.geomspace(SMALLEST, LARGEST, MEANS)
_LAWS = 1 + MEANS + len(STRENGTHS)


def lifted_laws(counts: FloatArray, base: FloatArray) -> FloatArray:
    """Laws (kinds, groups, values) from counts of that shape and the law of all documents, (groups, values).

    >>> counts = np.array([[[8.0, 1.0, 1.0]], [[0.0, 5.0, 5.0]]])
    >>> lifted_laws(counts, np.full((1, 3), 1 / 3))[:, 0].round(2)
    array([[0.75, 0.12, 0.12],
           [0.06, 0.47, 0.47]])
    """
    totals = np.broadcast_to(counts.sum(axis=2, keepdims=True), counts.shape)
    cells = _Cells(counts.ravel(), totals.ravel(), np.broadcast_to(base, counts.shape).ravel())
    everything = np.arange(len(cells.seen))
    common = _shares(cells.sample(everything), np.full(_LAWS, 1.0 / _LAWS), 0.0)
    band = np.floor(np.log(np.maximum(cells.law, 1e-12)) / np.log(BAND))
    lift = np.empty_like(cells.seen)
    for number in np.unique(band):
        mine = np.flatnonzero(band == number)
        shares = _shares(cells.sample(mine), common, COMMON)
        for part in blocks(len(mine), _LAWS, AT_ONCE):
            lift[mine[part]] = cells.take(mine[part]).expected(shares)
    laws = base * lift.reshape(counts.shape)
    return np.asarray(laws / laws.sum(axis=2, keepdims=True))


@dataclass(frozen=True, eq=False, repr=False)
class _Cells:
    """Counts of values, the totals of their kinds and groups, and the probabilities of the values in all documents."""

    seen: FloatArray
    totals: FloatArray
    law: FloatArray

    def take(self, rows: IntArray) -> _Cells:
        return _Cells(self.seen[rows], self.totals[rows], self.law[rows])

    def sample(self, rows: IntArray) -> FloatArray:
        """Likelihoods of some counts under each law of the lift, at most CELLS of them."""
        some = np.unique(np.linspace(0, len(rows) - 1, min(CELLS, len(rows))).astype(np.int64))
        return self.take(rows[some]).likelihoods()

    def likelihoods(self) -> FloatArray:
        """Pr[count] under each law of the lift, (counts, laws), the largest of each row scaled to one."""
        from scipy.special import gammaln

        plain, seen = (self.totals * self.law)[:, None], self.seen[:, None]
        found = np.empty((len(seen), _LAWS))
        found[:, :1] = -plain
        found[:, 1 : 1 + MEANS] = SHAPE * np.log(_RATES) - (seen + SHAPE) * np.log(_RATES + plain)
        found[:, 1 : 1 + MEANS] += gammaln(seen + SHAPE) - gammaln(SHAPE)
        shape = STRENGTHS * np.maximum(self.law, 1e-300)[:, None]
        found[:, 1 + MEANS :] = shape * np.log(shape) - (seen + shape) * np.log(shape + plain)
        found[:, 1 + MEANS :] += gammaln(seen + shape) - gammaln(shape)
        return np.asarray(np.exp(found - found.max(axis=1, keepdims=True)))

    def expected(self, shares: FloatArray) -> FloatArray:
        """E[g | count] where G has these shares."""
        belongs = shares * self.likelihoods()
        belongs /= belongs.sum(axis=1, keepdims=True)
        plain, seen = (self.totals * self.law)[:, None], self.seen[:, None]
        shape = STRENGTHS * np.maximum(self.law, 1e-300)[:, None]
        found = belongs[:, 0] + (belongs[:, 1 : 1 + MEANS] * (seen + SHAPE) / (plain + _RATES)).sum(axis=1)
        return np.asarray(found + (belongs[:, 1 + MEANS :] * (seen + shape) / (plain + shape)).sum(axis=1))


def _shares(likelihoods: FloatArray, start: FloatArray, strength: float) -> FloatArray:
    """The shares of the laws in G, by expectation-maximisation from a start that counts like `strength` counts."""
    shares = start
    for _ in range(STEPS):
        belongs = (1.0 / (likelihoods @ shares)) @ likelihoods * shares + strength * start
        shares = belongs / belongs.sum()
    return shares
