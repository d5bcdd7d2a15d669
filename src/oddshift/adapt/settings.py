"""The question of an adaptation: every option with its default, for Python and for a configuration file alike.

A file keeps the options that an audit shares (SHARED) in its `[audit]` table and the others in `[adapt]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Literal, get_args

from oddshift.audit.settings import Question
from oddshift.base.arrays import float_of, one_of, positive, unit_open, whole
from oddshift.base.errors import InvalidInput

ObjectiveName = Literal["certified", "weighted"]
"""`certified`: least loss whose rate is certified in every tier; `weighted`: the paper's loop alone decides."""

AdaptedLaw = Literal["anchored", "uniform"]
"""Pair laws that scales are adapted under; the worst pair is audited, not adapted."""

RemapChoice = Literal["auto", "always", "never"]
"""Whether outputs are remapped; `auto` refuses a remapping that collapses."""

FormChoice = Literal["auto", "noise", "surrogate", "mark", "proved"]
"""What a tier is released as: noise, a form that ignores the secret, the cheaper of those two (`proved`), or whichever
costs least (`auto`)."""

RepairChoice = Literal["auto", "best", "typical", "never"]
"""Whether documents are repaired after the noise: where that costs less (`auto`), always in one mode, or never."""

PresetName = Literal[
    "", "EM", "AmPL", "AmPL-U", "AmPL-P", "AmPL-1", "AmPL-1-clear", "AmPL-1-averages", "AmPL-1-one-level"
]
"""A method of the paper by its name in `oddshift.adapt.PRESETS`; the empty name is none of them."""

CostName = Literal["cosine", "euclidean", "haversine"]

DEFAULT_COST: CostName = "cosine"
"""What a changed value costs if neither the question nor the kind of data says so."""

SHARED = tuple(each.name for each in fields(Question) if each.name not in ("success", "advantage"))
"""Options that an adaptation has in common with an audit."""


@dataclass(frozen=True, kw_only=True)
class AdaptSettings(Question):
    """What is asked of an adaptation: the budget ε, how often it may be exceeded (δ), and how the scales are searched.

    - what is shared with an audit: `Question`; δ is required, for every tier, the law is `anchored` or `uniform`, and
      scales are certified only if they keep the caps too.
    - `objective`: `certified` (least loss whose rate is certified in every tier) or `weighted` (the paper's loop).
    - `remap`: whether the output of least expected cost is released instead of the one that was drawn: `always`,
      `never`, or `auto`, which refuses a remapping that leaves less than a tenth of the effective outputs (where
      outputs keep their tier: of that tier) or costs no less than one constant output. Older files say true and false
      for always and never.
    - `repair`: whether whole documents are remapped after the noise, by a law of the fit documents: `auto` repairs the
      tiers where the least expected cost given the whole document (`best`) loses less than every other form; `typical`
      draws documents from the law, so that relations survive. The most sensitive tiers are not repaired.
    - `cost`: what a changed value costs; None takes the default of the kind of data.
    - `forms`: what secrets become, by tier, level or `*`: `auto`, `noise`, `surrogate` (a value of the kind drawn
      without a look at the secret), `mark`, or `proved` (the cheaper of the last two). With `auto` a tier becomes what
      costs least, and a form that ignores the secret where it has too few units to certify.
    - `mark_cost`: what a mark costs; None counts it as one constant value of its kind, and leaves empty cells of a
      table to those who ask for marks: its values are made up instead.
    - `grid`: the scales that are tried in each level of sensitivity, each in (0, 1]; the search refines them where
      the goals are met.
    - `documents`: the number of select documents on which scales are compared.
    - `search_attacker`: the attacker that measures the frontier; "" takes the strongest at scale 1.
    - `retrain`: fits attackers again for every choice of scales, as the paper does; ours work at all scales.
    - `rounds`: the largest number of rounds of the loop (objective `weighted`).
    - `rate_weight`, `loss_weight`: the paper's λ_1 and λ_2.
    - `pooled`: whether the rate of the loop is the mean over tiers or the largest of them.
    - `start`: the scales at which the loop begins, level by level; none: 1, or where the preset begins.
    - `first_step`, `decay`: a step of the loop is first_step/(t+1)^decay.
    - `preset`: a method of the paper by name: `AmPL`, `AmPL-U`, `AmPL-P`, `AmPL-1` in four readings, or `EM`. It
      sets the objective to `weighted`, puts weights to 0 where the method does, and says which levels move.
    - `tolerance`: the loop stops when scales move by less than this.
    """

    delta: float = field()
    law: AdaptedLaw = "anchored"
    objective: ObjectiveName = "certified"
    remap: RemapChoice | bool = "auto"
    repair: RepairChoice = "auto"
    cost: CostName | None = None
    forms: Mapping[str, FormChoice] = field(default_factory=dict)
    mark_cost: float | None = None
    grid: tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1.0)
    documents: int = 500
    search_attacker: str = ""
    retrain: bool = False
    rounds: int = 10
    rate_weight: float = 1.0
    loss_weight: float = 1.0
    pooled: bool = False
    start: tuple[float, ...] = ()
    first_step: float = 1.0
    decay: float = 0.6
    tolerance: float = 0.005
    preset: PresetName = ""

    def __post_init__(self) -> None:
        """Check every option once."""
        unit_open(self.delta, "delta")
        super().__post_init__()
        one_of(self.law, "law", get_args(AdaptedLaw))
        one_of(self.objective, "objective", get_args(ObjectiveName))
        one_of(self.preset, "preset", get_args(PresetName))
        if isinstance(self.remap, bool):
            object.__setattr__(self, "remap", "always" if self.remap else "never")
        one_of(str(self.remap), "remap", get_args(RemapChoice))
        one_of(self.repair, "repair", get_args(RepairChoice))
        if self.cost is not None:
            one_of(self.cost, "cost", get_args(CostName))
        for tier, form in self.forms.items():
            one_of(form, f"forms[{tier!r}]", get_args(FormChoice))
        if self.mark_cost is not None and not 0.0 <= float_of(self.mark_cost, "mark_cost") < float("inf"):
            raise InvalidInput(f"mark_cost={self.mark_cost}, expected a number >= 0")
        if not self.grid or any(not 0.0 < scale <= 1.0 for scale in self.grid):
            raise InvalidInput(f"grid={self.grid}, expected scales in (0, 1]; calibrate the mechanism to spend more")
        if any(not 0.0 < scale <= 1.0 for scale in self.start):
            raise InvalidInput(f"start={self.start}, expected scales in (0, 1]")
        whole(self.documents, "documents", 1)
        whole(self.rounds, "rounds", 0)
        for name in ("first_step", "tolerance"):
            positive(getattr(self, name), name)
        for name in ("rate_weight", "loss_weight", "decay"):
            if not 0.0 <= float_of(getattr(self, name), name) < float("inf"):
                raise InvalidInput(f"{name}={getattr(self, name)}, expected a number >= 0")

    @property
    def cost_name(self) -> str:
        """The cost that was asked for, or the default."""
        return self.cost or DEFAULT_COST
