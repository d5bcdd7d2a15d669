"""Composition: the same secrets released several times, which an attacker reads together.

Given the secret the releases are independent, so log Pr[y_1 … y_k | x] = Σ_j log Pr[y_j | x], and budgets add up.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, dense, indices, whole
from oddshift.base.errors import InvalidInput, a_kind
from oddshift.mechanisms.mechanism import Mechanism, checked_uniforms, of_inner

_MOST_OUTPUTS = 2**62  # an output is one whole number of 64 bits
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, eq=False, repr=False)
class Composition(Mechanism):
    """`releases` independent releases of one secret as one mechanism: an output is the number y_1·m^(k−1) + … + y_k.

    Whatever reads a mechanism reads all releases together: an audit of it is an audit of the joint attacker who sees k
    draws of every secret. Outputs are not points, so it has no expected loss and no policy.

    **Guarantee**: k·ε, the sum of the budgets; the exact ε is k times that of one release, reached where every release
    gives the worst output.

    >>> from oddshift.mechanisms import Channel
    >>> from oddshift.model.space import Space
    >>> flip = Channel(Space([[0.0], [1.0]]), np.log([[0.72, 0.28], [0.28, 0.72]]))
    >>> twice = Composition(flip, 2)
    >>> np.exp(twice.log_matrix[0]).round(4), round(twice.exact_epsilon / flip.exact_epsilon, 6)
    (array([0.5184, 0.2016, 0.2016, 0.0784]), 2.0)
    """

    inner: Mechanism
    releases: int

    space = of_inner("space")
    groups = of_inner("groups")
    is_estimate = of_inner("is_estimate")  # counted rows are counted however often they are released

    def __post_init__(self) -> None:
        """Refuse what cannot be released several times, or has too many outputs to number."""
        if not isinstance(self.inner, Mechanism):
            raise InvalidInput(f"inner is {a_kind(self.inner)}, expected a finite Mechanism to release several times")
        whole(self.releases, "releases", 1)
        if self.n_outputs > _MOST_OUTPUTS:
            raise InvalidInput(f"releases={self.releases} of {self.inner.n_outputs} outputs are too many to number")

    def __repr__(self) -> str:
        """One release, and how many."""
        return f"Composition({self.inner!r}, releases={self.releases})"

    @property
    def outputs(self) -> None:
        """None: several outputs at once are not a point."""

    @property
    def n_outputs(self) -> int:
        """m^k."""
        return int(self.inner.n_outputs**self.releases)

    @property
    def resolution(self) -> float:
        """Each release adds its own."""
        return self.releases * self.inner.resolution

    @property
    def claimed_epsilon(self) -> float:
        """The sum of the budgets."""
        return self.releases * self.inner.claimed_epsilon

    @property
    def exact_epsilon(self) -> float:
        """k times that of one release: the maximum over (y_1, …, y_k) of a sum is the sum of the maxima."""
        return self.releases * self.inner.exact_epsilon

    def log_ratios(self, index: IntArray) -> FloatArray:
        """k times those of one release."""
        return self.releases * self.inner.log_ratios(index)

    def log_likelihood(self, index: IntArray) -> FloatArray:
        """Rows over all k-tuples of outputs; refused where they are too many to hold."""
        dense(len(index), self.n_outputs, "the rows of a composition", "use log_columns of the outputs that came out")
        one = self.inner.log_likelihood(index)
        rows = np.zeros((len(one), 1))
        for _ in range(self.releases):
            rows = (rows[:, :, None] + one[:, None, :]).reshape(len(one), -1)
        return rows

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """The sum of what each release says."""
        return np.asarray(sum(self.inner.log_columns(each) for each in self._parts(outputs)))

    def candidate_columns(self, outputs: npt.ArrayLike, points: IntArray) -> FloatArray:
        """The same for some points alone."""
        return np.asarray(sum(self.inner.candidate_columns(each, points) for each in self._parts(outputs)))

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """k outputs for each point, the uniforms of later releases being mixed from the bits of the given one."""
        points = indices(index, "index", len(self.space))
        first, found = checked_uniforms(z, len(points)), np.zeros(len(points), dtype=np.int64)
        for number in range(self.releases):
            uniforms = _mixed(first, number) if number else first
            found = found * self.inner.n_outputs + self.inner.invert(points, uniforms)
        return found

    def sample(self, index: npt.ArrayLike, rng: np.random.Generator) -> IntArray:
        """k independent draws for each point."""
        points = indices(index, "index", len(self.space))
        found = np.zeros(len(points), dtype=np.int64)
        for _ in range(self.releases):
            found = found * self.inner.n_outputs + self.inner.sample(points, rng)
        return found

    def _parts(self, outputs: npt.ArrayLike) -> list[IntArray]:
        rest, parts = indices(outputs, "outputs", self.n_outputs), []
        for _ in range(self.releases):
            rest, part = np.divmod(rest, self.inner.n_outputs)
            parts.append(part)
        return parts


def _mixed(uniforms: FloatArray, number: int) -> FloatArray:
    """Another uniform for each: its 53 bits and the number of the release through splitmix64 (Steele et al. 2014)."""
    bits = (uniforms * 2.0**53).astype(np.uint64) + np.uint64(number * _MIX[0] % 2**64)
    for shift, factor in ((30, _MIX[1]), (27, _MIX[2])):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(((bits ^ (bits >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53)
