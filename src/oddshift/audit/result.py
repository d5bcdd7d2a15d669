"""What an audit returns: plain frozen values without any secret, which a run folder stores as they are.

From positions to documents: the estimand draws a document that has the tier, then a position, then a pair.

Averages are taken inside each independent unit first, so that what is certified is one value for each unit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oddshift.attackers.attacker import Attacker
from oddshift.attackers.learning_size import LearningOfSize
from oddshift.attackers.paired_log_score import Units, choosing_units, gain, units_of
from oddshift.attackers.training import Curve
from oddshift.audit.calibration import Calibration
from oddshift.audit.measurement import AuditReleases, Measurement
from oddshift.audit.release_use import DataFate, ReleaseUse
from oddshift.audit.released_table import ReleasedTable
from oddshift.audit.scan import Scan
from oddshift.audit.settings import AuditSettings
from oddshift.audit.verdict import base_name, counted_attackers, shown_violations, standing, worst_of_each
from oddshift.base.arrays import BoolArray, FloatArray
from oddshift.evidence.certificates import Certificate, Claim, Evidence, JointCertificate
from oddshift.evidence.witness import AnyWitness
from oddshift.model.records import Records
from oddshift.model.tiers import Tiers


@dataclass(frozen=True, kw_only=True)
class PairSplit:
    """Where tiers are secret: the share beyond ε of pairs inside one tier and of pairs across two; never certified.

    Both laws are split: `anchored` pairs hold the truth (0 within, where its tier has no other point), `uniform` pairs
    are any two candidates.
    """

    anchored_within: float
    anchored_across: float
    uniform_within: float
    uniform_across: float


@dataclass(frozen=True, kw_only=True)
class TierRates:
    """One attacker on one tier: the share of pairs beyond ε under each law, averaged over documents.

    `top1` first guesses are right with the release, `before` under the attacker's own prior (given W, if it reads W).
    `diagnostic` is the anchored share beyond scale·ε. `worst` is the share of units in which any pair at one uniform
    position exceeds ε (`worst_documents` of them; None where it was not asked). `pair_split` splits the pairs
    of secret tiers.
    """

    tier: str
    documents: int
    positions: int
    uniform: float
    anchored: float
    diagnostic: float
    worst: float | None
    worst_documents: int
    top1: float
    before: float
    mean: float
    pair_split: PairSplit | None


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackerResult:
    """One attacker on the certify split; the controls are rows of the same kind.

    `log_score` is the mean over units of −log posterior of the truth (nats, lower is better); `gain` how much lower it
    is than that of `own`, with the standard error by unit. `joint_gain` is over the single release under the attacker's
    own prior (given W, if it reads W): what it gains by reading positions together. `learned` says that this gain was
    beyond chance on the select split; `largest` is the largest mPL it estimates between a truth and another candidate.
    `histogram` is (laws, tiers, bins) counts of mPL, the laws being anchored and uniform. `curve` is how a network
    learned, else empty.
    """

    name: str
    with_context: bool
    log_score: float
    gain: float
    gain_error: float
    joint_gain: float
    joint_gain_error: float
    learned: bool
    largest: float
    tiers: tuple[TierRates, ...]
    histogram: FloatArray
    curve: Curve

    def before(self, tier: str) -> float | None:
        """The share of right first guesses under the attacker's own prior in one tier, if that was measured."""
        return next((rates.before for rates in self.tiers if rates.tier == tier), None)


@dataclass(frozen=True)
class SubgroupRate:
    """The strongest attacker on the documents of one subgroup; the bounds of all subgroups hold together."""

    tier: str
    subgroup: str
    documents: int
    mean: float
    lower: float
    upper: float


@dataclass(frozen=True)
class TierGuesses:
    """How often the first guess about a secret of one tier is right, as certificates of bounds.

    `before` any release, from one release `alone`, and `together`: the attacker with the largest upper bound.
    """

    tier: str
    before: Certificate
    alone: Certificate
    together: Certificate


