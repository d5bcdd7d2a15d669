"""How finely places are divided in a first configuration: from the steps in the data themselves.

Fixes are kept about as often as they come, and cells are about as large as the way from one kept fix to the next: then
a step is a move to a neighbouring cell, which attackers can learn from and noise of a few cells hides. Where the area
is so large that cells must be larger than that, fixes are kept less often.

Whose fixes these are, where no column is named for it: the column along whose values places move least.

Fixes of one person, ship or aircraft follow each other closely; fixes of different ones jump. Without times
they must also be closer than any two fixes of one value: the airports of a state are near each other, and do not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, inf, log10

import numpy as np

from oddshift.base.arrays import FloatArray, IntArray
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Columns, PlaceSettings
from oddshift.data.codecs.place_codec import fixes_of
from oddshift.data.codecs.places import Trajectories
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


CLOSER = 0.5
"""Largest mean step along the values of a column, as a share of the one that it is compared to, for it to be chosen."""

FIRST_FIXES = 20_000
"""Number of fixes that are examined for each column, at most."""

IN_ORDER = (
    "rows that follow each other are close, as fixes of one trip are, and no column says which rows belong together: "
    "name one (user or trip), or every fix counts as independent of the others, and what they say together is missed"
)
"""What is said of a file of places in which something seems to move that no column names."""

_ALL = "\0all"  # a column in which all rows agree


def moving_along(columns: Columns, settings: PlaceSettings, names: Sequence[str]) -> str:
    """The column among `names` along whose values the steps are shortest, if they are much shorter than in the file."""
    some = _first(columns, settings)
    mixed = _shuffled(some)
    far = _step(mixed, settings, _ALL)
    if far == inf:
        return ""
    found = {name: _step(some, settings, name, far) for name in names}
    moving = [name for name in names if found[name] <= CLOSER * _step(mixed, settings, name, far)]
    best = min(names, key=lambda name: found[name], default="")
    if settings.timestamp:  # fixes are in order of time, whatever the order of the rows
        return best if best and found[best] <= CLOSER * _step(some, settings, _ALL, far) else ""
    along = min(moving, key=lambda name: found[name], default="")
    return along if along and found[along] <= CLOSER * far else ""


def is_in_order(columns: Columns, settings: PlaceSettings) -> bool:
    """Whether rows that follow each other are much closer than any two rows: something moves from row to row."""
    some = _first(columns, settings)
    far = _step(_shuffled(some), settings, _ALL)
    return _step(some, settings, _ALL, far) <= CLOSER * far < inf


def _first(columns: Columns, settings: PlaceSettings) -> Columns:
    some = {name: cells[:FIRST_FIXES] for name, cells in columns.items()}
    return {**some, _ALL: [""] * len(some[settings.lat])}


def _shuffled(columns: Columns) -> Columns:
    """The rows in another order."""
    order = np.random.default_rng(0).permutation(len(columns[_ALL])).tolist()
    return {name: [cells[row] for row in order] for name, cells in columns.items()}


def _step(columns: Columns, settings: PlaceSettings, user: str, most: float = inf) -> float:
    """Mean kilometres from one fix to the next of the same user, a longer one counted as `most`.

    Infinite where there is none, or a cell cannot be read.
    """
    try:
        steps = steps_of(fixes_of(replace(settings, user=user), columns))
    except InvalidInput:  # it is named when the data are read
        return inf
    return float(np.minimum(steps, most).mean()) if len(steps) else inf
