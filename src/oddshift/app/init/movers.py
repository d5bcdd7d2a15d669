"""Whose fixes these are, where no column is named for it: the column along whose values places move least.

Fixes of one person, ship or aircraft follow each other closely; fixes of different ones jump.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite

import numpy as np

from oddshift.app.init.place_steps import steps_of
from oddshift.base.errors import InvalidInput
from oddshift.data.codecs import Columns, PlaceSettings
from oddshift.data.codecs.place_codec import fixes_of

CLOSER = 0.5
"""Largest median step along the values of a column, as a share of the one in the whole file, for it to be chosen."""

FIRST_FIXES = 20_000
"""Number of fixes that are examined for each column, at most."""

_ALL = "\0all"  # a column in which all rows agree


def moving_along(columns: Columns, settings: PlaceSettings, names: Sequence[str]) -> str:
    """The column among `names` along whose values the steps are shortest, if they are much shorter than in the file."""
    some = {name: cells[:FIRST_FIXES] for name, cells in columns.items()}
    found = {name: _median_step(some, settings, name) for name in names}
    best = min(names, key=lambda name: found[name], default="")
    if not best or not isfinite(found[best]):
        return ""
    together = {**some, _ALL: [""] * len(some[settings.lat])}
    return best if found[best] <= CLOSER * _median_step(together, settings, _ALL) else ""


def _median_step(columns: Columns, settings: PlaceSettings, user: str) -> float:
    """Kilometres from one fix to the next of the same user; infinite where there is none, or a cell cannot be read."""
    try:
        steps = steps_of(fixes_of(replace(settings, user=user), columns))
    except InvalidInput:  # it is named when the data are read
        return float("inf")
    return float(np.median(steps)) if len(steps) else float("inf")
