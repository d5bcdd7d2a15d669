"""Apply a policy to a data set: parts are tasks for processes or a cluster, and each part is released exactly once.

Three steps: workers note the keys of all records; this process claims them in the ledger, in one transaction; workers
draw and write the parts. The folder of the release appears when all parts are there. A release whose process died can
be continued, because its parts and its claim are kept in a hidden folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.base.execution import SERIAL, Execution, started
from oddshift.data.detectors.storage import kept_detector
from oddshift.data.formats.data_file import uncounted
from oddshift.data.formats.data_set import DataSet, refuse_other_columns
from oddshift.protect.dataset.job import CLAIM, JobFolder, SetJob, StepTrack, UnfinishedRelease, Watch, stamp_of
from oddshift.protect.dataset.part import forget_job
from oddshift.protect.dataset.steps import BegunRelease, SetSteps
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.terms import KeyBatch
from oddshift.protect.policies import Policy
from oddshift.protect.record_identity import survey
from oddshift.protect.record_keys import RecordKeys
from oddshift.protect.release_work import ReleaseTally, ReleaseWork
from oddshift.protect.report import Protected, ProtectSettings
from oddshift.protect.sanitizer import Sanitizer
from oddshift.protect.staging import JOB, Staging, clear_dead, refuse_existing, staging_for


@dataclass(frozen=True, kw_only=True, eq=False)
class SetMeans:
    """How a data set is released, and nothing that changes what is released.

    `is_continued` goes on with a release that stopped before its end. `watch` is called after every part, and `tell`
    with every name that is released as it is, before anything is drawn.
    """

    execution: Execution = SERIAL
    is_continued: bool = False
    watch: Watch = lambda progress: None
    tell: Callable[[tuple[str, ...]], None] = lambda names: None


def protect_set(
    data: DataSet,
    out: str | Path,
    policy: Policy,
    ledger: Ledger,
    settings: ProtectSettings | None = None,
    means: SetMeans | None = None,
) -> Protected:
    """Release a data set as the new folder `out`, every record once.

    **Guarantee**: all records are claimed in the ledger before any noise is drawn. When it returns, `out` is complete
    and the release is recorded. When it refuses, there is no `out` and no claim. When it is killed, there is no `out`
    or a complete one; the claim and the parts that are done stay, and each part is released once, however often workers
    die.
    """
    asked, how = settings or ProtectSettings(), means or SetMeans()
    target = Path(out).absolute()  # workers have other working directories
    if asked.keep_releases:
        raise InvalidInput("releases of a data set cannot be kept, expected a single file with --keep-releases")
    job = replace(planned_job(data, target, policy, asked), ledger=ledger.engine.name if ledger.is_shared else "")
    if asked.dry_run:
        refuse_existing(target)
        return _rehearsed(job, policy, ledger, asked, how)
    begun = _to_continue(ledger, target, asked, how)
    if not how.is_continued:
        refuse_existing(target)
        begun = None
        clear_dead(ledger, data_sets_too=asked.take_over)
    try:
        staged = None if begun is None else begun.staged
        with staging_for(target, staged, stays_after=UnfinishedRelease) as staging, started(how.execution) as chosen:
            first = ReleaseWork(policy, asked, job.opened(0, policy))
            number = _number(ledger, begun, first, staging)
            work = SetSteps(job, first, ledger, number, staging, chosen, how.watch)
            with work.kept_unless_refused():
                work.prepare(begun)
                return work.done(how.tell, begun is not None and begun.is_publishing)
    except OSError as error:
        said = f"{target} was released" if os.path.lexists(target) else "nothing was released"
        raise InvalidInput(f"{error.strerror or error} ({error.filename or target}); {said}") from error
    finally:
        forget_job()


def _to_continue(ledger: Ledger, out: Path, settings: ProtectSettings, means: SetMeans) -> BegunRelease | None:
    """The unfinished release that is asked for; one whose process died after it was visible is finished here."""
    clear_dead(ledger)
    begun = _begun(ledger, out)
    if begun is not None and begun.is_visible(out) and not (means.is_continued and begun.is_whole):
        clear_dead(ledger, data_sets_too=True, only=begun.release)
        begun = None
    if begun is None and means.is_continued and os.path.lexists(out):
        raise InvalidInput(f"{out} was released completely, expected a release that stopped before its end")
    if begun is None and means.is_continued:
        raise InvalidInput(f"no release of {out} was begun and not finished, expected one to continue")
    if begun is not None and not (means.is_continued or settings.take_over):
        raise InvalidInput(
            f"a release of {out} was begun and not finished: --continue finishes it, --take-over starts again"
        )
    return begun


def _number(ledger: Ledger, begun: BegunRelease | None, first: ReleaseWork, staging: Staging) -> int:
    """The number under which a release claims, or has claimed."""
    if begun is None:
        return ledger.prepare(first.terms, staging.staged)
    is_claimed = (staging.home / CLAIM).is_file()
    return begun.release if is_claimed else ledger.restart(begun.release)


def planned_job(data: DataSet, out: Path, policy: Policy, settings: ProtectSettings) -> SetJob:
    """The parts of a data set and how a policy is applied to them; refuses what no part could be released from."""
    header = getattr(policy.settings, "header", None)
    refuse_other_columns(data, header, allow_new_keys=settings.allow_new_keys)
    parts = data.parts(keep_whole=policy.kind == "location")  # a trip is read as a whole
    return SetJob(
        folder=str(data.folder.absolute()),
        out=str(out.absolute()),
        policy=policy.sha256,
        names=data.opened(parts[0], policy.kind, header).names,
        header=None if header is None else tuple(header),
        parts=parts,
        stamps=tuple(stamp_of(data.folder / part.file) for part in parts),
        asked=replace(settings, detector=None),
        detector=None if settings.detector is None else kept_detector(settings.detector),
    )


def _rehearsed(job: SetJob, policy: Policy, ledger: Ledger, settings: ProtectSettings, means: SetMeans) -> Protected:
    """Count what would be released, and ask the ledger whether it may be; nothing is written, not even a new ledger."""
    keys = ledger.keys() if ledger.exists else RecordKeys(bytes(32))
    sanitizer, tally = Sanitizer(policy, detector=settings.detector), ReleaseTally()
    batches: list[KeyBatch] = []
    new_keys: dict[str, None] = {}
    track = StepTrack("read", job, means.watch, tuple(range(len(job.parts))))
    for number in track.numbers:
        before = tally.records
        work = ReleaseWork(policy, settings, job.opened(number, policy), tally, shared_sanitizer=sanitizer)
        found = survey(work.file, work.known, keys, None, allow_new_keys=settings.allow_new_keys)
        batches += found.in_memory
        new_keys.update(dict.fromkeys(found.new_keys))
        work.run(None, uncounted, None)
        track.add(number, tally.records - before)
    names = (*work.as_they_are(tuple(new_keys)), *(part.name for part in job.parts))
    means.tell(names)
    claimed = ledger.preview(batches, work.terms) if ledger.exists else None
    return replace(work.report(Path(job.out), "", names, claimed), parts=len(job.parts))


def _begun(ledger: Ledger, out: Path) -> BegunRelease | None:
    """The unfinished release of a data set under this name, if there is one."""
    for release, staged, is_publishing in ledger.unfinished():
        place = Path(staged.path)
        is_here = place.parent == out.parent and (place / JOB).is_file()
        if is_here and JobFolder(place).job.out == str(out):
            return BegunRelease(release, staged, is_publishing)
    return None
