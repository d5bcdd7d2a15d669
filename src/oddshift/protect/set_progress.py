"""How far the release of a data set is: parts, records, throughput and the time that is left."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from oddshift.protect.set_job import SetJob

_MEGA = 1e6


@dataclass(frozen=True, kw_only=True)
class SetProgress:
    """One step of a release (`read` or `released`): parts and bytes that are done, of how many, since it began."""

    step: str
    parts: int
    of: int
    records: int
    size: int
    total: int
    seconds: float

    @property
    def megabytes_per_second(self) -> float:
        """How fast the data are read."""
        return self.size / _MEGA / max(self.seconds, 1e-9)

    @property
    def seconds_left(self) -> float:
        """How long the rest takes at this rate."""
        return (self.total - self.size) / max(self.size, 1) * self.seconds

    @property
    def line(self) -> str:
        """The same in one line.

        >>> SetProgress(step="read", parts=1, of=4, records=2000, size=10**6, total=4 * 10**6, seconds=2.0).line
        'read 1 of 4 parts, 2,000 records, 1,000 records/s, 0.5 MB/s, 0:06 left'
        """
        minutes, seconds = divmod(round(self.seconds_left), 60)
        rate = f"{self.records / max(self.seconds, 1e-9):,.0f} records/s, {self.megabytes_per_second:.1f} MB/s"
        return (
            f"{self.step} {self.parts:,} of {self.of:,} parts, {self.records:,} records, {rate}, "
            f"{minutes}:{seconds:02d} left"
        )


Watch = Callable[[SetProgress], None]
"""Called after every part."""


@dataclass(eq=False)
class StepTrack:
    """How far one step is; `numbers` are the parts that it does."""

    step: str
    job: SetJob
    watch: Watch
    numbers: tuple[int, ...]
    records: int = 0

    def __post_init__(self) -> None:
        """Begin now."""
        self.began, self.seen = time.perf_counter(), set[int]()
        share = Counter(part.file for part in self.job.parts)
        self.sizes = [s[1] // share[p.file] for p, s in zip(self.job.parts, self.job.stamps, strict=True)]

    def add(self, number: int, records: int) -> None:
        """One more part."""
        if number in self.seen:
            return
        self.seen.add(number)
        self.records += records
        self.watch(
            SetProgress(
                step=self.step,
                parts=len(self.seen),
                of=len(self.numbers),
                records=self.records,
                size=sum(self.sizes[n] for n in self.seen),
                total=sum(self.sizes[n] for n in self.numbers),
                seconds=time.perf_counter() - self.began,
            )
        )
