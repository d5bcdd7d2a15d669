"""A vacuous release: one after which the first guess is nearly always right, although it was not before.

mPL ≤ ε alone does not rule it out, because ε may be arbitrarily large; so no certificate is given for such a release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oddshift.base.arrays import float_of
from oddshift.base.errors import InvalidInput

if TYPE_CHECKING:
    from oddshift.audit.verdict_rule import Seen

VACUOUS = (0.9, 0.5)
"""Where a release counts as vacuous: at least this share of first guesses is right, and at least this share of the
guesses that were wrong before any release is right with it. docs/audit.md gives the reasons."""


def is_vacuous(right: float, before: float, limits: tuple[float, float] = VACUOUS) -> bool:
    """Whether these shares of right guesses, with a release and before any, make it vacuous.

    A column that is nearly constant is guessed well without any release, which says nothing about the release.

    >>> is_vacuous(0.97, 0.6), is_vacuous(0.97, 0.96), is_vacuous(0.7, 0.1)
    (True, False, False)
    """
    most_right, doubt_removed = limits
    return right >= most_right and right - before >= doubt_removed * (1.0 - before) and right > before


def check_vacuous(limits: tuple[float, float]) -> tuple[float, float]:
    """Two shares in (0, 1], as stated in a question."""
    if len(limits) != 2 or not all(0.0 < float_of(limit, "vacuous") <= 1.0 for limit in limits):
        raise InvalidInput(f"vacuous={limits}, expected two shares in (0, 1]: of right guesses, and of removed doubt")
    return limits


def vacuous_reason(everyone: Iterable[Seen], names: Sequence[str], limits: tuple[float, float] = VACUOUS) -> str:
    """Why no certificate is given, in the words of a claim; empty where no attacker guesses nearly everything.

    What is guessed before any release is the smallest share of all attackers: one that reads W knows more, but W is
    released too.
    """
    worst: dict[int, tuple[float, float]] = {}
    rows = [row for seen in everyone for row in seen.guesses]
    blind: dict[int, float] = {}
    for row in rows:
        blind[row.before.tier] = min(blind.get(row.before.tier, 1.0), float(row.before.values.mean()))
    for row in rows:
        right, before = float(row.after.values.mean()), blind[row.before.tier]
        if is_vacuous(right, before, limits):
            worst[row.after.tier] = max(worst.get(row.after.tier, (0.0, 0.0)), (right, before))
    said = [f"{names[tier]} {right:.0%} (before any release {before:.0%})" for tier, (right, before) in worst.items()]
    return f"the release is vacuous, first guesses are right too often: {', '.join(said)}" if said else ""
