"""A codec: raw columns to secrets with their public context, and released outputs back to columns of the same shape.

One object for each kind of data, fitted once on the fit part, serves the first configuration, the audit, the adaptation
and the release. A policy stores it as plain settings and a vocabulary, and reads it back.

Coverage: what happened to the words of each kind, reported before any certificate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, indices
from oddshift.base.errors import InvalidInput
from oddshift.data.detectors.planting import PlantedRecall
from oddshift.model.records import Records
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

Columns = Mapping[str, Sequence[Any]]
"""Raw data: cells by the name of their column, every column of the same length."""


@dataclass(frozen=True, kw_only=True)
class KindCounts:
    """What happened to the words of one kind: found = perturbed + marked + left; `unchanged` of those perturbed.

    `left` are function words inside a name. `unchanged` counts secrets that the mechanism released as themselves; it is
    known only after the draw.
    """

    found: int = 0
    perturbed: int = 0
    marked: int = 0
    left: int = 0
    unchanged: int = 0

    def __add__(self, other: KindCounts) -> KindCounts:
        """The counts of both."""
        return KindCounts(**{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)})


@dataclass(frozen=True, kw_only=True)
class Counts:
    """What happened to some data: secrets found, perturbed, masked, and of unseen values; and rows left out.

    `kinds` says the same for each kind of word, where the data are texts.

    >>> both = Counts(found=3, perturbed=2, masked=1) + Counts(found=1, perturbed=1)
    >>> both.found, both.perturbed, both.masked
    (4, 3, 1)
    """

    found: int = 0
    perturbed: int = 0
    masked: int = 0
    unseen: int = 0
    left_out: int = 0
    kinds: Mapping[str, KindCounts] = field(default_factory=dict)

    def __add__(self, other: Counts) -> Counts:
        """The counts of both."""
        names = dict.fromkeys((*self.kinds, *other.kinds))
        none = KindCounts()
        return Counts(
            found=self.found + other.found,
            perturbed=self.perturbed + other.perturbed,
            masked=self.masked + other.masked,
            unseen=self.unseen + other.unseen,
            left_out=self.left_out + other.left_out,
            kinds={name: self.kinds.get(name, none) + other.kinds.get(name, none) for name in names},
        )

    def after_draw(self, unchanged: Mapping[str, int], marks: Mapping[str, int]) -> Counts:
        """The same counts, with how many secrets of each kind came out unchanged, and how many became marks."""
        kinds = {
            name: replace(
                count,
                perturbed=count.perturbed - marks.get(name, 0),
                marked=count.marked + marks.get(name, 0),
                unchanged=unchanged.get(name, 0),
            )
            for name, count in self.kinds.items()
        }
        return replace(self.with_marks(sum(marks.values())), kinds=kinds)

    def with_marks(self, marks: int) -> Counts:
        """The same counts with some secrets released as marks instead of perturbed."""
        return replace(self, perturbed=self.perturbed - marks, masked=self.masked + marks)


@runtime_checkable
class Encoded(Protocol):
    """Data turned into secrets."""

    @property
    def records(self) -> Records:
        """The secrets and their public context."""

    @property
    def counts(self) -> Counts:
        """What was found, and what becomes of it."""

    @property
    def rows(self) -> IntArray:
        """The row of the raw data at which each document starts."""

    @property
    def keep(self) -> BoolArray | None:
        """Which rows of the raw data are released; None for all."""

    def decode(self, outputs: npt.ArrayLike, *, masked: bool | BoolArray = False) -> dict[str, list[Any]]:
        """The released columns, one cell for each row that is kept.

        `outputs` has a point for each of `records.points`; with `masked` the mechanism released only a mask, or shows
        a mark at some of these positions.

        **Guarantee**: secrets reach the result through `outputs` only.
        """


@runtime_checkable
class Codec(Protocol):
    """How data of one kind become secrets; made by `fit` (from data) or by `from_policy` (from a stored policy)."""

    kind: ClassVar[str]
    settings_class: ClassVar[type[Any]]
    vocabulary_class: ClassVar[type[Any]]

    @property
    def settings(self) -> Any:
        """The settings it was made with."""

    @property
    def space(self) -> Space:
        """The points that secrets may be."""

    @property
    def tiers(self) -> Tiers:
        """The tiers of the points."""

    @property
    def released(self) -> tuple[str, ...]:
        """The columns whose cells are replaced."""

    @property
    def required(self) -> tuple[str, ...]:
        """The columns without which nothing can be released."""

    @property
    def point_names(self) -> tuple[str, ...] | None:
        """The word of each point, for data that consist of words."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found while fitting, in numbers."""

    def encode(self, columns: Columns, first: int = 1) -> Encoded:
        """The secrets of some rows; `first` numbers the first row in messages."""

    def stream(self) -> Codec:
        """A codec for the rows of one file, block after block; it may remember state that the next rows continue."""

    def to_policy(self) -> tuple[Any, Any]:
        """Settings and vocabulary, enough to encode new data in the same way.

        They are of `settings_class` and `vocabulary_class`: frozen dataclasses of plain fields, tuples and arrays.
        """

    @classmethod
    def from_policy(cls, settings: Any, vocabulary: Any, space: Space, tiers: Tiers) -> Self:
        """The codec that `to_policy` described."""


