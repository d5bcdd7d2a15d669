"""Inference under an estimated chain over few points: all documents of one length at once, whatever their patterns.

With few points a message costs less than the work around it, so documents are not cut by the sets of their positions
as in `chain_terms`: messages are over all points, and positions of different sets stand in one array.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.chain_terms import ChainTerms, log_mix
from oddshift.attackers.estimated_chain import CandidateChain, CandidateStep
from oddshift.attackers.law_attacker import length_batches, of_outputs
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.logarithms import log
from oddshift.leakage.forward_backward import both_sides
from oddshift.model.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class _BatchSteps:
    """The transitions of documents of one length; `sets` is the set of every position, (documents, length)."""

    steps: tuple[CandidateStep, ...]
    sets: IntArray

    def ahead(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_a mass(a)·T(a, b), b at position t + 1."""
        result = np.empty_like(mass)
        for number, rows in self._groups(t + 1):
            result[:, rows] = self.steps[number].ahead(mass[:, rows])
        return result

    def back(self, t: int, mass: FloatArray) -> FloatArray:
        """Σ_b T(a, b)·mass(b), b at position t + 1."""
        result = np.empty_like(mass)
        for number, rows in self._groups(t + 1):
            result[:, rows] = self.steps[number].back(mass[:, rows])
        return result

    def _groups(self, t: int) -> list[tuple[int, IntArray]]:
        """The sets at a position, each with its documents."""
        here = self.sets[:, t]
        return [(int(number), np.flatnonzero(here == number)) for number in np.unique(here)]


def batch_terms(
    chain: CandidateChain, known: Knowledge, release: Release, sets: IntArray, entries: int
) -> Iterator[list[ChainTerms]]:
    """As `chain_terms`, documents of one length at a time."""
    width = chain.chain.n_topics * len(known.log_prior)
    for positions in length_batches(release, width, entries):
        context, prior = _batch(chain, known, release.outputs[positions], sets[positions])
        yield _by_tier(chain, known, release, sets, (positions.ravel(), context, prior))


def _batch(chain: CandidateChain, known: Knowledge, outputs: IntArray, sets: IntArray) -> tuple[FloatArray, FloatArray]:
    """Context terms and log priors of documents of one length, each (documents·length, points)."""
    documents, length = outputs.shape
    likelihoods = of_outputs(known, outputs)
    seen = [likelihoods[:, t] for t in range(length)]
    first = np.stack([chain.chain.steps[number].first for number in sets[:, 0]], axis=1)
    shares = log(chain.chain.shares)[:, None, None]
    patterns, start, which = np.unique(sets, axis=0, return_index=True, return_inverse=True)
    before = _priors(first[:, start], _BatchSteps(chain.everywhere, patterns), shares)
    priors = before[which.ravel()]  # the law before any output depends on the sets alone
    context = np.empty_like(priors)
    for t, left, right in both_sides(first, seen, _BatchSteps(chain.everywhere, sets)):
        weights = shares + (left.log_scale + right.log_scale)[:, :, None]
        both = log_mix(left.values * right.values, weights)
        possible = np.isfinite(priors[:, t])
        context[:, t] = np.where(possible, both - np.where(possible, priors[:, t], 0.0), 0.0)
    return context.reshape(documents * length, -1), priors.reshape(documents * length, -1)


def _priors(first: FloatArray, steps: _BatchSteps, shares: FloatArray) -> FloatArray:
    """log of the chain's law at every position before any output, (documents, length, points)."""
    length, mass = steps.sets.shape[1], first
    priors = np.empty((first.shape[1], length, first.shape[2]))
    for t in range(length):
        mass = steps.ahead(t - 1, mass) if t else mass
        priors[:, t] = log_mix(mass, shares)
    return priors


def _by_tier(
    chain: CandidateChain,
    known: Knowledge,
    release: Release,
    sets: IntArray,
    found: tuple[IntArray, FloatArray, FloatArray],
) -> list[ChainTerms]:
    """The terms over the candidates of each tier."""
    positions, context, prior = found
    tier = sets[positions] // chain.classes
    terms = []
    for number in np.unique(tier):
        rows, points = np.flatnonzero(tier == number), chain.points[number]
        own = known.mechanism.candidate_columns(release.outputs[positions[rows]], points)
        at = np.ix_(rows, points)
        terms.append(ChainTerms(positions[rows], points, own, context[at], prior[at]))
    return terms
