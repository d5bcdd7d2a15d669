"""A witness: counts that show leakage above a stated ε, with everything that is needed to check them again."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from oddshift.base.arrays import one_of, positive, unit_open, whole
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.storage import ADDED_LATER
from oddshift.evidence.witness.context_game import ContextWitness, context_lower
from oddshift.evidence.witness.games import guess_game, hockey_stick, pooled_lower, two_arm
from oddshift.evidence.witness.importance import checked_counts, weighted_arms

GAMES = {"guess_game": 2, "two_arm": 4, "hockey_stick": 4, "pooled": 0, "weighted_arms": 0}
"""Every game and how many counts it takes (pooled: two for each distance; weighted_arms: any two equal halves)."""


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A lower bound on sup mPL (for `hockey_stick`: on the violation rate of one pair) from counts alone.

    `counts` are (correct, guesses) for guess_game, (k_a, n_a, k_b, n_b) for two_arm and hockey_stick, and
    (correct, guesses) for each distance in turn for pooled; for weighted_arms draws by level of weight, given a and
    then given b, with the scales of these weights in `log_scales`. `tried` candidates were tested on the same fresh
    releases, so each has level alpha / tried. `event` describes the frozen event without any secret. `accusing` is the
    level at which a violation counts as shown; None is `alpha`.

    **Guarantee**: `lower_bound` is too high with probability at most `alpha`, and a violation is shown wrongly with
    probability at most `accusing`, if the event was frozen before the counted releases were drawn, each document was
    used once, and the context was drawn given the secret. That of weighted_arms rests on the caller's weights as well.

    >>> w = witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0)
    >>> w.shown, round(w.lower_bound, 4)
    (True, 1.485)
    """

    game: str
    counts: tuple[int, ...]
    distances: tuple[float, ...]
    alpha: float
    epsilon: float
    lower_bound: float
    log_odds: tuple[float, ...] = ()
    tried: int = 1
    event: str = "stated by the caller"
    accusing: float | None = field(default=None, metadata={ADDED_LATER: True})
    log_scales: tuple[float, ...] = field(default=(), metadata={ADDED_LATER: True})

    def __post_init__(self) -> None:
        """Refuse counts, distances or levels that no game could have produced."""
        one_of(self.game, "game", list(GAMES))
        unit_open(self.alpha, "alpha")
        if self.accusing is not None and unit_open(self.accusing, "accusing") > self.alpha:
            raise InvalidInput(f"accusing={self.accusing}, expected at most alpha={self.alpha}")
        positive(self.epsilon, "epsilon")
        whole(self.tried, "tried", 1)
        if not self.lower_bound >= 0:
            raise InvalidInput(f"lower_bound={self.lower_bound!r}, expected a number >= 0")
        groups = len(self.distances)
        wanted = GAMES[self.game] or (2 * groups if self.game == "pooled" else checked_counts(self.counts).size)
        if len(self.counts) != wanted or not groups or (self.game != "pooled" and groups != 1):
            raise InvalidInput(f"{len(self.counts)} counts and {groups} distances do not fit the game {self.game}")

        if len(self.log_scales) != (2 if self.game == "weighted_arms" else 0):
            raise InvalidInput(f"{len(self.log_scales)} log_scales do not fit the game {self.game}")
        if self.log_odds and self.game != "pooled":
            raise InvalidInput(
                f"log_odds given for the game {self.game}, expected a fair coin; pooled takes a biased one"
            )

    @property
    def level(self) -> float:
        """Error level of this one test: alpha / tried."""
        return self.alpha / self.tried

    @property
    def shown(self) -> bool:
        """Whether a violation is shown: sup mPL > ε (hockey_stick: a positive violation rate)."""
        limit = 0.0 if self.game == "hockey_stick" else self.epsilon
        if self.accusing is None or self.lower_bound <= limit:
            return self.lower_bound > limit
        return recompute(replace(self, alpha=self.accusing)) > limit

    @property
    def sentence(self) -> str:
        """One sentence that may be printed."""
        what = f"Pr[mPL > {self.epsilon:g} | X = a] of one pair" if self.game == "hockey_stick" else "the largest mPL"
        found = f"the lower bound on {what} is {self.lower_bound:.6g}"
        how = f"{self.game}, counts {self.counts}, distance {self.distances[0]:g}"
        if self.game == "pooled":
            right, guesses = sum(self.counts[0::2]), sum(self.counts[1::2])
            how = f"pooled, {right} of {guesses} guesses right at {len(self.distances)} distances"
        if self.game == "weighted_arms":
            how = _weighted(self)
        tail = f"This procedure overstates it with probability at most {self.alpha:g}, whatever the attacker"
        if self.accusing is not None:
            tail += f", and shows leakage where there is none with probability at most {self.accusing:g}"
        if self.game == "weighted_arms":
            tail += (
                ", provided that importance weights and their largest values are right, for which the caller vouches"
            )
        if self.shown:
            return f"Leakage above epsilon = {self.epsilon:g} was shown: {found} ({how}). {tail}."
        return f"Undecided, which is not a pass. No leakage above {self.epsilon:g} was shown: {found} ({how}). {tail}."


