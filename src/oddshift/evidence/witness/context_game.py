"""The guess game on the context alone: what the own release can reveal is known, so only the rest has to be shown.

Given X_l the own release y_l and the other outputs y_c are independent, so for every ordered pair of values

    sup_y ln P(y|a)/P(y|b) = own(a→b) + context(a→b),   own(a→b) = max_y ln M_l(y|a)/M_l(y|b),

and d(a,b)·sup mPL(a,b) is the larger of the two directions. The own part is computed from the mechanism.

**Proof of the bound.** A fair coin picks a or b, a document with that value is released, and a guess g (the other value
is o) is made from y_c and from nothing else that depends on the coin. The odds of g are then P(y_c|g)/P(y_c|o) ≤
e^{context(g→o)}. If mPL ≤ ε everywhere, context(g→o) ≤ ε·d − own(g→o), so a guess is right with probability at most

    q = expit(ε·d − own(g→o)),

whatever happened in earlier rounds. Hence each factor 1 + λ(1 − q)/q of a right guess and 1 − λ of a wrong one has a
mean of at most 1 for any stake λ ∈ [0, 1) that was fixed before the coin was seen, and by Ville's inequality the
product E_ε reaches 1/α at any time with probability at most α. E_ε falls in ε: the largest ε with E_ε ≥ 1/α exceeds
sup mPL with probability at most α. A distance rounded up and an own sup rounded down only raise q. And because
context(a→b) ≥ 0 for every pair, the exact ε of one release is a lower bound on sup mPL without any count.

A witness on the context term: guesses from the other outputs alone, with what is needed to check them again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from oddshift.base.arrays import finite, positive, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.bounds.checks import count, first_reach

CEILING = 700.0
"""Largest ε·d that a bound considers; beyond it a probability is 1 in float64."""

LARGEST_STAKE = 0.98
"""Largest stake on one guess: at 1 a single wrong guess would cost everything."""

_TOLERANCE = 1e-9  # by which an own sup may exceed ε·d of one release: rounding


class GuessGroup(NamedTuple):
    """Guesses of one kind: `correct` of `guesses` are right, at one distance, own sup against the other, and stake."""

    distance: float
    own_sup: float
    stake: float
    correct: int
    guesses: int


def context_log_e(groups: Sequence[GuessGroup], epsilon: float) -> float:
    """Return ln E_ε = Σ correct·ln(1 + λ(1 − q)/q) + wrong·ln(1 − λ), q = expit(ε·d − own sup) of each group.

    >>> round(context_log_e([GuessGroup(1.0, 0.9, 0.4, 29, 41)], 1.0), 3)
    2.828
    """
    if not groups:
        return 0.0
    table = finite(groups, "groups", 2)
    distance, own, stake, right, made = table.T
    return float(right @ np.log1p(stake * np.exp(own - epsilon * distance)) + (made - right) @ np.log1p(-stake))


def context_lower(groups: Sequence[GuessGroup], single_epsilon: float, alpha: float) -> float:
    """Return the largest ε that the guesses reject, never below the exact ε of one release.

    **Guarantee**: ever above sup mPL with probability at most `alpha`, at any stopping time, if own sups are not
    overstated, each guess was made from the other outputs alone, and its stake before its coin was seen.

    >>> context_lower([], 0.957, 0.05)
    0.957
    >>> round(context_lower([GuessGroup(1.0, 0.9, 0.4, 34, 41)], 0.9, 0.05), 3)
    1.529
    """
    threshold = -math.log(unit_open(alpha, "alpha")) + 1e-9
    single = check_groups(groups, single_epsilon)
    if math.isinf(single) or context_log_e(groups, single) < threshold:
        return single
    top = single + CEILING / min(group.distance for group in groups)
    # evidence falls as ε grows: search the first failing ε, then step back to the side that was rejected
    failing = first_reach(lambda e: -context_log_e(groups, e), -threshold, single, top)
    return max(single, failing * (1 - 1e-12))


def check_groups(groups: Sequence[GuessGroup], single_epsilon: float) -> float:
    """The ε of one release as a float; refuses groups that no game with such a release could have given."""
    single = float(single_epsilon)
    if not single >= 0:
        raise InvalidInput(f"single_epsilon={single_epsilon!r}, expected a number >= 0")
    for group in groups:
        positive(group.distance, "distance")
        count(group.correct, group.guesses, ("correct", "guesses"))
        if not 0 <= group.stake <= LARGEST_STAKE:
            raise InvalidInput(f"stake={group.stake!r}, expected a number in [0, {LARGEST_STAKE}]")
        if not 0 <= group.own_sup <= single * group.distance * (1 + _TOLERANCE) + _TOLERANCE:
            limit = f"[0, {single:g} x {group.distance:g}]"
            raise InvalidInput(
                f"own_sup={group.own_sup!r}, expected a number in {limit}: epsilon of one release times d"
            )
    return single


@dataclass(frozen=True, kw_only=True)
class ContextWitness:
    """A lower bound on sup mPL from guesses that never saw the own release, added to what that release is known to
    reveal.

    `counts` are (correct, guesses) for each group in turn; `distances`, `own_sups` (of the guessed value against the
    other) and `stakes` have one entry for each group. `single_epsilon` is the exact ε of one release, computed from the
    mechanism, below which the bound never lies. `event` describes the frozen rule without any secret.

    **Guarantee**: `lower_bound` is too high with probability at most `alpha`, under the conditions of `context_lower`.
    Own sups and the ε of one release are not recomputed from counts: the mechanism's hash says what to compare.

    >>> found = context_witness([GuessGroup(1.0, 0.9, 0.4, 34, 41)], single_epsilon=0.9, alpha=0.05, epsilon=1.0)
    >>> found.shown, round(found.lower_bound, 3)
    (True, 1.529)
    """

    counts: tuple[int, ...]
    distances: tuple[float, ...]
    own_sups: tuple[float, ...]
    stakes: tuple[float, ...]
    single_epsilon: float
    alpha: float
    epsilon: float
    lower_bound: float
    event: str = "stated by the caller"

    def __post_init__(self) -> None:
        """Refuse numbers that no game could have produced."""
        unit_open(self.alpha, "alpha")
        positive(self.epsilon, "epsilon")
        if not self.lower_bound >= 0:
            raise InvalidInput(f"lower_bound={self.lower_bound!r}, expected a number >= 0")
        lengths = len(self.counts) / 2, len(self.distances), len(self.own_sups), len(self.stakes)
        if len(set(lengths)) > 1:
            raise InvalidInput(
                f"{len(self.counts)} counts, {lengths[1]} distances, {lengths[2]} own sups and {lengths[3]} stakes, "
                "expected two counts and one of each for every group"
            )
        check_groups(self.groups, self.single_epsilon)

    @property
    def game(self) -> str:
        """The name of the game."""
        return "context"

    @property
    def groups(self) -> list[GuessGroup]:
        """The guesses, with equal ones counted together."""
        columns = self.distances, self.own_sups, self.stakes, self.counts[0::2], self.counts[1::2]
        return [GuessGroup(*row) for row in zip(*columns, strict=True)]

    @property
    def shown(self) -> bool:
        """Whether a violation is shown: sup mPL > ε."""
        return self.lower_bound > self.epsilon

    @property
    def sentence(self) -> str:
        """One sentence that may be printed."""
        right, guesses = sum(self.counts[0::2]), sum(self.counts[1::2])
        found = f"the lower bound on the largest mPL is {self.lower_bound:.6g}"
        how = f"{right} of {guesses} guesses from the other outputs alone were right"
        if not guesses:
            how = "the exact epsilon of one release; no guess from the other outputs was made"
        elif self.lower_bound <= self.single_epsilon:
            how = f"the exact epsilon of one release; {how}, which shows no more"
        tail = f"This procedure overstates it with probability at most {self.alpha:g}, whatever the attacker"
        return witness_sentence(self.shown, self.epsilon, f"{found} ({how}). {tail}")


def witness_sentence(is_shown: bool, epsilon: float, found: str) -> str:
    """What a witness says: whether leakage above ε was shown, and what was found."""
    if is_shown:
        return f"Leakage above epsilon = {epsilon:g} was shown: {found}."
    return f"Undecided: no leakage above {epsilon:g} was shown, which does not prove that there is none; {found}."


def context_witness(
    groups: Sequence[GuessGroup],
    *,
    single_epsilon: float,
    alpha: float,
    epsilon: float,
    event: str = "stated by the caller",
) -> ContextWitness:
    """Return the witness that groups of guesses give.

    >>> context_witness([], single_epsilon=0.957, alpha=0.05, epsilon=1.5).shown
    False
    """
    return ContextWitness(
        counts=tuple(int(number) for group in groups for number in (group.correct, group.guesses)),
        distances=tuple(float(group.distance) for group in groups),
        own_sups=tuple(float(group.own_sup) for group in groups),
        stakes=tuple(float(group.stake) for group in groups),
        single_epsilon=float(single_epsilon),
        alpha=alpha,
        epsilon=epsilon,
        lower_bound=context_lower(groups, single_epsilon, alpha),
        event=event,
    )
