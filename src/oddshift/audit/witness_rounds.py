"""Rounds of the guess game on the context: which documents are paired, and which value the attacker favours.

Documents are paired by their secrets alone, by how much growth a pair promises. A fair coin picks one of the two, which
is released and never used again. The other one goes back to the pool: its release was not seen, so nothing about it has
changed, given its secret.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.evidence.witness import LARGEST_STAKE, GuessGroup

POOL = 256
"""Number of documents that are paired with each other; a larger stratum is cut into pools of this size."""

_STEPS = 50  # own sups are rounded down to this many steps of ε·d: an exact one would name the pair of secrets
_STAKES = np.concatenate([[0.0], np.geomspace(0.01, LARGEST_STAKE, 24)])  # stakes are rounded down to one of these


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Everything that is known beforehand about two values: distance (rounded up) and own sup (rounded down), both (V,
    V).

    `values` (V,) are point numbers, ascending; own[a, b] is of a against b. A value is infinitely far
    from itself: it is never paired with itself.
    """

    values: IntArray
    distance: FloatArray
    own: FloatArray

    def budget(self, epsilon: float) -> FloatArray:
        """ε·d − own, the log odds that a guess of a against b may reach under the claim."""
        return epsilon * self.distance - self.own


@dataclass(frozen=True, eq=False, repr=False)
class Rounds:
    """Rounds played: distance, own sups of truth against other and of other against truth, lean towards the truth."""

    distance: FloatArray
    own_of_truth: FloatArray
    own_of_other: FloatArray
    lean: FloatArray

    @property
    def own(self) -> FloatArray:
        """The own sup of the guessed value against the other."""
        return np.where(self.lean > 0, self.own_of_truth, self.own_of_other)

    def stakes(self, epsilon: float, trust: float) -> FloatArray:
        """What is staked: (p − q)/(1 − q), rounded down, for p = expit(trust·|lean|); 0 abstains.

        That stake turns the two factors into p/q and (1 − p)/(1 − q), the likelihood ratio.
        """
        return _rounded_stake(trust * np.abs(self.lean), epsilon * self.distance - self.own)

    def growth(self, epsilon: float, trust: float) -> FloatArray:
        """Log factor of every round."""
        stake, budget = self.stakes(epsilon, trust), epsilon * self.distance - self.own
        return np.where(self.lean > 0, np.log1p(stake * np.exp(-budget)), np.log1p(-stake))

    def promise(self, epsilon: float, trust: float) -> tuple[float, float]:
        """Expected log growth of all rounds and its variance, if the attacker is calibrated."""
        sure, budget = trust * np.abs(self.lean), epsilon * self.distance - self.own
        wrong, stake = 1.0 / (1.0 + np.exp(np.minimum(sure, 700.0))), _stake(sure, budget)
        spread = np.log1p(stake * np.exp(-budget)) - np.log1p(-stake)
        return float(expected_growth(sure, budget).sum()), float((wrong * (1.0 - wrong) * spread**2).sum())

    def groups(self, epsilon: float, trust: float) -> list[GuessGroup]:
        """The guesses made, with equal ones counted together."""
        stake = self.stakes(epsilon, trust)
        made = stake > 0
        keys = np.column_stack([self.distance, self.own, stake])[made]
        rows, inverse = np.unique(keys, axis=0, return_inverse=True)
        right = np.bincount(inverse.ravel(), weights=self.lean[made] > 0, minlength=len(rows)).astype(int)
        guesses = np.bincount(inverse.ravel(), minlength=len(rows))
        columns = (*rows.T.tolist(), right.tolist(), guesses.tolist()) if len(rows) else ((),) * 5
        return [GuessGroup(*row) for row in zip(*columns, strict=True)]


def joined(parts: list[Rounds]) -> Rounds:
    """All rounds as one."""
    columns = ("distance", "own_of_truth", "own_of_other", "lean")
    return Rounds(*(np.concatenate([np.zeros(0), *(getattr(part, name) for part in parts)]) for name in columns))


