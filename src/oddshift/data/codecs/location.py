"""Locations: trajectories as sequences of cells or points of interest, under haversine distance.

A secret is where somebody was; the hour of the day stays public beside it. A document is a trip; users are known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, IntArray, finite, indices, positive
from oddshift.base.errors import InvalidInput
from oddshift.data.formats import Columns, open_data, read_columns
from oddshift.data.formats.cell_values import numbers, strings
from oddshift.model.metric import EARTH_RADIUS_KM, Haversine
from oddshift.model.records import SLOT, Context, Records, numbered, offsets_of
from oddshift.model.space import Space

_EPOCH = re.compile(r"\d{9,10}(\.\d*)?")  # seconds since 1970, between 1973 and 2286

HOURS = tuple(f"{hour:02d}h" for hour in range(24))
"""Public symbols: the hour (UTC) of each position."""


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


@dataclass(frozen=True)
class FixColumns:
    """Which columns of a file hold what; an empty name says that there is none.

    Without `user` every trip stands for itself; without `trip` a trip is what one user did on one day (UTC); without
    `timestamp` the order of the file is that of time, nothing can be thinned, and a trip is all of a user's fixes.
    """

    lat: str = "lat"
    lon: str = "lon"
    user: str = "user"
    timestamp: str = "timestamp"
    trip: str = "trip"

    def __post_init__(self) -> None:
        """Check that places are there and that something says which fixes belong together."""
        if not (self.lat and self.lon and (self.user or self.timestamp or self.trip)):
            raise InvalidInput("expected columns lat and lon, and one of user, timestamp and trip")


@dataclass(frozen=True)
class StayPoints:
    """A stay: at least `minutes` within `kilometres` of its first fix (Li et al. 2008)."""

    kilometres: float = 0.2
    minutes: float = 20.0

    def __post_init__(self) -> None:
        """Check that a stay has a size."""
        positive(self.kilometres, "kilometres")
        positive(self.minutes, "minutes")


@dataclass(frozen=True)
class LocationSettings:
    """How fixes become secrets.

    `every` seconds keeps one fix in each interval of a trip; `stays` keeps stay points only. Places become the
    centres of cells of about `cell_km`, or the nearest row of `places` (points of interest, latitude and longitude).
    """

    cell_km: float = 1.0
    every: float | None = 300.0
    stays: StayPoints | None = None
    places: npt.NDArray[np.float64] | None = field(default=None, compare=False)


@dataclass(frozen=True, eq=False, repr=False)
class EncodedLocations:
    """Trajectories as secrets; `fixes` are the places and times behind the positions."""

    records: Records
    fixes: Trajectories

    def __repr__(self) -> str:
        """Counts only."""
        return f"EncodedLocations({self.records!r})"

    @property
    def tiers(self) -> None:
        """Places have one tier."""

    def decode(self, outputs: npt.ArrayLike) -> FloatArray:
        """Released latitude and longitude (n, 2), one row a position."""
        chosen = indices(outputs, "outputs", len(self.records.space))
        if len(chosen) != len(self.records.points):
            raise InvalidInput(f"outputs has {len(chosen)} entries, expected {len(self.records.points)}")
        return self.records.space.points[chosen]


def read_trajectories(path: str | Path, columns: FixColumns | None = None, *, at_least: int = 2) -> Trajectories:
    """A file of fixes: latitude and longitude in degrees, times in ISO 8601 or in seconds since 1970."""
    path, names = Path(path), columns or FixColumns()
    wanted = [name for name in (names.user, names.timestamp, names.lat, names.lon, names.trip) if name]
    cells = read_columns(open_data(path, "location"), wanted, at_least=at_least)
    places = _places(cells, names, path.name)
    rows = len(places)
    times = strings(cells, names.timestamp, path.name) if names.timestamp else None
    where = f"{path.name}: column {names.timestamp!r}"
    seconds = np.zeros(rows) if times is None else np.array([seconds_of(t, i, where) for i, t in enumerate(times, 1)])
    user = strings(cells, names.user, path.name) if names.user else [""] * rows
    day = (seconds // 86400).astype(np.int64).tolist()
    trip = strings(cells, names.trip, path.name) if names.trip else day
    trips = numbered(list(zip(user, trip, strict=True)))[0]
    order = np.lexsort((seconds, trips))
    who = numbered(user)[0] if names.user else trips
    return Trajectories(places[order], seconds[order], trips[order], who[order])


def _places(cells: Columns, names: FixColumns, source: str) -> FloatArray:
    """Latitude and longitude (n, 2), in range."""
    places = np.stack([numbers(cells, name, source) for name in (names.lat, names.lon)], axis=1)
    for column, (name, limit) in enumerate(((names.lat, 90.0), (names.lon, 180.0))):
        outside = np.flatnonzero(np.abs(places[:, column]) > limit)
        if len(outside):
            where = f"{source}: column {name!r} at row {outside[0] + 1}"
            raise InvalidInput(f"{where} is outside [-{limit:g}, {limit:g}] degrees")
    return places


def encode_locations(trajectories: Trajectories, settings: LocationSettings | None = None) -> EncodedLocations:
    """Trips as documents of cells or points of interest."""
    settings = settings or LocationSettings()
    fixes = trajectories if settings.every is None else thinned(trajectories, positive(settings.every, "every"))
    if settings.stays is not None:
        fixes = stay_points(fixes, settings.stays)
    if not len(fixes.seconds):
        raise InvalidInput("no fix is left after thinning and stay points, expected at least one")
    Haversine().check(finite(fixes.places, "places", 2))
    if settings.places is None:
        centres = cell_centres(fixes.places, positive(settings.cell_km, "cell_km"))
        space, point = Space.merged(centres, "haversine")
    else:
        space, point = _nearest(fixes.places, settings.places)
    _, first, lengths = np.unique(fixes.trip, return_index=True, return_counts=True)
    records = Records(
        space=space,
        points=point,
        offsets=offsets_of(lengths),
        context=_hours(fixes, lengths),
        users=fixes.user[first],
    )
    return EncodedLocations(records, fixes)


def stay_points(trajectories: Trajectories, stays: StayPoints) -> Trajectories:
    """One fix a stay: the mean place and the first moment of each run within reach of its first fix."""
    kept: list[tuple[FloatArray, int]] = []
    ends = np.searchsorted(trajectories.trip, trajectories.trip, side="right")  # where each fix's trip ends
    start = 0
    while start < len(trajectories.seconds):
        stop = _left(trajectories.places[start : ends[start]], stays.kilometres) + start
        if trajectories.seconds[stop - 1] - trajectories.seconds[start] >= 60.0 * stays.minutes:
            kept.append((trajectories.places[start:stop].mean(axis=0), start))
            start = stop
        else:
            start += 1
    found = trajectories.take(np.array([s for _, s in kept], dtype=np.int64))
    places = np.array([p for p, _ in kept]).reshape(-1, 2)
    return Trajectories(places, found.seconds, found.trip, found.user)


def _left(places: FloatArray, kilometres: float) -> int:
    """How many fixes pass before one is farther than that from the first."""
    for start in range(0, len(places), 256):
        far = Haversine().between(places[:1], places[start : start + 256])[0] > kilometres
        if far.any():
            return start + int(far.argmax())
    return len(places)


def thinned(trajectories: Trajectories, every: float) -> Trajectories:
    """The first fix of every interval of `every` seconds of a trip."""
    slot = np.floor(trajectories.seconds / every).astype(np.int64)
    keys = np.stack([trajectories.trip, slot], axis=1)
    keep = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))
    return trajectories.take(np.flatnonzero(keep))


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


def _nearest(places: FloatArray, candidates: npt.ArrayLike) -> tuple[Space, IntArray]:
    space = Space(candidates, "haversine")
    return space, space.nearest(places)


def _hours(fixes: Trajectories, lengths: IntArray) -> Context:
    """Before each position, the hour at which it was."""
    hour = (fixes.seconds // 3600 % 24).astype(np.int64)
    tokens = np.stack([hour, np.full(len(hour), SLOT)], axis=1).ravel()
    offsets = offsets_of(2 * lengths)
    breaks = np.zeros(len(tokens), dtype=np.bool_)
    breaks[offsets[:-1]] = True
    return Context(tokens=tokens, offsets=offsets, symbols=HOURS, breaks=breaks)


def seconds_of(moment: str, row: int, where: str) -> float:
    """Seconds since 1970 of an ISO 8601 time, or of a plain number of seconds."""
    if _EPOCH.fullmatch(moment):
        return float(moment)
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:  # its message quotes the cell
        raise InvalidInput(f"{where} at row {row} is no ISO 8601 time") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
