"""Whose fixes these are, where no column is named for it: the column along whose values places move least.

Fixes of one person, ship or aircraft follow each other closely; fixes of different ones jump. Without times
they must also be closer than any two fixes of one value: the airports of a state are near each other, and do not move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import numpy as np

from oddshift.app.init.place_steps import steps_of
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Columns, PlaceSettings
from oddshift.data.codecs.place_codec import fixes_of

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
