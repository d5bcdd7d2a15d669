"""Vectors of anyone's encoder (images, audio, time series): each row is a secret, and rows of one group are read
together.

A vector is released as a word of a public codebook: one that is declared, or the means of cells of many fit vectors.

Codebooks of vectors: public ones from a file, or means of cells that hold many vectors each.

Cells come from cutting at the median of the widest axis, again and again, as in a k-d tree: no cell is ever smaller
than asked for, and no iteration has to converge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray, finite, one_of, whole
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import (
    Codec,
    Columns,
    Encoded,
    NoVocabulary,
    checked_outputs,
    length_of,
    marked_positions,
    points_of,
    rows_by_bytes,
)
from oddshift.data.codecs.coverage import Counts
from oddshift.model.metric import METRICS
from oddshift.model.records import Records, numbered, offsets_of
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, kw_only=True)
class VectorSettings:
    """How vectors become secrets."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    kind: ClassVar[str] = "vectors"

    vectors: str = "vectors"
    """The column of vectors, all of one width."""
    group: str = "group"
    """A column whose equal values are read together; without it every vector stands for itself."""
    tier: str = "tier"
    """A column with the name of each vector's tier, most sensitive first; without it there is one tier."""
    is_public: bool = True
    """Whether the attacker is told the tier of each vector."""
    metric: str = "euclidean"
    """The distance between vectors: a name of `METRICS`."""
    points: Literal["means", "declared", "fit"] = "means"
    """What vectors are released as: means of at least `least` fit vectors, the `codebook`, or fit vectors themselves
    (then a released vector is somebody's own)."""
    codebook: str = ""
    """A .npy file of public vectors, with points = "declared"."""
    least: int = 10
    """The smallest number of fit vectors behind a mean."""

    def __post_init__(self) -> None:
        """Check the metric and where points come from."""
        if self.metric not in METRICS:
            raise InvalidInput(f"metric={self.metric!r}, expected one of {', '.join(METRICS)}")
        one_of(self.points, "points", ("means", "declared", "fit"))
        whole(self.least, "least", 2)
        if self.codebook and self.points != "declared":
            raise InvalidInput(f"a codebook with points={self.points!r}, expected points='declared'")

    def wanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are read, of those that a file has."""
        return (self.vectors, *(name for name in (self.group, self.tier) if name in names))

    def units(self, columns: Columns) -> tuple[IntArray, str]:
        """A number for each row, equal for rows that are not independent, and the name of such a unit."""
        rows = length_of(columns, (self.vectors,))
        return _groups(columns, self.group, rows), "document"


@dataclass(frozen=True, eq=False, repr=False)
class EncodedVectors(Encoded):
    """Vectors as secrets; `order` is the row of the data behind each position, `rows` the first of each group."""

    records: Records
    name: str
    order: IntArray
    rows: IntArray
    keep: None = None

    def __repr__(self) -> str:
        """Counts only."""
        return f"EncodedVectors({self.records!r})"

    @property
    def counts(self) -> Counts:
        """Every row is a secret."""
        return Counts(found=len(self.order), perturbed=len(self.order))

    def decode(self, outputs: npt.ArrayLike, *, masked: bool | BoolArray = False) -> dict[str, list[Any]]:
        """Released vectors in the order of the rows; None for a mask."""
        chosen = checked_outputs(outputs, 1 if masked is True else len(self.records.space), len(self.order))
        hidden = np.empty(len(chosen), dtype=np.bool_)
        hidden[self.order] = marked_positions(masked, len(chosen))
        table = np.empty((len(chosen), self.records.space.points.shape[1]))
        table[self.order] = self.records.space.points[chosen]
        return {self.name: [None if is_hidden else row for row, is_hidden in zip(table, hidden, strict=True)]}


@dataclass(frozen=True, eq=False, repr=False)
class VectorCodec(Codec):
    """The words of a codebook as points; a vector is taken for the nearest of them."""

    settings: VectorSettings
    space: Space
    tiers: Tiers

    kind: ClassVar[str] = "vectors"
    settings_class: ClassVar[type[VectorSettings]] = VectorSettings
    vocabulary_class: ClassVar[type[NoVocabulary]] = NoVocabulary

    @classmethod
    def fit(cls, columns: Columns, settings: VectorSettings | None = None) -> VectorCodec:
        """Points and tiers of some rows; a vector that two tiers share is refused: a tier belongs to the point."""
        asked = settings or VectorSettings()
        length_of(columns, asked.wanted(tuple(columns)))
        table = vector_table(columns[asked.vectors], asked.vectors)
        tier = columns.get(asked.tier)
        if asked.points == "declared":
            space = Space.merged(_declared(asked, table.shape[1]), asked.metric)[0]
            return cls(asked, space, one_tier(space) if tier is None else _tiers_of_nearest(tier, space, table, asked))
        if asked.points == "means":
            table, tier = cell_means(table, tier, asked.least)
        space, point = Space.merged(table, asked.metric)
        if tier is None:
            return cls(asked, space, one_tier(space))
        return cls(asked, space, _tiers(tier, point, len(space), asked.is_public))

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the released vectors come from."""
        asked = self.settings
        said = {
            "means": f"vectors are released as means of at least {asked.least} vectors of the fit part, which count "
            "as public; a declared codebook needs no such assumption",
            "declared": "vectors are released as words of the declared codebook",
            "fit": "a released vector is a vector of the fit part, somebody's own",
        }
        return (said[asked.points],)

    @property
    def released(self) -> tuple[str, ...]:
        """The vectors."""
        return (self.settings.vectors,)

    def unknown_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """None: other columns are released as they are."""
        return ()

    def encode(self, columns: Columns, first: int = 1) -> EncodedVectors:
        """Rows of one group form a document, in order."""
        name = self.settings.vectors
        rows = length_of(columns, (name,))
        point = self.points(vector_table(columns[name], name, first, self.space.points.shape[1]))
        groups = _groups(columns, self.settings.group, rows)
        order = np.argsort(groups, kind="stable").astype(np.int64)
        records = Records(space=self.space, points=point[order], offsets=offsets_of(np.bincount(groups)))
        return EncodedVectors(records, name, order, order[records.offsets[:-1]])

    def points(self, rows: FloatArray) -> IntArray:
        """The nearest point of each row (n, k)."""
        return points_of(self.space, self._known, rows)

    def to_policy(self) -> tuple[VectorSettings, NoVocabulary]:
        """The settings; the points are the vocabulary."""
        return self.settings, NoVocabulary()

    @classmethod
    def from_policy(cls, settings: VectorSettings, vocabulary: NoVocabulary, space: Space, tiers: Tiers) -> VectorCodec:
        """The codec over stored points."""
        return cls(settings, space, tiers)

    @cached_property
    def _known(self) -> dict[bytes, int]:
        return rows_by_bytes(self.space)


