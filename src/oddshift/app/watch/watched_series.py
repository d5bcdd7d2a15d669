"""A watched series: values window after window, and the evidence that they are no longer what the audit found.

A rate is compared with δ. Any other series is compared with the audit's own values, by rank, so that no bound on the
values and no model of them is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from oddshift.app.watch.baseline import Baseline
from oddshift.app.watch.window_values import RATE
from oddshift.base.arrays import FloatArray
from oddshift.bounds.conformal import conformal_ranks
from oddshift.bounds.shift_stream import ShiftStream


@dataclass(frozen=True, eq=False, repr=False)
class WatchedSeries:
    """One series: its name, the values of window zero, and δ for a rate that has one."""

    name: str
    reference: FloatArray
    delta: float | None

    @property
    def start(self) -> ShiftStream:
        """No evidence yet."""
        return ShiftStream(0.5, is_two_sided=True) if self.delta is None else ShiftStream(self.delta)

    def compared(self, values: FloatArray, earlier: Sequence[FloatArray], rng: np.random.Generator) -> FloatArray:
        """What the evidence is updated with: the values of a rate, otherwise ranks among all earlier values."""
        if self.delta is not None or not len(values):
            return values
        return conformal_ranks(values, np.concatenate([self.reference, *earlier]), rng)

    @property
    def question(self) -> str:
        """What an alarm would say."""
        if self.delta is not None:
            return f"above delta = {self.delta:g}"
        return "changed against the audit"


def watched_series(baseline: Baseline) -> tuple[WatchedSeries, ...]:
    """The series of a baseline; one that window zero has no values of cannot be compared and is left out.

    A rate with δ needs no reference, so every tier has one.
    """
    delta, reference = baseline.settings.delta, baseline.reference
    none: FloatArray = np.empty(0)
    rates = [WatchedSeries(name, reference.get(name, none), delta) for name in baseline.watcher.rate_names]
    others = [WatchedSeries(name, found, None) for name, found in reference.items() if not name.startswith(RATE)]
    return tuple(series for series in (*rates, *others) if series.delta is not None or len(series.reference))
