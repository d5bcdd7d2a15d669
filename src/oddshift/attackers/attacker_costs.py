"""What attackers cost, roughly: CPU seconds from the sizes of the data, so that `"all"` can stop where time is short.

fit = fixed + positions·(each_position + points·each_entry), an epoch at a time for networks; reading a position costs
points·read_entry. Attackers that count in a verdict are fitted again on smaller parts and read again: that is included.
The constants were measured on one core; another machine differs by a factor, the same for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oddshift.model.records import Split

FITS, READS = 1.75, 2.5
"""Full fits that all fits of an attacker amount to (a quarter, a half, and all), and how often everything is read."""


@dataclass(frozen=True)
class AttackerCost:
    """Seconds for a fit, for each position (of an epoch), and for each position and point, to fit and to read."""

    fixed: float
    each_position: float
    each_entry: float
    read_entry: float
    epochs: int = 0

    def seconds(self, fit: int, read: int, points: int, epochs: int | None = None) -> float:
        """The cost with this many positions to fit and to read.

        >>> AttackerCost(1.0, 1e-3, 0.0, 1e-6).seconds(1_000, 1_000, 100)
        3.75
        """
        rounds = 1 if not self.epochs else min(self.epochs, epochs or self.epochs)
        fitting = self.fixed + rounds * fit * (self.each_position + points * self.each_entry)
        return FITS * fitting + READS * read * points * self.read_entry


NETWORK = AttackerCost(3.0, 1e-4, 1e-7, 2e-7, epochs=60)
"""Networks that read releases: three seconds to load torch, then as many epochs as they may take."""

COSTS: Mapping[str, AttackerCost] = {
    "exact": AttackerCost(0.0, 0.0, 0.0, 2e-7),
    "counts": AttackerCost(0.1, 1e-5, 1e-8, 2e-7),
    "portfolio": AttackerCost(0.5, 1e-4, 1e-8, 3e-7),
    "portfolio+W": AttackerCost(1.0, 2e-4, 1e-7, 4e-7),
    "language+W": AttackerCost(5.0, 2e-2, 1e-7, 4e-7),
    "masked": AttackerCost(8.0, 1.5e-4, 1e-7, 2e-5, epochs=12),
    "rnn": NETWORK,
    "lstm": NETWORK,
    "transformer": NETWORK,
    "lstm+W": NETWORK,
    "combination": NETWORK,
    "combination+W": NETWORK,
}
"""The cost of every attacker of our own; one of another package is taken to cost what `portfolio` does."""


def seconds_of(name: str, split: Split, epochs: int | None) -> float:
    """CPU seconds that this attacker takes in an audit of these data, roughly; `epochs` limits the training."""
    read = len(split.select.points) + len(split.certify.points)
    cost = COSTS.get(name, COSTS["portfolio"])
    return cost.seconds(len(split.fit.points), read, len(split.fit.space), epochs)


def in_order_of_cost(names: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """The cheapest first; in their order where they cost the same."""
    return sorted(names, key=lambda name: seconds[name])
