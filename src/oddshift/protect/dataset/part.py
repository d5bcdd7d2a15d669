"""What a worker does with one part of a data set: note the keys of its records, and release it once they are claimed.

Both are functions of a `PartTask`. A worker that dies leaves nothing that counts, and its part is done again; where two
workers do one part, the first that finishes counts.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.base.storage import save
from oddshift.data.codecs.place_codec import trips_of
from oddshift.data.formats import DataFile
from oddshift.data.formats.data_file import uncounted
from oddshift.protect.dataset.job import (
    CLAIM,
    POLICY_COPY,
    JobFolder,
    PartNote,
    PartSurvey,
    PartTask,
    SetClaim,
    SetJob,
    made_once,
)
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.terms import Claimed, as_rows
from oddshift.protect.overrides import Overrides, SharedRecords, kept_cells
from oddshift.protect.policies import Policy, load_policy
from oddshift.protect.record_identity import Survey, survey
from oddshift.protect.record_keys import RecordKeys
from oddshift.protect.release_work import ReleaseWork
from oddshift.protect.report import ProtectSettings
from oddshift.protect.sanitizer import Sanitizer

WORKER_ROW_BYTES = 300_000_000
"""Memory of a worker for rows of the mechanism; a performance setting that never changes what is released."""

KEYS, TRIPS, DATA = "keys", "trips", "data"


@dataclass(frozen=True, eq=False, repr=False)
class _Opened:
    """A job, ready to work on: read once by every worker, and kept for its next part."""

    folder: JobFolder
    job: SetJob
    settings: ProtectSettings
    policy: Policy
    sanitizer: Sanitizer
    keys: RecordKeys

    def work(self, number: int) -> ReleaseWork:
        """The policy applied to one part."""
        file = self.job.opened(number, self.policy)
        _refuse_other_keys(file, self.job)
        return ReleaseWork(self.policy, self.settings, file, shared_sanitizer=self.sanitizer)


@lru_cache(maxsize=1)
def _opened(folder: str) -> _Opened:
    place = JobFolder(Path(folder))
    job, (record_key, noise_key) = place.job, place.secrets()
    settings, policy = job.settings, load_policy(place.home / POLICY_COPY)
    sanitizer = Sanitizer(policy, detector=settings.detector, key=noise_key, row_bytes=WORKER_ROW_BYTES)
    return _Opened(place, job, settings, policy, sanitizer, RecordKeys(record_key))


def forget_job() -> None:
    """Forget the job that this process worked on last."""
    _opened.cache_clear()


def survey_part(task: PartTask) -> PartSurvey:
    """Read a part once, and note the key of every record."""
    opened = _opened(task.folder)
    place = opened.folder.survey(task.number)
    if not place.is_dir():
        work = opened.work(task.number)
        with made_once(place) as home:
            is_open = opened.settings.allow_new_keys
            found = survey(work.file, work.known, opened.keys, home / KEYS, allow_new_keys=is_open)
            if not found.records:
                raise InvalidInput(f"{opened.job.parts[task.number].name} has 0 records, expected at least 1")
            _note_trips(work, opened, home / TRIPS)
            note = PartSurvey(number=task.number, records=found.records, new_keys=found.new_keys)
            save(home / "note.json", note, mode=0o600)
    return opened.folder.survey_note(task.number)


def claim_part(task: PartTask) -> PartSurvey:
    """Claim the records of a part in a ledger that all workers use; a part that was claimed is not claimed again."""
    opened = _opened(task.folder)
    place, part = opened.folder.claimed(task.number), opened.job.parts[task.number]
    if not place.is_dir():
        work = opened.work(task.number)
        batches = Survey(work.known, opened.folder.survey(task.number) / KEYS).batches()
        try:
            found = Ledger(opened.job.ledger).claim_part(batches, work.terms, task.release, task.number + 1)
        except InvalidInput as error:
            raise InvalidInput(f"{part.name}: {error}") from error
        with made_once(place) as home:
            save(home / CLAIM, found, mode=0o600)
    return opened.folder.survey_note(task.number)


def joined_claim(claims: Sequence[Claimed], firsts: IntArray) -> Claimed:
    """What the claims of all parts found together, by row numbers from 1; `firsts` is how many rows precede each."""

    def all_of(rows: Callable[[Claimed], IntArray]) -> IntArray:
        return np.concatenate([rows(claim) + before for claim, before in zip(claims, firsts, strict=False)])

    far = np.concatenate([one.elsewhere for one in claims])
    rows = all_of(lambda one: one.elsewhere[:, 0])
    copies = [all_of(lambda one: one.copies), np.stack([rows, firsts[far[:, 1] - 1] + far[:, 2]], axis=1)]
    every = np.concatenate(copies)
    return Claimed(
        release=claims[0].release,
        records=sum(one.records for one in claims),
        repeated=all_of(lambda one: one.repeated),
        copies=every[np.argsort(every[:, 0], kind="stable")],
        kept=all_of(lambda one: one.kept),
        past=all_of(lambda one: one.past),
        composed=max(one.composed for one in claims),
        share=max(one.share for one in claims),
        chance=max(one.chance for one in claims),
        rows_again=sum(one.rows_again for one in claims),
        noisier=all_of(lambda one: one.noisier),
    )


def draw_part(task: PartTask) -> PartNote:
    """Release a part whose records are claimed; a part that is there already stays as it is."""
    opened = _opened(task.folder)
    place, began = opened.folder.drawn(task.number), time.perf_counter()
    if not place.is_dir():
        claim = _claim_of(task.folder)
        plain = opened.work(task.number)
        keys = Survey(plain.known, opened.folder.survey(task.number) / KEYS)
        work = replace(plain, shared=SharedRecords(shared_rows(claim, task.number), keys.key))
        with made_once(place) as home:
            with kept_cells(home / "cells.db") as cells:
                is_dropping = work.limit is not None and work.limit.past == "drop"
                empty = "" if opened.policy.kind == "text" else None
                own = claim_of_part(claim, task.number)
                overrides = Overrides(own, cells, lambda row: None, empty=empty, is_dropping=is_dropping)
                work.run(home / DATA, uncounted, overrides)
            (home / "cells.db").unlink()
            opened.job.opened(task.number, opened.policy)  # refuses a file that has changed
            save(home / "note.json", _noted(task.number, work, home / DATA, began), mode=0o600)
    return opened.folder.note(task.number)


def _noted(number: int, work: ReleaseWork, data: Path, began: float) -> PartNote:
    with data.open("rb") as stream:
        mark = hashlib.file_digest(stream, "sha256").hexdigest()
    tally, tiers = work.tally, len(work.policy.terms.tiers.names)
    return PartNote(
        number=number,
        records=tally.records,
        tiers=tuple(tally.tiers[t] for t in range(tiers)),
        counts=tally.counts,
        sha256=mark,
        size=data.stat().st_size,
        seconds=time.perf_counter() - began,
        megabytes=peak_megabytes(),
    )


@lru_cache(maxsize=1)
def _claim_of(folder: str) -> SetClaim:
    return JobFolder(Path(folder)).claim


def claim_of_part(claim: SetClaim, number: int) -> Claimed:
    """What a claim says about the rows of one part, numbered within it; copies of records of other parts are shared."""
    claimed, before = claim.claimed, int(claim.firsts[number])
    copies = _between(claimed.copies, claim, number)
    return replace(
        claimed,
        repeated=as_rows([]),
        kept=as_rows([]),
        copies=copies[(copies[:, 1] > before) & (copies[:, 1] <= int(claim.firsts[number + 1]))] - before,
        past=_between(claimed.past, claim, number) - before,
        noisier=_between(claimed.noisier, claim, number) - before,
    )


def shared_rows(claim: SetClaim, number: int) -> IntArray:
    """The rows of a part, numbered within it, whose record is in another part too."""
    copies, before = claim.claimed.copies, int(claim.firsts[number])
    part_of = np.searchsorted(claim.firsts, copies, side="left")
    across = copies[part_of[:, 0] != part_of[:, 1]]
    return _between(np.unique(across), claim, number) - before


def _between(rows: IntArray, claim: SetClaim, number: int) -> IntArray:
    """The rows of one part, of row numbers (or pairs that begin with one) in order."""
    start, end = claim.firsts[number], claim.firsts[number + 1]
    order = rows if rows.ndim == 1 else rows[:, 0]
    found: IntArray = rows[np.searchsorted(order, start, side="right") : np.searchsorted(order, end, side="right")]
    return found


def _note_trips(work: ReleaseWork, opened: _Opened, place: Path) -> None:
    """The keys of the trips in a part whose fixes are thinned: a trip must not go on in another part."""
    asked = opened.policy.settings
    if not getattr(asked, "every", 0.0):
        return
    first, found = 1, set[bytes]()
    for block in work.file.blocks(uncounted):
        if len(block):
            names = set(trips_of(asked, {name: block.cells(name) for name in asked.wanted(())}, first))
            found.update(opened.keys.trips([name]) for name in names)
        first += len(block)
    place.write_bytes(b"".join(sorted(found)))


def _refuse_other_keys(file: DataFile, job: SetJob) -> None:
    if not job.asked.allow_new_keys and not set(file.names) <= set(job.names):
        raise InvalidInput(f"{file.path.name} has other columns than the first file, expected the same in every file")


def peak_megabytes() -> float:
    """The largest memory that this process has had since it began."""
    try:
        with open("/proc/self/status", encoding="ascii") as stream:
            return next(int(line.split()[1]) for line in stream if line.startswith("VmHWM")) / 1024.0
    except (OSError, StopIteration):
        import resource  # counts what the process had before it began

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
