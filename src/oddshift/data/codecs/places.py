"""What is asked of places: which columns say where, who, when and which trip, and what is read together.

Trips: fixes in order of trip and time, thinned to one in each interval.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray, one_of, positive
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.codec import Columns, length_of
from oddshift.data.formats.cells import strings
from oddshift.model.metric import EARTH_RADIUS_KM
from oddshift.model.records import numbered
from oddshift.model.release import REPEATS

FEWEST_USERS = 3
"""Users below which trips are divided into parts to learn from, to choose with and to certify on, as users cannot be;
certificates still count users, so they end undecided."""


@dataclass(frozen=True, kw_only=True)
class PlaceSettings:
    """How fixes become secrets. Columns are given by name; an empty name says that there is no such column."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}
    kind: ClassVar[str] = "location"

    lat: str = "lat"
    """The column of latitudes, in degrees."""
    lon: str = "lon"
    """The column of longitudes, in degrees."""
    user: str = "user"
    """The column that says who was there; without it every trip stands for itself."""
    timestamp: str = "timestamp"
    """The column of times, ISO 8601 or seconds since 1970; without it the file is in order of time."""
    trip: str = "trip"
    """What is read together; without it a user's day (UTC), and without times all of a user's fixes. Without user,
    timestamp and trip every fix stands for itself."""
    cell_km: float = 1.0
    """Places become the centres of cells of about this size."""
    every: float = 300.0
    """One fix is kept in each interval of this many seconds of a trip; 0 keeps all."""
    masked: tuple[str, ...] = ()
    """Columns whose cells are left empty on release: names, plates, speeds, addresses."""
    clear: tuple[str, ...] = ()
    """Of user and trip, the columns whose names are released as they are; the others get pseudonyms, new ones in every
    release, under which the same rows belong together."""
    joint_by: Literal["document", "user"] = "document"
    """What attackers read together: a trip, or all of a user's trips."""
    repeats: Literal["once", "each"] | None = None
    """How often a place is drawn within what is read together: once, so that every fix there is released as the same
    place and which fixes are equal is public (the default for joint_by = "user"), or for each fix (for a trip)."""

    def __post_init__(self) -> None:
        """Check that there are columns of places."""
        if not (self.lat and self.lon):
            raise InvalidInput("expected columns lat and lon")
        if set(self.masked) & set(self.wanted(())):
            raise InvalidInput("masked names a column that says where, who, when or which trip, expected others")
        if not set(self.clear) <= {name for name in (self.user, self.trip) if name}:
            raise InvalidInput("clear names a column that says neither who nor which trip, expected those of the two")
        if not self.timestamp and self.every:
            raise InvalidInput("timestamp is empty, expected every = 0: thinning needs times")
        positive(self.cell_km, "cell_km")
        if self.every:
            positive(self.every, "every")
        if self.joint_by not in {"document", "user"}:
            raise InvalidInput(f"joint_by={self.joint_by!r}, expected document or user")
        usual = "once" if self.joint_by == "user" else "each"
        object.__setattr__(self, "repeats", one_of(self.repeats or usual, "repeats", REPEATS))

    def wanted(self, names: Sequence[str]) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(name for name in (self.lat, self.lon, self.user, self.timestamp, self.trip) if name)

    @property
    def identifying(self) -> tuple[str, ...]:
        """The columns by which a fix is recognised; none where it may equal another by chance."""
        return self.wanted(()) if self.user or self.timestamp else ()

    @property
    def renamed(self) -> tuple[str, ...]:
        """The columns whose names are replaced by pseudonyms on release."""
        return tuple(name for name in (self.user, self.trip) if name and name not in self.clear)

    def units(self, columns: Columns) -> tuple[IntArray, str]:
        """A number for each row, equal for fixes that are not independent, and the name of such a unit."""
        rows = length_of(columns, self.wanted(()))
        users = numbered(strings(columns, self.user))[0] if self.user else np.zeros(rows, dtype=np.int64)
        if len(np.unique(users)) >= FEWEST_USERS:
            return users, "user"
        return trips_of_fixes(self, columns, seconds_of_fixes(self, columns, rows, 1)), "document"


