"""Apply a policy to files: CSV, JSON lines, Parquet, plain text or a folder of it, in bounded memory.

The output has the format of the input, with secrets released through the policy's mechanism. A first pass claims
the records in the `ledger`, a second draws their noise and writes; see `staging` for what is visible when.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from oddshift.base.errors import InvalidInput
from oddshift.data.formats import Count, DataFile, open_data
from oddshift.data.formats.data_set import find_data_set
from oddshift.protect.asked_release import refuse_uncertified
from oddshift.protect.kept_cells import kept_cells
from oddshift.protect.known_by import survey
from oddshift.protect.ledger import Ledger
from oddshift.protect.old_ledger import OLD_LEDGER, earlier_releases
from oddshift.protect.policies import Policy
from oddshift.protect.record_keys import RecordKeys
from oddshift.protect.release_report import Protected, ProtectSettings, sidecar
from oddshift.protect.release_set import SetMeans, protect_set
from oddshift.protect.release_work import ReleaseWork
from oddshift.protect.staging import Staging, clear_dead, refuse_existing, staging_for


def protect(
    source: str | Path,
    out: str | Path,
    policy: Policy,
    ledger: Ledger,
    settings: ProtectSettings | None = None,
    *,
    count: Count = lambda size: None,
    tell: Callable[[tuple[str, ...]], None] = lambda names: None,
    means: SetMeans | None = None,
) -> Protected:
    """Release `source` as `out`, every record once, each secret with its own noise from the operating system.

    A folder or pattern of CSV, JSON lines or Parquet files is a data set, which `protect_set` releases by `means`.
    `tell` is called with every name that is released as it is (columns, keys, file names), before anything is written.

    **Guarantee**: records are claimed in the ledger before their noise is drawn. When it returns, `out` is complete
    and the release is recorded. When it raises, there is no `out` and no claim. When it is killed, there is no `out` or
    a complete one, and its claims stay.
    """
    asked, target = settings or ProtectSettings(), Path(out)
    refuse_uncertified(policy, asked)
    data = find_data_set(source)
    if data is not None:
        _refuse_earlier(ledger, data.files, asked)
        return protect_set(data, target, policy, ledger, asked, replace(means or SetMeans(), tell=tell))
    if means is not None and means.is_continued:
        raise InvalidInput(f"{Path(source).name} is a single input, expected a data set to continue")
    return _protect_file(Path(source), target, policy, ledger, asked, count=count, tell=tell)


def _protect_file(
    start: Path,
    target: Path,
    policy: Policy,
    ledger: Ledger,
    asked: ProtectSettings,
    *,
    count: Count,
    tell: Callable[[tuple[str, ...]], None],
) -> Protected:
    work = ReleaseWork(policy, asked, _opened(start, target, policy))
    refuse_existing(target)
    moments = [path.stat().st_mtime_ns for path in work.file.files]
    _refuse_earlier(ledger, work.file.files, asked)
    if asked.dry_run:
        return _rehearse(work, ledger, target, count, tell)
    try:
        clear_dead(ledger, data_sets_too=asked.take_over)
        with staging_for(target) as staging:
            release = ledger.prepare(work.terms, staging.staged)
            with _abandoned_on_error(ledger, release, staging):
                found = work.survey(ledger, staging.keys)
                tell(work.as_they_are(found))
                claimed = ledger.claim(found.batches(), work.terms, release=release)
                with kept_cells(staging.cells) as cells:
                    work.run(staging.part, count, work.overrides(claimed, found, cells, ledger))
                if moments != [path.stat().st_mtime_ns for path in work.file.files]:
                    raise InvalidInput(f"{start} changed while it was read; nothing was released")
                done = work.report(target, found, claimed)
                ledger.publishing(release)
                staging.publish(sidecar(done))
            ledger.finish(release, staging.cells if asked.keep_releases else None, clear=staging.discard)
    except OSError as error:
        what = f"{error.strerror or error} ({error.filename or target})"
        said = f"{target} was released" if os.path.lexists(target) else "nothing was released"
        raise InvalidInput(f"{what}; {said}") from error
    return done


def _rehearse(
    work: ReleaseWork, ledger: Ledger, out: Path, count: Count, tell: Callable[[tuple[str, ...]], None]
) -> Protected:
    """Count what would be released, and ask the ledger whether it may be; nothing is written, not even a new ledger."""
    keys = ledger.keys() if ledger.exists else RecordKeys(bytes(32))
    found = survey(work.file, work.known, keys, None, allow_new_keys=work.settings.allow_new_keys)
    tell(work.as_they_are(found))
    claimed = ledger.preview(found.batches(), work.terms) if ledger.exists else None
    work.run(None, count, None)
    return work.report(out, found if ledger.exists else replace(found, mark=""), claimed)


@contextmanager
def _abandoned_on_error(ledger: Ledger, release: int, staging: Staging) -> Iterator[None]:
    """When something fails before a release is visible, delete what was drawn and withdraw the claim."""
    try:
        yield
    except BaseException:
        is_shown = any(number == release and is_showing for number, _, is_showing in ledger.unfinished())
        if is_shown and staging.is_visible():
            ledger.finish(release)
            raise
        staging.discard()
        with suppress(InvalidInput):  # then the claim stays, which is safe
            ledger.abandon(release)
        raise


def _opened(source: Path, out: Path, policy: Policy) -> DataFile:
    """The records of an input, for an output of the same format."""
    file = open_data(source, policy.kind, header=getattr(policy.settings, "header", None))
    if source.is_file() and out.suffix != source.suffix:
        raise InvalidInput(f"{out.name} ends in {out.suffix!r}, expected {source.suffix!r} like {source.name}")
    return file


def _refuse_earlier(ledger: Ledger, files: tuple[Path, ...], settings: ProtectSettings) -> None:
    """Refuse an input that the ledger of an earlier version holds."""
    before = earlier_releases(ledger.path.with_name(OLD_LEDGER), files)
    if before and not settings.allow_repeat:
        raise InvalidInput(
            f"{OLD_LEDGER} says that this input was released before, and releases add up; --allow-repeat adds one"
        )
