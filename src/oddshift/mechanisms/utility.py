"""Utility: what a release still serves for, exactly from the channel and by tasks before and after.

The paper's loss is Σ_x p(x) Σ_y Pr[y|x]·c(x, y). A constant output can have a small loss and serve for nothing, so
every loss is reported together with the effective number of outputs and the loss of a constant output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, blocks, finite, probabilities, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.cost import Cosine, Cost, Matrix, cost_of, directions, refuse_row_numbers
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

CostLike = str | Cost | FloatArray


@dataclass(frozen=True)
class Utility:
    """The expected loss of a mechanism, with the numbers that are needed to interpret it.

    `tier_losses` has one number for each tier (NaN for a tier without weight), `effective_outputs` is the exponential
    of the entropy of the output, and `constant_loss` is the loss of the best output that ignores the secret.
    """

    loss: float
    tier_losses: tuple[float, ...]
    effective_outputs: float
    constant_loss: float


def losses(mechanism: Mechanism, cost: CostLike = "cosine") -> FloatArray:
    """Σ_y Pr[y|x]·c(x, y) for every point x, exactly, in blocks."""
    chosen = cost_of(cost)
    everyone = np.arange(len(mechanism.space))
    total = np.empty(len(everyone))
    if isinstance(chosen, Cosine) and mechanism.outputs is not None:
        return _cosine_losses(mechanism, mechanism.outputs)
    for part in blocks(len(everyone), mechanism.n_outputs):
        index = everyone[part]
        total[part] = (np.exp(mechanism.log_likelihood(index)) * _costs(mechanism, chosen, index)).sum(axis=1)
    return total


def _cosine_losses(mechanism: Mechanism, outputs: Space) -> FloatArray:
    """(1 − u(x)·Σ_y Pr[y|x]·u(y))/2 with the directions u: the same without a table of costs."""
    refuse_row_numbers(mechanism.space, "cosine")
    of_points, of_outputs = directions(mechanism.space.points), directions(outputs.points)
    return np.asarray((1.0 - (mechanism.averages(of_outputs) * of_points).sum(axis=1)) / 2.0)


def expected_loss(mechanism: Mechanism, weights: npt.ArrayLike, cost: CostLike = "cosine") -> float:
    """Σ_x w(x) Σ_y Pr[y|x]·c(x, y) for weights (a prior, or counts) of the points.

    >>> from oddshift.mechanisms.word_channels import Substitution
    >>> keep_or_swap = Substitution(Space([[0.0], [3.0]]), probability=0.25, neighbours=1)
    >>> expected_loss(keep_or_swap, [1, 1], "euclidean")
    0.75
    """
    return float(_weights(weights, len(mechanism.space)) @ losses(mechanism, cost))


def effective_outputs(mechanism: Mechanism, weights: npt.ArrayLike) -> float:
    """exp of the entropy of the output: 1 when every secret is released as the same word.

    >>> from oddshift.mechanisms.word_channels import Mask
    >>> effective_outputs(Mask(Space([[0.0], [3.0]])), [1, 1])
    1.0
    """
    return effective_number(output_law(mechanism, weights))


def output_law(mechanism: Mechanism, weights: npt.ArrayLike) -> FloatArray:
    """Σ_x w(x)·Pr[y|x] for every output, for weights of the points that are made to sum to 1."""
    return mechanism.law_of_outputs(_weights(weights, len(mechanism.space)))


def effective_number(law: FloatArray) -> float:
    """exp of the entropy of a law.

    >>> round(effective_number(np.array([0.5, 0.5, 0.0])), 12)
    2.0
    """
    seen = law[law > 0]
    return float(np.exp(-(seen * np.log(seen)).sum()))


def constant_output(
    space: Space, weights: npt.ArrayLike, cost: CostLike = "cosine", outputs: Space | None = None
) -> tuple[int, float]:
    """The output that costs least when it is released for every secret, and its expected loss."""
    law, chosen = _weights(weights, len(space)), cost_of(cost)
    target = space if outputs is None else outputs
    total = np.zeros(len(target))
    everyone = np.arange(len(law))
    for part in blocks(len(law), len(target)):
        total += law[part] @ chosen.between(space, everyone[part], target)
    best = int(np.argmin(total))
    return best, float(total[best])


def constant_of_each_kind(
    space: Space, weights: npt.ArrayLike, cost: CostLike, kinds: IntArray
) -> tuple[IntArray, float]:
    """For every kind the output of that kind that costs least when all its secrets become it, and their joint loss.

    It says the kind of a secret and nothing else: what a mechanism whose outputs keep the kind should cost less than.

    >>> line = Space([[0.0], [1.0], [5.0], [7.0]])
    >>> best, loss = constant_of_each_kind(line, [3, 1, 3, 1], "euclidean", np.array([0, 0, 1, 1]))
    >>> best.tolist(), loss
    ([0, 2], 0.375)
    """
    law, found, total = _weights(weights, len(space)), [], 0.0
    for kind in np.unique(kinds):
        mine = np.flatnonzero(kinds == kind)
        expected = sum(
            (
                law[mine[part]] @ cost_of(cost).between(space, mine[part], space)[:, mine]
                for part in blocks(len(mine), len(space))
            ),
            np.zeros(len(mine)),
        )
        found.append(int(mine[np.argmin(expected)]))
        total += float(expected.min())
    return np.array(found, dtype=np.int64), total


def measure(
    mechanism: Mechanism, weights: npt.ArrayLike, cost: CostLike = "cosine", tiers: Tiers | None = None
) -> Utility:
    """Loss, loss of each tier, effective outputs and the constant-output baseline of a mechanism."""
    law = _weights(weights, len(mechanism.space))
    by_point = losses(mechanism, cost)
    per_tier: list[float] = []
    for tier in range(0 if tiers is None else len(tiers)):
        inside = law * (tiers.labels == tier)  # type: ignore[union-attr]
        per_tier.append(float(inside @ by_point / inside.sum()) if inside.sum() > 0 else float("nan"))
    table = cost_of(cost)
    if isinstance(table, Matrix):
        constant = float((law @ table.table).min())
    else:
        constant = constant_output(mechanism.space, law, table, mechanism.outputs)[1]
    return Utility(float(law @ by_point), tuple(per_tier), effective_outputs(mechanism, law), constant)


@dataclass(frozen=True)
class DownstreamTask:
    """A downstream task on the data as it was and as it is released; `baseline` needs no data at all."""

    name: str
    before: float
    after: float
    baseline: float


def averaged(vectors: npt.NDArray[np.floating], rows: IntArray, offsets: IntArray) -> FloatArray:
    """The mean vector of every document: `rows` of `vectors` for its words, −1 for a word without one."""
    from scipy.sparse import csr_array

    has = rows >= 0
    documents = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[has]
    counts = csr_array((np.ones(len(documents)), (documents, rows[has])), shape=(len(offsets) - 1, len(vectors)))
    total = counts.sum(axis=1)[:, None]
    return np.asarray(counts @ vectors.astype(np.float64)) / np.maximum(total, 1.0)


def classification(
    before: npt.ArrayLike,
    after: npt.ArrayLike,
    labels: Sequence[str],
    *,
    held_out: float = 0.2,
    rng: np.random.Generator,
) -> DownstreamTask:
    """Accuracy of logistic regression on held-out documents, trained and tested before, and after, release.

    The baseline is the share of the most frequent class among the held-out documents.
    """
    old, new, classes = _tables(before, after, labels)
    order = rng.permutation(len(old))
    cut = round(len(old) * (1.0 - unit_open(held_out, "held_out")))
    train, test = order[:cut], order[cut:]
    if len(np.unique(classes[train])) < 2 or not len(test):
        raise InvalidInput("the training documents have one class, expected at least two")
    baseline = float(np.bincount(classes[test]).max() / len(test))
    return DownstreamTask(
        "classification", _accuracy(old, classes, train, test), _accuracy(new, classes, train, test), baseline
    )


def retrieval(before: npt.ArrayLike, after: npt.ArrayLike, labels: Sequence[str]) -> DownstreamTask:
    """How often the nearest other document (by cosine) has the same class, before and after release.

    The baseline is the chance that two documents drawn at random have the same class.
    """
    old, new, classes = _tables(before, after, labels)
    n, counts = len(old), np.bincount(classes).astype(np.float64)
    same = [float((classes[nearest_documents(table)] == classes).mean()) for table in (old, new)]
    return DownstreamTask("retrieval", same[0], same[1], float((counts * (counts - 1)).sum() / (n * (n - 1))))


def nearest_documents(table: FloatArray) -> IntArray:
    """For every row the other row of largest cosine similarity."""
    norms = np.linalg.norm(table, axis=1, keepdims=True)
    unit = (table / np.where(norms > 0, norms, 1.0)).astype(np.float32)
    nearest = np.empty(len(unit), dtype=np.int64)
    for part in blocks(len(unit), len(unit)):
        similarity = unit[part] @ unit.T
        similarity[np.arange(similarity.shape[0]), np.arange(part.start, part.stop)] = -np.inf
        nearest[part] = similarity.argmax(axis=1)
    return nearest


def _accuracy(table: FloatArray, classes: IntArray, train: IntArray, test: IntArray) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    model.fit(table[train], classes[train])
    return float(model.score(table[test], classes[test]))


def _tables(
    before: npt.ArrayLike, after: npt.ArrayLike, labels: Sequence[str]
) -> tuple[FloatArray, FloatArray, IntArray]:
    old, new = finite(before, "before", 2), finite(after, "after", 2)
    if not len(old) == len(new) == len(labels) or len(old) < 2:
        raise InvalidInput(
            f"{len(old)} rows before, {len(new)} after, {len(labels)} labels, expected as many, at least 2"
        )
    return old, new, np.unique(np.asarray(labels), return_inverse=True)[1].astype(np.int64)


def _costs(mechanism: Mechanism, cost: Cost, index: IntArray) -> FloatArray:
    if mechanism.outputs is not None:
        return cost.between(mechanism.space, index, mechanism.outputs)
    if isinstance(cost, Matrix) and cost.table.shape == (len(mechanism.space), mechanism.n_outputs):
        return cost.table[index]
    shape = (len(mechanism.space), mechanism.n_outputs)
    raise InvalidInput(f"the outputs of this mechanism are not points, expected a cost table of shape {shape}")


def _weights(weights: npt.ArrayLike, n: int) -> FloatArray:
    law = finite(weights, "weights", 1)
    if len(law) != n or (law < 0).any() or not law.sum() > 0:
        raise InvalidInput(f"weights has {len(law)} entries, expected {n} numbers >= 0 with a sum above 0")
    return probabilities(law / law.sum(), "weights", 1)
