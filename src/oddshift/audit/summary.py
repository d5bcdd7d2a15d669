"""From positions to documents: the estimand draws a document that has the tier, then a position, then a pair.

Averages are taken inside each independent unit first, so that what is certified is one value for each unit.
"""

from __future__ import annotations

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.gains import Units, choosing_units, gain, units_of
from oddshift.attackers.training import Curve
from oddshift.audit.audit_result import AttackerResult, PairSplit, TierRates
from oddshift.audit.choice import standing
from oddshift.audit.measurement import AuditReleases, Measurement
from oddshift.audit.scan import Scan
from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers


def tier_rates(scan: Scan, truth: Records, tiers: Tiers, worst: dict[int, FloatArray]) -> tuple[TierRates, ...]:
    """The rates of one attacker, tier by tier; tiers without a position are left out."""
    units, labels, detail = units_of(truth), truth.tier_of_position(tiers), scan.details
    rows = []
    for tier, name in enumerate(tiers.names):
        keep = labels == tier
        if not keep.any():
            continue
        values = {
            "uniform": scan.rate("uniform"),
            "anchored": scan.anchored,
            "diagnostic": detail.diagnostic,
            "top1": scan.hit,
            "top5": (scan.rank < 5).astype(np.float64),
            "mean": detail.mean[:, 0],
        }
        means = {key: float(units.means(value, keep).mean()) for key, value in values.items()}
        low, middle, high = (float(q) for q in np.quantile(detail.drawn[keep, 0], (0.5, 0.9, 0.99)))
        seen = worst.get(tier)
        rows.append(
            TierRates(
                tier=name,
                documents=units.count(keep),
                positions=int(keep.sum()),
                worst=None if seen is None else float(seen.mean()),
                worst_documents=0 if seen is None else len(seen),
                quantiles=(low, middle, high),
                pair_split=_pair_split(scan, units, keep, tiers, tier),
                **means,
            )
        )
    return tuple(rows)


def _pair_split(scan: Scan, units: Units, keep: BoolArray, tiers: Tiers, tier: int) -> PairSplit | None:
    """The rates of one tier, split into pairs within and across tiers; None where the attacker knows the tiers."""
    sizes = np.bincount(tiers.labels[tiers.sensitive], minlength=len(tiers))
    n = int(sizes.sum())
    if tiers.is_public or n == sizes[tier]:
        return None
    laws = (scan.anchored, scan.rate("uniform"))
    weights = ((n - sizes[tier]) / (n - 1), float(sizes @ (n - sizes)) / (n * (n - 1)))  # of the pairs across
    rates = []
    for law, (values, weight) in enumerate(zip(laws, weights, strict=True)):
        across, everyone = (float(units.means(v, keep).mean()) for v in (scan.details.across[:, law], values))
        rates += [max(0.0, everyone - across) / (1.0 - weight) if weight < 1.0 else 0.0, across / weight]
    return PairSplit(
        anchored_within=rates[0], anchored_across=rates[1], uniform_within=rates[2], uniform_across=rates[3]
    )


def attacker_result(
    attacker: Attacker, found: Measurement, own: Measurement, releases: AuditReleases, worst: dict[int, FloatArray]
) -> AttackerResult:
    """One row of the audit's table, from what was measured of the attacker and of the control `own`."""
    chosen_by, units = choosing_units(releases.select), units_of(releases.certify)
    mine, control = found.certify.scores, own.certify.scores
    total, joint = gain(control.log_score, mine.log_score, units), gain(mine.own_score, mine.log_score, units)
    return AttackerResult(
        name=attacker.name,
        with_context=attacker.with_context,
        log_score=float(units.means(mine.log_score).mean()),
        gain=total.mean,
        gain_error=total.error,
        joint_gain=joint.mean,
        joint_gain_error=joint.error,
        select_gain=gain(own.select.log_score, found.select.log_score, chosen_by).mean,
        learned=standing(found.select, chosen_by).learned,
        largest=float(found.certify.details.largest.max()),
        tiers=tier_rates(found.certify, releases.certify, releases.budget.tiers, worst),
        histogram=found.certify.details.histogram,
        curve=learning_curve(attacker),
    )


def learning_curve(attacker: Attacker) -> Curve:
    """How the attacker's network learned: its own curve, or that of the first of its parts that has one."""
    mine = getattr(attacker, "curve", None)
    if isinstance(mine, Curve):
        return mine
    curves = [learning_curve(part) for part in getattr(attacker, "parts", ())]
    return next((curve for curve in curves if curve.train), Curve())