def seconds_of_fixes(settings: PlaceSettings, columns: Columns, rows: int, first: int) -> FloatArray:
    """The time of each row in seconds since 1970; 0 where there are no times."""
    if not settings.timestamp:
        return np.zeros(rows)
    times, where = strings(columns, settings.timestamp, first=first), f"column {settings.timestamp!r}"
    return np.array([seconds_of(t, i, where) for i, t in enumerate(times, first)], dtype=np.float64)


def trips_of_fixes(settings: PlaceSettings, columns: Columns, seconds: FloatArray) -> IntArray:
    """The number of each row's trip."""
    return numbered(trip_names(settings, columns, seconds))[0]


def trip_names(settings: PlaceSettings, columns: Columns, seconds: FloatArray) -> list[tuple[str, Hashable]]:
    """The user and the trip of each row, by name; without a trip column the day."""
    if not (settings.user or settings.timestamp or settings.trip):
        return [("", row) for row in range(len(seconds))]
    users = strings(columns, settings.user) if settings.user else [""] * len(seconds)
    days: list[Any] = (seconds // 86400).astype(np.int64).tolist()
    trips = strings(columns, settings.trip) if settings.trip else days
    return list(zip(users, trips, strict=True))


_EPOCH = re.compile(r"(\d{9,10})(\d{3})?(\.\d*)?")  # seconds or milliseconds since 1970, between 1973 and 2286
_SLASHED = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(.*)")  # the day stands before the month


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Fixes in order of trip and time: latitude and longitude (n, 2) in degrees, seconds, trip and user numbers."""

    places: FloatArray
    seconds: FloatArray
    trip: IntArray
    user: IntArray

    def __post_init__(self) -> None:
        """Check that there is one of each for every fix, and the order."""
        sizes = {len(self.places), len(self.seconds), len(self.trip), len(self.user)}
        if len(sizes) != 1:
            raise InvalidInput(f"places, seconds, trip and user have lengths {sorted(sizes)}, expected one length")
        step, later = np.diff(self.trip), np.diff(self.seconds)
        if ((step < 0) | ((step == 0) & (later < 0))).any():
            raise InvalidInput("fixes are out of order, expected them by trip, and by time within a trip")

    def __repr__(self) -> str:
        """Counts only."""
        return f"Trajectories({len(self.seconds)} fixes, {len(np.unique(self.trip))} trips)"

    def take(self, index: IntArray) -> Trajectories:
        """Some fixes."""
        return Trajectories(self.places[index], self.seconds[index], self.trip[index], self.user[index])


def cell_centres(places: FloatArray, cell_km: float) -> FloatArray:
    """The centre of the cell that holds each place: bands of equal height, cut into cells of about equal width."""
    degree = np.pi * EARTH_RADIUS_KM / 180.0
    bands = max(1, round(180.0 * degree / cell_km))
    height = 180.0 / bands
    band = np.minimum(((places[:, 0] + 90.0) / height).astype(np.int64), bands - 1)
    middle = (band + 0.5) * height - 90.0
    count = np.maximum(1, np.round(360.0 * degree * np.cos(np.radians(middle)) / cell_km)).astype(np.int64)
    column = np.minimum(((places[:, 1] + 180.0) / 360.0 * count).astype(np.int64), count - 1)
    return np.stack([middle, (column + 0.5) / count * 360.0 - 180.0], axis=1)


def seconds_of(moment: str, row: int, where: str) -> float:
    """Seconds since 1970 of an ISO 8601 or DD/MM/YYYY time, or of a plain number of seconds or milliseconds."""
    number = _EPOCH.fullmatch(moment)
    if number:
        return float(moment) / (1000.0 if number[2] else 1.0)
    slashed = _SLASHED.fullmatch(moment)
    iso = moment if slashed is None else f"{slashed[3]}-{slashed[2]:0>2}-{slashed[1]:0>2}{slashed[4]}"
    try:
        parsed = datetime.fromisoformat(iso)
    except ValueError:  # its message quotes the cell
        raise InvalidInput(f"{where} at row {row} is not an ISO 8601 time") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
