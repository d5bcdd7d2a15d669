"""Visits in a stream: the fixes of a trip come one by one, and a visit is known when it closes.

A visit closes when a fix is farther away from its first fix than a stay may reach, when the user begins another trip,
or when the stream ends. The visits are those that `stay_points` finds in the whole trip.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

import numpy as np

from oddshift.base.errors import InvalidInput
from oddshift.data.codecs.place_settings import PlaceSettings
from oddshift.model.metric import Haversine

Trip = tuple[str, Hashable]


@dataclass(frozen=True, repr=False)
class StreamFix:
    """Where somebody was and when, and the line that said so."""

    place: tuple[float, float]
    seconds: float
    line: str


@dataclass(frozen=True, repr=False)
class ClosedVisit:
    """The mean place of a visit, and the line of its first fix."""

    place: tuple[float, float]
    line: str


@dataclass(eq=False, repr=False)
class VisitStream:
    """The open visit of every trip: the fixes since its possible beginning, which is what is held in memory."""

    settings: PlaceSettings
    trips: dict[Trip, list[StreamFix]] = field(default_factory=dict)
    current: dict[str, Trip] = field(default_factory=dict)
    last: dict[Trip, float] = field(default_factory=dict)

    def add(self, trip: Trip, fix: StreamFix) -> list[ClosedVisit]:
        """One more fix; the visits that it closes. A fix that comes out of order is refused."""
        before = self.last.get(trip, -np.inf)
        slot = np.floor(fix.seconds / self.settings.every) if self.settings.every else fix.seconds
        if slot < before:
            raise InvalidInput("the fix is out of order, expected each trip in order of time")
        ended = self.current.get(trip[0])
        closed = [] if ended in (None, trip) else list(self._end(ended))
        self.current[trip[0]] = trip
        if slot == before and self.settings.every:
            return closed
        self.last[trip] = slot
        held = self.trips.setdefault(trip, [])
        held.append(fix)
        return [*closed, *self._closed(held, is_over=False)]

    def end(self) -> list[ClosedVisit]:
        """The visits that the end of the stream closes."""
        return [visit for trip in list(self.trips) for visit in self._end(trip)]

    def _end(self, trip: Trip | None) -> Iterator[ClosedVisit]:
        if trip is not None and trip in self.trips:
            yield from self._closed(self.trips.pop(trip), is_over=True)

    def _closed(self, held: list[StreamFix], *, is_over: bool) -> Iterator[ClosedVisit]:
        """Take the visits that are over, and fixes that begin none, from the front of what is held."""
        while held:
            far = Haversine().between(np.array([held[0].place]), np.array([fix.place for fix in held]))[0]
            outside = np.flatnonzero(far > self.settings.stay_kilometres)
            if not len(outside) and not is_over:
                return
            stop = int(outside[0]) if len(outside) else len(held)
            if held[stop - 1].seconds - held[0].seconds >= 60.0 * self.settings.stay_minutes:
                mean = np.mean([fix.place for fix in held[:stop]], axis=0)
                yield ClosedVisit((float(mean[0]), float(mean[1])), held[0].line)
                del held[:stop]
            else:
                del held[:1]