def vector_table(rows: Sequence[Any], name: str, first: int = 1, width: int | None = None) -> FloatArray:
    """Vectors (n, k) of one width with finite numbers; the first row that is something else is named, not quoted."""
    expected = width or (len(rows[0]) if hasattr(rows[0], "__len__") else -1)
    for row, vector in enumerate(rows, start=first):
        if isinstance(vector, str) or not hasattr(vector, "__len__") or len(vector) != expected or expected < 1:
            found = "no" if isinstance(vector, str) or not hasattr(vector, "__len__") else len(vector)
            raise InvalidInput(f"column {name!r} at row {row} has {found} numbers, expected {max(expected, 1)}")
    try:
        table = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):  # its message quotes an entry
        raise InvalidInput(f"column {name!r} holds something other than numbers, expected vectors") from None
    if table.ndim != 2:
        raise InvalidInput(f"column {name!r} holds lists inside its vectors, expected numbers")
    bad = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(bad):
        raise InvalidInput(f"column {name!r} at row {first + int(bad[0])}: expected {expected} finite numbers")
    return finite(table, name, 2)


def _groups(columns: Columns, group: str, rows: int) -> IntArray:
    """The number of each row's group."""
    if group not in columns:
        return np.arange(rows, dtype=np.int64)
    if len(columns[group]) != rows:
        raise InvalidInput(f"{group} has {len(columns[group])} entries, expected {rows} (one for each vector)")
    return numbered(columns[group])[0]


