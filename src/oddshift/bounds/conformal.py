"""Conformal ranks: where each new value lies among all values before it; uniform as long as nothing has changed.

Vovk, Nouretdinov & Gammerman, Testing exchangeability on-line (ICML 2003).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, finite


def conformal_ranks(values: npt.ArrayLike, earlier: npt.ArrayLike, rng: np.random.Generator) -> FloatArray:
    """Return for each value, in order, the share of the values before it that are smaller; ties count at random.

    rank = (smaller + U·(equal + 1)) / (n + 1) among the n `earlier` values and the values before it.

    **Guarantee**: if all values are exchangeable, the ranks are independent and uniform on (0, 1), so their mean is
    1/2 given the past. This holds for any number of earlier values, and for values that are not bounded.

    >>> conformal_ranks([5.0, 0.0], [1.0, 2.0, 3.0], np.random.default_rng(0)).round(2)
    array([0.91, 0.05])
    """
    new, old = finite(values, "values", 1), np.sort(finite(earlier, "earlier", 1))
    smaller, equal = np.searchsorted(old, new, "left"), np.searchsorted(old, new, "right")
    counts = np.stack([smaller, equal - smaller], axis=1).astype(np.float64)
    here: list[float] = []
    for row, value in enumerate(new.tolist()):
        low = bisect_left(here, value)
        counts[row] += (low, bisect_right(here, value) - low)
        insort(here, value)
    places = rng.random(len(new)) * (counts[:, 1] + 1.0)
    return np.asarray((counts[:, 0] + places) / (len(old) + np.arange(1, len(new) + 1)))
