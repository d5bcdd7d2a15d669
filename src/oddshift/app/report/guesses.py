"""Right first guesses about a tier, by what a reader sees: what the second answer of a first screen is drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from oddshift.app.report.wording import percent
from oddshift.audit.verdict import is_vacuous
from oddshift.model.nouns import Nouns

READABLE = (0.5, 0.5)
"""A tier is readable where at least this share of first guesses is right, and at least this share of the doubt before
the release is gone. A release with such a tier is not to be published as it is, whatever the certificate says."""

NOTICEABLE = 0.01
"""Right guesses beyond those before any release, from which share on a tier counts as one that a reader learns of."""


@dataclass(frozen=True)
class Guessed:
    """Right first guesses about one tier, and its worst pairs; None where nothing was measured or certified.

    `before` any release, from what is `public` alone, from the release of that secret `alone`, and from all `together`;
    `most` is a certified upper bound on the last.
    """

    tier: str
    before: float
    public: float | None
    alone: float
    together: float
    most: float | None
    worst: float | None

    @property
    def reach(self) -> float:
        """The share that is guessed, at most where that is certified."""
        return self.together if self.most is None else self.most

    @property
    def gains(self) -> bool:
        """Whether more are guessed than before any release; a column of nearly one value is guessed without one."""
        return self.together - self.before > NOTICEABLE

    @property
    def is_readable(self) -> bool:
        """Whether a reader has most of the tier, and has it from the release."""
        return is_vacuous(self.together, self.before, READABLE)

    def steps(self, nouns: Nouns) -> tuple[tuple[str, float], ...]:
        """What is guessed by what a reader sees, from nothing to the whole record."""
        shares = (
            ("before any release", self.before),
            (f"from {nouns.public} alone", self.public),
            ("from its own release alone", self.alone),
            (f"from the whole {nouns.record}", self.together),
        )
        return tuple((name, share) for name, share in shares if share is not None)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        shares = (self.before, self.public, self.alone, self.together, self.most, self.worst)
        return (self.tier, *("-" if value is None else percent(value) for value in shares))
