"""Trips: fixes in order of trip and time, thinned to one in each interval, or reduced to stay points.

A stay is at least some minutes within some distance of its first fix (Li et al. 2008).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.model.metric import EARTH_RADIUS_KM, Haversine

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


def stay_points(trajectories: Trajectories, kilometres: float, minutes: float) -> tuple[IntArray, FloatArray]:
    """The first fix of every stay, and the mean place of its fixes."""
    kept: list[tuple[FloatArray, int]] = []
    ends = np.searchsorted(trajectories.trip, trajectories.trip, side="right")  # where each fix's trip ends
    start = 0
    while start < len(trajectories.seconds):
        stop = _left(trajectories.places[start : ends[start]], kilometres) + start
        if trajectories.seconds[stop - 1] - trajectories.seconds[start] >= 60.0 * minutes:
            kept.append((trajectories.places[start:stop].mean(axis=0), start))
            start = stop
        else:
            start += 1
    first: IntArray = np.array([s for _, s in kept], dtype=np.int64)
    return first, np.array([p for p, _ in kept]).reshape(-1, 2)


def _left(places: FloatArray, kilometres: float) -> int:
    """The number of fixes before the first one that is farther away than that."""
    for start in range(0, len(places), 256):
        far = Haversine().between(places[:1], places[start : start + 256])[0] > kilometres
        if far.any():
            return start + int(far.argmax())
    return len(places)


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
