"""Chains over few points: one with transitions smoothed through the metric, or one for each hidden regime.

Under regime m, which holds for a whole document, X_1 ~ first_m and X_{t+1} ~ step_m[X_t]. Inference is forward-backward
in every regime; regimes are weighed by how well they explain the other outputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, observations
from oddshift.attackers.chain_terms import log_mix
from oddshift.attackers.gains import choosing_clusters
from oddshift.attackers.law_attacker import log_floor
from oddshift.attackers.lifts import lifted_laws
from oddshift.attackers.mixture import bags_of, choose_kinds, settled
from oddshift.attackers.nearness import local_laws, measured_steps, neighbour_laws, step_laws
from oddshift.attackers.plugin import successive
from oddshift.attackers.step_tables import step_table
from oddshift.base.arrays import FloatArray, IntArray
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
    first = _first_law(known.fit, prior)
    return RegimeChains(np.ones(1), first[None], step[None])


def fit_steps(known: Knowledge) -> RegimeChains:
    """One chain over places: counts over steps of several lengths, as far as they predict the trips of others."""
    prior = np.exp(known.log_prior)
    return RegimeChains(np.ones(1), _first_law(known.fit, prior)[None], step_table(known)[None])


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


def _first_law(fit: Records, prior: FloatArray) -> FloatArray:
    starts = fit.points[fit.offsets[:-1][fit.lengths > 0]]
    seen = observations(np.zeros_like(starts), starts, 1, len(prior))
    counts = np.bincount(starts, minlength=len(prior)).astype(np.float64)[None]
    return backed_off(seen, counts, [prior])[0]


def fit_regimes(known: Knowledge, rng: np.random.Generator) -> RegimeChains:
    """Hidden regimes by expectation-maximisation; their number is the one that predicts held-out documents best."""
    one = fit_chain(known)
    size = len(known.log_prior)
    base = np.concatenate([one.first, one.steps[0]])
    features = _chain_features(known.fit, size)
    kinds = choose_kinds(bags_of(features, base), choosing_clusters(known.fit), rng, warm=WARM_STEPS)
    if kinds is None:
        return one
    counts = kinds.counts(features, base)
    return RegimeChains(kinds.shares, settled(counts[:, 0], base[0]), lifted_laws(counts[:, 1:], base[1:]))


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
