"""What varies in a sweep: the table `[sweep]` of a configuration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import product
from typing import Any, ClassVar

from oddshift.base.arrays import whole
from oddshift.base.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class SweepSettings:
    """What varies: every listed value with every other. What is not listed stays as the configuration has it.

    - `documents`: as many records, drawn at random (the same first ones for every seed).
    - `seed`: splits, noise and fits; tests are paired by it.
    - `epsilon`: budgets.
    - `mechanism`: names in `MECHANISMS`.
    - `scales`: lists of one factor of ε for each tier, from the most sensitive on.
    - `preset`: methods of the paper (`AmPL`, ...), whose loop finds the scales; these cells need `audit.delta`.
    - `rate_weight`, `loss_weight`: λ_1 and λ_2 of that loop.
    - `attackers`: names, one to a cell.
    - `temperature`: T of attackers of the paper.
    - `compare`: the name of what varies whose values are compared with its first one, pair by pair.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    documents: tuple[int, ...] = ()
    seed: tuple[int, ...] = ()
    epsilon: tuple[float, ...] = ()
    mechanism: tuple[str, ...] = ()
    scales: tuple[tuple[float, ...], ...] = ()
    preset: tuple[str, ...] = ()
    rate_weight: tuple[float, ...] = ()
    loss_weight: tuple[float, ...] = ()
    attackers: tuple[str, ...] = ()
    temperature: tuple[float, ...] = ()
    compare: str = ""

    def __post_init__(self) -> None:
        """Refuse an empty grid, and a comparison of what does not vary."""
        if not self.axes:
            raise InvalidInput("sweep lists nothing that varies, expected values such as epsilon = [1.0, 2.0]")
        if self.compare and len(self.axes.get(self.compare, ())) < 2:
            raise InvalidInput(f"compare={self.compare!r}, expected what has several values in this table")
        if self.scales and (self.preset or self.rate_weight or self.loss_weight):
            raise InvalidInput("scales are listed and found by a loop as well, expected one of both")
        for number in self.documents:
            whole(number, "documents", 3)

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """What varies, in the order in which cells are computed: what is read anew varies slowest."""
        return {f.name: values for f in fields(self) if isinstance(values := getattr(self, f.name), tuple) and values}

    @property
    def points(self) -> Iterator[dict[str, Any]]:
        """Every cell of the grid."""
        return (dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values()))