def length_of(columns: Columns, wanted: Sequence[str], source: str = "the data") -> int:
    """The number of rows; a missing column, or one of another length, is refused."""
    for name in wanted:
        if name not in columns:
            raise InvalidInput(f"{source} has no column {name!r} among its {len(columns)}")
    lengths = {len(columns[name]) for name in wanted}
    if len(lengths) != 1 or 0 in lengths:
        raise InvalidInput(f"columns of {source} have lengths {sorted(lengths)}, expected one length above 0")
    return lengths.pop()


def checked_outputs(outputs: npt.ArrayLike, points: int, positions: int) -> IntArray:
    """Outputs as row numbers of points, one for each secret."""
    chosen = indices(outputs, "outputs", points)
    if len(chosen) != positions:
        raise InvalidInput(f"outputs has {len(chosen)} entries, expected {positions} (one for each secret)")
    return chosen


def marked_positions(masked: bool | BoolArray, positions: int) -> BoolArray:
    """Which positions are shown as marks."""
    return np.broadcast_to(np.asarray(masked, dtype=np.bool_), positions)


def points_of(space: Space, known: Mapping[bytes, int], rows: FloatArray) -> IntArray:
    """The point of each row: the one that equals it, otherwise the nearest."""
    found = np.array([known.get(row.tobytes(), -1) for row in rows], dtype=np.int64)
    others = np.flatnonzero(found < 0)
    if len(others):
        found[others] = space.nearest(rows[others])
    return found


def rows_by_bytes(space: Space) -> dict[bytes, int]:
    """The row number of each point, by its exact coordinates."""
    return {row.tobytes(): i for i, row in enumerate(np.ascontiguousarray(space.points))}


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """Which detectors looked, what they found, what became of it, and the recall on planted names if it was measured.

    >>> counts = Counts(found=3, kinds={"PERSON": KindCounts(found=3, perturbed=2, marked=1, unchanged=1)})
    >>> for line in Coverage(detectors=("capitalised words",), counts=counts).lines():
    ...     print(line)
    looked: capitalised words; names that they miss are released in the clear
    PERSON: 3 found, 2 perturbed (1 came out unchanged), 1 marked
    names that they miss: not measured
    """

    detectors: tuple[str, ...]
    counts: Counts
    recall: PlantedRecall | None = None

    @property
    def total(self) -> KindCounts:
        """All kinds together."""
        return sum(self.counts.kinds.values(), KindCounts())

    def after(self, counts: Counts) -> Coverage:
        """The same for other counts, after a draw for example."""
        return replace(self, counts=counts)

    def lines(self) -> tuple[str, ...]:
        """The counts in sentences, the most frequent kind first."""
        missed = "names that they miss: not measured" if self.recall is None else self.recall.line()
        return (
            f"looked: {', '.join(self.detectors) or 'a fixed list of words'}; "
            "names that they miss are released in the clear",
            *kind_lines(self.counts.kinds),
            missed,
        )


def kind_lines(kinds: Mapping[str, KindCounts]) -> tuple[str, ...]:
    """One sentence for each kind of word, the most frequent first."""
    return tuple(f"{kind}: {_said(n)}" for kind, n in sorted(kinds.items(), key=lambda item: -item[1].found))


def _said(count: KindCounts) -> str:
    same = f" ({count.unchanged:,} came out unchanged)" if count.unchanged else ""
    left = f", {count.left:,} function words inside them left" if count.left else ""
    return f"{count.found:,} found, {count.perturbed:,} perturbed{same}, {count.marked:,} marked{left}"
