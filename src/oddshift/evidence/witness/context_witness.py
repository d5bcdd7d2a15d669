"""A witness on the context term: guesses from the other outputs alone, with what is needed to check them again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oddshift.base.arrays import positive, unit_open
from oddshift.base.errors import InvalidInput
from oddshift.evidence.witness.context_game import GuessGroup, check_groups, context_lower


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
        if self.shown:
            return f"Leakage above epsilon = {self.epsilon:g} was shown: {found} ({how}). {tail}."
        return f"Undecided, which is not a pass. No leakage above {self.epsilon:g} was shown: {found} ({how}). {tail}."


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
