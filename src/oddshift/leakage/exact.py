"""Exact inference: posteriors of every secret given all outputs, and the exact leakage of a small model.

The paper's explicit joint-probability attacker. Given X_l, the own release and the context are independent, so every
likelihood splits into an own part and a context part; for a chain the context splits again into left and right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, listed, whole
from oddshift.base.errors import ImpossibleObservation, InvalidInput, TooLarge
from oddshift.base.logarithms import log, log_matmul, log_normalise, log_sum
from oddshift.leakage.forward_backward import LOGARITHMS, LogSteps, both_sides
from oddshift.leakage.mpl import separated, violation_rate
from oddshift.mechanisms.epsilon import check_distances, check_log_matrix, log_ratios, per_distance
from oddshift.model.prior import ENUMERATION_LIMIT, Joint, Markov, Prior, prior_of


def log_posterior(prior: Prior, log_matrices: Sequence[npt.ArrayLike], outputs: Sequence[int]) -> list[FloatArray]:
    """Return the exact log Pr[X_t = x | all outputs] for every position t: a list of L arrays (K_t,).

    Enumeration for a joint table, forward-backward for a chain (O(L·K²)), the own release for independent secrets.
    Outputs that cannot occur raise ImpossibleObservation.

    >>> toy = Joint([[0.01, 0.49], [0.49, 0.01]])
    >>> em = np.log([[0.72, 0.28], [0.28, 0.72]])
    >>> np.exp(log_posterior(toy, [em, em], (0, 1))[0]).round(4)
    array([0.8636, 0.1364])
    """
    likelihoods = _likelihoods(prior, log_matrices, outputs)
    if isinstance(prior, Markov):
        posteriors = _chain_posteriors(prior, likelihoods)
    elif isinstance(prior, Joint):
        cells = _cells(prior, likelihoods)
        axes = range(cells.ndim)
        posteriors = [log_sum(np.moveaxis(cells, t, 0).reshape(cells.shape[t], -1)) for t in axes]
    else:
        posteriors = [log(m) + own for m, own in zip(prior.marginals, likelihoods, strict=True)]
    if any(np.isneginf(p).all() for p in posteriors):
        raise _impossible()
    return [log_normalise(p) for p in posteriors]


def most_likely(prior: Prior, log_matrices: Sequence[npt.ArrayLike], outputs: Sequence[int]) -> tuple[int, ...]:
    """Return the jointly most likely secrets given all outputs (MAP; Viterbi for a chain).

    >>> em = np.log([[0.72, 0.28], [0.28, 0.72]])
    >>> most_likely(Joint([[0.01, 0.49], [0.49, 0.01]]), [em, em], (0, 0))
    (0, 1)
    """
    likelihoods = _likelihoods(prior, log_matrices, outputs)
    if isinstance(prior, Markov):
        return _viterbi(prior, likelihoods)
    if isinstance(prior, Joint):
        cells = _cells(prior, likelihoods)
        best = tuple(int(i) for i in np.unravel_index(int(np.argmax(cells)), cells.shape))
        if np.isneginf(cells[best]):
            raise _impossible()
        return best
    scores = [log(m) + own for m, own in zip(prior.marginals, likelihoods, strict=True)]
    if any(np.isneginf(s).all() for s in scores):
        raise _impossible()
    return tuple(int(np.argmax(s)) for s in scores)


@dataclass(frozen=True, eq=False, repr=False)
class Leakage:
    """The exact leakage about one secret: of its own release alone, and of all releases together.

    `witness` is ((a, b), outputs): a pair of values and the outputs, one for each position, that reach `joint`.
    """

    single: float
    joint: float
    witness: tuple[tuple[int, int], tuple[int, ...]]
    _model: _Split

    def __repr__(self) -> str:
        """The two largest leakages."""
        return f"Leakage(single={self.single:.6f}, joint={self.joint:.6f})"

    def rate(self, epsilon: float, pairs: str = "uniform") -> float:
        """Pr[mPL > ε], exactly: a pair from the named law (uniform, anchored, worst), outputs from their true law."""
        model = self._model
        return violation_rate(model.log_joint, model.log_prior, model.distances, epsilon, pairs)


def exact_leakage(
    prior: Prior, log_matrices: Sequence[npt.ArrayLike], distances: npt.ArrayLike, target: int = 0
) -> Leakage:
    """Compute the exact leakage about X_target by enumeration of the outputs of the context, up to a stated size.

    `log_matrices` holds one (K_t, Y_t) array for each position, `distances` is (K_target, K_target).

    **Guarantee**: the maximum over all pairs and all joint outputs of positive probability, to float rounding.

    >>> em = np.log([[0.72, 0.28], [0.28, 0.72]])
    >>> toy = exact_leakage(Joint([[0.01, 0.49], [0.49, 0.01]]), [em, em], [[0, 1], [1, 0]])
    >>> toy
    Leakage(single=0.944462, joint=1.845681)
    >>> round(toy.rate(1.0), 6)
    0.592928
    """
    model = split(prior, log_matrices, distances, target)
    ratios = [log_ratios(part.log_matrix) for part in model.parts]
    spaced = separated(model.distances)
    single = float(per_distance(ratios[0], spaced).max())
    shifts = per_distance(np.sum(ratios, axis=0), spaced)
    a, b = (int(i) for i in np.unravel_index(int(np.argmax(shifts)), shifts.shape))
    outputs = np.array(
        [int(np.argmax(np.max(m, axis=0))) for m in log_matrices]
    )  # for positions whose output does not matter, one that is possible
    for part in model.parts:
        outputs[list(part.positions)] = part.outputs_favouring(a, b)
    return Leakage(single, float(shifts[a, b]), ((a, b), tuple(int(y) for y in outputs)), model)


@dataclass(frozen=True, eq=False, repr=False)
class _Part:
    """Outputs of some positions as one channel from X_target: log Pr[y_part | X_target], (K, number of outputs)."""

    positions: tuple[int, ...]
    alphabets: tuple[int, ...]
    log_matrix: FloatArray

    def outputs_favouring(self, a: int, b: int) -> IntArray:
        """The possible outputs that favour value a most against value b."""
        rows = np.maximum(self.log_matrix, -1e30)
        gap = np.where(rows[a] > -1e29, rows[a] - rows[b], -np.inf)
        return np.array(np.unravel_index(int(np.argmax(gap)), self.alphabets), dtype=np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class _Split:
    """One target seen through parts that are independent given its value; the own release comes first."""

    log_prior: FloatArray
    parts: tuple[_Part, ...]
    distances: FloatArray

    @cached_property
    def log_joint(self) -> FloatArray:
        """log Pr[x, y] for every joint output y, (K, number of joint outputs)."""
        rows = self.log_prior[:, None]
        for part in self.parts:
            _refuse_above(rows.shape[0] * rows.shape[1] * part.log_matrix.shape[1], "rates need every joint output")
            rows = (rows[:, :, None] + part.log_matrix[:, None, :]).reshape(len(rows), -1)
        return rows


def split(prior: Prior, log_matrices: Sequence[npt.ArrayLike], distances: npt.ArrayLike, target: int) -> _Split:
    """Check a model and split it at its target into the own release and the context's independent parts."""
    matrices = check_matrices(prior, log_matrices)
    whole(target, "target", 0, len(matrices) - 1)
    checked = check_distances(distances, prior.sizes[target])
    own = _Part((target,), (matrices[target].shape[1],), matrices[target])
    context: list[_Part] = []
    if isinstance(prior, Markov):
        context = _sides(prior, matrices, target)
    elif isinstance(prior, Joint) and len(matrices) > 1:
        context = [_context(prior, matrices, target)]
    return _Split(log(prior.marginals[target]), (own, *context), checked)


