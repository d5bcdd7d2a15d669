"""An attacker that is fitted again for every mechanism, as the paper does in every round of its loop.

This is expensive and rarely needed: our own attackers estimate only the context, and work against any mechanism.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from oddshift.attackers.attacker import Attacker, Beliefs, Knowledge
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.model.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class Retrained:
    """A fitted attacker and how it was fitted; under another mechanism it is fitted again."""

    fit: Callable[[Knowledge], Attacker]
    fitted: Attacker

    @property
    def fingerprint(self) -> str:
        """The fitted attacker, and the way it was fitted where that has a name of its own."""
        try:
            return content(self)
        except InvalidInput:
            return content(self, without=("fit",))

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.fitted.name

    @property
    def with_context(self) -> bool:
        """Whether it reads W."""
        return self.fitted.with_context

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Those of the fitted attacker."""
        return self.fitted.beliefs(release)

    def against(self, known: Knowledge) -> Retrained:
        """Fitted against another mechanism."""
        return Retrained(self.fit, self.fit(known))
