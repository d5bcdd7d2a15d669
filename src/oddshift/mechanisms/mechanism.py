"""A mechanism: a random map from points to finitely many outputs, known by its log likelihood.

The paper writes it as M~(x, Z) with Z uniform on [0, 1): cumulative sums of Pr[y|x], inverted at Z. Sampling here
is exactly that, in float64, grouped by secret so that each row is built once.

**Resolution.** A uniform of 53 bits reaches outputs in steps of 2⁻⁵³, so what is sampled differs from `log_matrix`
by at most r = |Y|·2⁻⁵³ in total variation (`resolution`): what is really released keeps
Pr[y|a] ≤ e^{ε·d}·Pr[y|b] + (1 + e^{ε·d})·r for every event.

What the exponential family shares: rows of scores become rows of log probabilities, and their normalisers.

Calibration: the largest nominal ε whose exact ε still meets a target.

The exponential mechanism leaves about a third of its nominal budget unused; calibration spends it, and what comes
back is verified by its exact ε, not by its label.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import (
    BLOCK_ENTRIES,
    FloatArray,
    IntArray,
    blocks,
    dense,
    floats,
    frozen,
    generator,
    indices,
    positive,
)
from oddshift.base.errors import InvalidInput, NoGuarantee
from oddshift.base.identity import content, fingerprint, type_name
from oddshift.base.logarithms import log_sum
from oddshift.mechanisms.epsilon import log_ratios, true_epsilon
from oddshift.mechanisms.settings import MechanismSettings
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

_ROW_COPIES = 5  # arrays of the size of its rows that a block of draws holds at once: blocks are smaller for it
_FEW_ROWS = 64  # but not below so many rows, since each block prepares all outputs once


class Mechanism(ABC):
    """What every mechanism promises; a concrete one gives `log_likelihood` and what it claims."""

    space: Space
    """The points that may be secrets."""

    candidates: Space | None = None
    """The points that may be released, when they are not the secrets' own."""

    row_entries: ClassVar[int] = BLOCK_ENTRIES
    """Entries of rows that are best computed together; a performance setting."""

    is_estimate: bool = False
    """Whether the rows were counted rather than computed; then there is no exact ε."""

    @classmethod
    def configured(cls, space: Space, tiers: Tiers, epsilon: float, settings: MechanismSettings) -> Mechanism:
        """The mechanism that settings ask for at a nominal ε; one that settings cannot describe is refused."""
        raise InvalidInput(f"mechanism {settings.name!r} cannot be asked for by name, expected the object itself")

    @cached_property
    def fingerprint(self) -> str:
        """The fields of a dataclass; where they cannot say all, the points and the channel itself."""
        if is_dataclass(self) and self.space.has_named_metric:
            return content(self)
        parts = (type_name(type(self)), self.space, self.outputs, self.claimed_epsilon, self.groups)
        return fingerprint((*parts, self.is_estimate, self.log_matrix))

    @property
    @abstractmethod
    def claimed_epsilon(self) -> float:
        """The ε that the construction proves, over the pairs that count; infinite when it proves none."""

    @property
    def outputs(self) -> Space | None:
        """The outputs as points, or None when they are not points (a placeholder, a string)."""
        return self.space if self.candidates is None else self.candidates

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.space if self.candidates is None else self.candidates)

    @abstractmethod
    def log_likelihood(self, index: IntArray) -> FloatArray:
        """Rows log Pr[y | x] (len(index), n_outputs) for the points `index`."""

    @cached_property
    def log_matrix(self) -> FloatArray:
        """All rows (n_points, n_outputs) in float64; refused above DENSE_LIMIT entries."""
        dense(len(self.space), self.n_outputs, "log_matrix", "use log_likelihood on blocks of points")
        everyone = np.arange(len(self.space))
        matrix = np.empty((len(everyone), self.n_outputs))
        for part in blocks(*matrix.shape):
            matrix[part] = self.log_likelihood(everyone[part])
        return frozen(matrix)

    def log_columns(self, outputs: npt.ArrayLike) -> FloatArray:
        """What each output says about every point: log Pr[y | x], (len(outputs), n_points)."""
        return self._transposed[indices(outputs, "outputs", self.n_outputs)]

    def candidate_columns(self, outputs: npt.ArrayLike, points: IntArray) -> FloatArray:
        """The columns of `log_columns` for some points alone, (len(outputs), len(points))."""
        return np.asarray(self.log_columns(outputs)[:, points])

    def log_ratios(self, index: IntArray) -> FloatArray:
        """max_y log Pr[y|a]/Pr[y|b] for every ordered pair of some points: what one release can say, (n, n)."""
        return log_ratios(self.log_likelihood(index))

    def averages(self, values: FloatArray) -> FloatArray:
        """Σ_y Pr[y | x]·values(y) for every point, (n_points, k) from (n_outputs, k)."""
        everyone, found = np.arange(len(self.space)), np.empty((len(self.space), values.shape[1]))
        for part in blocks(len(everyone), self.n_outputs, self.row_entries):
            found[part] = np.exp(self.log_likelihood(everyone[part])) @ values
        return found

    def law_of_outputs(self, law: FloatArray) -> FloatArray:
        """Σ_x law(x)·Pr[y | x] for every output."""
        everyone, total = np.arange(len(self.space)), np.zeros(self.n_outputs)
        for part in blocks(len(everyone), self.n_outputs, self.row_entries):
            total += law[part] @ np.exp(self.log_likelihood(everyone[part]))
        return total

    @cached_property
    def _transposed(self) -> FloatArray:
        return np.ascontiguousarray(self.log_matrix.T)

    @cached_property
    def exact_epsilon(self) -> float:
        """The smallest ε that one release really has, over the pairs that count; refused for an estimate."""
        if self.is_estimate:
            raise NoGuarantee("the channel is a Monte-Carlo estimate, expected a computed one: it has no exact epsilon")
        if len(self.groups) == 1:
            return true_epsilon(self.log_matrix, self.space.distances)
        return max(true_epsilon(self.log_matrix[g], self.space.distances[np.ix_(g, g)]) for g in self.groups)

    @property
    def groups(self) -> list[IntArray]:
        """The pairs that count, as groups of points: all pairs, unless the attacker is told what splits them."""
        return [np.arange(len(self.space))]

    @property
    def output_kinds(self) -> IntArray | None:
        """A number for each output that post-processing must keep, such as its tier; None where nothing is kept."""
        return None

    @property
    def resolution(self) -> float:
        """Total variation between what is sampled and `log_matrix`, at most: |Y|·2⁻⁵³."""
        return self.n_outputs * 2.0**-53

    def sampler(self, points: npt.ArrayLike | None = None) -> Sampler:
        """Rows built once for many draws, for all points or for some; refused above DENSE_LIMIT entries."""
        index = np.arange(len(self.space)) if points is None else indices(points, "points", len(self.space))
        dense(len(index), self.n_outputs, "the rows of a sampler", "use sample, which builds rows in blocks")
        chosen = np.unique(index)
        cumulative = np.empty((len(chosen), self.n_outputs))
        for part in blocks(len(chosen), self.n_outputs):
            cumulative[part] = _cumulative(self.log_likelihood(chosen[part]))
        return Sampler(chosen, cumulative)

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """The outputs M~(x, z): for each point, the output whose interval [F_{k−1}, F_k) holds its uniform."""
        points = indices(index, "index", len(self.space))
        uniforms = checked_uniforms(z, len(points))
        order = np.argsort(points)
        chosen, first = np.unique(points[order], return_index=True)
        ends = np.append(first, len(points))
        outputs = np.empty(len(points), dtype=np.int64)
        for part in blocks(len(chosen), 1, _rows_at_once(self.n_outputs)):
            few, here = chosen[part], order[ends[part.start] : ends[part.stop]]
            outputs[here] = Sampler(few, _cumulative(self.log_likelihood(few))).invert(points[here], uniforms[here])
        return outputs

    def sample(self, index: npt.ArrayLike, rng: np.random.Generator) -> IntArray:
        """One output for each point, each with a uniform of its own; for experiments, which a seed repeats."""
        points = indices(index, "index", len(self.space))
        return self.invert(points, generator(rng).random(len(points)))