def pairs_of(values: IntArray, known: Knowledge) -> Pairs:
    """Distances and own sups between the distinct values of a pool."""
    distinct, mechanism = np.unique(values), known.mechanism
    points = mechanism.space.points[distinct]
    exact = np.array(mechanism.space.metric.between(points, points), dtype=np.float64)
    np.fill_diagonal(exact, 0.0)
    distance = _rounded_up(np.where(exact > 0, exact, 1.0))
    step = mechanism.exact_epsilon * distance / _STEPS
    with np.errstate(invalid="ignore", divide="ignore"):
        steps = np.floor(np.minimum(mechanism.log_ratios(distinct) / step, _STEPS))
    own = np.where(exact > 0, np.nan_to_num(steps * step), 0.0)
    return Pairs(distinct, np.where(exact > 0, distance, np.inf), own)


def _rounded_up(distances: FloatArray) -> FloatArray:
    """Distances rounded up to a grid of 2 % steps, because an exact distance would name the pair of secrets."""
    step = np.log(1.02)
    return np.maximum(distances, np.round(np.exp(step * np.ceil(np.log(distances) / step - 1e-9)), 12))


def promises(pairs: Pairs, context: FloatArray, epsilon: float) -> FloatArray:
    """Expected log growth of a round of every pair of values, (V, V), from context terms (documents, V) seen before.

    A document stands for one whose secret is a with weight P(y_c|a)/P(y_c) = e^{c(a)}.
    """
    found = np.zeros_like(pairs.distance)
    budget, weight = pairs.budget(epsilon), np.exp(np.minimum(context, 30.0))
    for a in range(len(found)):
        lean = _lean(context[:, [a]], context)
        limit = np.where(lean > 0, budget[a], budget[:, a])
        found[a] = ((weight[:, [a]] + weight) / 2 * expected_growth(np.abs(lean), limit)).mean(axis=0)
    found[np.isinf(pairs.distance)] = -1.0
    return found


def draw_pairs(values: IntArray, pairs: Pairs, promised: FloatArray, rng: np.random.Generator) -> IntArray:
    """Rounds (n, 2): the document that the coin picked, and the value it was paired with, as columns of `pairs`.

    Every document is picked at most once. The pairing depends on `values` alone.
    """
    column = np.searchsorted(pairs.values, values)
    free, rounds = rng.permutation(len(values)), []
    while len(free) > 1:
        first, rest = free[0], free[1:]
        worth = promised[column[first], column[rest]]
        best = int(np.argmax(worth))
        if worth[best] < 0:  # none of the others can be paired with it
            free = rest
            continue
        second = rest[best]
        picked, other = (first, second) if rng.random() < 0.5 else (second, first)
        rounds.append((picked, column[other]))
        free = np.append(free[(free != picked) & (free != other)], other)
    return np.array(rounds, dtype=np.int64).reshape(-1, 2)


def played(values: IntArray, rounds: IntArray, pairs: Pairs, context: FloatArray) -> Rounds:
    """The rounds with the attacker's lean; `context` (rounds, V) is of the documents picked."""
    truth, other = np.searchsorted(pairs.values, values[rounds[:, 0]]), rounds[:, 1]
    row = np.arange(len(rounds))
    lean = _lean(context[row, truth], context[row, other])
    return Rounds(pairs.distance[truth, other], pairs.own[truth, other], pairs.own[other, truth], lean)


def expected_growth(sure: FloatArray, budget: FloatArray) -> FloatArray:
    """p·ln(1 + λ(1 − q)/q) + (1 − p)·ln(1 − λ) with λ = (p − q)/(1 − q), for p = expit(sure) and q = expit(budget)."""
    wrong = 1.0 / (1.0 + np.exp(np.minimum(sure, 700.0)))
    stake = _stake(sure, budget)
    return np.asarray((1.0 - wrong) * np.log1p(stake * np.exp(-budget)) + wrong * np.log1p(-stake))


def _stake(sure: FloatArray, budget: FloatArray) -> FloatArray:
    # (p − q)/(1 − q) = 1 − (1 − p)/(1 − q), and 1/(1 − q) = 1 + e^budget
    wrong = 1.0 / (1.0 + np.exp(np.minimum(sure, 700.0)))
    return np.clip(1.0 - wrong * (1.0 + np.exp(np.minimum(budget, 700.0))), 0.0, LARGEST_STAKE)


def _rounded_stake(sure: FloatArray, budget: FloatArray) -> FloatArray:
    return _STAKES[np.searchsorted(_STAKES, _stake(sure, budget), side="right") - 1]


def _lean(left: FloatArray, right: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(left - right, nan=0.0)
