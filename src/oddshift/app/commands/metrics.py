"""What an operator counts: one release or one service, in a file in the text format of Prometheus.

The file is written when the command ends, whether it released something or not, and replaced in one step, so that a
collector of text files never reads half of it. It holds counts and seconds, never a name of a record or a column.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import write_atomic

if TYPE_CHECKING:
    from oddshift.protect import Ledger, Protected

BOUNDS = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
"""Seconds up to which claims are counted."""


@dataclass(eq=False)
class ReleaseMetrics:
    """What is counted; `ledger` is the ledger to use, whose claims are timed."""

    ledger: Ledger
    done: Protected | None = None
    records: int = 0
    refused: int = 0
    seconds: list[float] = field(default_factory=list)

    def text(self) -> str:
        """The same as Prometheus reads it.

        >>> from oddshift.protect import Ledger
        >>> ReleaseMetrics(Ledger("releases.db"), refused=2).text().splitlines()[2]
        'oddshift_records_released_total 0'
        """
        done = self.done
        is_written = done is not None and not done.is_dry_run
        released = done.records - done.dropped if done is not None and is_written else self.records
        marks = {} if done is None else {name: count.marked for name, count in done.kinds.items()}
        return "".join(
            (
                _metric("records_released_total", "counter", "Records that were released.", [("", released)]),
                _metric("claims_refused_total", "counter", "Claims that the ledger refused.", [("", self.refused)]),
                _metric(
                    "words_marked_total",
                    "counter",
                    "Words that were replaced by a mark, by kind.",
                    [(f'{{kind="{_escaped(kind)}"}}', count) for kind, count in marks.items()],
                ),
                _histogram(self.seconds),
            )
        )


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _metric(name: str, kind: str, what: str, values: Iterable[tuple[str, float]]) -> str:
    head = f"# HELP oddshift_{name} {what}\n# TYPE oddshift_{name} {kind}\n"
    return head + "".join(f"oddshift_{name}{labels} {value}\n" for labels, value in values)


def _histogram(seconds: list[float]) -> str:
    name = "claim_seconds"
    buckets = [(f'_bucket{{le="{bound:g}"}}', sum(s <= bound for s in seconds)) for bound in BOUNDS]
    rest = [('_bucket{le="+Inf"}', len(seconds)), ("_sum", round(sum(seconds), 6)), ("_count", len(seconds))]
    return _metric(name, "histogram", "Seconds that claims in the ledger took.", [*buckets, *rest])


@contextmanager
def measured(path: Path | None, ledger: Ledger) -> Iterator[ReleaseMetrics]:
    """Count what is done with a ledger, and write it at the end; nothing is counted where no file was named."""
    found = ReleaseMetrics(ledger)
    if path is None:
        yield found
        return
    if not path.parent.is_dir():
        raise InvalidInput(f"{path.parent} is not a folder, expected one to write {path.name} into")
    found.ledger = ledger.watched(lambda claim: _timed(found, claim))
    try:
        yield found
    finally:
        write_atomic(path, found.text().encode())


def _timed(found: ReleaseMetrics, claim: Any) -> Any:
    """A claim, counted."""
    began = time.perf_counter()
    try:
        claimed = claim()
    except InvalidInput:
        found.refused += 1
        raise
    finally:
        found.seconds.append(time.perf_counter() - began)
    found.records += claimed.records
    return claimed
