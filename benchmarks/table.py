"""One line of a benchmark: what was measured, beside its baseline and its limit; and the table of many lines."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from oddshift.data.codecs.text import tokens
from oddshift.data.detectors import spans

T = TypeVar("T")


@dataclass(frozen=True)
class Line:
    """A measured quantity; `holds` is None where no limit was stated."""

    what: str
    measured: str
    baseline: str = ""
    ratio: str = ""
    limit: str = ""
    holds: bool | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        verdict = {True: "yes", False: "NO", None: ""}[self.holds]
        return (self.what, self.measured, self.baseline, self.ratio, self.limit, verdict)


HEADER = ("what", "measured", "baseline", "ratio", "limit", "holds")


def cpu(work: Callable[[], T]) -> tuple[T, float]:
    """The result and the CPU seconds of one call, in this process and in all that it started, living ones too."""
    others, own = _of_workers(), _own()  # in this order, so that looking at others is not counted
    result = work()
    used = _own() - own
    return result, used + _of_workers() - others


def spent() -> float:
    """CPU seconds so far: this process, children that ended, and workers that live on, with theirs."""
    return _own() + _of_workers()


def _own() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _of_workers() -> float:
    """CPU seconds of living descendants, with those of their ended children (Linux)."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it ended just now
            continue
        parents[int(path.parent.name)] = int(fields[1])
        ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))
    mine, found = {os.getpid()}, True
    while found:
        found = {pid for pid, parent in parents.items() if parent in mine} - mine
        mine |= found
    return sum(ticks[pid] for pid in mine - {os.getpid()}) / os.sysconf("SC_CLK_TCK")


def forget() -> None:
    """Forget which texts were cut and read before in this process, so that the next ones are new."""
    tokens._cut_before.cache_clear()
    spans._memory.cache_clear()


def markdown(lines: Sequence[Line]) -> str:
    """A table that reads well as text too."""
    rows = [HEADER, *(line.cells for line in lines)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)
