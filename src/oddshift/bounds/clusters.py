"""Clusters: many trials that share one document are worth fewer independent trials than they count.

Kish (1965): the design effect is the variance of the pooled rate over the variance independent trials would give.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from oddshift.base.arrays import FloatArray, finite
from oddshift.base.errors import InvalidInput


@dataclass(frozen=True)
class Clustering:
    """How much clustering costs: `effective_n` = `trials` / `design_effect`."""

    clusters: int
    trials: int
    rate: float
    design_effect: float

    @property
    def effective_n(self) -> float:
        """Independent trials that would know the rate as well."""
        return self.trials / self.design_effect


def design_effect(violations: npt.ArrayLike, trials: npt.ArrayLike) -> Clustering:
    """Return the design effect of the pooled rate p̂ = Σv / Σt, from the violations v and trials t of each cluster.

    deff = [n/(n−1) Σ (v_i − p̂ t_i)² / (Σt)²] / [p̂(1−p̂) / Σt] (linearised ratio estimator). When p̂ is 0 or 1, or n
    is 1, the spread cannot be seen and the worst case Σt²/Σt (all trials of a cluster alike) is reported.

    **Guarantee**: a description of the sample, not a bound; certificates never divide by it.

    >>> design_effect([10, 0, 10, 0], [10, 10, 10, 10]).design_effect
    13.33...
    >>> design_effect([0, 0], [5, 5]).effective_n
    2.0
    """
    v, t = finite(violations, "violations", 1), finite(trials, "trials", 1)
    _check(v, t)
    n, total = len(t), float(t.sum())
    rate = float(v.sum()) / total
    if n == 1 or rate in (0.0, 1.0):
        return Clustering(n, int(total), rate, float((t**2).sum()) / total)
    spread = n / (n - 1) * float(((v - rate * t) ** 2).sum()) / total**2
    independent = rate * (1 - rate) / total
    return Clustering(n, int(total), rate, max(spread / independent, 1.0 / total))


def _check(violations: FloatArray, trials: FloatArray) -> None:
    if violations.shape != trials.shape:
        raise InvalidInput(f"violations has {len(violations)} entries, trials {len(trials)}, expected equally many")
    for name, array in (("violations", violations), ("trials", trials)):
        if (array != np.round(array)).any():
            raise InvalidInput(f"{name} has {float(array[array != np.round(array)][0])}, expected whole numbers")
    if (trials < 1).any():
        raise InvalidInput(f"trials has {int(trials.min())}, expected at least 1 in every cluster")
    bad = (violations < 0) | (violations > trials)
    if bad.any():
        i = int(np.argmax(bad))
        raise InvalidInput(f"violations[{i}] = {int(violations[i])}, expected a number in [0, {int(trials[i])}]")
