"""Metric Laplace noise on R^k, and its projection onto finitely many outputs.

Density ∝ exp(−ε·d(x, z)): ε-mDP by the triangle inequality, for the euclidean distance and for that of Mahalanobis,
which is euclidean in the coordinates x·W (Xu et al. 2020). In the plane it is the planar Laplace of
geo-indistinguishability (Andrés et al. 2013). Nearest-point projection is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log, pi

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, blocks, finite, generator, indices, positive
from oddshift.base.errors import InvalidInput, NoGuarantee
from oddshift.base.identity import content, fingerprint
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.voronoi import VORONOI_LIMIT, Edges, log_cell_probabilities, voronoi_edges
from oddshift.model.mahalanobis import Mahalanobis
from oddshift.model.space import Space, space_of


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Laplace:
    """Noise of density f(z|x) = |det W|·ε^k·Γ(k/2)/(2·π^{k/2}·Γ(k))·exp(−ε‖(x − z)·W‖), W = I for the euclidean metric.

    The radius is Gamma(k, 1/ε) and the direction uniform: exact in every dimension. Outputs are points of R^k, not a
    finite set, so it has a density and no log_matrix.

    **Guarantee**: ε-mDP for real numbers. In floats the last digits of x + noise can tell x; release a rounded or
    projected value (`ProjectedLaplace`), never the raw coordinates.

    >>> planar = Laplace(Space([[0.0, 0.0], [3.0, 4.0]]), epsilon=2.0)
    >>> planar.log_density([0, 1], [[0.0, 0.0]]).round(4)
    array([[ -0.4516],
           [-10.4516]])
    """

    space: Space
    epsilon: float

    def __init__(self, space: Space, epsilon: float) -> None:
        """Points with the euclidean metric or that of Mahalanobis, budget."""
        _check_flat(space_of(space), "space")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    fingerprint = cached_property(content)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"Laplace({self.space}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, by the triangle inequality."""
        return self.epsilon

    @property
    def exact_epsilon(self) -> float:
        """ε: the ratio of densities at z = a is e^{ε·d(a, b)} exactly; 0 for a single point."""
        return self.epsilon if len(self.space) > 1 else 0.0

    @property
    def log_constant(self) -> float:
        """Log of the density at its centre: ln|det W| + k·ln ε + ln Γ(k/2) − ln 2 − (k/2)·ln π − ln Γ(k)."""
        k = self.space.points.shape[1]
        volume = float(np.linalg.slogdet(_flat(self.space, np.eye(k)))[1])
        return volume + k * log(self.epsilon) + lgamma(k / 2.0) - log(2.0) - k / 2.0 * log(pi) - lgamma(k)

    def log_density(self, index: npt.ArrayLike, points: npt.ArrayLike) -> FloatArray:
        """log f(z|x) (len(index), len(points)), normalised, for the points `index` and any z of R^k."""
        chosen = indices(index, "index", len(self.space))
        places = finite(points, "points", 2)
        if places.shape[1] != self.space.points.shape[1]:
            raise InvalidInput(f"points have {places.shape[1]} columns, expected {self.space.points.shape[1]}")
        return self.log_constant - self.epsilon * self.space.metric.between(self.space.points[chosen], places)

    def perturb(self, index: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
        """x + noise (len(index), k), fresh noise for each entry."""
        centres = self.space.points[indices(index, "index", len(self.space))]
        direction = generator(rng).standard_normal(centres.shape)
        norm = np.sqrt((direction**2).sum(axis=1))
        direction[norm == 0.0, 0], norm[norm == 0.0] = 1.0, 1.0
        radius = rng.gamma(centres.shape[1], 1.0 / self.epsilon, size=len(centres))
        noise = direction * (radius / norm)[:, None]
        metric = self.space.metric
        return centres + (noise @ np.linalg.inv(metric.whitening) if isinstance(metric, Mahalanobis) else noise)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ProjectedLaplace(Mechanism):
    """The output nearest to x + Laplace noise: Pr[y|x] = ∫ over the Voronoi cell of y of f(z|x) dz.

    The likelihood is exact for k = 1 (differences of the Laplace distribution function) and by quadrature for k = 2 up
    to VORONOI_LIMIT outputs; beyond it raises, and with it `invert`, which needs it; `estimate_channel` then gives an
    estimate. `sample` inverts the likelihood where there is one and otherwise draws noise and projects it
    (`project`, in any dimension; a tie goes to the output of lower index). Both have the same law.

    **Guarantee**: ε-mDP, an upper bound inherited from the noise; the exact ε is smaller and exists for k ≤ 2.

    >>> line = ProjectedLaplace(Space([[0.0], [1.0]]), epsilon=1.0)
    >>> np.exp(line.log_matrix).round(4)
    array([[0.6967, 0.3033],
           [0.3033, 0.6967]])
    """

    space: Space
    epsilon: float
    candidates: Space

    def __init__(self, space: Space, epsilon: float, outputs: Space | None = None) -> None:
        """Points, budget, and the outputs to project on (default: the points)."""
        chosen = space if outputs is None else outputs
        _check_flat(space_of(space), "space")
        _check_flat(space_of(chosen, "outputs"), "outputs")
        if chosen.points.shape[1] != space.points.shape[1]:
            raise InvalidInput(f"outputs have {chosen.points.shape[1]} columns, expected {space.points.shape[1]}")
        if fingerprint(chosen.metric) != fingerprint(space.metric):
            raise InvalidInput("outputs have another metric than space, expected the same one")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))
        object.__setattr__(self, "candidates", chosen)

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"ProjectedLaplace({self.space}, epsilon={self.epsilon:g}, n_outputs={self.n_outputs})"

    @property
    def claimed_epsilon(self) -> float:
        """ε, by post-processing."""
        return self.epsilon

    @property
    def noise(self) -> Laplace:
        """The noise before it is projected."""
        return Laplace(self.space, self.epsilon)

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """log Pr[cell of y | x] for k = 1 and k = 2; refused for more dimensions."""
        (centres, outputs), columns = self._flat, self.space.points.shape[1]
        centres = centres[index]
        if columns > 2:
            raise NoGuarantee(
                f"points have {columns} columns, expected at most 2 for the probabilities of a projection; "
                "sample works in any dimension and estimate_channel gives an estimate"
            )
        if columns == 1:
            return _log_intervals(centres[:, 0], outputs[:, 0], self.epsilon)
        rows = np.empty((len(centres), self.n_outputs))
        for part in blocks(len(centres), 60 * (len(self._edges.left) + 1)):
            rows[part] = log_cell_probabilities(centres[part], outputs, self._edges, self.epsilon)
        return rows

    def sample(self, index: npt.ArrayLike, rng: np.random.Generator) -> IntArray:
        """One output for each point: `invert` at fresh uniforms where the likelihood exists, otherwise `project`."""
        columns = self.space.points.shape[1]
        has_likelihood = columns == 1 or (columns == 2 and self.n_outputs <= VORONOI_LIMIT)
        return super().sample(index, rng) if has_likelihood else self.project(index, rng)

    def project(self, index: npt.ArrayLike, rng: np.random.Generator) -> IntArray:
        """The nearest output to each point plus fresh noise, in blocks, in any dimension."""
        points = indices(index, "index", len(self.space))
        outputs = np.empty(len(points), dtype=np.int64)
        for part in blocks(len(points), self.n_outputs):
            places = self.noise.perturb(points[part], rng)
            outputs[part] = np.argmin(self.candidates.metric.between(places, self.candidates.points), axis=1)
        return outputs

    @cached_property
    def _flat(self) -> tuple[FloatArray, FloatArray]:
        """Points and outputs in the coordinates in which the metric is euclidean."""
        return _flat(self.space, self.space.points), _flat(self.space, self.candidates.points)

    @cached_property
    def _edges(self) -> Edges:
        return voronoi_edges(self._flat[1])