def witness_of(  # noqa: PLR0913 (a public name, whose options are all asked for by name)
    game: str,
    counts: tuple[int, ...],
    distances: tuple[float, ...],
    *,
    alpha: float,
    epsilon: float,
    log_odds: tuple[float, ...] = (),
    tried: int = 1,
    event: str = "stated by the caller",
    log_scales: tuple[float, ...] = (),
) -> Witness:
    """Return the witness that `counts` give; its bound is computed at level alpha / tried.

    >>> witness_of("two_arm", (120, 250, 22, 250), (1.5,), alpha=0.05, epsilon=1.0).shown
    False
    """
    draft = Witness(
        game=game,
        counts=tuple(int(c) for c in counts),
        distances=tuple(float(d) for d in distances),
        alpha=alpha,
        epsilon=epsilon,
        lower_bound=0.0,
        log_odds=tuple(log_odds),
        tried=tried,
        event=event,
        log_scales=tuple(float(s) for s in log_scales),
    )
    return replace(draft, lower_bound=recompute(draft))


AnyWitness = Witness | ContextWitness
"""Both kinds: counts of joint releases, and guesses from the context alone."""


def recompute(witness: AnyWitness) -> float:
    """Return the lower bound that the witness's counts give, without looking at the bound it states.

    >>> recompute(witness_of("guess_game", (61, 68), (2.0,), alpha=0.05, epsilon=1.0))
    0.7425...
    """
    if isinstance(witness, ContextWitness):
        return context_lower(witness.groups, witness.single_epsilon, witness.alpha)
    counts, distance, level = witness.counts, witness.distances[0], witness.level
    if witness.game == "guess_game":
        return guess_game(counts[0], counts[1], distance, level)
    if witness.game == "two_arm":
        return two_arm(counts[0], counts[1], counts[2], counts[3], distance, level)
    if witness.game == "hockey_stick":
        return hockey_stick((counts[0], counts[1], counts[2], counts[3]), distance, witness.epsilon, level)
    if witness.game == "weighted_arms":
        return weighted_arms(counts, witness.log_scales, distance, level)
    groups = list(zip(witness.distances, counts[0::2], counts[1::2], strict=True))
    return pooled_lower(groups, level, witness.log_odds or None)


def recheck(witness: AnyWitness) -> None:
    """Raise TamperedEvidence unless the counts give the stated bound (to a relative 1e-9).

    >>> recheck(witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0))
    """
    found = recompute(witness)
    if not math.isclose(found, witness.lower_bound, rel_tol=1e-9, abs_tol=1e-12):
        raise TamperedEvidence(f"counts give the lower bound {found:.9g}, the witness says {witness.lower_bound:.9g}")


def _weighted(witness: Witness) -> str:
    arms = checked_counts(witness.counts)
    hits, totals = arms[:, 1:].sum(axis=1), arms.sum(axis=1)
    return (
        f"weighted_arms, {hits[0]} of {totals[0]} and {hits[1]} of {totals[1]} importance draws in the event, "
        f"distance {witness.distances[0]:g}"
    )
