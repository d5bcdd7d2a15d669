"""Apply a policy to files: CSV, JSON lines, Parquet, plain text or a folder of it, in bounded memory.

What comes out has the form of what came in, with secrets released through the policy's mechanism. See `parts` for what
is visible when, and `ledger` for why the same input is not released twice.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.detectors import Detector
from oddshift.data.formats import TEXT, Block, Count, DataFile, open_data, require_columns
from oddshift.data.formats.plain_text import TextFile, TextFolder
from oddshift.protect.ledger import Ledger
from oddshift.protect.policies import CONFIDENTIAL, LocationRules, Policy, TextRules
from oddshift.protect.sanitizer import Found, Sanitizer
from oddshift.protect.staging import Parts, parts_of, refuse_existing


@dataclass(frozen=True, kw_only=True)
class ProtectSettings:
    """How a policy is applied: which columns hold the texts (default: the policy's), and what was agreed to.

    `again` releases an input once more, `allow_uncertified` applies a policy that no certificate stands behind,
    `dry_run` counts and writes nothing. `detector` masks further names (see `WordFinder`).
    """

    columns: tuple[str, ...] = ()
    detector: Detector | None = None
    again: bool = False
    allow_uncertified: bool = False
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class Protected:
    """What was released: counts, never a value. `release` numbers the releases of this input with this policy.

    `positions` counts the secrets of each tier, `masked` the masked words, `unseen` how many of those the policy has
    never seen; `dropped` records are left out by the policy (thinned fixes). `as_they_are` columns were not touched.
    """

    out: str
    records: int
    dropped: int
    positions: dict[str, int]
    masked: int
    unseen: int
    as_they_are: tuple[str, ...]
    policy: str
    input: str
    release: int
    state: str
    sentence: str
    notes: tuple[str, ...]
    is_dry_run: bool


@dataclass(frozen=True, eq=False)
class _Tally:
    """Counts that grow with every block."""

    counts: Counter[str] = field(default_factory=Counter)
    tiers: Counter[int] = field(default_factory=Counter)

    def add(self, rows: int, found: Found, labels: IntArray) -> None:
        """One more block; `labels` are the tiers of the policy's points."""
        dropped = 0 if found.keep is None else int((~found.keep).sum())
        self.counts.update(records=rows, dropped=dropped, masked=found.masked, unseen=found.unseen)
        self.tiers.update(dict(enumerate(np.bincount(labels[found.points]).tolist())))


def protect(
    source: str | Path,
    out: str | Path,
    policy: Policy,
    ledger: Ledger,
    settings: ProtectSettings | None = None,
    *,
    count: Count = lambda size: None,
) -> Protected:
    """Release `source` under `out`, every secret once, each with noise of its own from the operating system.

    **Guarantee**: when it returns, `out` is whole and the release is recorded; when it raises or is killed, there is no
    `out`, and no value of an unfinished run is ever shown beside one of a later run.
    """
    asked, start, target = settings or ProtectSettings(), Path(source), Path(out)
    _refuse_uncertified(policy, asked)
    file = _opened(start, target, policy)
    work = _Work(policy, asked, file)
    refuse_existing(target)
    is_first = asked.dry_run and not ledger.path.is_file()  # a dry run writes nothing, not even a new ledger
    fingerprint = "" if is_first else ledger.fingerprint(file.files)
    moments = [path.stat().st_mtime_ns for path in file.files]
    if asked.dry_run:
        before = ledger.count(fingerprint, policy.sha256)
        work.run(None, count)
        return work.report(target, fingerprint, before + 1)
    try:
        with parts_of(target, ledger.withdraw) as parts:
            before = _refuse_again(ledger, fingerprint, policy, asked)
            work.run(parts.path, count)
            if moments != [path.stat().st_mtime_ns for path in file.files]:
                raise InvalidInput(f"{start} changed while it was read; nothing was released")
            done = work.report(target, fingerprint, before + 1)
            _publish(parts, ledger, done)
    except OSError as error:
        raise InvalidInput(f"{error.strerror or error} ({error.filename or target}); nothing was released") from error
    return done


def _opened(source: Path, out: Path, policy: Policy) -> DataFile:
    """The records of an input, for an output of the same format."""
    rules = policy.terms.rules
    file = open_data(source, policy.kind, header=rules.header if isinstance(rules, TextRules) else None)
    if source.is_file() and out.suffix != source.suffix:
        raise InvalidInput(f"{out.name} ends in {out.suffix!r}, expected {source.suffix!r} like {source.name}")
    return file


@dataclass(frozen=True, eq=False, repr=False)
class _Work:
    """One application of a policy to an input."""

    policy: Policy
    settings: ProtectSettings
    file: DataFile
    tally: _Tally = field(default_factory=_Tally)

    def __post_init__(self) -> None:
        """Refuse files without the columns that are needed."""
        if self.settings.columns and self.policy.kind != "text":
            raise InvalidInput(f"text columns were named for a policy of kind {self.policy.kind}, expected none")
        require_columns(self.file, self.needed)

    @property
    def replaced(self) -> tuple[str, ...]:
        """The columns whose cells are released."""
        if isinstance(self.file, TextFile | TextFolder):
            return (TEXT,)
        return self.settings.columns or self.policy.terms.rules.columns

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that are looked at."""
        rules = self.policy.terms.rules
        return (*self.replaced, *(rules.beside if isinstance(rules, LocationRules) else ()))

    def run(self, place: Path | None, count: Count) -> None:
        """Read everything, and write it to `place`; a dry run has none, draws nothing and writes nothing."""
        if place is None:
            self._each(count, None)
        else:
            with self.file.sink(place) as write:
                self._each(count, write)
        if not self.tally.counts["records"]:
            raise InvalidInput(f"{self.file.path.name} has 0 records, expected at least 1")

    def _each(self, count: Count, write: Callable[[Any], object] | None) -> None:
        first = 1
        for block in self.file.blocks(count):
            self._release(block, first, write)
            first += len(block)

    def _release(self, block: Block, first: int, write: Callable[[Any], object] | None) -> None:
        """One block; `first` is the number of its first record."""
        cells: Mapping[str, Sequence[Any]] = {name: block.cells(name) for name in self.needed}
        found = self._sanitizer.finder.find(cells, first)
        self.tally.add(len(block), found, self.policy.vocabulary.labels)
        if write is not None:
            shown = found.read(self._sanitizer.points(found.points))
            write(block.render({name: shown[name] for name in self.replaced}, found.keep))

    @cached_property
    def _sanitizer(self) -> Sanitizer:
        return Sanitizer(self.policy, detector=self.settings.detector)

    def report(self, out: Path, fingerprint: str, release: int) -> Protected:
        """What was done."""
        terms = self.policy.terms
        names = terms.tiers.names
        return Protected(
            out=str(out),
            positions={name: self.tally.tiers[t] for t, name in enumerate(names)},
            as_they_are=tuple(name for name in self.file.names if name not in self.replaced),
            policy=self.policy.sha256,
            input=fingerprint,
            release=release,
            state=terms.certificate.state,
            sentence=terms.certificate.sentence,
            notes=tuple(self._notes(release)),
            is_dry_run=self.settings.dry_run,
            **{key: self.tally.counts[key] for key in ("records", "dropped", "masked", "unseen")},
        )

    def _notes(self, release: int) -> Iterator[str]:
        if not self.policy.terms.certificate.holds:
            yield f"NOT CERTIFIED: the policy's state is {self.policy.terms.certificate.state}"
        if release > 1:
            yield f"release {release} of this input: together they leak more than was certified"
        if self.settings.detector is not None:
            yield f"{self.settings.detector.name} masked words by what stands around them, which no certificate covers"
        if self.policy.kind == "location":
            yield "times and trips are released as they are; the certificate knows the hour of each fix only"


def _refuse_uncertified(policy: Policy, settings: ProtectSettings) -> None:
    certificate = policy.terms.certificate
    if not certificate.holds and not settings.allow_uncertified:
        raise InvalidInput(f"the policy is not certified (state: {certificate.state}); --allow-uncertified applies it")


def _refuse_again(ledger: Ledger, fingerprint: str, policy: Policy, settings: ProtectSettings) -> int:
    before = ledger.count(fingerprint, policy.sha256)
    if before and not settings.again:
        times = "once" if before == 1 else f"{before} times"
        raise InvalidInput(f"this input was released {times} with this policy, and releases add up; --again adds one")
    return before


def _publish(parts: Parts, ledger: Ledger, done: Protected) -> None:
    """Record the release, then show it; one that could not be shown is taken back."""
    note = {key: value for key, value in asdict(done).items() if key not in ("positions", "out", "is_dry_run")}
    note["replaced"] = sum(done.positions.values())
    ledger.record(done.input, done.policy, parts.part, parts.out)
    try:
        parts.publish(json.dumps({"schema": 1, **note, "policy_is": CONFIDENTIAL}, indent=1).encode())
    finally:
        if parts.path.exists():
            ledger.withdraw([parts.part])
