"""What happened to the data: what was found, what became of it, and how many secrets may have been missed.

This is reported before any certificate, because a certificate is only about what was found.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True, kw_only=True)
class KindFate:
    """One kind of secret: found = perturbed + marked + left, and how many of those perturbed came out unchanged.

    `unchanged` is counted in a release that is drawn for this and thrown away.
    """

    name: str
    found: int
    perturbed: int
    marked: int = 0
    left: int = 0
    unchanged: int = 0


@dataclass(frozen=True, kw_only=True)
class DataFate:
    """Every kind, the most frequent first; counts and shares, never a value.

    `planted` public names were put into the user's own sentences and `recalled` of them found; `recall` is the interval
    of the share, None where nothing was planted. `nearest` is the median distance from a value to the nearest other
    value of its tier, which says in words what a budget means.

    >>> one = KindFate(name="PERSON", found=4, perturbed=3, marked=1, unchanged=1)
    >>> DataFate(kinds=(one, one)).total.found, DataFate(kinds=(one,)).odds(1.0)
    (8, None)
    >>> round(DataFate(kinds=(one,), nearest=2.0).odds(0.5), 3)
    2.718
    """

    kinds: tuple[KindFate, ...]
    planted: int = 0
    recalled: int = 0
    recall: tuple[float, float] | None = None
    nearest: float | None = None

    @property
    def total(self) -> KindFate:
        """All kinds together."""
        names = ("found", "perturbed", "marked", "left", "unchanged")
        return KindFate(name="all", **{name: sum(getattr(kind, name) for kind in self.kinds) for name in names})

    @property
    def marked_share(self) -> float:
        """The share of marks among the words that do not stay as they are."""
        changed = self.total.perturbed + self.total.marked
        return self.total.marked / changed if changed else 0.0

    def odds(self, epsilon: float) -> float | None:
        """By how much the odds between a value and its nearest alternative may change within ε."""
        return None if self.nearest is None else exp(min(700.0, epsilon * self.nearest))
