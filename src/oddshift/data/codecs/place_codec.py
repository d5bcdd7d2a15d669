"""Places: trajectories as sequences of cells, under haversine distance.

A secret is where somebody was; the hour of the day stays public. A document is a trip; users are known.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import (
    Codec,
    Columns,
    Encoded,
    NamedCells,
    NoVocabulary,
    UnknownValues,
    checked_outputs,
    length_of,
    named_cells,
    points_of,
    rows_by_bytes,
)
from oddshift.data.codecs.coverage import Counts
from oddshift.data.codecs.places import (
    PlaceSettings,
    Trajectories,
    cell_centres,
    seconds_of_fixes,
    trip_names,
    trips_of_fixes,
)
from oddshift.data.formats.cells import number_cells, strings
from oddshift.model.records import SLOT, Context, Records, numbered, offsets_of
from oddshift.model.release import one_tier
from oddshift.model.space import Space
from oddshift.model.tiers import Tiers

HOURS = tuple(f"{hour:02d}h" for hour in range(24))
"""Public symbols: the hour (UTC) of each position."""


@dataclass(frozen=True, eq=False, repr=False)
class EncodedPlaces(Encoded):
    """Trajectories as secrets; `order` is the row of the data behind each position.

    `rows` is the first row of each trip, `keep` says which rows are released, `blank` which rows have no place: they
    stay without one. `unit_names` names what each trip is read together with, in any block of a file; it is empty where
    every fix stands for itself. `named` are the cells of the rows that are kept which get pseudonyms.
    """

    records: Records
    names: tuple[str, str]
    masked: tuple[str, ...]
    order: IntArray
    rows: IntArray
    keep: BoolArray | None
    blank: IntArray
    unit_names: tuple[bytes, ...]
    named: tuple[NamedCells, ...] = ()

    def __repr__(self) -> str:
        """Counts only."""
        return f"EncodedPlaces({self.records!r})"

    @property
    def counts(self) -> Counts:
        """Every fix that is kept and has a place is a secret."""
        left = 0 if self.keep is None else int((~self.keep).sum())
        return Counts(found=len(self.order), perturbed=len(self.order), left_out=left)

    @property
    def row_of_position(self) -> IntArray:
        """Fixes are in order of trip and time."""
        return self.order

    def units(self, joint_by: str) -> tuple[bytes, ...]:
        """The trip or the user of each trip."""
        return self.unit_names

    def decode(self, outputs: npt.ArrayLike, *, masked: bool | BoolArray = False) -> dict[str, list[Any]]:
        """Released latitudes and longitudes of the rows that are kept, in their order; None for a mask."""
        masked = bool(np.any(masked))  # places have one tier
        chosen = checked_outputs(outputs, 1 if masked else len(self.records.space), len(self.order))
        hidden: list[Any] = [None] * (len(chosen) + len(self.blank))
        if masked:
            return {name: list(hidden) for name in (*self.names, *self.masked)}
        table: npt.NDArray[Any] = np.full((len(self.order) + len(self.blank), 2), None, dtype=object)
        placed = np.argsort(np.argsort(np.append(self.order, self.blank), kind="stable"), kind="stable")
        table[placed[: len(self.order)]] = self.records.space.points[chosen]
        shown = {name: table[:, c].tolist() for c, name in enumerate(self.names)}
        return {**shown, **{name: list(hidden) for name in self.masked}}


@dataclass(frozen=True, eq=False, repr=False)
class PlaceCodec(Codec):
    """The cells of the fit part as points; a place outside them is taken for the nearest.

    `last` is the last interval of each trip so far, when rows come block after block.
    """

    settings: PlaceSettings
    space: Space
    last: dict[tuple[str, Hashable], float] | None = None

    kind: ClassVar[str] = "location"
    settings_class: ClassVar[type[PlaceSettings]] = PlaceSettings
    vocabulary_class: ClassVar[type[NoVocabulary]] = NoVocabulary

    @classmethod
    def fit(cls, columns: Columns, settings: PlaceSettings | None = None) -> PlaceCodec:
        """The cells that contain a fix."""
        asked = settings or PlaceSettings()
        fixes, _ = _fixes(asked, columns, 1, {})
        return cls(asked, Space.merged(cell_centres(fixes.places, asked.cell_km), "haversine")[0])

    @property
    def tiers(self) -> Tiers:
        """Places have one tier."""
        return one_tier(self.space)

    @property
    def released(self) -> tuple[str, ...]:
        """Latitude and longitude, and the columns that are left empty; users and trips get names from a release."""
        return (self.settings.lat, self.settings.lon, *self.settings.masked)

    @property
    def required(self) -> tuple[str, ...]:
        """Every column that says where, who, when and which trip, and those that are left empty."""
        return (*self.settings.wanted(()), *self.settings.masked)

    @classmethod
    def refuse_bad_cells(cls, columns: Columns, settings: PlaceSettings) -> None:
        """Cells that are neither missing nor a number."""
        for name in (settings.lat, settings.lon):
            number_cells(columns, name)

    def encode(self, columns: Columns, first: int = 1) -> EncodedPlaces:
        """Trips as documents; fixes are left out as the settings say."""
        rows = length_of(columns, self.settings.wanted(()))
        hidden = tuple(name for name in self.settings.masked if name in columns)
        fixes, order = _fixes(self.settings, columns, first, {} if self.last is None else self.last)
        is_thinned = bool(self.settings.every)
        without = np.empty(0, dtype=np.int64) if is_thinned else _blank(self.settings, columns, first)
        keep: BoolArray | None = None
        if is_thinned:
            keep = np.zeros(rows, dtype=np.bool_)
            keep[order] = True
        _, start, lengths = np.unique(fixes.trip, return_index=True, return_counts=True)
        records = Records(
            space=self.space,
            points=self.points(fixes.places),
            offsets=offsets_of(lengths) if len(lengths) else np.zeros(2, dtype=np.int64),
            context=_hours(fixes, lengths) if len(lengths) else None,
            users=fixes.user[start] if len(lengths) else None,
        )
        names = (self.settings.lat, self.settings.lon)
        starts = order[start]
        units = _unit_names(self.settings, columns, starts, first)
        shown, asked = np.sort(np.append(order, without)), self.settings
        named = tuple(named_cells(columns, shown, n, asked.user if n == asked.trip else "") for n in asked.renamed)
        return EncodedPlaces(records, names, hidden, order, starts, keep, without, units, named)

    @property
    def follows_rows(self) -> bool:
        """Whether a fix is left out depends on the fix before it."""
        return True

    def points(self, rows: FloatArray) -> IntArray:
        """The cell of each place (n, 2); of a place outside all cells, the nearest one."""
        if not len(rows):
            return self.space.nearest(rows)
        return points_of(self.space, self._known, cell_centres(rows, self.settings.cell_km))

    def stream(self) -> PlaceCodec:
        """A codec that remembers the last interval of each trip, so that a trip may go on in the next rows."""
        return replace(self, last={})

    def unknown_values(self, encoded: EncodedPlaces, columns: Columns) -> UnknownValues:
        """Fixes outside every cell in which the fit part has one."""
        centres = cell_centres(fixes_of(self.settings, columns).places, self.settings.cell_km)
        known = [row.tobytes() in self._known for row in np.ascontiguousarray(centres)]
        return UnknownValues(encoded.order, ~np.array(known, dtype=np.bool_))

    def to_policy(self) -> tuple[PlaceSettings, NoVocabulary]:
        """The settings; the points are in the policy already."""
        return self.settings, NoVocabulary()

    @classmethod
    def from_policy(cls, settings: PlaceSettings, vocabulary: NoVocabulary, space: Space, tiers: Tiers) -> PlaceCodec:
        """The codec over stored points."""
        return cls(settings, space)

    @cached_property
    def _known(self) -> dict[bytes, int]:
        return rows_by_bytes(self.space)


def fixes_of(settings: PlaceSettings, columns: Columns) -> Trajectories:
    """The fixes that the settings keep, by trip and time."""
    return _fixes(settings, columns, 1, {})[0]


def trips_of(settings: PlaceSettings, columns: Columns, first: int = 1) -> list[tuple[str, Hashable]]:
    """User and trip of each row; rows that agree in both are thinned together, so they must be read together."""
    rows = length_of(columns, settings.wanted(()))
    return trip_names(settings, columns, seconds_of_fixes(settings, columns, rows, first))


def _fixes(
    settings: PlaceSettings, columns: Columns, first: int, last: dict[tuple[str, Hashable], float]
) -> tuple[Trajectories, IntArray]:
    """The fixes that are kept, by trip and time, and the row behind each."""
    rows = length_of(columns, settings.wanted(()))
    places, there = _places(settings, columns, first), np.ones(rows, dtype=np.bool_)
    there[_blank(settings, columns, first)] = False
    seconds = seconds_of_fixes(settings, columns, rows, first)
    trips = trips_of_fixes(settings, columns, seconds)
    users = numbered(strings(columns, settings.user, first=first))[0] if settings.user else trips
    kept = np.flatnonzero(there)
    if settings.every:
        kept = _thinned(settings, columns, (seconds, there), first, last)
    order: IntArray = kept[np.lexsort((seconds[kept], trips[kept]))].astype(np.int64)
    return Trajectories(places[order], seconds[order], trips[order], users[order]), order


def _places(settings: PlaceSettings, columns: Columns, first: int) -> FloatArray:
    """Latitude and longitude (n, 2), in range or NaN where one is missing; 181 degrees east are 179 degrees west."""
    names = (settings.lat, settings.lon)
    places = np.stack([number_cells(columns, name, first=first) for name in names], axis=1)
    places[:, 1] -= np.where((places[:, 1] > 180.0) & (places[:, 1] <= 360.0), 360.0, 0.0)
    for column, (name, limit) in enumerate(zip(names, (90.0, 180.0), strict=True)):
        outside = np.flatnonzero(np.abs(places[:, column]) > limit)
        if len(outside):
            where = f"column {name!r} at row {first + int(outside[0])}"
            raise InvalidInput(f"{where} is outside [-{limit:g}, {limit:g}] degrees")
    return places


def _blank(settings: PlaceSettings, columns: Columns, first: int) -> IntArray:
    """The rows without a latitude or a longitude."""
    missing = [np.isnan(number_cells(columns, name, first=first)) for name in (settings.lat, settings.lon)]
    return np.flatnonzero(missing[0] | missing[1])


def _unit_names(settings: PlaceSettings, columns: Columns, starts: IntArray, first: int) -> tuple[bytes, ...]:
    """What each trip is read together with, by a name that is the same in every block; none where fixes stand alone."""
    if settings.repeats == "each" or not (settings.user or settings.timestamp or settings.trip):
        return ()
    some = {name: [columns[name][row] for row in starts.tolist()] for name in settings.wanted(())}
    names = trip_names(settings, some, seconds_of_fixes(settings, some, len(starts), first))
    by_user = settings.joint_by == "user" and settings.user
    return tuple(repr(user if by_user else (user, trip)).encode() for user, trip in names)


def _thinned(
    settings: PlaceSettings,
    columns: Columns,
    times: tuple[FloatArray, BoolArray],
    first: int,
    last: dict[tuple[str, Hashable], float],
) -> IntArray:
    """The rows that are the first of their trip's interval; `last` has the interval that each trip is in, and grows.

    `times` are seconds, and which rows have a place at all: the others are left out.
    """
    keep = []
    seconds, there = times
    slots = np.floor(seconds / settings.every).tolist()
    for row, (trip, slot) in enumerate(zip(trip_names(settings, columns, seconds), slots, strict=True)):
        if not there[row]:
            continue
        before = last.get(trip, -np.inf)
        if slot < before:
            keys = ", ".join(filter(None, (settings.user, settings.trip, settings.timestamp)))
            where = f"the fix at row {first + row} is out of order, expected each trip in order of time"
            raise InvalidInput(f"{where}: sort the file by {keys}")
        if slot > before:
            keep.append(row)
            last[trip] = slot
    return np.array(keep, dtype=np.int64)


def _hours(fixes: Trajectories, lengths: IntArray) -> Context:
    """The hour of each position, as a symbol before it."""
    hour = (fixes.seconds // 3600 % 24).astype(np.int64)
    tokens = np.stack([hour, np.full(len(hour), SLOT)], axis=1).ravel()
    offsets = offsets_of(2 * lengths)
    breaks = np.zeros(len(tokens), dtype=np.bool_)
    breaks[offsets[:-1]] = True
    return Context(tokens=tokens, offsets=offsets, symbols=HOURS, breaks=breaks)