def check_matrices(prior: Prior, log_matrices: Sequence[npt.ArrayLike]) -> list[FloatArray]:
    """One checked (K_t, Y_t) array of log probabilities for each position of the prior."""
    listed_matrices = listed(log_matrices, "log_matrices")
    if len(listed_matrices) != len(prior_of(prior).sizes):
        raise InvalidInput(f"{len(listed_matrices)} log_matrices, expected {len(prior.sizes)}, one for each position")
    checked: dict[int, FloatArray] = {}  # a long chain often repeats one matrix, which is checked once
    for t, m in enumerate(listed_matrices):
        if id(m) not in checked:
            checked[id(m)] = check_log_matrix(m, f"log_matrices[{t}]")
    matrices = [checked[id(m)] for m in listed_matrices]
    for t, (matrix, size) in enumerate(zip(matrices, prior.sizes, strict=True)):
        if len(matrix) != size:
            raise InvalidInput(f"log_matrices[{t}] has {len(matrix)} rows, expected {size}, one for each value")
    return matrices


def _likelihoods(prior: Prior, log_matrices: Sequence[npt.ArrayLike], outputs: Sequence[int]) -> list[FloatArray]:
    """The column of each position's output: log Pr[y_t | x] for every value x."""
    matrices = check_matrices(prior, log_matrices)
    seen = listed(outputs, "outputs")
    if len(seen) != len(matrices):
        raise InvalidInput(f"{len(seen)} outputs, expected {len(matrices)}, one for each position")
    return [
        m[:, whole(y, f"outputs[{t}]", 0, m.shape[1] - 1)] for t, (m, y) in enumerate(zip(matrices, seen, strict=True))
    ]