@dataclass(frozen=True, eq=False, repr=False)
class Sampler:
    """Cumulative rows of some points, ready to be inverted: at least a million draws a second."""

    points: IntArray
    cumulative: FloatArray

    def invert(self, index: npt.ArrayLike, z: npt.ArrayLike) -> IntArray:
        """As Mechanism.invert, for points that have a row here."""
        wanted = np.atleast_1d(np.asarray(index))
        uniforms = checked_uniforms(z, len(wanted))
        row = np.searchsorted(self.points, wanted)
        if len(wanted) and (row.max() >= len(self.points) or (self.points[row] != wanted).any()):
            raise InvalidInput("index names a point that this sampler has no row for")
        return inverted(self.cumulative, row, uniforms)

    def sample(self, index: npt.ArrayLike, rng: np.random.Generator) -> IntArray:
        """As Mechanism.sample, for points that have a row here."""
        return self.invert(index, generator(rng).random(np.size(np.asarray(index))))


def _rows_at_once(outputs: int) -> int:
    """How many rows a block of draws holds: those that fit with their copies, a few more where all outputs are many.

    >>> [_rows_at_once(outputs) for outputs in (2_000, 60_000, 1_000_000, 10_000_000)]
    [400, 64, 4, 1]
    """
    fitting = BLOCK_ENTRIES // outputs
    return max(1, min(fitting, max(_FEW_ROWS, fitting // _ROW_COPIES)))


def inverted(cumulative: FloatArray, row: IntArray, uniforms: FloatArray) -> IntArray:
    """For each uniform, the output whose interval holds it, in the given row of F_1..F_K.

    >>> inverted(np.array([[0.5, 1.0], [0.1, 1.0]]), np.array([1, 0, 1]), np.array([0.3, 0.3, 0.05]))
    array([1, 0, 0])
    """
    few = row.astype(np.uint16) if len(cumulative) <= 1 << 16 else row  # short keys are sorted in linear time
    order = np.argsort(few, kind="stable")
    in_order = row[order]
    starts = np.flatnonzero(np.concatenate([[True], in_order[1:] != in_order[:-1]])) if len(row) else order
    outputs = np.empty(len(row), dtype=np.int64)
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), len(row)], strict=False):
        mine = order[start:end]
        outputs[mine] = np.searchsorted(cumulative[in_order[start]], uniforms[mine], side="right")
    return outputs


