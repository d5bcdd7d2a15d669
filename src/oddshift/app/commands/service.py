"""What an operator counts: one release or one service, in a file in the text format of Prometheus.

The file is written when the command ends, whether it released something or not, and replaced in one step, so that a
collector of text files never reads half of it. It holds counts and seconds, never a name of a record or a column.

A service for streams: lines are read as they come, answered in order, and every answer is sent at once.

No more is read than is being answered, so a reader that does not take answers stops the stream. SIGTERM ends the
service after the lines that were read are answered.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oddshift.base.errors import InvalidInput
from oddshift.base.storage import write_atomic

if TYPE_CHECKING:
    from oddshift.protect import Ledger, Protected
    from oddshift.protect.stream import ReleaseStream


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


CHUNK = 1 << 16
"""Bytes that are read at once; a performance setting."""

_PATIENCE = 0.2  # seconds after which a signal is noticed while nothing comes


def serve(stream: ReleaseStream, source: int, send: Callable[[str], object]) -> int:
    """Answer the lines of a descriptor until it ends or SIGTERM comes; returns how many lines were read."""
    with _until_terminated() as is_over:
        for lines in _lines(source, is_over):
            for answer in _answers(stream, lines):
                send(answer)
    return stream.number


def _answers(stream: ReleaseStream, lines: list[bytes]) -> Iterator[str]:
    """The answers to some lines; one that is not UTF-8 is refused by itself."""
    from oddshift.protect.stream import refusal

    try:
        yield from stream.answers([line.decode("utf-8") for line in lines])
        return
    except UnicodeDecodeError:
        pass
    for line in lines:
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:  # its message quotes the line
            yield refusal(InvalidInput("the line is not UTF-8, expected a JSON object"))
            continue
        yield from stream.answers([text])


def _lines(source: int, is_over: Callable[[], bool]) -> Iterator[list[bytes]]:
    """Whole lines, as many as wait; the last one may lack its end."""
    from oddshift.data.formats.data_file import LONGEST_RECORD

    rest = b""
    while not is_over():
        if not select.select([source], [], [], _PATIENCE)[0]:
            continue
        data = os.read(source, CHUNK)
        *lines, rest = (rest + data).split(b"\n")
        if not data and rest:
            lines, rest = [rest], b""
        if len(rest) > LONGEST_RECORD:
            raise InvalidInput(f"a line has over {LONGEST_RECORD} bytes, expected shorter records")
        if lines:
            yield lines
        if not data:
            return


@contextmanager
def _until_terminated() -> Iterator[Callable[[], bool]]:
    """A function that says whether SIGTERM came; the signal does nothing else."""
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGTERM, before)
