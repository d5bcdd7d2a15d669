"""One application of a policy to an input: how its records are known, what is released for each block, the counts.

A release of a file, and of every part of a data set, is made by this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from oddshift.base.arrays import BoolArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Codec, Counts, Encoded
from oddshift.data.formats import TEXT, Block, Count, DataFile, require_columns
from oddshift.data.formats.plain_text import TextFile, TextFolder
from oddshift.protect.ledger.ledger import Ledger
from oddshift.protect.ledger.terms import NOISIER, Claimed, ClaimTerms, UserLimit, smaller_limit
from oddshift.protect.measurement import ReleaseSample
from oddshift.protect.overrides import Cells, KeptCells, Overrides, SharedRecords, Shown, read_cells
from oddshift.protect.policies import Policy, noisier_policy
from oddshift.protect.pseudonyms import refuse_closed_columns, refuse_unknown_columns
from oddshift.protect.record_identity import KnownBy, Survey, survey
from oddshift.protect.report import (
    Protected,
    ProtectSettings,
    claim_notes,
    claim_report,
    known_as_asked,
    refuse_unnamed_users,
    terms_as_asked,
)
from oddshift.protect.sanitizer import Sanitizer


@dataclass(eq=False)
class ReleaseTally:
    """Counts that grow with every block."""

    records: int = 0
    counts: Counts = field(default_factory=Counts)
    tiers: Counter[int] = field(default_factory=Counter)

    def add(
        self, rows: int, encoded: Encoded, labels: IntArray, outputs: IntArray | None, masked: bool | BoolArray
    ) -> None:
        """One more block; `labels` are the tiers of the policy's points, `outputs` what was drawn, if anything was, and
        `masked` says what is shown as a mark."""
        self.records += rows
        self.counts += encoded.after_draw(outputs, masked)
        self.tiers.update(dict(enumerate(np.bincount(labels[encoded.records.points]).tolist())))


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseWork:
    """One application of a policy to an input.

    `shared_sanitizer` is one that several inputs share; `shared` are records that other inputs of the release have too.
    """

    policy: Policy
    settings: ProtectSettings
    file: DataFile
    tally: ReleaseTally = field(default_factory=ReleaseTally)
    shared_sanitizer: Sanitizer | None = None
    shared: SharedRecords | None = None

    def __post_init__(self) -> None:
        """Refuse files without the columns that are needed, and settings that cannot be met."""
        asked, known = self.settings, self.known
        if asked.columns and self.policy.kind != "text":
            raise InvalidInput(f"text columns were named for a policy of kind {self.policy.kind}, expected none")
        refuse_unnamed_users(known, self.limit)
        require_columns(self.file, (*self.codec.required, *known.read))
        refuse_closed_columns(self.codec, asked.clear)
        refuse_unknown_columns(self.codec, self.file.names, (*asked.clear, asked.id, known.user))
        if asked.keep_releases and not known.is_named:
            raise InvalidInput("rows without an id cannot be kept, expected an id column (--id)")
        if self.limit is not None and self.limit.past == "drop" and self.file.path.suffix in (".npz", ".npy"):
            raise InvalidInput(f"{self.file.path.name} cannot lose rows, expected refuse or mask beyond the budget")

    @cached_property
    def known(self) -> KnownBy:
        """What identifies the records."""
        return known_as_asked(self.policy, self.codec, self.settings, self.limit)

    @cached_property
    def limit(self) -> UserLimit | None:
        """What users may spend: what was asked for, and never more than the policy says."""
        return smaller_limit(self.settings.limit, self.policy.terms.user_limit)

    @property
    def terms(self) -> ClaimTerms:
        """What the ledger is told."""
        return terms_as_asked(self.policy, self.known, self.settings, self.limit)

    def survey(self, ledger: Ledger, place: Path) -> Survey:
        """The first pass over the input."""
        return survey(self.file, self.known, ledger.keys(), place, allow_new_keys=self.settings.allow_new_keys)

    def overrides(self, claimed: Claimed, found: Survey, cells: KeptCells, ledger: Ledger) -> Overrides:
        """What the claim says about single rows."""
        asked = self.settings

        def earlier(row: int) -> Cells:
            (text,) = ledger.kept_cells(found.key(row), self.policy.sha256)
            return None if text is None else read_cells(text)

        return Overrides(
            claimed,
            cells,
            earlier,
            empty="" if self.policy.kind == "text" else None,
            is_dropping=self.limit is not None and self.limit.past == "drop",
            is_keeping=asked.keep_releases,
        )

    @cached_property
    def sample(self) -> ReleaseSample:
        """Released rows, kept until the release is measured."""
        return ReleaseSample(self.codec, self.file.names)

    def as_they_are(self, new_keys: tuple[str, ...]) -> tuple[str, ...]:
        """Columns, keys and names of files that are released as they are."""
        replaced = {*self.codec.released, *self._renamed}
        columns = tuple(name for name in (*self.file.names, *new_keys) if name not in replaced)
        if not isinstance(self.file, TextFolder):
            return columns
        return (*columns, *(path.relative_to(self.file.path).as_posix() for path in self.file.files))

    @cached_property
    def codec(self) -> Codec:
        """What finds the secrets, in the columns that this input has them in."""
        codec = self._sanitizer.codec.stream()
        is_plain = isinstance(self.file, TextFile | TextFolder)
        return codec.on_columns((TEXT,) if is_plain else self.settings.columns or codec.released)

    def run(self, place: Path | None, count: Count, overrides: Overrides | None) -> None:
        """Read everything, and write it to `place`; a dry run has none, draws nothing and writes nothing."""
        if place is None:
            self._each(count, None, None)
        else:
            with self.file.sink(place) as write:
                self._each(count, write, overrides)
        if not self.tally.records:
            raise InvalidInput(f"{self.file.path.name} has 0 records, expected at least 1")

    def _each(self, count: Count, write: Callable[[Any], object] | None, overrides: Overrides | None) -> None:
        first = 1
        for block in self.file.blocks(count):
            self._one(block, first, write, overrides)  # by itself, so that one encoded block at a time is in memory
            first += len(block)

    def _one(
        self, block: Block, first: int, write: Callable[[Any], object] | None, overrides: Overrides | None
    ) -> None:
        encoded = self._encoded(block, first) if len(block) else None
        shown, keep = self._release(encoded, (first, len(block)), is_drawn=write is not None)
        if write is None or overrides is None:
            return
        names = {} if encoded is None else self._names(encoded, block)
        shown |= names
        loud = None if encoded is None else partial(self._drawn_with_more_noise, encoded, names)
        shown, keep = overrides.apply(first, len(block), shown, keep, noisier=loud)
        if not self._sanitizer.is_mask:
            self.sample.add(block, shown, first)
        write(block.render(shown, keep))

    def _encoded(self, block: Block, first: int) -> Encoded:
        """The secrets of one block; `first` is the number of its first record."""
        return self.codec.encode({name: block.cells(name) for name in self.codec.required}, first)

    def _release(
        self, encoded: Encoded | None, block: tuple[int, int], *, is_drawn: bool
    ) -> tuple[Shown, BoolArray | None]:
        """The released cells of one block (its first row, and how many), and which rows are shown."""
        if encoded is None:
            return {}, None
        sanitizer, (first, rows) = self._sanitizer, block
        outputs = sanitizer.outputs(encoded) if is_drawn else None
        if outputs is not None and self.shared is not None:
            self.shared.redraw(sanitizer, encoded, outputs, first, rows)
        if outputs is not None:
            outputs = sanitizer.repaired(encoded, outputs)
        shown = None if sanitizer.is_mask else outputs
        self.tally.add(rows, encoded, self.policy.vocabulary.labels, shown, sanitizer.masked(encoded))
        return ({}, None) if outputs is None else (sanitizer.decoded(encoded, outputs), encoded.keep)

    def _drawn_with_more_noise(self, encoded: Encoded, names: Shown) -> Shown:
        """The cells of a block, drawn again with NOISIER times the noise, next to its pseudonyms."""
        return {**self._noisier.released(encoded), **names}

    def _names(self, encoded: Encoded, block: Block) -> Shown:
        """The pseudonyms of one block."""
        groups = {name: block.cells(name) for name in self._renamed if name in self.file.names}
        return self._sanitizer.names(encoded, groups, self.settings.clear)

    @property
    def _renamed(self) -> tuple[str, ...]:
        """The columns whose names are replaced by pseudonyms."""
        named = getattr(self.codec.settings, "renamed", ())
        return tuple(name for name in named if name not in self.settings.clear)

    @cached_property
    def _noisier(self) -> Sanitizer:
        return Sanitizer(noisier_policy(self.policy, NOISIER), detector=self.settings.detector)

    @cached_property
    def _sanitizer(self) -> Sanitizer:
        return self.shared_sanitizer or Sanitizer(self.policy, detector=self.settings.detector)

    def report(self, out: Path, mark: str, as_they_are: tuple[str, ...], claimed: Claimed | None) -> Protected:
        """What was done, or would be done; `mark` names the input."""
        tally, terms = self.tally, self.policy.terms
        return Protected(
            out=str(out),
            positions={name: self.tally.tiers[t] for t, name in enumerate(terms.tiers.names)},
            as_they_are=as_they_are,
            policy=self.policy.sha256,
            input=mark,
            notes=tuple(self._notes(claimed)),
            is_dry_run=self.settings.dry_run,
            records=tally.records,
            dropped=tally.counts.left_out,
            masked=tally.counts.masked,
            unseen=tally.counts.unseen,
            kinds=tally.counts.kinds,
            table=self.sample.measured(),
            **claim_report(claimed, terms, self.known),
        )

    def _notes(self, claimed: Claimed | None) -> Iterator[str]:
        if not self.policy.terms.certificate.holds:
            yield f"NOT CERTIFIED: the policy's state is {self.policy.terms.certificate.state}"
        if claimed is not None:
            yield from claim_notes(claimed, self.known, self.limit)
        if self.settings.detector is not None:
            yield f"{self.settings.detector.name} found further words, which no certificate covers"
        if getattr(self.codec.settings, "timestamp", ""):
            yield "times are released as they are; the certificate only considers the hour of each fix"
        if self._renamed:
            named = ", ".join(self._renamed)
            yield f"pseudonyms stand for the names in {named}, others in every release; --clear releases the names"
