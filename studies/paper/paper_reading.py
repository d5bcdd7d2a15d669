"""What paper mode reads out of a reconstruction: leakage at every temperature, next to the controls null and own.

A Gaussian softmax of temperature T has mPL = u/T with u = |‖x̂−x_i‖² − ‖x̂−x_j‖²|/d: one array of u serves every T and
ε. Three rules for T: 1; fitted by log score on validation documents (Guo et al.); and matched to a printed rate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge
from oddshift.attackers.paper import Paper, fitted_temperature, guesses, squared_distances
from oddshift.base.arrays import FloatArray
from oddshift.model.records import Records
from oddshift.model.release import Release
from studies.paper.layouts import LayoutShifts, drawn_layout, layout_shifts

TEMPERATURES = tuple(float(t) for t in np.round(np.geomspace(0.2, 8.0, 25), 3))
"""Where the violation ratio is drawn against T."""


@dataclass(frozen=True, eq=False)
class Read:
    """u of the network and of both controls on one layout, the exact mPL of one release, and the fitted T."""

    network: LayoutShifts
    null: LayoutShifts
    own: LayoutShifts
    exact: LayoutShifts
    fitted: float
    cosine: float

    def at_each(self, epsilon: float, temperatures: Sequence[float]) -> list[dict[str, float]]:
        """Violation ratios and mean mPL of network and controls at some temperatures; `exact` has none."""
        limits = [epsilon * t for t in temperatures]
        network, null, own = (shifts.tails(limits) for shifts in (self.network, self.null, self.own))
        return [
            {"T": t, "rate": rate, "null": null_rate, "own": own_rate, "mean_mpl": network.mean / t}
            for t, rate, null_rate, own_rate in zip(temperatures, network.beyond, null.beyond, own.beyond, strict=True)
        ]

    def at(self, epsilon: float, temperature: float) -> dict[str, float]:
        """The same at one temperature."""
        return self.at_each(epsilon, [temperature])[0]

    def matched(self, epsilon: float, rate: float) -> float:
        """The temperature at which the network's violation ratio is the printed one."""
        return float(np.quantile(self.network.leakages(), 1 - rate)) / epsilon

    def rules(self, epsilon: float, matched: float) -> dict[str, dict[str, float]]:
        """The three rules for T side by side."""
        found = self.at_each(epsilon, [1.0, self.fitted, matched])
        return dict(zip(("one", "fitted", "matched"), found, strict=True))

    def curve(self, epsilon: float) -> list[list[float]]:
        """T, and the violation ratios of network, null and own at it."""
        rows = self.at_each(epsilon, TEMPERATURES)
        return [[row["T"], row["rate"], row["null"], row["own"]] for row in rows]


@dataclass(frozen=True)
class LayoutSize:
    """Candidates and observations of a layout."""

    candidates: int
    observations: int


def layout_size(settings: Mapping[str, Any]) -> LayoutSize:
    """The layout that a cell asks for."""
    return LayoutSize(int(settings["candidates"]), int(settings["observations"]))


def read(
    attacker: Paper, known: Knowledge, audited: Records, validation: Records, size: LayoutSize, *, seed: int
) -> Read:
    """Release validation and audited documents under `known`, fit T on the first and read leakage off the second."""
    tried, release = released_together(known, [(validation, [seed, 1]), (audited, [seed, 2])])
    fitted = fitted_temperature(attacker, tried, validation)
    space, rng = known.mechanism.space, np.random.default_rng([seed, 3])
    seen, compared = drawn_layout(
        len(audited.points), len(space), rng, candidates=size.candidates, observations=size.observations
    )
    guess = guesses(attacker, release)
    truth = attacker.points[audited.points]
    null = space.points.mean(axis=0, keepdims=True)  # the same for every observation, so that one row says all

    def leakages(found: FloatArray, points: FloatArray) -> LayoutShifts:
        return layout_shifts(-squared_distances(found, points[compared]), space, compared)

    columns = known.mechanism.log_columns(release.outputs[seen])
    return Read(
        network=leakages(guess[seen], attacker.points),
        null=leakages(null, space.points),
        own=leakages(own_means(known, columns), space.points),
        exact=layout_shifts(columns[:, compared], space, compared),
        fitted=fitted,
        cosine=float(_cosines(guess, truth).mean()),
    )


def released(known: Knowledge, records: Records, seeds: Sequence[int]) -> Release:
    """A release of some documents, drawn from seeds."""
    return released_together(known, [(records, seeds)])[0]


def released_together(known: Knowledge, parts: Sequence[tuple[Records, Sequence[int]]]) -> list[Release]:
    """A release of each part, drawn from seeds of its own; the rows of the mechanism are built once for all."""
    uniforms = [np.random.default_rng(list(seeds)).random(len(records.points)) for records, seeds in parts]
    points = np.concatenate([records.points for records, _ in parts])
    outputs = known.mechanism.invert(points, np.concatenate(uniforms))
    cuts = np.cumsum([len(part) for part in uniforms])[:-1]
    return [
        Release(outputs=mine, offsets=records.offsets, position_tiers=None, context=None)
        for mine, (records, _) in zip(np.split(outputs, cuts), parts, strict=True)
    ]


def own_means(known: Knowledge, columns: FloatArray) -> FloatArray:
    """E[x | own output] under the exact posterior of a single release: what `own` reconstructs."""
    belief = columns + known.log_prior
    belief = np.exp(belief - belief.max(axis=1, keepdims=True))
    return np.asarray(belief @ known.mechanism.space.points / belief.sum(axis=1, keepdims=True))


def exact_row(found: Read, epsilon: float) -> Mapping[str, Any]:
    """The calibrated single release: its violation ratio, which is 0 for an ε-mDP mechanism, and its mean mPL."""
    tails = found.exact.tails([epsilon])
    return {"rate": tails.beyond[0], "mean_mpl": tails.mean}


def _cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / np.maximum(norms, 1e-12))
