"""One line of a benchmark: what was measured, beside its baseline and its limit; and the table of many lines."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

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
    """The result and the CPU seconds of one call."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def markdown(lines: Sequence[Line]) -> str:
    """A table that reads well as text too."""
    rows = [HEADER, *(line.cells for line in lines)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    text = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)
