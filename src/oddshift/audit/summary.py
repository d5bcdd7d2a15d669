"""From positions to documents: the estimand draws a document that has the tier, then a position, then a pair.

Averages are taken inside each independent unit first, so that what is certified is one value for each unit.
"""

from __future__ import annotations

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.training import Curve
from oddshift.audit.audit_result import AttackerResult, PairSplit, TierRates
from oddshift.audit.scan import Scan
from oddshift.base.arrays import BoolArray, FloatArray, IntArray
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers


def per_unit(values: FloatArray, units: IntArray, keep: BoolArray) -> FloatArray:
    """Mean of the kept positions of every unit that has any, in order of the units."""
    _, unit = np.unique(units[keep], return_inverse=True)
    return np.bincount(unit, weights=values[keep]) / np.bincount(unit)


def units_of_positions(truth: Records) -> IntArray:
    """The independent unit (user, else source document) of every position."""
    return truth.clusters[truth.document_of_position]


def tier_rates(scan: Scan, truth: Records, tiers: Tiers, worst: dict[int, FloatArray]) -> tuple[TierRates, ...]:
    """The rates of one attacker, tier by tier; tiers without a position are left out."""
    units, labels = units_of_positions(truth), truth.tier_of_position(tiers)
    rows = []
    for tier, name in enumerate(tiers.names):
        keep = labels == tier
        if not keep.any():
            continue
        values = {
            "uniform": scan.uniform,
            "anchored": scan.anchored,
            "diagnostic": scan.diagnostic,
            "top1": (scan.rank == 0).astype(np.float64),
            "top5": (scan.rank < 5).astype(np.float64),
            "mean": scan.mean[:, 0],
        }
        means = {key: float(per_unit(value, units, keep).mean()) for key, value in values.items()}
        low, middle, high = (float(q) for q in np.quantile(scan.drawn[keep, 0], (0.5, 0.9, 0.99)))
        seen = worst.get(tier)
        rows.append(
            TierRates(
                tier=name,
                documents=len(np.unique(units[keep])),
                positions=int(keep.sum()),
                worst=None if seen is None else float(seen.mean()),
                worst_documents=0 if seen is None else len(seen),
                quantiles=(low, middle, high),
                pair_split=_pair_split(scan, units, keep, tiers, tier),
                **means,
            )
        )
    return tuple(rows)


def _pair_split(scan: Scan, units: IntArray, keep: BoolArray, tiers: Tiers, tier: int) -> PairSplit | None:
    """The rates of one tier, split into pairs within and across tiers; None where the attacker knows the tiers."""
    sizes = np.bincount(tiers.labels[tiers.sensitive], minlength=len(tiers))
    n = int(sizes.sum())
    if tiers.is_public or n == sizes[tier]:
        return None
    laws = (scan.anchored, scan.uniform)
    weights = ((n - sizes[tier]) / (n - 1), float(sizes @ (n - sizes)) / (n * (n - 1)))  # of the pairs across
    rates = []
    for law, (values, weight) in enumerate(zip(laws, weights, strict=True)):
        across, everyone = (float(per_unit(v, units, keep).mean()) for v in (scan.across[:, law], values))
        rates += [max(0.0, everyone - across) / (1.0 - weight) if weight < 1.0 else 0.0, across / weight]
    return PairSplit(
        anchored_within=rates[0], anchored_across=rates[1], uniform_within=rates[2], uniform_across=rates[3]
    )


def attacker_result(
    attacker: Attacker,
    scan: Scan,
    truth: Records,
    tiers: Tiers,
    *,
    controls: tuple[FloatArray, FloatArray],
    worst: dict[int, FloatArray],
    chosen_by: tuple[float, bool],
) -> AttackerResult:
    """One row of the audit's table, from the attacker's scan.

    `controls` are the log scores of `own` and of the single release under the attacker's prior; `chosen_by` the gain on
    the select split, and whether it learned anything there.
    """
    units, everyone = units_of_positions(truth), np.ones(len(truth.points), dtype=bool)
    gains, joint = (per_unit(control - scan.log_score, units, everyone) for control in controls)
    return AttackerResult(
        name=attacker.name,
        with_context=attacker.with_context,
        log_score=float(per_unit(scan.log_score, units, everyone).mean()),
        gain=float(gains.mean()),
        gain_error=standard_error(gains),
        joint_gain=float(joint.mean()),
        joint_gain_error=standard_error(joint),
        select_gain=chosen_by[0],
        learned=chosen_by[1],
        largest=float(scan.largest.max()),
        tiers=tier_rates(scan, truth, tiers, worst),
        histogram=scan.histogram,
        curve=learning_curve(attacker),
    )


def learning_curve(attacker: Attacker) -> Curve:
    """How the attacker's network learned: its own curve, or that of the first of its parts that has one."""
    mine = getattr(attacker, "curve", None)
    if isinstance(mine, Curve):
        return mine
    curves = [learning_curve(part) for part in getattr(attacker, "parts", ())]
    return next((curve for curve in curves if curve.train), Curve())


def standard_error(values: FloatArray) -> float:
    """Of the mean of independent values; 0 for a single one."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
