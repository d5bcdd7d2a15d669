"""How finely places are divided in a first configuration: from the steps in the data themselves.

Fixes are kept about as often as they come, and cells are about as large as the way from one kept fix to the next: then
a step is a move to a neighbouring cell, which attackers can learn from and noise of a few cells hides. Where the area
is so large that cells must be larger than that, fixes are kept less often.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, log10

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Columns, PlaceSettings
from oddshift.data.codecs.place_codec import fixes_of
from oddshift.data.codecs.trips import Trajectories
from oddshift.model.metric import EARTH_RADIUS_KM

CELL_KM = 1.0
"""The size of cells if nothing moves."""

SECONDS = (10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0)
"""Possible intervals between kept fixes: the first that is at least their median spacing."""

SMALLEST_KM, LARGEST_KM = 0.1, 100.0
"""The smallest and the largest size of cells in a first configuration."""

MOST_CELLS = 1_500
"""Approximate limit on the number of cells with a fix: an area much larger than its steps gets larger cells."""

SELDOMEST = 300.0
"""Largest interval to which the spacing of fixes is lengthened for the sake of large cells, in seconds."""

FEWEST_FIXES = 5
"""Fixes of a trip that are left where an interval is made longer (median)."""

MOST_FIXES = 200_000
"""Number of fixes that are examined, at most."""

_STILL_KM = 0.02  # below it a step is the error of the receiver


@dataclass(frozen=True)
class PlaceSteps:
    """The size of cells in kilometres, and the seconds between fixes that are kept (0 keeps all)."""

    cell_km: float = CELL_KM
    every: float = 0.0


def place_steps(columns: Columns, settings: PlaceSettings) -> PlaceSteps:
    """What the fixes suggest; settings say which columns they are in, and keep all fixes."""
    some = {name: cells[:MOST_FIXES] for name, cells in columns.items()}
    try:
        fixes = fixes_of(settings, some)
    except InvalidInput:  # a bad cell, which is named when the data are read
        return PlaceSteps()
    gap = _median_gap(fixes) if settings.timestamp else 0.0
    every = next((s for s in SECONDS if s >= gap), 0.0) if gap > 0 else 0.0
    kept = _one_in_interval(fixes, every)
    moved = steps_of(fixes.take(kept))
    moved = moved[moved > _STILL_KM]
    if not len(moved):
        return PlaceSteps(_rounded(_cell_of_area(fixes.places, CELL_KM)), every)
    cell = min(max(float(np.median(moved)), SMALLEST_KM), LARGEST_KM)
    large = _cell_of_area(fixes.places, cell)
    return PlaceSteps(_rounded(large), _seldomer(fixes, every, large) if every and large > cell else every)


def _seldomer(fixes: Trajectories, every: float, cell: float) -> float:
    """The first interval in which half a cell is covered: noise that is drawn again and again in one cell averages out.

    Trips keep at least FEWEST_FIXES fixes (median).
    """
    chosen = every
    for seconds in (s for s in SECONDS if every < s <= SELDOMEST):
        kept = fixes.take(_one_in_interval(fixes, seconds))
        if np.median(np.unique(kept.trip, return_counts=True)[1]) < FEWEST_FIXES:
            break
        chosen, moved = seconds, steps_of(kept)
        if np.median(moved[moved > _STILL_KM]) >= cell / 2.0:
            break
    return chosen


def _median_gap(fixes: Trajectories) -> float:
    later = np.diff(fixes.seconds)[np.diff(fixes.trip) == 0]
    later = later[later > 0]
    return float(np.median(later)) if len(later) else 0.0


def _one_in_interval(fixes: Trajectories, every: float) -> IntArray:
    if not every:
        return np.arange(len(fixes.seconds))
    slot = np.floor(fixes.seconds / every)
    is_first = np.append(True, (np.diff(slot) != 0) | (np.diff(fixes.trip) != 0))
    return np.flatnonzero(is_first)


def steps_of(fixes: Trajectories) -> FloatArray:
    """Kilometres between successive fixes of a trip."""
    places = np.radians(fixes.places)
    before, after = places[:-1], places[1:]
    half = np.sin((after - before) / 2.0) ** 2
    chord = half[:, 0] + np.cos(before[:, 0]) * np.cos(after[:, 0]) * half[:, 1]
    distance = 2.0 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.clip(chord, 0.0, 1.0)))
    return np.asarray(distance[np.diff(fixes.trip) == 0])


def _cell_of_area(places: FloatArray, cell: float) -> float:
    """A size at which the fixes are in few enough cells."""
    degree = np.pi * EARTH_RADIUS_KM / 180.0
    at = places * degree * np.array([1.0, float(np.cos(np.radians(places[:, 0].mean())))])
    while len(np.unique(np.floor(at / cell), axis=0)) > MOST_CELLS:
        cell *= 1.5
    return cell


def _rounded(size: float) -> float:
    """The nearest of 1, 2 or 5 times a power of ten, by ratio."""
    power = 10.0 ** floor(log10(size))
    return float(f"{min((m * power for m in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(np.log(s / size))):.6g}")
