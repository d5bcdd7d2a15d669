"""A chain of second order over few points: each secret depends on the two before it.

Pr[X_t = c | X_{t−2} = a, X_{t−1} = b] comes from counts of triples over the law given b, the law given a (a skip),
their product, and, where points have coordinates, the same step again. Inference is forward-backward over pairs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.backoff import backed_off, observations
from oddshift.attackers.chain_laws import fit_chain, smoothed_table
from oddshift.attackers.law_attacker import log_floor
from oddshift.attackers.spatial import normalised_rows, onward_laws
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.model.records import Records


@dataclass(frozen=True, eq=False, repr=False)
class SecondOrder:
    """First law (points,), first step (points, points), and step[b, a, c] = Pr[c | a before b], (points,)·3."""

    first: FloatArray
    second: FloatArray
    steps: FloatArray

    @property
    def width(self) -> int:
        """A message over pairs, from both sides."""
        return 2 * len(self.first)

    def messages(self, seen: FloatArray) -> FloatArray:
        """Forward-backward over pairs (b, documents, a): a stands one position before b."""
        length = seen.shape[1]
        if length == 1:
            return np.broadcast_to(log_floor(self.first), seen.shape).copy()
        found, lefts = np.empty_like(seen), [self._start(seen)]
        for t in range(2, length):
            lefts.append(_to_one(self._ahead(lefts[-1], seen[:, t - 1])))
        right = np.ones_like(lefts[0])
        for t in range(length - 1, 0, -1):
            both = lefts[t - 1] * right  # (b at t, documents, a at t − 1), the output at a in, that at b not
            found[:, t] = log_floor(both.sum(axis=2).T)
            if t == 1:
                found[:, 0] = self._at_first(right, seen[:, 1])
            else:
                right = _to_one(self._back(right, seen[:, t]))
        return found

    def _start(self, seen: FloatArray) -> FloatArray:
        """The message to position 1: (b, documents, a)."""
        return np.asarray((self.first * self.second.T)[:, None, :] * seen[None, :, 0, :])

    def _ahead(self, left: FloatArray, seen: FloatArray) -> FloatArray:
        """(b, d, a) -> (c, d, b): Σ_a left(a, b)·step[b, a, c], times what is seen at b."""
        moved = np.matmul(left, self.steps)  # (b, d, c)
        return np.asarray(np.transpose(moved, (2, 1, 0)) * seen[None])

    def _back(self, right: FloatArray, seen: FloatArray) -> FloatArray:
        """(c, d, b) -> (b, d, a): Σ_c step[b, a, c]·seen(c)·right(b, c)."""
        weighed = right * seen.T[:, :, None]
        return np.asarray(np.matmul(np.transpose(weighed, (2, 1, 0)), np.swapaxes(self.steps, 1, 2)))

    def _at_first(self, right: FloatArray, seen: FloatArray) -> FloatArray:
        """Σ_b first(a)·second(a, b)·seen(b)·right(a, b), in logarithms (documents, a)."""
        weighed = right * seen.T[:, :, None]
        return log_floor(self.first * np.einsum("bda,ab->da", weighed, self.second, optimize=True))


def _to_one(message: FloatArray) -> FloatArray:
    """Each document's message divided by its peak; what was divided out is the same for all values."""
    return np.asarray(message / np.maximum(message.max(axis=(0, 2), keepdims=True), 1e-300))


def fit_second_order(known: Knowledge) -> SecondOrder:
    """Count triples; broader laws are weighed by how well they predict."""
    chain, prior = fit_chain(known), np.exp(known.log_prior)
    size, fit = len(prior), known.fit
    a, b, c = triples(fit)
    skip = smoothed_table(known, a, c, prior)
    near = chain.steps[0]
    shape = (size * size, size)
    product = near[None, :, :] * skip[:, None, :] / np.maximum(prior, 1e-300)
    bases = [
        np.broadcast_to(near[None], (size, size, size)).reshape(shape),
        np.broadcast_to(skip[:, None, :], (size, size, size)).reshape(shape),
        normalised_rows(product.reshape(shape)),
        *onward_laws(fit.space, prior),
    ]
    seen = observations(a * size + b, c, size * size, size)
    counts = seen.table(*shape)
    steps = backed_off(seen, counts, bases).reshape(size, size, size)
    return SecondOrder(chain.first[0], near, np.ascontiguousarray(steps.transpose(1, 0, 2)))


def triples(fit: Records) -> tuple[IntArray, IntArray, IntArray]:
    """Each secret with the next two of the same document."""
    same = fit.document_of_position[2:] == fit.document_of_position[:-2]
    return fit.points[:-2][same], fit.points[1:-1][same], fit.points[2:][same]
