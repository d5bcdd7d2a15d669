"""Bayesian remapping: after the noise, release the output with the least expected cost given what was drawn.

The paper's post-processing step. f(y) = argmin_{y'} Σ_x Pr[x|y]·c(x, y'), with the posterior under one prior over all
points, so that tiers weigh in by their probability. It looks only at y, so the largest leakage cannot grow; the rate of
violations can, and is therefore certified after remapping, on this mechanism's own channel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, blocks, dense, indices, probabilities
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.base.logarithms import log, log_sum, peak
from oddshift.mechanisms.exponential import Exponential
from oddshift.mechanisms.kernel_sums import CoarseMeans, coarse_means, own_weighted_sums
from oddshift.mechanisms.mechanism import Mechanism, of_inner
from oddshift.model.cost import Cosine, Cost, cost_of, directions
from oddshift.model.metric import Euclidean
from oddshift.model.space import KEPT_POINTS, Space

_Floats32 = npt.NDArray[np.float32]
_COARSE = 2_048  # points from which float32 is tried first
_SAFE = 1e-200  # sums of weights above this lose nothing to terms that underflowed


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Remap(Mechanism):
    """A mechanism followed by f; itself a mechanism over the same outputs, some of which are never released.

    `prior` gives the probability of every point (for tiers: over all tiers together), `cost` is a name, a table or a
    Cost. Among equally good outputs the lowest index wins. Where outputs are of a kind that must be kept (a tier), f(y)
    is of the kind of y.

    **Guarantee**: the claimed and the exact ε are at most those of the inner mechanism (post-processing).

    >>> from oddshift.mechanisms import Exponential
    >>> em = Exponential(Space([[0.0], [1.0], [2.0]]), epsilon=0.5)
    >>> Remap(em, [0.25, 0.5, 0.25], "euclidean").destination
    array([1, 1, 1])
    """

    inner: Mechanism
    prior: FloatArray
    cost: Cost
    destination: IntArray

    space = of_inner("space")
    claimed_epsilon = of_inner("claimed_epsilon")  # post-processing keeps it
    is_estimate = of_inner("is_estimate")
    groups = of_inner("groups")
    n_outputs = of_inner("n_outputs")  # those that f never names have probability 0 from every point
    outputs = of_inner("outputs")
    output_kinds = of_inner("output_kinds")  # f keeps them

    def __init__(
        self, mechanism: Mechanism, prior: npt.ArrayLike, cost: str | Cost | npt.NDArray[np.float64] = "cosine"
    ) -> None:
        """The inner mechanism must release points."""
        if not isinstance(mechanism, Mechanism):
            raise InvalidInput(f"mechanism is {a_kind(mechanism)}, expected a finite Mechanism to remap")
        if mechanism.outputs is None:
            raise InvalidInput(f"{mechanism!r} does not release points, expected outputs that a cost can compare")
        weights = probabilities(prior, "prior", 1)
        if len(weights) != len(mechanism.space):
            raise InvalidInput(f"prior has {len(weights)} entries, expected {len(mechanism.space)}")
        chosen = cost_of(cost)
        object.__setattr__(self, "inner", mechanism)
        object.__setattr__(self, "prior", weights)
        object.__setattr__(self, "cost", chosen)
        object.__setattr__(self, "destination", _destinations(mechanism, weights, chosen))

    @classmethod
    def stored(cls, mechanism: Mechanism, prior: FloatArray, cost: str | Cost, destination: IntArray) -> Remap:
        """A remap whose destinations were computed before and kept, as in a policy; they are not computed again."""
        if len(prior) != len(mechanism.space) or len(destination) != mechanism.n_outputs:
            raise InvalidInput(
                f"prior has {len(prior)} entries and destination {len(destination)}, "
                f"expected {len(mechanism.space)} and {mechanism.n_outputs}"
            )
        found = object.__new__(cls)
        values = {"inner": mechanism, "prior": prior, "cost": cost_of(cost)}
        for name, value in {**values, "destination": indices(destination, "destination", len(destination))}.items():
            object.__setattr__(found, name, value)
        return found

    def __repr__(self) -> str:
        """The inner mechanism and how many outputs remain."""
        return f"Remap({self.inner!r}, {self.cost.name}, outputs left: {len(np.unique(self.destination))})"

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """log Σ_{y: f(y)=z} Pr[y|x]: columns with one destination are added in log space."""
        rows = self.inner.log_likelihood(index)
        result = np.full(rows.shape, -np.inf)
        (alone, to_alone), (order, starts, to_shared) = self._alone, self._shared
        result[:, to_alone] = rows[:, alone]
        if len(order):
            result[:, to_shared] = _log_added(rows[:, order], starts)
        return result

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """Of many points from the inner columns, those with one destination added in log space: without a matrix."""
        index = indices(outputs, "outputs", self.n_outputs)
        if len(self.space) <= KEPT_POINTS or "log_matrix" in self.__dict__:
            return super().log_columns(index)
        order, ends = self._sources
        first, count = ends[index], ends[index + 1] - ends[index]
        columns = np.full((len(index), len(self.space)), -np.inf)
        alone = np.flatnonzero(count == 1)
        columns[alone] = self.inner.log_columns(order[first[alone]])
        for row in np.flatnonzero(count > 1).tolist():
            columns[row] = log_sum(self.inner.log_columns(order[first[row] : first[row] + count[row]]), axis=0)
        return columns

    def averages(self, values: FloatArray) -> FloatArray:
        """Those of the inner mechanism, every output standing for its destination."""
        return self.inner.averages(values[self.destination])

    def law_of_outputs(self, law: FloatArray) -> FloatArray:
        """That of the inner mechanism, added up by destination."""
        return np.bincount(self.destination, self.inner.law_of_outputs(law), self.n_outputs).astype(np.float64)

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """The inner output for the same uniforms, remapped: no row is built twice."""
        return self.destination[self.inner.invert(index, z)]

    @cached_property
    def _sources(self) -> tuple[IntArray, IntArray]:
        """All outputs in the order of their destinations, and where those of each destination begin."""
        order = np.argsort(self.destination, kind="stable")
        return order, np.searchsorted(self.destination[order], np.arange(self.n_outputs + 1))

    @cached_property
    def _alone(self) -> tuple[IntArray, IntArray]:
        """Outputs whose destination is that of no other, and these destinations."""
        alone = np.flatnonzero(np.bincount(self.destination, minlength=self.n_outputs)[self.destination] == 1)
        return alone, self.destination[alone]

    @cached_property
    def _shared(self) -> tuple[IntArray, IntArray, IntArray]:
        """The other outputs in the order of their destinations, where each destination starts, and destinations."""
        order = np.argsort(self.destination, kind="stable")
        order = order[~np.isin(order, self._alone[0])]
        named, starts = np.unique(self.destination[order], return_index=True)
        return order, starts, named


def _log_added(rows: FloatArray, starts: IntArray) -> FloatArray:
    """log Σ exp of runs of columns; rows in which a sum could have underflowed are added in log space."""
    top = peak(rows, axis=1)
    total = np.add.reduceat(np.exp(rows - top), starts, axis=1)
    found = log(total) + top
    doubtful = np.flatnonzero((total < _SAFE).any(axis=1))
    tiny = np.isfinite(np.maximum.reduceat(rows[doubtful], starts, axis=1)) & (total[doubtful] < _SAFE)
    doubtful = doubtful[tiny.any(axis=1)]  # a sum of zeros is exact
    if len(doubtful):
        found[doubtful] = np.logaddexp.reduceat(rows[doubtful], starts, axis=1)
    return np.asarray(found)


def _destinations(mechanism: Mechanism, prior: FloatArray, cost: Cost) -> IntArray:
    """f(y) for every output: the argmin of expected cost under the posterior, in blocks of outputs."""
    outputs = mechanism.outputs
    assert outputs is not None
    if isinstance(cost, Cosine):
        return _nearest_direction(mechanism, prior, outputs)
    n, m = len(mechanism.space), mechanism.n_outputs
    dense(n, m, "the posterior of a remap with a general cost", "use the cosine cost, which needs no n x m table")
    log_joint = mechanism.log_matrix + log(prior)[:, None]
    joint = np.exp(log_joint - peak(log_joint, axis=0))  # in units of each output's likeliest point: no underflow
    costs = cost.between(mechanism.space, np.arange(n), outputs)
    best = np.empty(m, dtype=np.int64)
    kinds = mechanism.output_kinds
    for part in blocks(m, m):
        best[part] = np.argmin(_same_kind(joint[:, part].T @ costs, kinds, part, np.inf), axis=1)
    return best


def _same_kind(scores: FloatArray, kinds: IntArray | None, part: slice, never: float) -> FloatArray:
    """The scores of a block of outputs, with `never` where the destination is of another kind; in place."""
    if kinds is not None:
        scores[kinds[part][:, None] != kinds] = never
    return scores


def _nearest_direction(mechanism: Mechanism, prior: FloatArray, outputs: Space) -> IntArray:
    """For c = (1 − cos)/2 the best output has the largest dot product with the posterior mean direction (rank k).

    Where means are known to float32 alone, or products are compared there, outputs whose best two could be exchanged
    by the error are decided again in float64.
    """
    unit_points, unit_outputs = directions(mechanism.space.points), directions(outputs.points)
    means, error = _known_means(mechanism, prior, unit_points)
    coarse, kinds = unit_outputs.T.astype(np.float32), mechanism.output_kinds
    best, doubtful = np.empty(len(means), dtype=np.int64), np.zeros(len(means), dtype=bool)
    for part in blocks(len(best), len(best)):
        best[part], doubtful[part] = _largest_product(means[part], error[part], coarse, kinds, part)
    again = np.flatnonzero(doubtful)
    exact = means[again] if not error.any() else _means_again(mechanism, prior, unit_points, again)
    for part in blocks(len(again), len(best)):
        scores = exact[part] @ unit_outputs.T
        if kinds is not None:
            scores[kinds[again[part]][:, None] != kinds] = -np.inf
        best[again[part]] = np.argmax(scores, axis=1)
    return best


def _known_means(mechanism: Mechanism, prior: FloatArray, unit_points: FloatArray) -> CoarseMeans:
    """Posterior mean directions with a bound on their error: in float32 for many points, otherwise exact."""
    if _has_own_points(mechanism) and len(unit_points) >= _COARSE and type(mechanism.space.metric) is Euclidean:
        assert isinstance(mechanism, Exponential)
        return coarse_means(mechanism.space, 0.5 * mechanism.epsilon, prior, unit_points, mechanism.known_log_z)
    means = _mean_directions(mechanism, prior, unit_points)
    return CoarseMeans(means, np.zeros(len(means)))


def _means_again(mechanism: Mechanism, prior: FloatArray, unit_points: FloatArray, rows: IntArray) -> FloatArray:
    """Posterior mean directions of some outputs in float64, up to a positive factor each."""
    if 4 * len(rows) > mechanism.n_outputs:
        return _mean_directions(mechanism, prior, unit_points)[rows]
    means = np.empty((len(rows), unit_points.shape[1]))
    for part in blocks(len(rows), len(unit_points)):
        log_joint = mechanism.log_columns(rows[part]) + log(prior)
        means[part] = np.exp(log_joint - peak(log_joint, axis=1)) @ unit_points
    return means


def _has_own_points(mechanism: Mechanism) -> bool:
    """Whether d alone says what comes out, so that half of the pairs are enough."""
    return isinstance(mechanism, Exponential) and mechanism.has_equal_outputs


def _mean_directions(mechanism: Mechanism, prior: FloatArray, unit_points: FloatArray) -> FloatArray:
    """For every output the posterior mean of the points' directions, up to a positive factor."""
    log_prior = log(prior)
    if isinstance(mechanism, Exponential) and _has_own_points(mechanism):
        return _own_mean_directions(mechanism, log_prior, unit_points)
    weights = np.exp(log_prior)
    mean, mass = np.zeros((mechanism.n_outputs, unit_points.shape[1])), np.zeros(mechanism.n_outputs)
    everyone = np.arange(len(mechanism.space))
    for part in blocks(len(everyone), mechanism.n_outputs, mechanism.row_entries):
        rows = np.exp(mechanism.log_likelihood(everyone[part]))
        mean += rows.T @ (weights[part, None] * unit_points[part])
        mass += weights[part] @ rows
    return _without_underflow(mechanism, log_prior, unit_points, mean, mass)