def _cumulative(log_rows: FloatArray) -> FloatArray:
    """Rows of F_1..F_K that end in exactly 1; an output of probability 0 has an empty interval."""
    rows = np.exp(log_rows)
    np.cumsum(rows, axis=1, out=rows)
    rows /= rows[:, -1:].copy()
    return rows


def checked_uniforms(z: npt.ArrayLike, count: int) -> FloatArray:
    """As many uniforms in [0, 1) as there are points."""
    if count == 0:
        return np.empty(0)
    uniforms = floats(np.atleast_1d(z), "z", 1)
    if len(uniforms) != count:
        raise InvalidInput(f"z has {len(uniforms)} uniforms, expected {count}, one for each point")
    if uniforms.min() < 0.0 or uniforms.max() >= 1.0:
        raise InvalidInput(f"z spans [{uniforms.min()}, {uniforms.max()}], expected uniforms in [0, 1)")
    return uniforms


def of_inner(name: str) -> Any:
    """A property of a mechanism around another one, `inner`: what the other one says, unchanged."""
    return property(attrgetter(f"inner.{name}"))


Scores = Callable[[IntArray], FloatArray]
"""From the indices of some points, their rows of unnormalised log probabilities."""


def normalised(scores: FloatArray) -> FloatArray:
    """Scores less ln Z of their row, in place: rows that sum to one."""
    scores -= log_sum(scores)[:, None]
    return scores


def log_normalisers(scores: Scores, n_points: int, n_outputs: int) -> FloatArray:
    """ln Z_x of every point, in blocks."""
    everyone = np.arange(n_points)
    return np.concatenate([log_sum(scores(everyone[part])) for part in blocks(n_points, n_outputs)])


M = TypeVar("M", bound=Mechanism)

_PRECISION = 1e-6  # relative; the search stops when the exact ε is this close below the target
_LARGEST_FACTOR = 2.0**20


def calibrate(family: Callable[[float], M], target: float) -> M:
    """Return the mechanism of `family` (nominal ε → mechanism) with the largest nominal ε whose exact ε ≤ target.

    **Guarantee**: the returned mechanism's exact ε is at most the target. That it is the largest supposes that the
    exact ε grows with the nominal one; a family that never exceeds the target gives its largest member tried.

    >>> from oddshift.mechanisms import Exponential
    >>> from oddshift.model.space import Space
    >>> em = calibrate(lambda e: Exponential(Space([[0.0], [1.0], [3.0]]), e), target=1.0)
    >>> round(em.epsilon, 3), round(em.exact_epsilon, 5)
    (1.756, 1.0)
    """
    goal = positive(target, "target")
    low, best = _feasible(family, goal)
    ceiling = low * _LARGEST_FACTOR
    high, excess = low, 0.0
    while excess <= goal and high < ceiling:
        high = 2.0 * low
        mechanism = family(high)
        excess = mechanism.exact_epsilon
        if excess <= goal:
            low, best = high, mechanism
    while excess > goal and high - low > _PRECISION * low and best.exact_epsilon < goal * (1.0 - _PRECISION):
        nominal = _between(low, best.exact_epsilon, high, excess, goal)
        mechanism = family(nominal)
        if mechanism.exact_epsilon <= goal:
            low, best = nominal, mechanism
        else:
            high, excess = nominal, mechanism.exact_epsilon
    return best


def _feasible(family: Callable[[float], M], goal: float) -> tuple[float, M]:
    nominal = goal
    while nominal > goal / _LARGEST_FACTOR:
        mechanism = family(nominal)
        if mechanism.exact_epsilon <= goal:
            return nominal, mechanism
        nominal /= 2.0
    raise NoGuarantee(f"no nominal epsilon down to {nominal:.3g} has an exact epsilon <= target={goal:g}")


def _between(low: float, at_low: float, high: float, at_high: float, goal: float) -> float:
    """False position aimed just below the goal, kept away from both ends so that the bracket always shrinks."""
    aim = goal * (1.0 - 0.25 * _PRECISION)
    share = (aim - at_low) / (at_high - at_low) if at_low < at_high < float("inf") else 0.5
    return low + min(max(share, 1e-3), 0.9) * (high - low)
