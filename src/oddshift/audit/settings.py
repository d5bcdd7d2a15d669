"""The question of an audit: every option with its default, for Python and for the `[audit]` table of a file alike.

Half of it is what an adaptation is asked too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from oddshift.attackers.fitting import PaperOptions
from oddshift.base.arrays import float_of, one_of, positive, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds import METHODS, ONE_SHOT
from oddshift.bounds.checks import error_level
from oddshift.leakage.mpl import PAIR_LAWS, PairLaw

UpperMethod = Literal["chain", "diameter"]
"""What a proven upper bound rests on: a chain of secrets, or no law at all."""

AttributeColumn = Literal["", "label", "subgroup"]
"""A column of documents that attackers infer as a whole; empty for none."""

TaskName = Literal["classification", "retrieval"]
"""A task on the labels of texts, by its function in `oddshift.mechanisms.utility`."""

DEFAULT_ATTACKERS = ("portfolio", "portfolio+W")
"""Attackers that are used when none are named; they need no training. Without a context W the second is left out."""

ALL = "all"
"""Every attacker that suits the data."""

SMALLEST_DELTA = 1e-9
"""The smallest rate that can be asked for: even without a failure it takes some billions of documents."""

VACUOUS = (0.9, 0.5)
"""Where a release counts as vacuous: at least this share of first guesses is right, and at least this share of the
guesses that were wrong before any release is right with it. docs/audit.md gives the reasons."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an audit and an adaptation have in common; a configuration file states it in `[audit]`, but for the caps.

    - `epsilon`: the budget per unit of distance. In a configuration file the default is the mechanism's.
    - `delta`: the share of pairs that may exceed ε; None asks for bounds without a verdict.
    - `alpha`: the level at which certificates may err.
    - `law`: the pair law of the verdict (`anchored`, `uniform` or `worst`); all laws are reported.
    - `method`: the bound on a mean, by name in `oddshift.bounds.METHODS`; one that depends on the order of documents
      gets an order that the seed draws.
    - `attackers`: names of attackers to fit; the controls `null` and `own` are always added. `"all"` stands for every
      attacker that suits the data.
    - `epochs`: a limit on the training of the paper's networks; None leaves their own.
    - `success`: caps on right first guesses, by tier: `{"PII": 0.2}` says that at most 20 % of the secrets of that tier
      may be guessed right; `"*"` stands for all tiers. With δ they are part of the verdict.
    - `advantage`: the same for the gain over the guess before any release.
    - `vacuous`: nothing is certified where at least the first share of first guesses about a tier is right and the
      release removed at least the second share of the doubt before it.
    - `independent`: declares that secrets are independent of each other, which is printed as an assumption.
    - `seed`: the same seed repeats the work.
    - `paper`: the options of attackers in paper mode (`paper-rnn`, `paper-lstm`, `paper-transformer`).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    epsilon: float
    delta: float | None = None
    alpha: float = 0.05
    law: PairLaw = "anchored"
    method: str = ONE_SHOT
    attackers: tuple[str, ...] | Literal["all"] = DEFAULT_ATTACKERS
    epochs: int | None = None
    vacuous: tuple[float, float] = VACUOUS
    independent: bool = False
    seed: int = 0
    paper: PaperOptions = field(default_factory=PaperOptions)
    success: Mapping[str, float] = field(default_factory=dict)
    advantage: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check what both have."""
        if self.attackers == ALL:
            object.__setattr__(self, "attackers", (ALL,))
        positive(self.epsilon, "epsilon")
        if self.delta is not None:
            unit_open(self.delta, "delta")
            if self.delta < SMALLEST_DELTA:
                raise InvalidInput(
                    f"delta={self.delta!r}, expected at least {SMALLEST_DELTA:g}: no data could certify less"
                )
        error_level(self.alpha)
        one_of(self.method, "method", tuple(METHODS))
        if not isinstance(self.attackers, tuple) or not all(isinstance(each, str) and each for each in self.attackers):
            raise InvalidInput(f"attackers={self.attackers!r}, expected a tuple of names, or {ALL!r}")
        if self.epochs is not None:
            whole(self.epochs, "epochs", 1)
        whole(self.seed, "seed", 0)
        check_caps(self.success, "success")
        check_caps(self.advantage, "advantage")
        check_vacuous(self.vacuous)


@dataclass(frozen=True, kw_only=True)
class AuditSettings(Question):
    """What is asked of an audit: the budget ε, how often it may be exceeded (δ), and which attackers try (`Question`).

    - `upper`: asks for a proven upper bound: `chain` under the known law of the secrets, otherwise under a chain
      estimated from the fit documents; `diameter` under no law at all.
    - `worst_positions`: the number of independent units, in each tier, in which the worst pair is sought.
    - `attribute`: also infers a column of whole documents from their releases: the `label` or the `subgroup` of the
      data; empty: none.
    - `tasks`: tasks with the label of texts that are measured before and after a release: `classification`,
      `retrieval`.
    """

    upper: UpperMethod | None = None
    worst_positions: int = 1_000
    attribute: AttributeColumn = ""
    tasks: tuple[TaskName, ...] = ()

    def __post_init__(self) -> None:
        """Check every option once."""
        super().__post_init__()
        one_of(self.law, "law", PAIR_LAWS)
        one_of(self.attribute, "attribute", get_args(AttributeColumn))
        for task in self.tasks:
            one_of(task, "tasks", get_args(TaskName))
        if self.upper is not None:
            one_of(self.upper, "upper", get_args(UpperMethod))
        whole(self.worst_positions, "worst_positions", 1)


def check_caps(caps: Mapping[str, float], name: str) -> None:
    """Refuse caps that are not shares; whether the names exist is checked once the tiers are known."""
    if not isinstance(caps, Mapping) or not all(isinstance(key, str) and key for key in caps):
        raise InvalidInput(f"{name}={caps!r}, expected a share for each tier by name, such as {{'PII': 0.2}}")
    for key, cap in caps.items():
        if not 0.0 < float_of(cap, f"{name}[{key!r}]") < 1.0:
            raise InvalidInput(f"{name}[{key!r}]={cap!r}, expected a share above 0 and below 1")


def check_vacuous(limits: tuple[float, float]) -> tuple[float, float]:
    """Two shares in (0, 1], as stated in a question."""
    if len(limits) != 2 or not all(0.0 < float_of(limit, "vacuous") <= 1.0 for limit in limits):
        raise InvalidInput(f"vacuous={limits}, expected two shares in (0, 1]: of right guesses, and of removed doubt")
    return limits
