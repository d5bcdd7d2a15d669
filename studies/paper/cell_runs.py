"""Running cells: finished ones are skipped, damaged ones computed again and named, the rest spread over workers.

Every cell is written by the process that computed it, as soon as it is done: a run that is killed continues with the
cells that are not there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from oddshift.base.errors import InvalidInput, TamperedEvidence
from oddshift.base.execution import SERIAL, Execution, run
from studies.paper.cell_store import (
    Cell,
    FinishedCell,
    data_hashes,
    plain_values,
    read_cell,
    versions,
    write_cell,
)
from studies.paper.reproduction import Place
from studies.paper.reproductions import REPRODUCTIONS

Say = Callable[[str], None]
"""Told one line of progress at a time."""


@dataclass(frozen=True)
class Outcome:
    """What a run did: the cells in order, how many were there already, and which were recomputed, with the reason."""

    cells: tuple[FinishedCell, ...]
    skipped: int
    recomputed: tuple[str, ...]


@dataclass(frozen=True)
class _Task:
    cell: Cell
    place: Place
    command: str


def run_cells(
    cells: Sequence[Cell],
    place: Place,
    *,
    command: str = "",
    execution: Execution = SERIAL,
    say: Say = lambda line: None,
) -> Outcome:
    """Compute the cells that are not there, and return all."""
    hashes = [data_hashes(cell, place.data) for cell in cells]  # a missing file is said before any work is done
    done: dict[str, FinishedCell] = {}
    reasons: list[str] = []
    for cell, data in zip(cells, hashes, strict=True):
        found, why = _kept(cell, data, place.results)
        if found is not None:
            done[cell.file] = found
        elif why:
            reasons.append(f"{cell.file} {why}")
            say(f"computing again: {reasons[-1]}")
    skipped, missing = len(done), [cell for cell in cells if cell.file not in done]
    for name in dict.fromkeys(cell.name for cell in missing):
        require_packages(name, REPRODUCTIONS[name].packages)
    size, started = execution.workers if execution.kind != "serial" else 1, time.monotonic()
    for start in range(0, len(missing), size):
        part = missing[start : start + size]
        say(_progress(len(done), len(cells), start, time.monotonic() - started, part[0].file))
        tasks = [_Task(cell, place, command) for cell in part]
        done.update({found.file: found for found in run(_computed, tasks, execution)})
    return Outcome(tuple(done[cell.file] for cell in cells), skipped, tuple(reasons))


def changed_cells(cells: Sequence[Cell], place: Place, *, say: Say = lambda line: None) -> list[str]:
    """The files of cells that are kept and whose values are not bit for bit those of a fresh run, which keeps none."""
    changed = []
    for cell in cells:
        kept, why = _kept(cell, data_hashes(cell, place.data), place.results)
        if kept is None:
            raise InvalidInput(f"{cell.file} {why or 'is not there'}, expected a finished cell")
        require_packages(cell.name, REPRODUCTIONS[cell.name].packages)
        say(f"again: {cell.file}")
        if plain_values(REPRODUCTIONS[cell.name].compute(cell, place)) != kept.values:
            changed.append(cell.file)
    return changed


EXTRA_OF_PACKAGE = {"torch": "attackers", "spacy": "text", "scikit-learn": "tables"}
"""The extra of ours that each package belongs to which only some reproductions need."""


def require_packages(name: str, packages: Sequence[str]) -> None:
    """Refuse a reproduction whose packages are not installed, and say how to get them."""
    absent = [package for package in packages if not _is_installed(package)]
    if absent:
        extras = ",".join(EXTRA_OF_PACKAGE[package] for package in absent)
        raise InvalidInput(
            f"{name} needs {' and '.join(absent)}, which is not installed; get it with: pip install "
            f"'oddshift[{extras}]'"
        )


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _progress(done: int, total: int, computed: int, seconds: float, now: str) -> str:
    """A line of progress, with the time left as soon as one cell of this run is known.

    >>> _progress(3, 9, 2, 60.0, "toy/exact.json")
    '3 of 9 done, about 180 s left: toy/exact.json'
    """
    left = f", about {seconds / computed * (total - done):.0f} s left" if computed else ""
    return f"{done} of {total} done{left}: {now}"


def _kept(cell: Cell, data: dict[str, str], folder: Path) -> tuple[FinishedCell | None, str]:
    """The cell as it was kept, or why it cannot be used; no reason where there is no file."""
    path = folder / cell.file
    if not path.is_file():
        return None, ""
    try:
        found = read_cell(path)
    except TamperedEvidence as error:
        return None, f"is damaged ({error})"
    return (found, "") if found.answers(cell, data) else (None, "has other settings, seed or data")


def _computed(task: _Task) -> FinishedCell:
    cell, place, started = task.cell, task.place, time.process_time()
    reproduction = REPRODUCTIONS[cell.name]
    values = reproduction.compute(cell, place)
    finished = FinishedCell(
        name=cell.name,
        key=cell.key,
        command=task.command,
        settings=dict(cell.settings),
        seed=cell.seed,
        data=data_hashes(cell, place.data),
        versions=versions(reproduction.packages),
        cpu_seconds=round(time.process_time() - started, 2),
        values=plain_values(values),
    )
    return read_cell(write_cell(place.results, finished))
