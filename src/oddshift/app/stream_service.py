"""A service for streams: lines are read as they come, answered in order, and every answer is sent at once.

No more is read than is being answered, so a reader that does not take answers stops the stream. SIGTERM ends the
service after the lines that were read are answered.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from oddshift.base.errors import InvalidInput
from oddshift.data.formats.streams import LONGEST_RECORD
from oddshift.protect.stream import ReleaseStream, refusal

CHUNK = 1 << 16
"""Bytes that are read at once; a performance setting."""

_PATIENCE = 0.2  # seconds after which a signal is noticed while nothing comes


def serve(stream: ReleaseStream, source: int, send: Callable[[str], object]) -> int:
    """Answer the lines of a descriptor until it ends or SIGTERM comes; returns how many lines were read."""
    with _until_terminated() as is_over:
        for lines in _lines(source, is_over):
            for answer in _answers(stream, lines):
                send(answer)
    for answer in stream.end():
        send(answer)
    return stream.number


def _answers(stream: ReleaseStream, lines: list[bytes]) -> Iterator[str]:
    """The answers to some lines; one that is not UTF-8 is refused by itself."""
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
