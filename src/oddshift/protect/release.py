"""Apply a policy to files: CSV, JSON lines, Parquet, plain text or a folder of it, in bounded memory.

The output has the format of the input, with secrets released through the policy's mechanism. A first pass claims
the records in the `ledger`, a second draws their noise and writes; see `staging` for what is visible when.

A policy in use: it can be applied to values in memory and to files, and kept in a folder.

    policy = load_policy("run")
    policy.apply(["Ann met the nurse."])          # a list in, a list out; a frame in, the same kind of frame out
    policy.protect("mail.csv", "mail-protected.csv")

Noise comes from the operating system. **Every call of `apply` is a release**: releasing the same record twice leaks
more than was certified. `protect` keeps a ledger next to the policy and refuses that.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Encoded
from oddshift.data.dataset import column_like, columns_of, frame_like, is_frame, list_of
from oddshift.data.formats import Count, DataFile, open_data
from oddshift.data.formats.data_set import find_data_set
from oddshift.model.records import Records
from oddshift.protect.channel_inversion import write_key
from oddshift.protect.dataset.release import SetMeans, protect_set
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.overrides import kept_cells, kept_values
from oddshift.protect.policies import POLICY, Policy, load_policy, save_policy
from oddshift.protect.pseudonyms import refuse_closed_columns, refuse_unknown_columns
from oddshift.protect.record_identity import survey
from oddshift.protect.record_keys import RecordKeys
from oddshift.protect.release_work import ReleaseWork
from oddshift.protect.repair import Repairer, with_mode, with_repair
from oddshift.protect.report import Protected, ProtectSettings, refuse_uncertified, sidecar
from oddshift.protect.sanitizer import Sanitizer
from oddshift.protect.staging import Staging, clear_dead, refuse_existing, staging_for


def ledger_of(policy: Policy, place: str | Path, asked: str = "") -> Ledger:
    """Return the ledger of a policy in a file or folder: the server that it states, or the file next to it.

    `asked` is another one; a policy that states its server refuses it, because two ledgers know nothing of each other.
    """
    stated = policy.terms.ledger
    if asked and stated and asked != stated:
        raise InvalidInput(f"ledger={asked}, expected that of the policy: {stated}")
    return Ledger(asked or stated) if asked or stated else Ledger.beside(place)


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
    if asked.dry_run:
        return _rehearse(work, ledger, target, count, tell)
    try:
        clear_dead(ledger, data_sets_too=asked.take_over)
        with staging_for(target) as staging:
            release = ledger.prepare(work.terms, staging.staged)
            with _abandoned_on_error(ledger, release, staging):
                found = work.survey(ledger, staging.keys)
                names = work.as_they_are(found.new_keys)
                tell(names)
                claimed = ledger.claim(found.batches(), work.terms, release=release)
                with kept_cells(staging.cells) as cells:
                    work.run(staging.part, count, work.overrides(claimed, found, cells, ledger))
                if moments != [path.stat().st_mtime_ns for path in work.file.files]:
                    raise InvalidInput(f"{start} changed while it was read; nothing was released")
                done = work.report(target, found.mark, names, claimed)
                ledger.publishing(release)
                staging.publish(sidecar(done))
            ledger.finish(
                release, kept_values(staging.cells, found.key) if asked.keep_releases else (), clear=staging.discard
            )
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
    names = work.as_they_are(found.new_keys)
    tell(names)
    claimed = ledger.preview(found.batches(), work.terms) if ledger.exists else None
    work.run(None, count, None)
    return work.report(out, found.mark if ledger.exists else "", names, claimed)


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


@dataclass(frozen=True, eq=False, repr=False)
class ReleasePolicy:
    """A policy, and the folder of the policy and its ledger (None until it is saved).

    **Guarantee**: each secret goes through the policy's mechanism once for every call; everything else stays as it was.
    """

    policy: Policy
    folder: Path | None = None

    def __repr__(self) -> str:
        """Kind, sizes and state; never a word."""
        return repr(self.policy)

    @property
    def state(self) -> str:
        """`certified`, or why it is not."""
        return self.policy.terms.certificate.state

    @property
    def sentence(self) -> str:
        """What was certified, in one sentence."""
        return self.policy.terms.certificate.sentence

    @property
    def fingerprint(self) -> str:
        """Names the policy by its content."""
        return self.policy.sha256

    @cached_property
    def sanitizer(self) -> Sanitizer:
        """The policy ready to be applied, with noise from the operating system."""
        return Sanitizer(self.policy)

    def apply(self, values: Any, *, clear: Sequence[str] = ()) -> Any:
        """The values as released: the same kind out as in (list, tuple, array, series or frame).

        Texts come as a column of strings or as a frame with the policy's text columns; tables and trajectories as a
        frame (or a mapping of columns); vectors as an array with one row for each. `clear` names columns that stay
        as they are: those that the policy does not know (any other is refused), and those of users, trips and
        groups, which get pseudonyms otherwise. A policy that limits what users
        spend cannot be applied in this way, because nothing counts it.
        """
        self.sanitizer.refuse_uncounted_users()
        if self.policy.kind == "vectors" and not is_frame(values):
            return column_like(values, list(self.sanitizer.rows(np.asarray(values, dtype=np.float64))))
        return self._shown(values, clear, self.sanitizer.released, is_named=True)

    def repairing(self, mode: str = "best", records: Records | None = None, source: str = "fit") -> ReleasePolicy:
        """The same policy with repair after the noise; it is another policy, to be saved in a folder of its own.

        `records` are what its law is learned from (see `with_repair`); without any each release teaches its own, which
        takes some hundred documents at once.
        """
        return ReleasePolicy(with_repair(self.policy, mode, records, source))

    def repair(self, released: Any, mode: str = "best", *, clear: Sequence[str] = ()) -> Any:
        """Values that this policy released as drawn, repaired: the same kind out as in.

        The law is the stored one, or learned from these values alone. **Guarantee**: post-processing of what is given.
        """
        mine = with_mode(self.policy, mode)
        assert mine.terms.repair is not None
        repairer = Repairer(mine, mine.mechanism(), mine.terms.repair)

        def shown(encoded: Encoded) -> dict[str, list[Any]]:
            return encoded.decode(repairer(encoded.records, encoded.records.points))

        return self._shown(released, clear, shown, is_named=False)

    def _shown(
        self, values: Any, clear: Sequence[str], shown: Callable[[Encoded], dict[str, list[Any]]], *, is_named: bool
    ) -> Any:
        """The columns that `shown` gives for encoded values, in the kind in which the values came."""
        codec = self.sanitizer.codec
        if self.policy.kind == "text" and not is_frame(values):
            name, texts = codec.settings.text[0], list_of(values, "the texts")
            found = shown(codec.on_columns([name]).encode({name: texts}))[name] if texts else []
            return column_like(values, found)
        columns = columns_of(values)
        missing = [name for name in codec.required if name not in columns]
        if missing:
            raise InvalidInput(f"the table has no column {missing[0]!r} among its {len(columns)}")
        refuse_closed_columns(codec, clear)
        refuse_unknown_columns(codec, tuple(columns), clear)
        if not len(columns[codec.required[0]]):
            return values
        encoded = codec.encode(columns)
        if encoded.keep is not None and not encoded.keep.all():
            raise InvalidInput(
                f"the policy leaves out {int((~encoded.keep).sum())} of {len(encoded.keep)} rows (thinned fixes), "
                "expected data of which every row is kept; use protect for files"
            )
        names = self.sanitizer.names(encoded, columns, clear) if is_named else {}
        return frame_like(values, {**shown(encoded), **names})

    def protect(
        self,
        path_in: str | Path,
        path_out: str | Path,
        settings: ProtectSettings | None = None,
        means: SetMeans | None = None,
    ) -> Protected:
        """Release a file or folder under a new name, each record once; a ledger in the policy's folder records it.

        `means` says how the parts of a data set are released: one after the other, by processes or by a cluster.
        """
        if self.folder is None:
            raise InvalidInput("the policy was not saved, expected policy.save(folder) first: its ledger is kept there")
        ledger = ledger_of(self.policy, self.folder / POLICY)
        return protect(path_in, path_out, self.policy, ledger, settings, means=means)

    def save(self, folder: str | Path) -> ReleasePolicy:
        """Write the policy and its vocabulary into a folder that only its owner can read, and return it from there."""
        home = Path(folder)
        save_policy(home, self.policy)
        with suppress(InvalidInput):  # only tables have a public half
            write_key(home, self.policy)
        return replace(self, folder=home)


def load_release_policy(folder: str | Path) -> ReleasePolicy:
    """The policy of a folder (or of a policy.json in it), ready to be applied."""
    place = Path(folder)
    home = place if place.is_dir() else place.parent
    return ReleasePolicy(load_policy(place), home)


def repair(released: Any, policy: ReleasePolicy, mode: str = "best", *, clear: Sequence[str] = ()) -> Any:
    """Return repaired what a policy released as it was drawn: the same kind out as in.

    `best` gives every value of least expected cost given all that was released of its document, `typical` one draw of
    the whole document, so that frequencies and relations survive. **Guarantee**: post-processing.
    """
    return policy.repair(released, mode, clear=clear)