def _cells(prior: Joint, likelihoods: list[FloatArray]) -> FloatArray:
    """log Pr[x_1..x_L, y] for every joint value."""
    cells = log(prior.table)
    for t, own in enumerate(likelihoods):
        cells = cells + own.reshape([-1 if axis == t else 1 for axis in range(cells.ndim)])
    return cells


def _chain_posteriors(prior: Markov, likelihoods: list[FloatArray]) -> list[FloatArray]:
    """Posteriors of a chain: what comes from the left, what comes from the right, and the own release."""
    sides = both_sides(log(prior.initial), likelihoods, LogSteps(prior.transitions), LOGARITHMS)
    found = [left.values + likelihoods[t] + right.values for t, left, right in sides]
    return found[::-1]


def _viterbi(prior: Markov, likelihoods: list[FloatArray]) -> tuple[int, ...]:
    score = log(prior.initial) + likelihoods[0]
    came_from = []
    for step, own in zip(log(prior.transitions), likelihoods[1:], strict=True):
        ways = score[:, None] + step
        came_from.append(np.argmax(ways, axis=0))
        score = ways.max(axis=0) + own
    if np.isneginf(score).all():
        raise _impossible()
    path = [int(np.argmax(score))]
    for pointers in came_from[::-1]:
        path.append(int(pointers[path[-1]]))
    return tuple(path[::-1])


def _sides(prior: Markov, matrices: list[FloatArray], target: int) -> list[_Part]:
    """The outputs left and right of the target, as two channels from X_target."""
    last = len(matrices) - 1
    left = [(t, prior.backward[t]) for t in range(target)]
    right = [(t, prior.transitions[t - 1]) for t in range(last, target, -1)]
    return [_side(matrices, order) for order in (left, right) if order]


def _side(matrices: list[FloatArray], order: list[tuple[int, FloatArray]]) -> _Part:
    """Messages from the far end of a chain towards the target, for every sequence of outputs on the way."""
    message = np.zeros((matrices[order[0][0]].shape[0], 1))
    for t, kernel in order:
        _refuse_above(message.size * matrices[t].shape[1], "the exact leakage of a chain needs every output of a side")
        seen = (message[:, :, None] + matrices[t][:, None, :]).reshape(len(message), -1)
        message = log_matmul(log(kernel), seen)
    positions = tuple(t for t, _ in order)
    return _Part(positions, tuple(matrices[t].shape[1] for t in positions), message)


def _context(prior: Joint, matrices: list[FloatArray], target: int) -> _Part:
    """All other outputs together, as one channel from X_target, by summing out one secret at a time."""
    others = tuple(t for t in range(len(matrices)) if t != target)
    law = log(np.moveaxis(prior.table, target, 0)) - log(prior.marginals[target]).reshape(-1, *[1] * len(others))
    for t in others:
        _refuse_above(law.size // law.shape[1] * matrices[t].shape[1], "the exact leakage needs every joint output")
        moved = np.moveaxis(law, 1, -1)
        law = log_matmul(moved.reshape(-1, moved.shape[-1]), matrices[t]).reshape(*moved.shape[:-1], -1)
    return _Part(others, law.shape[1:], law.reshape(len(law), -1))


def _impossible() -> ImpossibleObservation:
    return ImpossibleObservation(
        "the outputs have probability 0 under this prior and these mechanisms, expected outputs that can occur"
    )


def _refuse_above(entries: int, why: str) -> None:
    if entries > ENUMERATION_LIMIT:
        raise TooLarge(
            f"{why}: {entries:.3g} entries, expected at most {ENUMERATION_LIMIT}; upper_bound works at any length "
            "with method='hmm' or 'diameter', and log_posterior for any one observation"
        )
