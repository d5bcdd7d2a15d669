"""The job of releasing a data set: what has to be done, in plain fields, kept in the hidden folder of the release.

Every worker reads it from there. What travels to a worker is the name of that folder and the number of a part, never a
record or a key.

How far the release of a data set is: parts, records, throughput and the time that is left.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import load
from oddshift.data.codecs import Counts
from oddshift.data.detectors.storage import KeptDetector
from oddshift.data.formats import DataFile
from oddshift.data.formats.data_set import DataPart, DataSet
from oddshift.protect.ledger.terms import Claimed
from oddshift.protect.policies import Policy
from oddshift.protect.report import ProtectSettings
from oddshift.protect.staging import JOB

POLICY_COPY = "policy"
SECRETS = "secrets"
CLAIM = "claim.npz"

SECRET_BYTES = 32
"""Length of each of the two keys: by which records are known, and by which shared secrets are drawn."""


class UnfinishedRelease(InvalidInput):
    """The release of a data set stopped before its end; what is done stays, and can be continued."""


@dataclass(frozen=True)
class PartTask:
    """What is sent to a worker: the hidden folder of a release, the number of a part, and that of the release."""

    folder: str
    number: int
    release: int = 0


@dataclass(frozen=True, kw_only=True)
class SetJob:
    """The parts of a data set, and how a policy is applied to them.

    `detector` is the one of the settings in plain fields, which they lack here; `ledger` is the address of a ledger
    that workers use themselves, `stamps` the time of change and the size of each part's file. `names` are the columns
    of the first file.
    """

    folder: str
    out: str
    policy: str
    names: tuple[str, ...]
    header: tuple[str, ...] | None
    parts: tuple[DataPart, ...]
    stamps: tuple[tuple[int, int], ...]
    asked: ProtectSettings
    detector: KeptDetector | None = None
    ledger: str = ""

    @property
    def settings(self) -> ProtectSettings:
        """The settings of the release, for one of its workers."""
        return replace(self.asked, detector=None if self.detector is None else self.detector.detector())

    @cached_property
    def data(self) -> DataSet:
        """Where the parts are."""
        folder = Path(self.folder)
        return DataSet(folder, tuple(folder / name for name in dict.fromkeys(part.file for part in self.parts)))

    def opened(self, number: int, policy: Policy) -> DataFile:
        """The records of a part, counted from 0; a file that has changed is refused."""
        part = self.parts[number]
        if stamp_of(self.data.folder / part.file) != self.stamps[number]:
            raise InvalidInput(f"{part.file} changed while the data set was read; nothing was released")
        return self.data.opened(part, policy.kind, self.header)


def stamp_of(path: Path) -> tuple[int, int]:
    """When a file changed last, and its size."""
    found = path.stat()
    return found.st_mtime_ns, found.st_size


@dataclass(frozen=True, kw_only=True)
class PartSurvey:
    """What the first pass found in a part: how many records, and JSON keys that the first object lacks."""

    number: int
    records: int
    new_keys: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class PartNote:
    """What was released as a part: counts, the SHA-256 and size of the file, and what it took."""

    number: int
    records: int
    tiers: tuple[int, ...]
    counts: Counts
    sha256: str
    size: int
    seconds: float
    megabytes: float


@dataclass(frozen=True, kw_only=True, eq=False)
class SetClaim:
    """What the claim of a whole data set found, by row number from 1; `firsts` is how many rows precede each part.

    `mark` names the input: a keyed hash of its records in their order.
    """

    claimed: Claimed
    firsts: IntArray
    mark: str
    new_keys: tuple[str, ...]


@dataclass(frozen=True)
class JobFolder:
    """The hidden folder of a data set that is being released."""

    home: Path

    def survey(self, number: int) -> Path:
        """What the first pass noted about a part: keys, users, trips, and a note."""
        return self.home / f"survey-{number:06d}"

    def claimed(self, number: int) -> Path:
        """What the claim of a part found, where workers claim."""
        return self.home / f"claimed-{number:06d}"

    def drawn(self, number: int) -> Path:
        """A released part and its note."""
        return self.home / f"drawn-{number:06d}"

    @property
    def job(self) -> SetJob:
        """The job."""
        found: SetJob = load(self.home / JOB, SetJob)
        return found

    @property
    def claim(self) -> SetClaim:
        """The claim; it is there before any noise is drawn."""
        found: SetClaim = load(self.home / CLAIM, SetClaim)
        return found

    def survey_note(self, number: int) -> PartSurvey:
        """What was found in a part."""
        found: PartSurvey = load(self.survey(number) / "note.json", PartSurvey)
        return found

    def note(self, number: int) -> PartNote:
        """What was released as a part."""
        found: PartNote = load(self.drawn(number) / "note.json", PartNote)
        return found

    def secrets(self) -> tuple[bytes, bytes]:
        """The key of records, and the key of shared secrets; the file is deleted when the release is finished."""
        both = (self.home / SECRETS).read_bytes()
        return both[:SECRET_BYTES], both[SECRET_BYTES:]


@contextmanager
def made_once(place: Path) -> Iterator[Path]:
    """A new folder that gets the name `place` when it is complete, unless another process was faster.

    **Guarantee**: `place` is complete or does not exist, and is never replaced; what a dead worker left has another
    name.
    """
    temporary = place.with_name(f"{place.name}.{secrets.token_hex(8)}")
    temporary.mkdir(mode=0o700)
    try:
        yield temporary
        try:
            os.rename(temporary, place)
        except OSError:
            if not place.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


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