def _declared(asked: VectorSettings, width: int) -> FloatArray:
    """The codebook of the file."""
    if not asked.codebook:
        raise InvalidInput("points='declared' without a codebook, expected a .npy file of public vectors")
    words = read_codebook(asked.codebook)
    if words.shape[1] != width:
        raise InvalidInput(f"the codebook has vectors of {words.shape[1]} numbers, expected {width}")
    return words


def _tiers_of_nearest(tier: Sequence[Any], space: Space, table: FloatArray, asked: VectorSettings) -> Tiers:
    """The tier of a declared word: that of most vectors nearest to it; the last where there is none."""
    labels, names = numbered([str(t) for t in tier])
    votes = np.zeros((len(space), len(names)), dtype=np.int64)
    np.add.at(votes, (space.nearest(table), labels), 1)
    chosen = np.where(votes.any(axis=1), votes.argmax(axis=1), len(names) - 1)
    return Tiers(chosen, names=tuple(map(str, names)), scales=(1.0,) * len(names), is_public=asked.is_public)


def _tiers(tier: Sequence[Any], point: IntArray, n: int, is_public: bool) -> Tiers:
    labels, names = numbered([str(t) for t in tier])
    of_point = np.full(n, -1, dtype=np.int64)
    of_point[point] = labels
    clash = np.flatnonzero(of_point[point] != labels)
    if len(clash):
        raise InvalidInput(f"{len(clash)} rows share a point with a row of another tier, expected one tier for a point")
    return Tiers(of_point, names=tuple(str(name) for name in names), scales=(1.0,) * len(names), is_public=is_public)


def cell_means(table: FloatArray, tier: Sequence[Any] | None, least: int) -> tuple[FloatArray, list[Any] | None]:
    """Means of cells of at least `least` rows (n, k), made within each tier, and the tier of each mean.

    **Guarantee**: every mean is over at least `least` rows; a tier with fewer than twice as many has the point 0 alone.
    """
    labels, names = (np.zeros(len(table), dtype=np.int64), (None,)) if tier is None else numbered(list(tier))
    means: list[FloatArray] = []
    tiers: list[Any] = []
    for label, name in enumerate(names):
        mine = np.flatnonzero(labels == label)
        if len(mine) < 2 * least:  # one point that is nobody's: such vectors can only become marks
            means.append(np.zeros(table.shape[1]))
            tiers.append(name)
            continue
        for cell in _cells(table, mine, least):
            means.append(table[cell].mean(axis=0))
            tiers.append(name)
    return np.array(means), None if tier is None else tiers


def read_codebook(path: str) -> FloatArray:
    """The vectors of a .npy file."""
    try:
        with Path(path).open("rb") as stream:
            return finite(np.load(stream, allow_pickle=False).astype(np.float64), "codebook", 2)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} is not a .npy file of vectors, expected an array (n, k) of numbers") from error


def _cells(table: FloatArray, rows: IntArray, least: int) -> list[IntArray]:
    """The rows of each cell."""
    done: list[IntArray] = []
    waiting = [rows]
    while waiting:
        cell = waiting.pop()
        spread = table[cell].var(axis=0)
        if len(cell) < 2 * least or not spread.max() > 0:
            done.append(cell)
            continue
        order = cell[np.argsort(table[cell, int(spread.argmax())], kind="stable")]
        waiting += [order[len(order) // 2 :], order[: len(order) // 2]]
    return done
