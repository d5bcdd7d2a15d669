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
from oddshift.attackers.paper import Paper, squared_distances
from oddshift.attackers.temperature import fitted_temperature, guesses
from oddshift.audit.layouts import drawn_layout, layout_leakages
from oddshift.base.arrays import FloatArray
from oddshift.model.records import Records
from oddshift.model.release import Release

TEMPERATURES = tuple(float(t) for t in np.round(np.geomspace(0.2, 8.0, 25), 3))
"""Where the violation ratio is drawn against T."""


@dataclass(frozen=True, eq=False)
class Read:
    """u of the network and of both controls on one layout, the exact mPL of one release, and the fitted T."""

    network: FloatArray
    null: FloatArray
    own: FloatArray
    exact: FloatArray
    fitted: float
    cosine: float

    def at(self, epsilon: float, temperature: float) -> dict[str, float]:
        """Violation ratios and mean mPL of network and controls at one temperature; `exact` has none."""
        return {
            "T": temperature,
            "rate": _beyond(self.network, epsilon * temperature),
            "null": _beyond(self.null, epsilon * temperature),
            "own": _beyond(self.own, epsilon * temperature),
            "mean_mpl": float(self.network.mean(dtype=np.float64)) / temperature,
        }

    def matched(self, epsilon: float, rate: float) -> float:
        """The temperature at which the network's violation ratio is the printed one."""
        return float(np.quantile(self.network, 1 - rate)) / epsilon

    def rules(self, epsilon: float, matched: float) -> dict[str, dict[str, float]]:
        """The three rules for T side by side."""
        chosen = {"one": 1.0, "fitted": self.fitted, "matched": matched}
        return {rule: self.at(epsilon, temperature) for rule, temperature in chosen.items()}

    def curve(self, epsilon: float) -> list[list[float]]:
        """T, and the violation ratios of network, null and own at it."""
        rows = [self.at(epsilon, t) for t in TEMPERATURES]
        return [[row["T"], row["rate"], row["null"], row["own"]] for row in rows]


def _beyond(leakages: FloatArray, limit: float) -> float:
    return float(np.count_nonzero(leakages > limit) / leakages.size)


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
    fitted = fitted_temperature(attacker, released(known, validation, [seed, 1]), validation)
    release = released(known, audited, [seed, 2])
    space, rng = known.mechanism.space, np.random.default_rng([seed, 3])
    seen, compared = drawn_layout(
        len(audited.points), len(space), rng, candidates=size.candidates, observations=size.observations
    )
    guess = guesses(attacker, release)
    truth = attacker.points[audited.points]
    null = np.broadcast_to(space.points.mean(axis=0), (len(seen), space.points.shape[1]))

    def leakages(found: FloatArray, points: FloatArray) -> FloatArray:
        return layout_leakages(-squared_distances(found, points[compared]), space, compared)

    columns = known.mechanism.log_columns(release.outputs[seen])
    return Read(
        network=leakages(guess[seen], attacker.points),
        null=leakages(null, space.points),
        own=leakages(own_means(known, columns), space.points),
        exact=layout_leakages(columns[:, compared], space, compared),
        fitted=fitted,
        cosine=float(_cosines(guess, truth).mean()),
    )


def released(known: Knowledge, records: Records, seeds: Sequence[int]) -> Release:
    """A release of some documents, drawn from seeds."""
    uniforms = np.random.default_rng(list(seeds)).random(len(records.points))
    outputs = known.mechanism.invert(records.points, uniforms)
    return Release(outputs=outputs, offsets=records.offsets, position_tiers=None, context=None)


def own_means(known: Knowledge, columns: FloatArray) -> FloatArray:
    """E[x | own output] under the exact posterior of a single release: what `own` reconstructs."""
    belief = columns + known.log_prior
    belief = np.exp(belief - belief.max(axis=1, keepdims=True))
    return np.asarray(belief @ known.mechanism.space.points / belief.sum(axis=1, keepdims=True))


def exact_row(found: Read, epsilon: float) -> Mapping[str, Any]:
    """The calibrated single release: its violation ratio, which is 0 for an ε-mDP mechanism, and its mean mPL."""
    return {"rate": _beyond(found.exact, epsilon), "mean_mpl": float(found.exact.mean(dtype=np.float64))}


def _cosines(left: FloatArray, right: FloatArray) -> FloatArray:
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return np.asarray((left * right).sum(axis=1) / np.maximum(norms, 1e-12))
