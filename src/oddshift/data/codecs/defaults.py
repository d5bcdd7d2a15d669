"""What codecs have in common: what is usually so of data and their secrets, and how rows become points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, indices
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Codec, Columns, Encoded, UnknownValues
from oddshift.data.codecs.coverage import Counts, Coverage
from oddshift.data.detectors.planting import PlantedRecall
from oddshift.data.detectors.spans import Detector
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.nouns import who_found
from oddshift.model.space import Space


class EncodedDefaults:
    """Data of which all rows are released, and whose documents are drawn by themselves."""

    groups: tuple[bytes, ...] = ()

    @property
    def row_of_position(self: Encoded) -> IntArray:
        """The first row of each secret's document."""
        return self.rows[self.records.document_of_position]

    def units(self, joint_by: str) -> tuple[bytes, ...]:
        """None."""
        return ()

    def crossing(self, outputs: npt.ArrayLike) -> int:
        """None."""
        return 0

    def after_draw(self: Encoded, outputs: npt.ArrayLike | None, masked: bool | BoolArray = False) -> Counts:
        """The counts with the positions that are shown as marks."""
        return self.counts.with_marks(int(np.sum(marked_positions(masked, len(self.records.points)))))


class CodecDefaults:
    """A codec whose rows stand for themselves and whose secrets are named by columns."""

    point_names: ClassVar[Any] = None
    word_vectors: ClassVar[Any] = None
    output_words: ClassVar[Any] = None
    domains: ClassVar[Any] = ()
    follows_rows: ClassVar[Any] = False
    notes: ClassVar[Any] = ()

    @property
    def found_by(self: Codec) -> str:
        """The columns that are released."""
        return who_found(self.kind, self.released)

    @property
    def drawn_once(self: Codec) -> BoolArray | None:
        """All points or none, as the settings say."""
        once = getattr(self.settings, "repeats", "each") == "once"
        return np.ones(len(self.space), dtype=np.bool_) if once else None

    def notes_on(self: Codec, encoded: Any) -> tuple[str, ...]:
        """The notes, and how many values are outside the domains."""
        unseen = encoded.counts.unseen
        if not unseen:
            return self.notes
        hold, whose = ("cell holds", "its") if unseen == 1 else ("cells hold", "their")
        return (*self.notes, f"{unseen:,} {hold} a value outside the domain of {whose} column: {_OUTSIDE}")

    def coverage(self, encoded: Any) -> Coverage:
        """The counts alone."""
        return Coverage(detectors=(), counts=encoded.counts)

    def unknown_values(self, encoded: Any, columns: Columns) -> UnknownValues | None:
        """Nothing is said."""
        return None

    def planted_recall(self, columns: Columns, rng: np.random.Generator, trials: int) -> PlantedRecall | None:
        """Nothing is measured."""
        return None

    def words_released(self, mechanism: Mechanism) -> tuple[str | None, ...]:
        """No words."""
        return (None,) * mechanism.n_outputs

    def points(self: Codec, rows: FloatArray) -> IntArray:
        """Refused."""
        raise InvalidInput(f"rows needs a policy of kind vectors, this one is of kind {self.kind}")

    def encode_few(self: Codec, columns: Columns, first: int = 1) -> Any:
        """As many rows are encoded."""
        return self.encode(columns, first)

    def encode_name(self: Codec, name: str, kind: str) -> Encoded:
        """Refused."""
        raise InvalidInput(f"a name was given for a policy of kind {self.kind}, expected text")

    def stream(self) -> Self:
        """Itself: rows do not continue one another."""
        return self

    def on_columns(self, names: Sequence[str]) -> Self:
        """Itself."""
        return self

    def with_detector(self: Codec, detector: Detector) -> Any:
        """Refused."""
        raise InvalidInput(f"a detector was given for a policy of kind {self.kind}, expected text")

    def finds_again(self: Codec, vocabulary: Any, columns: Columns) -> bool:
        """Compared on these rows."""
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
