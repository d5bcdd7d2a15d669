"""The law of a sequence given W: steps from each secret to the next, tilted by what the public words around each say.

Pr[x_1..x_L | W] ∝ Π_t p(x_t | x_{t−1})·exp(v(x_t)·c_t(W)): p from counted pairs over the law of the vocabulary, or
over steps to near places; the tilt from `context_vectors`. Exact posteriors by forward-backward, exact joint draws by
forward filtering and backward sampling.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, is_spatial, local_laws, observations, supported
from oddshift.attackers.law_attacker import length_batches
from oddshift.attackers.row_layout import drawn_rows
from oddshift.attackers.sparse_law import (
    SparseLaw,
    counted,
    likelihoods_in_sets,
    number_of_sets,
    set_labels,
    within_sets,
)
from oddshift.attackers.word_relations import ContextVectors, fit_context_vectors
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.leakage.forward_backward import both_sides, forward
from oddshift.model.records import Records
from oddshift.model.release import Release, candidates

STEP_POINTS = 1_600
"""Places up to which a table of all steps is built."""

EM_POINTS, EM_POSITIONS, EM_ROUNDS = 600, 20_000, 30
"""Points among which a release teaches steps, the positions that are read for it, and rounds of estimation."""

STRENGTH = 5.0
"""Occurrences for which the steps that a release teaches from a secret count half."""


@dataclass(frozen=True, eq=False, repr=False)
class SequenceLaw:
    """The steps, and what the words say where the documents have words; `law` is that of the first secret."""

    steps: SparseLaw
    words: ContextVectors | None

    def marginals(self, known: Knowledge, release: Release) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
        """(positions, candidate points, Pr[x_l | all outputs and W]), documents of one length at a time."""
        for positions, seen, sets in self._batches(known, release):
            first = np.tile(self.steps.law, (len(positions), 1))
            for t, left, right in both_sides(first, seen, _Between(self.steps, sets)):
                posterior = left.values * seen[t] * right.values
                for g in np.unique(sets[t]):
                    mine, points = np.flatnonzero(sets[t] == g), np.flatnonzero(candidates(known.tiers, int(g)))
                    here = posterior[np.ix_(mine, points)]
                    yield positions[mine, t], points, here / np.maximum(here.sum(axis=1, keepdims=True), 1e-300)

    def draw(self, known: Knowledge, release: Release, rng: np.random.Generator) -> IntArray:
        """One joint draw of every document given its outputs and W, as a point for every position."""
        found = np.empty(len(release.outputs), dtype=np.int64)
        for positions, seen, sets in self._batches(known, release):
            first = np.tile(self.steps.law, (len(positions), 1))
            lefts = forward(first, seen, _Between(self.steps, sets))
            after: IntArray | None = None
            for t in range(len(seen) - 1, -1, -1):
                likely = lefts[t].values * seen[t]
                if after is not None:
                    likely = likely * self.steps.into(after, sets[t + 1])
                after = drawn_rows(likely, rng)
                found[positions[:, t]] = after
        return found

    def expected_pairs(self, known: Knowledge, release: Release) -> FloatArray:
        """How often each secret follows each, expected given all outputs, (points, points); `own` is the whole law."""
        total = np.zeros(self.steps.own.shape)
        for positions, seen, sets in self._batches(known, release):
            first = np.tile(self.steps.law, (len(positions), 1))
            after: FloatArray | None = None
            for t, left, right in both_sides(first, seen, _Between(self.steps, sets)):
                here = left.values * seen[t]
                if after is not None:
                    together = np.einsum("ij,ij->i", here @ self.steps.own, after)
                    total += here.T @ (after / np.maximum(together, 1e-300)[:, None])
                after = seen[t] * right.values
        return np.asarray(total * self.steps.own)

    def _batches(
        self, known: Knowledge, release: Release
    ) -> Iterator[tuple[IntArray, list[FloatArray], list[IntArray]]]:
        """Positions (documents, length), and place by place what is seen (documents, points) and the sets."""
        for positions in length_batches(release, 4 * len(known.log_prior)):
            seen, sets = likelihoods_in_sets(known, release, positions.ravel())
            self._tilt(release, positions, seen)
            by_place, number = seen.reshape(*positions.shape, -1), sets.reshape(positions.shape)
            places = range(positions.shape[1])
            yield positions, [by_place[:, t] for t in places], [number[:, t] for t in places]

    def _tilt(self, release: Release, positions: IntArray, seen: FloatArray) -> None:
        """Multiply by what the words say, in place."""
        if self.words is None or release.context is None:
            return
        documents = np.searchsorted(release.offsets, positions[:, 0], side="right") - 1
        block = release.take(documents)
        assert block.context is not None
        of_position = np.repeat(np.arange(len(block)), block.lengths)
        for g, (rows, tilt) in enumerate(self.words.tilt(block.context, block.position_tiers, of_position)):
            if len(rows):
                at = np.ix_(rows, self.words.sets[g].points)
                seen[at] *= np.maximum(np.exp(tilt - tilt.max(axis=1, keepdims=True)), 1e-12)


@dataclass(frozen=True, eq=False, repr=False)
class _Between:
    """The steps of one batch, as forward-backward takes them."""

    steps: SparseLaw
    sets: list[IntArray]

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        return self.steps.ahead(mass, self.sets[t + 1])

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        return self.steps.back(mass, self.sets[t + 1])


def fit_sequence_law(known: Knowledge, least: int = 1) -> SequenceLaw:
    """Count steps and contexts; pairs and contexts that fewer than `least` documents hold are left out.

    **Guarantee**: with `least` = k, every share, count and mean behind it is that of at least k documents: values that
    fewer hold share what is left evenly, so that exchanging one of them for another leaves the law as it is.
    """
    labels, sets = set_labels(known.tiers), number_of_sets(known.tiers)
    law = within_sets(pooled_law(known, labels, least), labels, sets)
    return SequenceLaw(fit_steps(known.fit, law, labels, sets, least), fit_words(known, law, least))


def pooled_law(known: Knowledge, labels: IntArray, least: int) -> FloatArray:
    """π of every point; those that fewer than `least` documents hold share theirs, set by set."""
    fit, law = known.fit, known.weights.copy()
    held = np.unique(fit.points * len(fit) + fit.document_of_position) // max(1, len(fit))
    few = (np.bincount(held, minlength=len(law)) < least) & (law > 0)
    for g in np.unique(labels[few]):
        law[few & (labels == g)] = law[few & (labels == g)].mean()
    return law


def fit_words(known: Knowledge, law: FloatArray, least: int) -> ContextVectors | None:
    """What the words around secrets say, where there are words and points have coordinates."""
    fit, sets = known.fit, number_of_sets(known.tiers)
    if fit.context is None or fit.space.metric.name == "precomputed":
        return None
    tiers = fit.tier_of_position(known.tiers) if known.tiers.is_public else None
    members = [np.flatnonzero(candidates(known.tiers, g)) for g in range(sets)]
    return fit_context_vectors(fit, tiers, members, law, least=least, seed=0)


def sequence_law_of_release(known: Knowledge, release: Release, rng: np.random.Generator, least: int) -> SequenceLaw:
    """The law that maximises the likelihood of the outputs; then what words say about secrets drawn by that law.

    `known` has, as its prior, what the outputs speak for. Steps are estimated among EM_POINTS points at most; without
    them the secrets of a document count as independent given its words.
    """
    from scipy.sparse import csr_array

    labels, sets = set_labels(known.tiers), number_of_sets(known.tiers)
    law = within_sets(known.weights, labels, sets)
    size = len(law)
    none = SparseLaw(csr_array((size, size)), np.ones((size, sets)), law)
    found = SequenceLaw(steps_of_release(known, release) if size <= EM_POINTS else none, None)
    if release.context is None:
        return found
    drawn = replace(known.fit, points=found.draw(known, release, rng))
    return replace(found, words=fit_words(replace(known, fit=drawn), law, least))


def steps_of_release(known: Knowledge, release: Release) -> SparseLaw:
    """Pr[next secret | secret] from outputs alone, by expectation-maximisation under the known channel.

    p(b|a) ← (n(a,b) + k·q(b|a)) / (n(a) + k): n counts the pairs expected given all outputs of the documents (Baum and
    Welch, with known emissions), q is the law of the set of b or, among places, a mixture with steps to near ones.
    """
    labels, sets = set_labels(known.tiers), number_of_sets(known.tiers)
    law = within_sets(known.weights, labels, sets)
    size = len(law)
    near = [np.broadcast_to(law, (size, size))]
    if is_spatial(known.fit.space) and sets == 1:
        near += local_laws(known.fit.space, law)
    weights, onto = np.full(len(near), 1.0 / len(near)), (labels[:, None] == np.arange(sets)).astype(np.float64)
    some = release.take(np.flatnonzero(np.cumsum(release.lengths) <= EM_POSITIONS))
    found = SparseLaw(np.asarray(sum(w * q for w, q in zip(weights, near, strict=True))), np.zeros((size, sets)), law)
    for _ in range(EM_ROUNDS):
        counts = SequenceLaw(found, None).expected_pairs(known, some)
        base = np.asarray(sum(w * q for w, q in zip(weights, near, strict=True)))
        share = counts / np.maximum(base, 1e-300)
        weights = np.array([w * float((q * share).sum()) for w, q in zip(weights, near, strict=True)]) + 1e-300
        weights /= weights.sum()
        total = (counts @ onto)[:, labels]
        found = replace(found, own=(counts + STRENGTH * base) / (total + STRENGTH))
    return found


def fit_steps(fit: Records, law: FloatArray, labels: IntArray, sets: int, least: int) -> SparseLaw:
    """The step law from successive secrets of one document."""
    document = fit.document_of_position
    at = np.flatnonzero(document[1:] == document[:-1])
    before, after, size = fit.points[at], fit.points[at + 1], len(law)
    if is_spatial(fit.space) and size <= STEP_POINTS and sets == 1:
        seen = observations(before, after, size, size)
        kept = supported(before, after, size, document[at], least)
        near = [np.broadcast_to(law, (size, size)), *local_laws(fit.space, law)]
        own = backed_off(seen, seen.table(size, size), near, kept)
        return SparseLaw(own / own.sum(axis=1, keepdims=True), np.zeros((size, 1)), law)
    found = counted((before, after), (size, sets), labels, lambda seen: law[seen.value], support=(document[at], least))
    return SparseLaw(found.own, found.rest, law)