def _own_mean_directions(mechanism: Exponential, log_prior: FloatArray, unit_points: FloatArray) -> FloatArray:
    """The same from half of the pairs."""
    log_weights = log_prior - mechanism.log_z
    weights = np.exp(log_weights - log_weights.max())[:, None]
    found = own_weighted_sums(mechanism.space, 0.5 * mechanism.epsilon, np.hstack([weights * unit_points, weights]))
    return _without_underflow(mechanism, log_prior, unit_points, found[:, :-1], found[:, -1])


def _without_underflow(
    mechanism: Mechanism, log_prior: FloatArray, unit_points: FloatArray, mean: FloatArray, mass: FloatArray
) -> FloatArray:
    """The means, with those of outputs whose mass is so small that their sums lost digits computed again, in place."""
    for row in np.flatnonzero(mass < _SAFE).tolist():
        log_joint = mechanism.log_columns(np.array([row])) + log_prior
        mean[row] = (np.exp(log_joint - peak(log_joint, axis=1)) @ unit_points)[0]
    return mean


def _largest_product(
    means: FloatArray, error: FloatArray, coarse: _Floats32, kinds: IntArray | None, part: slice
) -> tuple[IntArray, BoolArray]:
    """The column of `coarse` with the largest dot product with each mean, and whether another one could have it.

    A product of k terms errs by at most (k + 2)·eps·‖mean‖ in float32 and by the error of the mean, because columns of
    `coarse` have length 1.
    """
    scale = np.linalg.norm(means, axis=1)
    scale[scale == 0.0] = 1.0
    scores = (means / scale[:, None]).astype(np.float32) @ coarse
    if kinds is not None:
        scores[kinds[part][:, None] != kinds] = -np.inf
    best: IntArray = np.argmax(scores, axis=1)
    margin = 2.0 * ((means.shape[1] + 4) * float(np.finfo(np.float32).eps) + error / scale)
    limit = np.take_along_axis(scores, best[:, None], axis=1)[:, 0] - margin
    return best, np.count_nonzero(scores >= limit[:, None].astype(np.float32), axis=1) > 1
