"""The means of an answer: workers, a folder for unfinished work, a limit of CPU seconds, and fits that exist.

What work is expected to cost, from the sizes of the data and from unit costs that were measured.

An estimate and nothing more: the unit costs are those of one machine, rounded, and the work depends on what is found.
On the data of docs/studies/real_tables.md it was within a factor of two; docs/benchmarks.md has the measurements.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from oddshift.attackers import UNTRAINED
from oddshift.attackers.attacker import Attacker
from oddshift.audit.settings import CpuLimit
from oddshift.base.execution import SERIAL, Execution, Progress, Say, silent
from oddshift.data.preparation import Prepared
from oddshift.protect.measurement import MOST_ROWS


@dataclass(frozen=True, kw_only=True)
class Means:
    """What an answer may cost and where unfinished work is kept; this never changes the question.

    `folder` keeps unfinished work, so that the same question continues. `limit` bounds the CPU seconds of an audit, by
    fewer documents. `fits` holds attackers by everything that determines their fit: those in it are not fitted again,
    and newly fitted ones are added.
    """

    execution: Execution = SERIAL
    folder: Path | None = None
    limit: CpuLimit | None = None
    progress: Progress = silent
    fits: dict[str, Attacker] = field(default_factory=dict, repr=False)


MEGABYTE = 1e6

WORTH_SAYING = 5.0
"""CPU seconds below which nothing is said before work begins."""

LARGE_FILE = 10.0
"""Megabytes from which on something is said before a file is read."""


@dataclass(frozen=True)
class UnitCosts:
    """CPU seconds of each piece of work on data of one kind; memory: `base` megabytes, and bytes of two kinds.

    `audit` and `adapt` are for each unit of `work_size`, in addition to `fixed`; `fit` is what an adaptation needs in
    addition where no audit kept its attackers; `measure` is for each cell of a table whose release is drawn. Bytes are
    for each secret, and for each unit of work.
    """

    fixed: float
    audit: float
    adapt: float
    fit: float
    measure: float = 0.0
    base: float = 100.0
    bytes_each: float = 1_500.0
    bytes_work: float = 0.0


UNITS: dict[str, UnitCosts] = {
    "table": UnitCosts(fixed=2.5, audit=18e-6, adapt=13e-6, fit=5e-6, measure=8e-5),
    "location": UnitCosts(fixed=0.5, audit=7e-6, adapt=9e-6, fit=2.5e-6, bytes_each=0.0, bytes_work=65.0),
}
"""By kind of data; the cost of others depends too much on what is found in them."""

READ, INIT, PROTECT = 0.35, 0.55, 0.65
"""CPU seconds for each megabyte of a table or of places that is read, looked at by `init`, or released."""

INIT_MEMORY = 12.0
"""Bytes of memory for each byte of a file that is looked at."""


@dataclass(frozen=True)
class ExpectedCost:
    """CPU seconds and megabytes of memory.

    >>> ExpectedCost(73.2, 416.0).line("7,874 rows")
    'expected: about 73 CPU s and 420 MB of memory (estimated from 7,874 rows; this may be off by a factor of 2)'
    """

    seconds: float
    megabytes: float

    def line(self, basis: str) -> str:
        """What is said before the work begins."""
        memory = f" and {_two_digits(self.megabytes)} MB of memory" if self.megabytes else ""
        estimate = f"estimated from {basis}; this may be off by a factor of 2"
        return f"expected: about {_two_digits(self.seconds)} CPU s{memory} ({estimate})"


def work_size(prepared: Prepared) -> float:
    """What the work grows with: for tables, pairs of cells that are read together; for places, fixes times cells."""
    lengths = np.concatenate([part.lengths for part in prepared.split.parts]).astype(np.float64)
    if prepared.kind == "table":
        return float((lengths**2).sum())
    return float(lengths.sum()) * len(prepared.split.fit.space)


def cost_of_audit(prepared: Prepared, attackers: Sequence[object]) -> ExpectedCost | None:
    """What an audit of prepared data costs from here on; None where no unit costs are known."""
    units = _units(prepared, attackers)
    if units is None:
        return None
    seconds = units.fixed + units.audit * work_size(prepared) + units.measure * _drawn_cells(prepared)
    return ExpectedCost(seconds, _memory(prepared, units))


def cost_of_adaptation(prepared: Prepared, attackers: Sequence[object], *, are_fitted: bool) -> ExpectedCost | None:
    """What an adaptation costs from here on; `are_fitted` says that an audit kept its attackers."""
    units = _units(prepared, attackers)
    if units is None:
        return None
    each = units.adapt + (0.0 if are_fitted else units.fit)
    return ExpectedCost(units.fixed + each * work_size(prepared), _memory(prepared, units))


def basis_of_cost(prepared: Prepared) -> str:
    """The sizes that an estimate comes from, in words."""
    secrets, together = _secrets(prepared), sum(map(len, prepared.split.parts))
    if prepared.kind == "table":
        return f"{secrets:,} cells, {secrets / max(together, 1):.0f} at a time read together"
    return f"{secrets:,} fixes in {len(prepared.split.fit.space):,} cells"


def say_cost_of_file(file: Path, each: float, say: Say, *, memory: float = 0.0, what: str = "") -> None:
    """Say what a large file is expected to cost, at `each` CPU second for a megabyte; `what` names a part of it."""
    cost = cost_of_file(file.stat().st_size, each, memory)
    if cost is not None:
        say(cost.line(f"the size of the file{what}"))


def cost_of_file(size: int, each: float, memory: float = 0.0) -> ExpectedCost | None:
    """What a file of some bytes costs at `each` CPU second for a megabyte; None for one that takes no time."""
    megabytes = size / MEGABYTE
    return None if megabytes < LARGE_FILE else ExpectedCost(2.0 + each * megabytes, memory * megabytes)


def _units(prepared: Prepared, attackers: Sequence[object]) -> UnitCosts | None:
    """Unit costs; none where an attacker is trained, which takes as long as it is allowed to."""
    known = all(isinstance(name, str) and name in UNTRAINED for name in attackers)
    return UNITS.get(prepared.kind) if known else None


def _drawn_cells(prepared: Prepared) -> float:
    """Cells of the release that is drawn and measured at the end."""
    if prepared.columns is None:
        return 0.0
    rows = len(next(iter(prepared.columns.values())))
    return float(min(rows, MOST_ROWS) * len(prepared.tiers))


def _secrets(prepared: Prepared) -> int:
    return sum(len(part.points) for part in prepared.split.parts)


def _memory(prepared: Prepared, units: UnitCosts) -> float:
    return units.base + (units.bytes_each * _secrets(prepared) + units.bytes_work * work_size(prepared)) / MEGABYTE


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):,.0f}"
