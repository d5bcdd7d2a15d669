"""A reproduction: one name of `python -m studies.paper`, what it is about, its cells, and how one is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from oddshift.base.arrays import one_of, whole
from studies.paper.cell_store import Cell

ReproductionScale = Literal["small", "full"]
"""`small`: fewer documents, epochs and seeds, as the page says; `full`: all of them."""

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class ReproductionOptions:
    """How much is computed: the scale, the number of seeds, and which cells.

    `start` is what the keys of the cells must start with, such as the name of a corpus.
    """

    scale: ReproductionScale = "small"
    seeds: int = 3
    start: str = ""

    def __post_init__(self) -> None:
        """Check every option."""
        one_of(self.scale, "scale", get_args(ReproductionScale))
        whole(self.seeds, "seeds", 1)


@dataclass(frozen=True)
class Place:
    """Where data is read, and where finished cells are."""

    data: Path
    results: Path


@dataclass(frozen=True)
class Reproduction:
    """One name of `python -m studies.paper`; `packages` are those of an extra that it needs."""

    about: str
    cells: Callable[[ReproductionOptions], list[Cell]]
    compute: Callable[[Cell, Place], Values]
    packages: tuple[str, ...] = ()