def _log_intervals(centres: FloatArray, outputs: FloatArray, epsilon: float) -> FloatArray:
    """log Pr[cell] on a line, cells cut at midpoints: each term keeps its digits, near and far.

    A cell (u, v) beyond x has ½e^{−εu}(1 − e^{−ε(v−u)}), one around x ½(1 − e^{εu}) + ½(1 − e^{−εv}).
    """
    order = np.argsort(outputs)
    ordered = outputs[order]
    half = np.concatenate(([np.inf], np.diff(ordered) / 2.0, [np.inf]))
    cuts = ordered[:-1] + half[1:-1]
    low = epsilon * (np.concatenate(([-np.inf], cuts))[None, :] - centres[:, None])
    high = epsilon * (np.concatenate((cuts, [np.inf]))[None, :] - centres[:, None])
    start = np.maximum(np.maximum(low, -high), 0.0)
    is_beyond = start > 0.0
    beyond = np.log(-np.expm1(-epsilon * (half[:-1] + half[1:])))[None, :] - start
    around = np.log(np.where(is_beyond, 1.0, -np.expm1(np.minimum(low, 0.0)) - np.expm1(-np.maximum(high, 0.0))))
    rows = np.empty(low.shape)
    rows[:, order] = np.where(is_beyond, beyond, around) - np.log(2.0)
    return rows


def _flat(space: Space, points: FloatArray) -> FloatArray:
    """Points in the coordinates in which the metric of the space is euclidean: x·W, or x itself."""
    return points @ space.metric.whitening if isinstance(space.metric, Mahalanobis) else points


def _check_flat(space: Space, name: str) -> None:
    if not isinstance(space.metric, Mahalanobis) and space.metric.name != "euclidean":
        raise InvalidInput(f"{name} has the {space.metric.name} metric, expected euclidean (or mahalanobis) for noise")
