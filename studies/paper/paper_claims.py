"""The paper's claims, one row each: what it says, its table recomputed, paper mode with controls, sound mode, verdict.

A verdict is computed from cells and from printed tables. None rests on a matched temperature, and a claim whose cells
were not run says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from studies.paper.cell_store import FinishedCell, read_cells
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS
from studies.paper.reproductions import REPRODUCTIONS

HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told"
NOT_RUN = "not run"

TablePlace = tuple[str, str, float, str]
"""A place in the table of violations: corpus, attacker, ε and method."""


@dataclass(frozen=True, kw_only=True)
class PaperClaim:
    """One row of the table of claims; `files` are the cells behind it, relative to the folder of results.

    `verdict` judges the claim as it is stated, and `used` the use that is made of it, where that differs: a correct
    proposition may be applied where its conditions do not hold. `settles` is what would tell an open one.
    """

    says: str
    paper: str
    recomputed: str = "-"
    paper_mode: str = "-"
    controls: str = "-"
    sound: str = "-"
    verdict: str
    reason: str
    used: str = ""
    settles: str = ""
    files: tuple[str, ...] = ()

    @property
    def as_used(self) -> str:
        """The verdict on its use, which is that on the claim where the two do not differ."""
        return self.used or self.verdict

    @property
    def why(self) -> str:
        """The reason, and what would settle a claim that cannot be told."""
        return f"{self.reason} To settle it: {self.settles}." if self.settles else self.reason


@dataclass(frozen=True)
class Results:
    """All finished cells of a folder, by reproduction and key."""

    folder: Path
    cells: Mapping[str, Mapping[str, FinishedCell]] = field(repr=False)

    @classmethod
    def of(cls, folder: Path) -> Results:
        """Read every cell; a damaged one is refused."""
        return cls(folder, {name: {c.key: c for c in read_cells(folder, name)} for name in REPRODUCTIONS})

    def values(self, name: str, key: str) -> Mapping[str, Any] | None:
        """The values of a cell, None where it was not run."""
        cell = self.cells[name].get(key)
        return None if cell is None else cell.values

    def files(self, name: str, start: str = "") -> tuple[str, ...]:
        """The files of the cells of a reproduction whose keys start so."""
        return tuple(cell.file for key, cell in self.cells[name].items() if key.startswith(start))

    @cached_property
    def table(self) -> dict[TablePlace, list[Mapping[str, Any]]]:
        """Rows of the table of violations by corpus, attacker, ε and method, one for each seed of all methods."""
        return self._rows(self.whole_networks())

    @cached_property
    def paired(self) -> dict[TablePlace, list[Mapping[str, Any]]]:
        """The same with the seeds in which only some methods were run, where every network was trained from nothing."""
        return self._rows([cell for cell in self._networks if "tuning_epochs" not in cell.settings])

    @property
    def _networks(self) -> list[FinishedCell]:
        cells = [c for c in self.cells["table-violations"].values() if c.settings["kind"] == "network"]
        return sorted(cells, key=lambda cell: cell.seed)

    def _rows(self, cells: Sequence[FinishedCell]) -> dict[TablePlace, list[Mapping[str, Any]]]:
        found: dict[TablePlace, list[Mapping[str, Any]]] = {}
        for cell in cells:
            corpus, attacker = str(cell.settings["corpus"]), str(cell.settings["attacker"])
            for row in cell.values["rows"]:
                found.setdefault((corpus, attacker, row["epsilon"], row["method"]), []).append(row)
        return found

    def whole_networks(self, corpus: str = "", attacker: str = "") -> list[FinishedCell]:
        """The cells of the table, seed by seed, without those in which only some methods were run."""
        whole = [cell for cell in self._networks if "methods" not in cell.settings]
        return [cell for cell in whole if cell.key.startswith(f"{corpus}-{attacker}" if corpus else "")]

    def rates(self, place: TablePlace) -> list[float]:
        """Ratios at T = 1 by seed, in percent, of all seeds in which the method was run."""
        return [100 * float(row["rules"]["one"]["rate"]) for row in self.paired.get(place, ())]

    def mean(self, place: TablePlace, rule: str, what: str) -> float | None:
        """The mean over seeds of a number of a row, in percent; None where it was not run."""
        rows = self.table.get(place)
        return None if not rows else 100 * float(np.mean([row["rules"][rule][what] for row in rows]))

    def spread(self, place: TablePlace, rule: str) -> float | None:
        """The standard deviation over seeds of a rate, in percent; None for fewer than two."""
        rows = self.table.get(place, [])
        return None if len(rows) < 2 else 100 * float(np.std([row["rules"][rule]["rate"] for row in rows], ddof=1))

    @cached_property
    def places(self) -> list[tuple[str, str, float]]:
        """Corpus, attacker and ε of all cells of the table that were run."""
        return [(c, a, e) for c in CORPORA for a in ATTACKERS for e in EPSILONS if (c, a, e, "EM") in self.table]

    @cached_property
    def sound_rows(self) -> dict[tuple[str, float, str], Mapping[str, Any]]:
        """Rows of sound mode by corpus, ε and method."""
        cells = [c for c in self.cells["table-violations"].values() if c.settings["kind"] == "sound"]
        return {
            (str(c.settings["corpus"]), row["epsilon"], row["method"]): row for c in cells for row in c.values["rows"]
        }

    def gaps(self, first: str, second: str, what: str, rule: str = "one") -> list[float]:
        """first − second of a number over all places that were run, in points."""
        pairs = [[self.mean((*place, method), rule, what) for method in (first, second)] for place in self.places]
        return [a - b for a, b in pairs if a is not None and b is not None]


ClaimOf = Callable[[Results], PaperClaim]


def count(values: Sequence[bool]) -> str:
    """How many of how many.

    >>> count([True, False, True])
    '2 of 3'
    """
    return f"{sum(values)} of {len(values)}"


def sound_says(results: Results) -> tuple[str, str]:
    """Bounds of EM and AmPL in sound mode, and whether AmPL is surely lower everywhere or surely higher somewhere.

    Overlapping intervals decide nothing, so that the claim can then not be told.
    """
    rows = results.sound_rows
    if not rows:
        return NOT_RUN, UNKNOWN
    largest = {
        name: max(row["uniform"]["upper"] for (_, _, method), row in rows.items() if method == name)
        for name in ("EM", "AmPL")
    }
    both = [
        (row["uniform"], rows[corpus, epsilon, "AmPL"]["uniform"])
        for (corpus, epsilon, method), row in rows.items()
        if method == "EM"
    ]
    below = [ampl["upper"] < em["lower"] for em, ampl in both]
    above = [ampl["lower"] > em["upper"] for em, ampl in both]
    said = (
        f"EM at most {largest['EM']:.1%}, AmPL at most {largest['AmPL']:.1%}; AmPL surely lower in {count(below)}, "
        f"surely higher in {count(above)}"
    )
    return said, HOLDS if all(below) else FAILS if any(above) else UNKNOWN
