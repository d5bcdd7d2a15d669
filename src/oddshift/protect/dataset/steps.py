"""The steps of releasing a data set, in the process that leads it: all parts read, claimed, drawn, and made visible.

Workers read and draw; they also claim where the ledger is shared, otherwise this process does.

The manifest of a released data set: every part with its records, size and SHA-256, in a file inside the folder.

Its name begins with an underscore, so that readers of data sets (Arrow, Dask, Spark) pass it over.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.base.execution import Execution, WorkerLost, run_unordered
from oddshift.base.storage import load, save, write_atomic
from oddshift.data.codecs import Counts
from oddshift.protect.dataset.job import (
    CLAIM,
    POLICY_COPY,
    SECRET_BYTES,
    SECRETS,
    JobFolder,
    PartNote,
    PartSurvey,
    PartTask,
    SetClaim,
    SetJob,
    StepTrack,
    UnfinishedRelease,
    Watch,
)
from oddshift.protect.dataset.part import (
    DATA,
    KEYS,
    TRIPS,
    claim_of_part,
    claim_part,
    draw_part,
    joined_claim,
    survey_part,
)
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.releases import StagedFolder
from oddshift.protect.ledger.terms import Claimed, KeyBatch
from oddshift.protect.policies import save_policy
from oddshift.protect.record_identity import Survey
from oddshift.protect.record_keys import WIDTH
from oddshift.protect.release_work import ReleaseTally, ReleaseWork
from oddshift.protect.report import Protected, sidecar
from oddshift.protect.staging import JOB, PART, SIDECAR, Staging

Done = TypeVar("Done", PartSurvey, PartNote)

_TRIES = 3  # rounds in which workers die and no part is finished


@dataclass(frozen=True)
class BegunRelease:
    """A release that stopped before its end."""

    release: int
    staged: StagedFolder
    is_publishing: bool

    @property
    def is_whole(self) -> bool:
        """Whether its folder holds what was claimed, so that it can be finished."""
        return (Path(self.staged.path) / CLAIM).is_file()

    def is_visible(self, out: Path) -> bool:
        """Whether its process died after OUT had its name."""
        return self.is_publishing and os.path.lexists(out) and not (Path(self.staged.path) / PART).exists()


@dataclass(frozen=True, eq=False, repr=False)
class SetSteps:
    """One release of a data set, in this process; `first` applies the policy to its first part."""

    job: SetJob
    first: ReleaseWork
    ledger: Ledger
    release: int
    staging: Staging
    execution: Execution
    watch: Watch

    @property
    def folder(self) -> JobFolder:
        """The hidden folder."""
        return JobFolder(self.staging.home)

    def prepare(self, begun: BegunRelease | None) -> None:
        """Write what workers need into the hidden folder, or check that it is what was asked for."""
        home = self.staging.home
        if begun is not None:
            if self.folder.job != self.job:
                raise UnfinishedRelease("the data set, its settings or the policy have changed, expected them as begun")
            return
        save_policy(home / POLICY_COPY, self.first.policy)
        keys = self.ledger.keys().secret + secrets.token_bytes(SECRET_BYTES)
        write_atomic(home / SECRETS, keys, mode=0o600)
        save(home / JOB, self.job, mode=0o600)

    def done(self, tell: Callable[[tuple[str, ...]], None], is_publishing: bool) -> Protected:
        """Everything that is still to be done, in order."""
        folder = self.folder
        if not (folder.home / CLAIM).is_file():
            self._each("read", survey_part, folder.survey)
        claim = self._claimed()
        if self._claims_by_part:
            self.ledger.all_claimed(self.release)
        tell(self._as_they_are(claim))
        self._each("released", draw_part, folder.drawn)
        done = self._report(claim)
        if not (is_publishing and os.path.lexists(self.staging.out)):
            self._assemble(claim)
            if not is_publishing:
                self.ledger.publishing(self.release)
            _clear_note(self.staging, sidecar(done))
            self.staging.publish(sidecar(done))
        self.ledger.finish(self.release, clear=self.staging.discard)
        return done

    def _each(self, step: str, function: Callable[[PartTask], Done], place: Callable[[int], Path]) -> None:
        """Do every part that is not done; parts of workers that died are done again."""
        numbers = [n for n in range(len(self.job.parts)) if not place(n).is_dir()]
        track = StepTrack(step, self.job, self.watch, tuple(numbers))
        stuck = 0
        while numbers:
            try:
                tasks = [PartTask(str(self.staging.home), n, self.release) for n in numbers]
                for note in run_unordered(function, tasks, self.execution):
                    track.add(note.number, note.records)
            except WorkerLost:
                pass  # what they finished is there, and the rest is done again
            left = [n for n in numbers if not place(n).is_dir()]
            stuck = 0 if len(left) < len(numbers) else stuck + 1
            if stuck == _TRIES:
                raise UnfinishedRelease(f"workers died {_TRIES} times in a row {self._how_far()}")
            numbers = left

    @property
    def _claims_by_part(self) -> bool:
        """Whether workers claim for themselves; rows without a name are judged by their share of the whole."""
        return self.ledger.is_shared and self.first.known.is_named

    def _claimed(self) -> SetClaim:
        """Claim all records, at once or part by part; what was found is on disk before any noise is drawn."""
        folder = self.folder
        if (folder.home / CLAIM).is_file():
            return folder.claim
        notes = [folder.survey_note(n) for n in range(len(self.job.parts))]
        _refuse_split_trips(folder, self.job)
        firsts = np.cumsum([0, *(note.records for note in notes)], dtype=np.int64)
        mark = hashlib.blake2b(key=folder.secrets()[0], digest_size=32, person=b"input")

        def batches() -> Iterator[KeyBatch]:
            for note in notes:
                for batch in Survey(self.first.known, folder.survey(note.number) / KEYS).batches():
                    mark.update(batch.keys)
                    yield batch

        if self._claims_by_part:
            self._each("claimed", claim_part, folder.claimed)
            claimed = joined_claim([load(folder.claimed(n.number) / CLAIM, Claimed) for n in notes], firsts)
            deque(batches(), maxlen=0)  # for the name of the input
        else:
            claimed = self.ledger.claim(batches(), self.first.terms, release=self.release)
        claim = SetClaim(
            claimed=claimed,
            firsts=firsts,
            mark=mark.hexdigest(),
            new_keys=tuple(dict.fromkeys(key for note in notes for key in note.new_keys)),
        )
        if self.first.known.how == "id":
            _refuse_shared_ids(claim, len(notes))
        save(folder.home / CLAIM, claim, mode=0o600)
        return claim

    def _as_they_are(self, claim: SetClaim) -> tuple[str, ...]:
        names = self.first.as_they_are(claim.new_keys)
        return (*names, *(part.name for part in self.job.parts))

    def _report(self, claim: SetClaim) -> Protected:
        notes = [self.folder.note(n) for n in range(len(self.job.parts))]
        tiers: Counter[int] = Counter()
        for note in notes:
            tiers.update(dict(enumerate(note.tiers)))
        tally = ReleaseTally(sum(n.records for n in notes), sum((n.counts for n in notes), Counts()), tiers)
        work, names = replace(self.first, tally=tally), self._as_they_are(claim)
        made = work.report(self.staging.out, claim.mark, names, claim.claimed)
        return replace(made, parts=len(notes), worker_megabytes=round(max(note.megabytes for note in notes)))

    def _assemble(self, claim: SetClaim) -> None:
        """Give every part its name in the folder that will appear, add the manifest, and delete the keys."""
        folder, home = self.folder, self.staging.part
        home.mkdir(mode=0o700, exist_ok=True)
        made = []
        for number, part in enumerate(self.job.parts):
            note, drawn, place = folder.note(number), folder.drawn(number) / DATA, home / part.name
            if drawn.exists():
                place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                os.rename(drawn, place)
            made.append(
                ReleasedPart(
                    name=part.name,
                    file=part.file,
                    start=part.start,
                    end=part.end,
                    records=note.records,
                    size=note.size,
                    sha256=note.sha256,
                )
            )
        records = sum(part.records for part in made)
        found = SetManifest(policy=self.job.policy, input=claim.mark, records=records, parts=tuple(made))
        save(home / MANIFEST, found, mode=0o600)
        (folder.home / SECRETS).unlink(missing_ok=True)

    @contextmanager
    def kept_unless_refused(self) -> Iterator[None]:
        """Withdraw everything when the data are refused; keep it, to be continued, when something else goes wrong."""
        try:
            yield
        except UnfinishedRelease:
            raise
        except InvalidInput as error:
            if self.staging.is_visible() and os.path.lexists(self.staging.out):  # then it is not denied
                raise UnfinishedRelease(f"{error} {self._how_far()}") from error
            self.staging.discard()
            with suppress(InvalidInput):  # then the claim stays, which is safe
                self.ledger.abandon(self.release)
            raise
        except BaseException as error:
            what = getattr(error, "strerror", None) or type(error).__name__
            raise UnfinishedRelease(f"{what} {self._how_far()}") from error

    def _how_far(self) -> str:
        parts = range(len(self.job.parts))
        done = sum(self.folder.drawn(n).is_dir() for n in parts)
        is_shown = self.staging.is_visible() and os.path.lexists(self.staging.out)
        said = f"{self.staging.out} was released" if is_shown else "nothing was released"
        return f"({done:,} of {len(parts):,} parts are done); {said}, and --continue finishes it"


def _refuse_split_trips(folder: JobFolder, job: SetJob) -> None:
    """Refuse a data set in which a trip is in two files: each part thins the fixes of a trip on its own."""
    owner: dict[bytes, str] = {}
    for number, part in enumerate(job.parts):
        place = folder.survey(number) / TRIPS
        keys = place.read_bytes() if place.exists() else b""
        for at in range(0, len(keys), WIDTH):
            other = owner.setdefault(keys[at : at + WIDTH], part.file)
            if other != part.file:
                raise InvalidInput(f"{other} and {part.file} have fixes of one trip, expected each trip in one file")


def _refuse_shared_ids(claim: SetClaim, parts: int) -> None:
    """Refuse ids that are in several parts: their rows may differ, and a record is released once."""
    shared = len(claim.claimed.copies) - sum(len(claim_of_part(claim, n).copies) for n in range(parts))
    if shared:
        raise InvalidInput(f"{shared:,} rows have an id that an earlier part has too, expected each id in one part")


def _clear_note(staging: Staging, note: bytes) -> None:
    """Remove the sidecar that a process wrote before it died, so that it can be written again."""
    (staging.home / "note").unlink(missing_ok=True)
    place = staging.out.with_name(staging.out.name + SIDECAR)
    if place.is_file() and not place.is_symlink() and place.read_bytes() == note:
        place.unlink()


MANIFEST = "_manifest.json"
"""Name of the manifest in the folder of a released data set."""


@dataclass(frozen=True, kw_only=True)
class ReleasedPart:
    """One file of a released data set, and the records that it comes from: a file, or a range of it."""

    name: str
    file: str
    start: int
    end: int
    records: int
    size: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class SetManifest:
    """All parts of a released data set; `input` names the data by a keyed hash of its records in their order."""

    policy: str
    input: str
    records: int
    parts: tuple[ReleasedPart, ...]
