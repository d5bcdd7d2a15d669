"""The tier-safe mechanism: the exponential mechanism on a metric that is stretched less near sensitive points.

With w(u, v) = ½(scale_u + scale_v)·d(u, v) and d_s its shortest-path closure, the exponential mechanism on d_s is
ε·d_s-private for all pairs: scale·ε inside a tier, at most the mean scale times ε across, whoever knows the tiers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oddshift.arrays import FloatArray, IntArray, frozen, positive
from oddshift.epsilon import exponential_epsilon
from oddshift.errors import InvalidInput
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.scores import log_normalisers, normalised
from oddshift.space import Space, space_of
from oddshift.tiers import Tiers, tiers_of


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PathExponential(Mechanism):
    """Pr[y|x] ∝ exp(−½ε·d_s(x, y)) over the space's own points.

    **Guarantee**: |log ratio| ≤ ε·d_s(a, b) ≤ ε·½(scale_a + scale_b)·d(a, b) for ALL pairs, so the claim holds
    whether tiers are public or secret. Points in no tier take the largest scale.

    >>> tiers = Tiers([0, 0, 1, 1], names=("PII", "PoII"), scales=(0.4, 1.0), is_public=False)
    >>> safe = PathExponential(Space([[0.0], [1.0], [2.0], [3.0]]), tiers, epsilon=2.0)
    >>> safe.exact_epsilon <= safe.claimed_epsilon
    True
    """

    space: Space
    tiers: Tiers
    epsilon: float

    def __init__(self, space: Space, tiers: Tiers, epsilon: float) -> None:
        """Points (secrets and further outputs alike), their tiers, budget."""
        if len(tiers_of(tiers).labels) != len(space_of(space)):
            raise InvalidInput(f"tiers label {len(tiers.labels)} points, expected {len(space)}")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "tiers", tiers)
        object.__setattr__(self, "epsilon", positive(epsilon, "epsilon"))

    def __repr__(self) -> str:
        """Sizes and budget."""
        return f"PathExponential({self.space}, {self.tiers}, epsilon={self.epsilon:g})"

    @property
    def claimed_epsilon(self) -> float:
        """The largest scale times ε, over all pairs."""
        return self.epsilon * max(self.tiers.scales)

    @cached_property
    def path_distances(self) -> FloatArray:
        """The closure d_s (n, n)."""
        return frozen(path_closure(self.space.distances, self.tiers.scale_of_points))

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """−½ε·d_s(x, y) − ln Z_x."""
        return normalised(self._scores(index))

    @cached_property
    def exact_epsilon(self) -> float:
        """Closed form over ALL pairs, tiers public or not."""
        log_z = log_normalisers(self._scores, len(self.space), self.n_outputs)
        return exponential_epsilon(log_z, self._rows)

    def _scores(self, index: IntArray) -> FloatArray:
        return -0.5 * self.epsilon * self.path_distances[index]

    def _rows(self, index: IntArray) -> tuple[FloatArray, FloatArray]:
        return self.space.between(index), 0.5 * self.epsilon * self.path_distances[index]


def path_closure(distances: FloatArray, scales: FloatArray) -> FloatArray:
    """Shortest paths under w(u, v) = ½(scale_u + scale_v)·d(u, v), as an (n, n) metric.

    A stop m shortens the way from u to v only when scale_m < max(scale_u, scale_v): otherwise both legs cost at
    least w's own rate, and d's triangle inequality does the rest. So stops are tried in increasing order of scale
    (Floyd-Warshall), never those of the largest scale, and only for rows and columns of a larger scale.
    """
    order = np.argsort(scales, kind="stable")
    sorted_scales = scales[order]
    rates = 0.5 * (sorted_scales[:, None] + sorted_scales[None, :])
    ways = rates * distances[np.ix_(order, order)]
    for stop in range(int(np.searchsorted(sorted_scales, sorted_scales[-1]))):
        first = int(np.searchsorted(sorted_scales, sorted_scales[stop], side="right"))
        shorter = ways[first:, stop, None] + ways[None, stop, :]
        np.minimum(ways[first:], shorter, out=ways[first:])
        ways[:first, first:] = ways[first:, :first].T
    closed = np.empty_like(ways)
    closed[np.ix_(order, order)] = ways
    return closed
