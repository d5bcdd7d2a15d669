"""Witnesses: counts on fresh releases that bound the largest leakage from below, whatever the attacker was.

For any event E over the joint release and values a, b of the secret: ln(P(E|a)/P(E|b)) ≤ d(a,b) · sup mPL. The event
or guess rule must be frozen before the counted releases are drawn, and the context drawn given the secret.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from oddshift.base.arrays import one_of, positive, unit_open, whole
from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.storage import ADDED_LATER
from oddshift.bounds import clopper_pearson_lower, clopper_pearson_upper
from oddshift.bounds.checks import count
from oddshift.evidence.witness.context_game import ContextWitness, context_lower, witness_sentence

GAMES = {"guess_game": 2, "two_arm": 4}
"""Every game and how many counts it takes."""


def guess_game(correct: int, guesses: int, distance: float, alpha: float) -> float:
    """Return the lower bound max(0, logit(CP_lower(correct, guesses, a)) / d) on sup mPL.

    A fair coin picks a or b, a fresh document with that value is released, the attacker guesses which or abstains.
    If mPL ≤ ε everywhere a guess is right with probability at most expit(ε·d).

    **Guarantee**: above sup mPL with probability at most `alpha`, for a guess rule frozen beforehand and a number
    of rounds fixed beforehand. 0 means that nothing was shown.

    >>> round(guess_game(61, 68, 1.0, 0.05), 6)
    1.485013
    """
    correct, guesses = count(correct, guesses, ("correct", "guesses"))
    share = clopper_pearson_lower(correct, guesses, alpha)
    gap = positive(distance, "distance")
    return max(0.0, math.log(share) - math.log1p(-share)) / gap if share > 0 else 0.0


def two_arm(k_a: int, n_a: int, k_b: int, n_b: int, distance: float, alpha: float) -> float:
    """Return the lower bound max(0, ln(CP_lower(k_a, n_a, a/2) / CP_upper(k_b, n_b, a/2)) / d) on sup mPL.

    k_a of n_a fresh releases given a, and k_b of n_b given b, fell into one frozen event.

    **Guarantee**: above sup mPL with probability at most `alpha`, arm sizes and event fixed beforehand.

    >>> round(two_arm(120, 250, 22, 250, 1.5, 0.05), 6)
    0.775414
    """
    half = unit_open(alpha, "alpha") / 2
    k_a, n_a = count(k_a, n_a, ("k_a", "n_a"))
    k_b, n_b = count(k_b, n_b, ("k_b", "n_b"))
    low, high = clopper_pearson_lower(k_a, n_a, half), clopper_pearson_upper(k_b, n_b, half)
    gap = positive(distance, "distance")
    return max(0.0, (math.log(low) - math.log(high)) / gap) if low > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Witness:
    """A lower bound on sup mPL from counts alone.

    `counts` are (correct, guesses) for guess_game and (k_a, n_a, k_b, n_b) for two_arm. `tried` candidates were tested
    on the same fresh releases, so each has level alpha / tried. `event` describes the frozen event without any secret.
    `accusing` is the level at which a violation counts as shown; None is `alpha`. `log_odds` is empty: stored witnesses
    of earlier versions name it.

    **Guarantee**: `lower_bound` is too high with probability at most `alpha`, and a violation is shown wrongly with
    probability at most `accusing`, if the event was frozen before the counted releases were drawn, each document was
    used once, and the context was drawn given the secret.

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
        given = len(self.counts), len(self.distances), len(self.log_odds)
        if given != (GAMES[self.game], 1, 0):
            raise InvalidInput(
                f"{given[0]} counts, {given[1]} distances and {given[2]} log_odds for the game {self.game}, expected "
                f"{GAMES[self.game]}, 1 and 0"
            )

    @property
    def shown(self) -> bool:
        """Whether a violation is shown: sup mPL > ε."""
        if self.accusing is None or self.lower_bound <= self.epsilon:
            return self.lower_bound > self.epsilon
        return recompute(replace(self, alpha=self.accusing)) > self.epsilon

    @property
    def sentence(self) -> str:
        """One sentence that may be printed."""
        found = f"the lower bound on the largest mPL is {self.lower_bound:.6g}"
        how = f"{self.game}, counts {self.counts}, distance {self.distances[0]:g}"
        tail = f"This procedure overstates it with probability at most {self.alpha:g}, whatever the attacker"
        if self.accusing is not None:
            tail += f", and shows leakage where there is none with probability at most {self.accusing:g}"
        return witness_sentence(self.shown, self.epsilon, f"{found} ({how}). {tail}")


def witness_of(
    game: str,
    counts: tuple[int, ...],
    distances: tuple[float, ...],
    *,
    alpha: float,
    epsilon: float,
    tried: int = 1,
    event: str = "stated by the caller",
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
        tried=tried,
        event=event,
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
    counts, terms = witness.counts, (witness.distances[0], witness.alpha / witness.tried)
    if witness.game == "guess_game":
        return guess_game(counts[0], counts[1], *terms)
    return two_arm(counts[0], counts[1], counts[2], counts[3], *terms)


def recheck(witness: AnyWitness) -> None:
    """Raise TamperedEvidence unless the counts give the stated bound (to a relative 1e-9).

    >>> recheck(witness_of("guess_game", (61, 68), (1.0,), alpha=0.05, epsilon=1.0))
    """
    found = recompute(witness)
    if not math.isclose(found, witness.lower_bound, rel_tol=1e-9, abs_tol=1e-12):
        raise TamperedEvidence(f"counts give the lower bound {found:.9g}, the witness says {witness.lower_bound:.9g}")
