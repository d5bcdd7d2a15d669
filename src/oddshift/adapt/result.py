"""What an adaptation returns: plain frozen values without any secret, which a run folder stores as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from oddshift.adapt.settings import AdaptSettings
from oddshift.adapt.tier_forms import WORTH
from oddshift.attackers.learning_size import LearningOfSize
from oddshift.attackers.paired_log_score import Gain
from oddshift.attackers.repair import DRAWN
from oddshift.audit.release_use import DataFate
from oddshift.audit.released_table import ReleasedTable
from oddshift.audit.verdict import counted_attackers
from oddshift.evidence.certificates import Evidence, JointCertificate
from oddshift.mechanisms.forms import IGNORING, Guarantee, TierForm

Scales = tuple[float, ...]
"""One factor of ε for each tier, most sensitive first."""


@dataclass(frozen=True, kw_only=True)
class TierOutcome:
    """One tier under some scales: the share of pairs beyond ε under the chosen law, right first guesses, expected loss.

    `top1` is the share of right first guesses (a tie counts as right), `before` that before any release. Errors are
    standard errors of the mean over documents.
    """

    tier: str
    rate: float
    rate_error: float
    top1: float
    top1_error: float
    loss: float
    before: float = 0.0

    @property
    def advantage(self) -> float:
        """How many more first guesses are right than before any release."""
        return self.top1 - self.before


@dataclass(frozen=True, kw_only=True)
class ScaledOutcome:
    """Some scales, and what they do: rates and accuracies of the attacker, and the expected loss as released.

    `loss` is Σ_x π_x Σ_y Pr[y|x]·c(x, y) over all tiers, after remapping where it was `remapped`; `plain_loss` the same
    before it. `gain` is the attacker's held-out gain over the single release
    under its own prior, in nats. Scales that decrease from a more to a less
    sensitive tier are shown, but not `admissible`. `repair` has the mode of every tier, none where nothing is repaired.
    """

    scales: Scales
    admissible: bool
    tiers: tuple[TierOutcome, ...]
    loss: float
    plain_loss: float
    effective_outputs: float
    gain: float
    gain_error: float
    remapped: bool = False
    forms: tuple[TierForm, ...] = ()
    repair: tuple[str, ...] = ()

    @property
    def learned(self) -> bool:
        """Whether the attacker learned something: its joint gain is beyond chance."""
        return Gain(self.gain, self.gain_error).is_significant

    @property
    def rate(self) -> float:
        """The largest rate of a tier."""
        return max(tier.rate for tier in self.tiers)


@dataclass(frozen=True, kw_only=True)
class Round:
    """One round of the loop: its scales, what was measured there, and the step that followed."""

    number: int
    outcome: ScaledOutcome
    objective: float
    gradient: tuple[float, ...]
    step: float
    moved: float


@dataclass(frozen=True, kw_only=True)
class Tested:
    """One candidate of the frozen sequence on the certify split: bounds on the rate of every tier, and the state.

    Bounds are the largest of all attackers that count. `guesses` are the largest upper bounds on right first guesses,
    for the tiers that have a cap. `failed` says which goal was not certified, and by how much.
    """

    scales: Scales
    loss: float
    state: str
    upper: tuple[float, ...]
    lower: tuple[float, ...]
    guesses: tuple[float, ...] = ()
    failed: str = ""


@dataclass(frozen=True, kw_only=True)
class TierRelease:
    """What a tier is released as, what each of its forms would cost, and on how many units it could be certified.

    `losses` are expected losses by form at the scales that were taken, and by mode where it is repaired (`repair`):
    measured, then, on documents that the repair was not learned from. `is_named` says that the form was asked for,
    `is_rare` that its values were learned from too few units for any other form than a mark.
    """

    tier: str
    form: TierForm
    losses: Mapping[str, float]
    units: int
    needed: int
    repair: str = DRAWN
    is_named: bool = False
    is_rare: bool = False

    @property
    def is_few(self) -> bool:
        """Whether it has too few units for anything to be certified about it."""
        return self.units < self.needed

    @property
    def is_noise_too_dear(self) -> bool:
        """Whether it ignores the secret because noise would not cost clearly less."""
        return self._was_free_to_take_noise and self.losses["noise"] >= WORTH * self.losses[self.form]

    @property
    def _was_free_to_take_noise(self) -> bool:
        """Whether it ignores the secret although noise could have been counted."""
        is_free = self.repair == DRAWN and not (self.is_named or self.is_rare or self.is_few)
        return is_free and self.form in IGNORING and "noise" in self.losses

    @property
    def why(self) -> str:
        """Why it has this form, in words; empty for noise as it is drawn."""
        if self.repair != DRAWN and self.form != "mark":
            drawn = min((loss for form, loss in self.losses.items() if form != self.repair), default=None)
            cost = f"{self.losses[self.repair]:.3g}"
            said = cost if drawn is None else f"{cost} instead of {drawn:.3g}"
            read = "all that is read together" if self.form == "noise" else "the other values and what is public"
            return f"repaired from {read}: expected loss {said}"
        if self.is_noise_too_dear:
            return f"noise would cost {self.losses['noise']:.3g}, {a_form(self.form)} {self.losses[self.form]:.3g}"
        if self._was_free_to_take_noise:
            return "no noise was certified or proved that costs clearly less"
        reasons = {
            "as asked": self.is_named,
            "its values come from too few people or records to be released for one another": self.is_rare,
            f"{self.units} units to certify on, {self.needed} needed": self.is_few,
        }
        return next((why for why, holds in reasons.items() if holds and self.form != "noise"), "")


def a_form(form: str) -> str:
    """The form with its article."""
    return form if form == "noise" else f"a {form}"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """A named choice of scales, measured on the certify documents for comparison.

    `exact_epsilon` is that of one release over the pairs that count; None where it would take a long scan.
    """

    name: str
    outcome: ScaledOutcome
    exact_epsilon: float | None = None


@dataclass(frozen=True, kw_only=True)
class TierLeft:
    """What is left to learn about one tier under the scales that were taken, on the certify documents.

    The share of right first guesses before any release, from one release `alone`, and `together`, by the strongest
    attacker; `public` is that from the public context W alone, where the attacker reads W; `upper` is the largest
    certified upper bound on the last, None where no cap was asked. `worst` is the share of
    units in which any pair at one uniform position exceeds ε.
    """

    tier: str
    before: float
    alone: float
    together: float
    worst: float
    upper: float | None = None
    public: float | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Adaptation:
    """An adaptation: the frontier, the loop, the sequence that was tested, and the scales that were certified.

    `chosen` is None when nothing was certified. `proposed` are scales of less loss that keep every goal but have
    no rate verdict, because no attacker learned anything there; `basis` says in words what the result rests on.
    `constant_loss` is that of the best output that ignores the secret; where outputs keep their kind, that of one
    output of each kind, `constant_outputs` of them. `remapped` and `remap_reason` say in which form the scales are
    released; `exact_epsilon` is that of one release, of a remapped one over many points that before remapping, which
    is no smaller. `grid` and `uniform` (all tiers alike) are measured on select documents, `compared` on certify ones.
    `hypervolumes` are by name: the share of the box below the worst corner that a set of outcomes dominates, larger
    being better. `left` is what attackers still learn under the scales that were taken, `learning` what they found
    there with fewer documents to learn from, `tiers` what each tier is released as and `loss` what that is expected to
    cost. `proof` says in words what is proved, where something is; `fate` what happened to the data, and `release` what
    leaves a table under the policy, drawn once and measured.
    """

    settings: AdaptSettings
    detector: str
    mechanism: str
    tier_names: tuple[str, ...]
    tiers_are_public: bool
    attacker: str
    with_context: bool
    documents: tuple[int, int, int]
    grid: tuple[ScaledOutcome, ...]
    uniform: tuple[ScaledOutcome, ...]
    rounds: tuple[Round, ...]
    sequence: tuple[Tested, ...]
    chosen: Scales | None
    exact_epsilon: float | None
    compared: tuple[Compared, ...]
    constant_loss: float
    hypervolumes: tuple[tuple[str, float], ...]
    evidence: tuple[Evidence, ...]
    verdict: JointCertificate | None = None
    proposed: Scales | None = None
    basis: str = ""
    remapped: bool = False
    remap_reason: str = ""
    constant_outputs: int = 1
    left: tuple[TierLeft, ...] = ()
    fate: DataFate | None = None
    learning: tuple[LearningOfSize, ...] = ()
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    release: ReleasedTable | None = None
    tiers: tuple[TierRelease, ...] = ()
    loss: float | None = None
    proof: str = ""

    @property
    def state(self) -> str:
        """`certified` or `proved`, otherwise `undecided`: a failed search does not show that none exist."""
        if self.chosen is None:
            return "undecided"
        return "proved" if self.proof else "certified"

    @property
    def guarantee(self) -> Guarantee:
        """What the release rests on: `proved` (no documents needed), `certified` (counted on documents of its own), or
        `measured only`, which is not a pass."""
        return "measured only" if self.chosen is None else "proved" if self.proof else "certified"

    @property
    def forms(self) -> tuple[TierForm, ...]:
        """What each tier is released as."""
        return tuple(tier.form for tier in self.tiers)

    @property
    def repair(self) -> tuple[str, ...]:
        """The mode in which each tier is repaired, `drawn` where it is not."""
        return tuple(tier.repair for tier in self.tiers)

    @property
    def kept(self) -> float | None:
        """The share of information that is kept: 0 as with one constant value of each kind, 1 as with the original.

        The expected loss is about words that have a point; a word without one becomes a mark, which keeps nothing.
        """
        if self.loss is None or not self.constant_loss:
            return None
        pointless = 0.0 if self.fate is None else self.fate.pointless_share
        return (1.0 - self.loss / self.constant_loss) * (1.0 - pointless)

    @property
    def state_in_words(self) -> str:
        """The state; where only attackers that still learn prevent a certificate, the state says that."""
        is_open = self.chosen is None and self.verdict is not None and self.verdict.state == "undecided"
        return self.verdict.state_in_words if is_open and self.verdict is not None else self.state

    @property
    def counted(self) -> tuple[str, ...]:
        """The attackers that the verdict rests on; the one that measured the frontier where there is no verdict."""
        return counted_attackers(() if self.verdict is None else self.verdict.parts) or (self.attacker,)

    @property
    def scales(self) -> Scales | None:
        """The scales of a policy: certified ones, otherwise proposed ones, otherwise None."""
        return self.chosen if self.chosen is not None else self.proposed

    @property
    def constant_name(self) -> str:
        """What the constant release is called."""
        return "one constant output of each kind" if self.constant_outputs > 1 else "one constant output"

    def choice(self, name: str) -> ScaledOutcome | None:
        """What was measured under that name, if anything."""
        return next((row.outcome for row in self.compared if row.name == name), None)
