"""Whether one network for all scales may stand for networks trained at each: two of those are trained, to see.

The loop of the paper steps along the slope of a rate. A network for all scales that is too weak at the largest shows
no slope, and the loop then stays where it is or walks the wrong way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oddshift.adapt import AdaptSettings
from oddshift.app.attacker_choice import AskedAttacker, fit_attackers
from oddshift.attackers import FitOptions
from oddshift.attackers.attacker import Attacker, knowledge
from oddshift.attackers.fitting import PAPER_CONTROLS
from oddshift.base.errors import InvalidInput
from oddshift.data.preparation import Prepared
from oddshift.mechanisms.named import Family
from oddshift.model.release import perturb

LEAST_SLOPE, MOST_SLOPE = 0.5, 2.0
"""The rise of the amortised network has to lie between these multiples of that of networks trained at both scales."""

NO_RISE = 0.01
"""Rises below this on both sides are none."""


@dataclass(frozen=True)
class AmortisedCheck:
    """Shares of uniform pairs beyond ε at the smallest and the largest scale, by both kinds of networks."""

    attacker: str
    scales: tuple[float, float]
    amortised: tuple[float, float]
    retrained: tuple[float, float]

    @property
    def holds(self) -> bool:
        """Whether the share rises with the scale about as much.

        >>> AmortisedCheck("paper-rnn", (0.1, 1.0), (0.10, 0.11), (0.10, 0.19)).holds
        False
        >>> AmortisedCheck("paper-rnn", (0.1, 1.0), (0.10, 0.17), (0.10, 0.19)).holds
        True
        """
        mine, theirs = (high - low for low, high in (self.amortised, self.retrained))
        if max(abs(mine), abs(theirs)) < NO_RISE:
            return True
        return mine * theirs > 0 and LEAST_SLOPE <= mine / theirs <= MOST_SLOPE

    @property
    def sentence(self) -> str:
        """Both shares of both networks."""
        (low, high), (mine_low, mine_high), (low_rate, high_rate) = self.scales, self.amortised, self.retrained
        return (
            f"{self.attacker} was fitted once for all scales: {mine_low:.1%} of uniform pairs beyond epsilon at scale "
            f"{low:g} and {mine_high:.1%} at {high:g}, where networks trained at those scales have {low_rate:.1%} and "
            f"{high_rate:.1%}"
        )


def check_amortised(
    named: Sequence[AskedAttacker],
    fitted: Sequence[Attacker],
    prepared: Prepared,
    asked: AdaptSettings,
    family: Family,
) -> tuple[str, ...]:
    """A line for each network of the paper that was fitted once, which is refused unless it rises as others do."""
    names = {name for name in named if isinstance(name, str) and name.startswith("paper-")} - set(PAPER_CONTROLS)
    if not names:
        return ()
    from oddshift.attackers.paper import Paper
    from oddshift.attackers.temperature import share_beyond

    scales, said = (min(asked.grid), max(asked.grid)), []
    if scales[0] == scales[1]:
        return ()
    plain = FitOptions(epochs=asked.epochs, paper=asked.paper)
    for name, attacker in zip(named, fitted, strict=True):
        if name not in names or not isinstance(attacker, Paper):
            continue
        shares = []
        for scale in scales:
            tiers = prepared.tiers.with_scales((scale,) * len(prepared.tiers))
            known = knowledge(family(tiers), tiers, prepared.split.fit)
            release = perturb(prepared.split.select, known.mechanism, known.tiers, np.random.default_rng(asked.seed))
            alone = fit_attackers([name], known, prepared, replace(asked, gamma=None), plain)[0]
            assert isinstance(alone, Paper)
            shares.append([share_beyond(each, release, asked.epsilon) for each in (attacker.against(known), alone)])
        (low, alone_low), (high, alone_high) = shares
        found = AmortisedCheck(name, scales, (low, high), (alone_low, alone_high))
        if not found.holds:
            raise InvalidInput(f"{found.sentence}; expected adapt.retrain = true, or more epochs")
        said.append(found.sentence)
    return tuple(said)
