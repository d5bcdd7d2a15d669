"""Locations: trajectories as sequences of cells or points of interest, under haversine distance.

A secret is where somebody was; the hour of the day stays public beside it. A document is a trip; users are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from oddshift.arrays import FloatArray, IntArray, finite, indices, positive
from oddshift.errors import InvalidInput
from oddshift.metric import EARTH_RADIUS_KM, Haversine
from oddshift.modalities.columns import numbers, read_columns, strings
from oddshift.records import SLOT, Context, Records, numbered, offsets_of
from oddshift.space import Space

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


def read_trajectories(path: str | Path, *, at_least: int = 2) -> Trajectories:
    """A file with columns user, timestamp (ISO 8601), lat, lon and trip."""
    path = Path(path)
    columns = read_columns(path, ["user", "timestamp", "lat", "lon", "trip"], at_least=at_least)
    places = np.stack([numbers(columns, name, path.name) for name in ("lat", "lon")], axis=1)
    for column, (name, limit) in enumerate((("lat", 90.0), ("lon", 180.0))):
        outside = np.flatnonzero(np.abs(places[:, column]) > limit)
        if len(outside):
            where = f"{path.name}: column {name!r} at row {outside[0] + 1}"
            raise InvalidInput(f"{where} is outside [-{limit:g}, {limit:g}] degrees")
    seconds = np.array([_seconds(t, i, path.name) for i, t in enumerate(strings(columns, "timestamp", path.name), 1)])
    user, trip = strings(columns, "user", path.name), strings(columns, "trip", path.name)
    trips = numbered(list(zip(user, trip, strict=True)))[0]
    order = np.lexsort((seconds, trips))
    return Trajectories(places[order], seconds[order], trips[order], numbered(user)[0][order])


def encode_locations(trajectories: Trajectories, settings: LocationSettings | None = None) -> EncodedLocations:
    """Trips as documents of cells or points of interest."""
    settings = settings or LocationSettings()
    fixes = trajectories if settings.every is None else _thinned(trajectories, positive(settings.every, "every"))
    if settings.stays is not None:
        fixes = stay_points(fixes, settings.stays)
    if not len(fixes.seconds):
        raise InvalidInput("no fix is left after thinning and stay points, expected at least one")
    Haversine().check(finite(fixes.places, "places", 2))
    if settings.places is None:
        space, point = _cells(fixes.places, positive(settings.cell_km, "cell_km"))
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


def _thinned(trajectories: Trajectories, every: float) -> Trajectories:
    """The first fix of every interval of `every` seconds of a trip."""
    slot = np.floor(trajectories.seconds / every).astype(np.int64)
    keys = np.stack([trajectories.trip, slot], axis=1)
    keep = np.append(True, (keys[1:] != keys[:-1]).any(axis=1))
    return trajectories.take(np.flatnonzero(keep))


def _cells(places: FloatArray, cell_km: float) -> tuple[Space, IntArray]:
    """Centres of occupied cells: bands of equal height, each cut into cells of about equal width."""
    degree = np.pi * EARTH_RADIUS_KM / 180.0
    bands = max(1, round(180.0 * degree / cell_km))
    height = 180.0 / bands
    band = np.minimum(((places[:, 0] + 90.0) / height).astype(np.int64), bands - 1)
    middle = (band + 0.5) * height - 90.0
    count = np.maximum(1, np.round(360.0 * degree * np.cos(np.radians(middle)) / cell_km)).astype(np.int64)
    column = np.minimum(((places[:, 1] + 180.0) / 360.0 * count).astype(np.int64), count - 1)
    centres = np.stack([middle, (column + 0.5) / count * 360.0 - 180.0], axis=1)
    return Space.merged(centres, "haversine")


def _nearest(places: FloatArray, candidates: npt.ArrayLike) -> tuple[Space, IntArray]:
    space = Space(candidates, "haversine")
    found = [
        space.metric.between(places[a : a + 4096], space.points).argmin(axis=1) for a in range(0, len(places), 4096)
    ]
    return space, np.concatenate(found).astype(np.int64)


def _hours(fixes: Trajectories, lengths: IntArray) -> Context:
    """Before each position, the hour at which it was."""
    hour = (fixes.seconds // 3600 % 24).astype(np.int64)
    tokens = np.stack([hour, np.full(len(hour), SLOT)], axis=1).ravel()
    offsets = offsets_of(2 * lengths)
    breaks = np.zeros(len(tokens), dtype=np.bool_)
    breaks[offsets[:-1]] = True
    return Context(tokens=tokens, offsets=offsets, symbols=HOURS, breaks=breaks)


def _seconds(moment: str, row: int, source: str) -> float:
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:  # its message quotes the cell
        raise InvalidInput(f"{source}: column 'timestamp' at row {row} is no ISO 8601 time") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
