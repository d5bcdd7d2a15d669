"""The points of the wall: words in clusters, a line, a grid, and places in two cities."""

from __future__ import annotations

import math

import numpy as np


def words(seed: int = 0) -> np.ndarray:
    """Vectors of 150 words in 15 clusters: near ones to compare, far ones for mechanisms that cut their outputs off."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(15, 5)) * 2.5
    return np.concatenate([centre + rng.normal(size=(10, 5)) * 0.3 for centre in centres])


WORDS = words()
LINE = np.arange(20.0)[:, None]
GRID = np.array([(x, y) for x in range(6) for y in range(6)], dtype=float)


def places(latitude: float, longitude: float) -> np.ndarray:
    """Twelve places 1 km apart, four from south to north and three from west to east."""
    north, east = (each.ravel() / 111.2 for each in np.meshgrid(np.arange(4.0), np.arange(3.0)))
    return np.column_stack([latitude + north, longitude + east / math.cos(math.radians(latitude))])


BEIJING, SINGAPORE = places(39.9, 116.4), places(1.35, 103.8)
