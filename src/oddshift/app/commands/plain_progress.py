"""Progress where standard error is not a terminal: a plain line now and then, for logs of long work.

Nothing is said about work that ends within seconds. Lines hold names of steps, counts and times, never a value.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from oddshift.base.progress import Progress

FIRST, EVERY = 5.0, 10.0
"""Seconds before the first line, and between two lines about the same step."""

Clock = Callable[[], float]


def progress_line(what: str, done: int, total: int, seconds: float) -> str:
    """What is being done, which share is done, and how long the rest of this step takes at the same pace.

    >>> progress_line("scales", 3, 12, 30.0)
    'scales: 25 % done after 30 s, about 90 s left in this step'
    """
    if seconds < 1:
        return what
    if not 0 < done < total:
        return f"{what}: {seconds:.0f} s so far"
    left = seconds * (total - done) / done
    return f"{what}: {100 * done / total:.0f} % done after {seconds:.0f} s, about {left:.0f} s left in this step"


class PlainProgress:
    """A `Progress` that writes a line when a step begins and `EVERY` seconds later, but none in the `FIRST` seconds."""

    def __init__(self, what: str, write: Callable[[str], object], clock: Clock = time.monotonic) -> None:
        """`write` takes one line; `clock` gives seconds."""
        self._write, self._clock, self._lock = write, clock, threading.Lock()
        self._begun = self._step_begun = clock()
        self._last = self._begun + FIRST - EVERY
        self._step = (what, 0, 0)

    def __call__(self, what: str, done: int, total: int) -> None:
        """Note how far the work is; a new step is said at once."""
        with self._lock:
            now = self._clock()
            is_new = what != self._step[0]
            self._step = (what, done, total)
            if is_new:
                self._step_begun = now
            self._say(now, at_once=is_new)

    def tick(self) -> None:
        """Say how far the work is if it is time to."""
        with self._lock:
            self._say(self._clock(), at_once=False)

    def _say(self, now: float, *, at_once: bool) -> None:
        if now - self._begun < FIRST or not (at_once or now - self._last >= EVERY):
            return
        self._last = now
        self._write(progress_line(*self._step, now - self._step_begun))


@contextmanager
def plain_progress(what: str) -> Iterator[Progress]:
    """Lines on standard error while something is done, also where a single step takes long."""
    told, ended = PlainProgress(what, to_standard_error), threading.Event()

    def watch() -> None:
        while not ended.wait(1.0):
            told.tick()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield told
    finally:
        ended.set()
        watcher.join()


def to_standard_error(line: str) -> None:
    """Write one line at once."""
    print(line, file=sys.stderr, flush=True)
