"""A codec: raw columns to secrets with their public context, and released outputs back to columns of the same shape.

One object for each kind of data, fitted once on the fit part, serves the first configuration, the audit, the adaptation
and the release. A policy stores it as plain settings and a vocabulary, and reads it back. What differs between kinds of
data is asked of the codec: nobody else looks at its class. A codec inherits from `Codec`, and what it encodes from
`Encoded`: both say what is so of data whose rows stand for themselves and whose secrets are named by columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, indices
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.coverage import Counts, FoundPoints, found_in_records
from oddshift.data.codecs.table.domains import ColumnDomain
from oddshift.data.codecs.text.vectors import WordVectors
from oddshift.data.detectors.detection_report import PlantedRecall
from oddshift.data.detectors.spans import Detector
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.mechanisms.settings import WordChoice
from oddshift.model.nouns import who_found
from oddshift.model.records import Records, Split
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

Columns = Mapping[str, Sequence[Any]]
"""Raw data: cells by the name of their column, every column of the same length."""


@dataclass(frozen=True, eq=False, repr=False)
class NamedCells:
    """The cells of one column that names something (a user, a trip, a group), and the user that each belongs to.

    A release gives them other names, and the same rows belong together. A trip belongs to its user, because two users
    may have a trip of one name. A user belongs to nobody, which is "".
    """

    column: str
    owners: tuple[str, ...]
    cells: tuple[Any, ...]

    def __repr__(self) -> str:
        """Counts only."""
        return f"NamedCells({len(self.cells)} cells)"


def named_cells(columns: Columns, rows: IntArray, name: str, owner: str = "") -> NamedCells:
    """Take the cells of some rows in a column whose names are replaced on release; `owner` is the column of users."""
    cells = tuple(columns[name][row] for row in rows.tolist())
    owners = tuple(str(columns[owner][row]) for row in rows.tolist()) if owner else ("",) * len(cells)
    return NamedCells(name, owners, cells)


@dataclass(frozen=True, eq=False, repr=False)
class UnknownValues:
    """For each secret of some data the row that holds it, and whether the vocabulary does not have it."""

    rows: IntArray
    is_unknown: BoolArray


@dataclass(frozen=True, kw_only=True)
class NoVocabulary:
    """Points that read as their own coordinates: places and vectors."""


@runtime_checkable
class Encoded(Protocol):
    """Data turned into secrets: all rows are released, and documents are drawn by themselves, unless it says so."""

    if TYPE_CHECKING:  # fields of a dataclass, which properties of a base would replace

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

    @property
    def groups(self) -> tuple[bytes, ...]:
        """The group of every document, where some values belong to it and are drawn once for all of its rows."""
        return ()

    @property
    def row_of_position(self) -> IntArray:
        """The row of the raw data in which each secret is: the first of its document."""
        return self.rows[self.records.document_of_position]

    def units(self, joint_by: str) -> tuple[bytes, ...]:
        """What each document is read together with, by a name that is the same in every block; none for nothing."""
        return ()

    def with_surrogates(self, made_up: BoolArray) -> Self:
        """The same, with the secrets of some points shown as surrogates, or as outputs where none can be made."""
        return self

    def crossing(self, outputs: npt.ArrayLike) -> int:
        """How many outputs are values of another column than their cell's: a mechanism that keeps the tier has none."""
        return 0

    def after_draw(self, outputs: npt.ArrayLike | None, masked: bool | BoolArray = False) -> Counts:
        """The counts, with what became of the secrets: unchanged, or shown as marks."""
        return self.counts.with_marks(int(np.sum(marked_positions(masked, len(self.records.points)))))

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

    if TYPE_CHECKING:  # fields of a dataclass, which properties of a base would replace

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
        return self.released

    def unknown_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns of some data that the settings say nothing about: nobody examined them."""
        known = {*self.settings.wanted(tuple(names)), *self.released}
        return tuple(name for name in names if name not in known)

    @property
    def found_by(self) -> str:
        """Who says what is secret: detectors, or the columns that were named."""
        return who_found(self.kind, self.released)

    @property
    def point_names(self) -> tuple[str, ...] | None:
        """The word of each point, for data that consist of words."""
        return None

    @property
    def word_vectors(self) -> WordVectors | None:
        """The vectors of all words of the fit part, where they are at hand."""
        return None

    @property
    def output_words(self) -> WordChoice | None:
        """What a mechanism with words as outputs may release; None where secrets are not words."""
        return None

    @property
    def domains(self) -> tuple[ColumnDomain, ...]:
        """The values of each secret column, for data that are released cell by cell."""
        return ()

    @property
    def drawn_once(self) -> BoolArray | None:
        """Which points are drawn once within what is read together, as the settings say; None for none."""
        once = getattr(self.settings, "repeats", "each") == "once"
        return np.ones(len(self.space), dtype=np.bool_) if once else None

    @property
    def follows_rows(self) -> bool:
        """Whether what becomes of a row depends on the rows before it, so that a stream reads them one by one."""
        return False

    @property
    def notes(self) -> tuple[str, ...]:
        """What was found while fitting, in numbers."""
        return ()

    def notes_on(self, encoded: Any) -> tuple[str, ...]:
        """The same, and what was found in some data: how many values are outside the domains."""
        unseen = encoded.counts.unseen
        if not unseen:
            return self.notes
        hold, whose = ("cell holds", "its") if unseen == 1 else ("cells hold", "their")
        return (*self.notes, f"{unseen:,} {hold} a value outside the domain of {whose} column: {_OUTSIDE}")

    def found_points(self, encoded: Any, split: Split) -> FoundPoints:
        """What was found in some data, by kind: every secret was given, and its kind is its tier."""
        return found_in_records(split, self.tiers)

    def texts_in(self, encoded: Any) -> Any | None:
        """What it encoded, where that are texts (`EncodedText`); None for other data."""
        return None

    def unknown_values(self, encoded: Any, columns: Columns) -> UnknownValues | None:
        """The secrets of some data that the vocabulary does not have; None for data of which that cannot be said."""
        return None

    def planted_recall(self, columns: Columns, rng: np.random.Generator, trials: int) -> PlantedRecall | None:
        """The recall of the detectors on names planted into some data, where it was asked for and can be measured."""
        return None

    def words_released(self, mechanism: Mechanism) -> tuple[str | None, ...]:
        """The word of every output of a mechanism; None where nothing is left of the word."""
        return (None,) * mechanism.n_outputs

    def points(self, rows: FloatArray) -> IntArray:
        """The point of each row of coordinates (n, k); refused where secrets are not given by coordinates."""
        raise InvalidInput(f"rows needs a policy of kind vectors, this one is of kind {self.kind}")

    @classmethod
    def refuse_bad_cells(cls, columns: Columns, settings: Any) -> None:
        """Refuse cells that no row of these columns can have, by their rows; what is fitted sees some rows only."""
        return None

    def encode(self, columns: Columns, first: int = 1) -> Encoded:
        """The secrets of some rows; `first` numbers the first row in messages."""

    def encode_few(self, columns: Columns, first: int = 1) -> Any:
        """The same, in a faster way where there are few rows and the codec has one."""
        return self.encode(columns, first)

    def encode_name(self, name: str, kind: str) -> Encoded:
        """A stretch of text that someone else took for a name; refused for data that are not texts."""
        raise InvalidInput(f"a name was given for a policy of kind {self.kind}, expected text")

    def stream(self) -> Self:
        """A codec for the rows of one file, block after block; it may remember state that the next rows continue."""
        return self

    def on_columns(self, names: Sequence[str]) -> Self:
        """The same codec for texts in other columns; other kinds of data have the columns of their settings."""
        return self

    def with_detector(self, detector: Detector) -> Self:
        """The same codec with one more detector; refused for data that are not texts."""
        raise InvalidInput(f"a detector was given for a policy of kind {self.kind}, expected text")

    def to_policy(self) -> tuple[Any, Any]:
        """Settings and vocabulary, enough to encode new data in the same way.

        They are of `settings_class` and `vocabulary_class`: frozen dataclasses of plain fields, tuples and arrays.
        """

    @classmethod
    def from_policy(cls, settings: Any, vocabulary: Any, space: Space, tiers: Tiers) -> Self:
        """The codec that `to_policy` described."""

    def finds_again(self, vocabulary: Any, columns: Columns) -> bool:
        """Whether the codec of a policy with this vocabulary finds what this one finds in some rows."""
        again = type(self).from_policy(self.to_policy()[0], vocabulary, self.space, self.tiers)
        first, second = (each.encode(columns).records for each in (self, again))
        return np.array_equal(first.points, second.points) and np.array_equal(first.offsets, second.offsets)


_OUTSIDE = "a number is taken for the nearest, a category is left empty"


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