def _guesses(tier: str, rows: list[Certificate]) -> TierGuesses:
    by_name = {row.claim.attacker: row for row in rows}
    reading = [row for row in rows if row.claim.attacker != "null"]
    return TierGuesses(tier, by_name["null"], by_name["own"], max(reading, key=lambda row: (row.upper, row.mean)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """An audit: every attacker and the controls, what all of them certify, witnesses, and the assumptions.

    `detector` names who found the secrets. `evidence` begins with that of the strongest attacker. `single_exceeds` says
    whether one release alone exceeds ε. `calibration` is that of the strongest attacker, on certify documents.
    `upper_basis` says what the proven bound rests on, `witness_needs` how many documents an undecided witness would
    need; both are empty where there is nothing to say. `release` is what leaves a table, drawn once and measured;
    `fate` is what happened to the data, where that was counted; `use` what the release is still good for.
    """

    settings: AuditSettings
    detector: str
    mechanism: str
    claimed_epsilon: float
    exact_epsilon: float
    single_exceeds: bool
    upper_bound: float | None
    upper_basis: str
    tier_names: tuple[str, ...]
    tiers_are_public: bool
    documents: tuple[int, int, int]
    attackers: tuple[AttackerResult, ...]
    strongest: str
    calibration: Calibration
    evidence: tuple[Evidence, ...]
    verdict: JointCertificate | None
    subgroups: tuple[SubgroupRate, ...]
    witness: AnyWitness | None
    witness_needs: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    learning: tuple[LearningOfSize, ...] = ()
    release: ReleasedTable | None = None
    fate: DataFate | None = None
    use: ReleaseUse | None = None

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """The certificates of violation rates: those that decide first, then those for information."""
        return (*self.deciding_rates, *self.further_rates)

    @property
    def counting_rates(self) -> tuple[Certificate, ...]:
        """The rates that the verdict rests on, under its pair law: of every attacker that counts, in every tier.

        Where no attacker counts they are those of the strongest, and decide nothing.
        """
        return tuple(made for made in self._rates if made.claim.pair_law == self.settings.law)

    @property
    def deciding_rates(self) -> tuple[Certificate, ...]:
        """Of those the worst bound of each claim (a tier, without W or given W); the worst of all comes first."""
        return worst_of_each(self.counting_rates, shown_violations(self.verdict))

    @property
    def further_rates(self) -> tuple[Certificate, ...]:
        """For information: what the strongest attacker finds under the pair laws that the verdict is not about."""
        return tuple(made for made in self._rates if made.claim.pair_law != self.settings.law)

    @property
    def counted(self) -> tuple[str, ...]:
        """The attackers that the verdict rests on; the strongest where none counts."""
        return counted_attackers(self.counting_rates)

    @property
    def _rates(self) -> list[Certificate]:
        found = (evidence.certificate for evidence in self.evidence)
        return [made for made in found if isinstance(made.claim, Claim)]

    @property
    def deciding(self) -> Certificate | None:
        """The part of the verdict that comes closest to its limit, or exceeds it most; None without a verdict."""
        parts = () if self.verdict is None else self.verdict.parts
        return max(parts, key=lambda part: part.upper / (part.claim.limit or 1.0), default=None)

    @property
    def guesses(self) -> tuple[TierGuesses, ...]:
        """Right first guesses in every tier: before any release, from one release alone, and together."""
        found = [e.certificate for e in self.evidence if e.certificate.claim.pair_law == "success"]
        by_tier = {tier: [c for c in found if c.claim.tier == tier] for tier in self.tier_names}
        return tuple(_guesses(tier, rows) for tier, rows in by_tier.items() if rows)

    @property
    def state(self) -> str:
        """`certified`, `violated` or `undecided`; without a δ there is nothing to certify, so `undecided`."""
        return self.verdict.state if self.verdict is not None else "undecided"

    @property
    def state_in_words(self) -> str:
        """The state; where all is certified but for attackers that still learn, the state says that."""
        return self.verdict.state_in_words if self.verdict is not None else "undecided"

    def row(self, name: str) -> AttackerResult:
        """The result of the attacker of that name; of a recalibrated one, that of the attacker as it was fitted."""
        return next(row for row in self.attackers if row.name in (name, base_name(name)))


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
            "before": scan.prior_hit,
            "mean": detail.mean,
        }
        means = {key: float(units.means(value, keep).mean()) for key, value in values.items()}
        seen = worst.get(tier)
        rows.append(
            TierRates(
                tier=name,
                documents=units.count(keep),
                positions=int(keep.sum()),
                worst=None if seen is None else float(seen.mean()),
                worst_documents=0 if seen is None else len(seen),
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
