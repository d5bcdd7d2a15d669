"""The question of an audit: every option with its default, for Python and for the `[audit]` table of a file alike.

A limit on the CPU seconds of an audit: fewer documents, drawn at random, and never a shortcut in what is computed
from them.

The cost of each piece is estimated on a small part of it before it starts, so that the limit holds; what was left out
is said. The CPU time is that of this process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal, get_args

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.controls import Null, Own
from oddshift.attackers.paper_options import PaperOptions
from oddshift.audit.claims import check_caps
from oddshift.audit.scan import Budget, scan
from oddshift.audit.verdict import VACUOUS, check_vacuous
from oddshift.base.arrays import one_of, positive, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds import METHODS, ONE_SHOT
from oddshift.bounds.checks import error_level
from oddshift.leakage.mpl import PAIR_LAWS, PairLaw
from oddshift.model.records import Records, Split
from oddshift.model.release import perturb

UpperMethod = Literal["chain", "diameter"]
"""What a proven upper bound rests on: a chain of secrets, or no law at all."""

AttributeColumn = Literal["", "label", "subgroup"]
"""A column of documents that attackers infer as a whole; empty for none."""

TaskName = Literal["classification", "retrieval"]
"""A task on the labels of texts, by its function in `oddshift.mechanisms.utility`."""

DEFAULT_ATTACKERS = ("portfolio", "portfolio+W")
"""Attackers that are used when none are named; they need no training. Without a context W the second is left out."""

ALL = "all"
"""Every attacker that suits the data, as far as the CPU seconds reach."""

SMALLEST_DELTA = 1e-9
"""The smallest rate that can be asked for: even without a failure it takes some billions of documents."""


@dataclass(frozen=True, kw_only=True)
class AuditSettings:
    """What is asked of an audit: the budget ε, how often it may be exceeded (δ), and which attackers try.

    - `epsilon`: the budget per unit of distance. In a configuration file the default is the mechanism's.
    - `delta`: the share of pairs that may exceed ε; None asks for bounds without a verdict.
    - `alpha`: the level at which certificates may err.
    - `law`: the pair law of the verdict (`anchored`, `uniform` or `worst`); all laws are reported.
    - `method`: the bound on a mean, by name in `oddshift.bounds.METHODS`; one that depends on the order of documents
      gets an order that the seed draws.
    - `attackers`: names of attackers to fit; the controls `null` and `own` are always added. `"all"` stands for every
      attacker that suits the data, as far as the CPU seconds reach.
    - `epochs`: a limit on the training of networks; None leaves their own, at most 60.
    - `gamma`: raises every posterior to at least this value; None leaves beliefs as they are.
    - `upper`: asks for a proven upper bound: `chain` under the known law of the secrets, otherwise under a chain
      estimated from the fit documents; `diameter` under no law at all.
    - `worst_positions`: the number of independent units, in each tier, in which the worst pair is sought.
    - `success`: caps on right first guesses, by tier: `{"PII": 0.2}` says that at most 20 % of the secrets of that tier
      may be guessed right; `"*"` stands for all tiers. With δ they are part of the verdict.
    - `advantage`: the same for the gain over the guess before any release.
    - `vacuous`: nothing is certified where at least the first share of first guesses about a tier is right and the
      release removed at least the second share of the doubt before it.
    - `independent`: declares that secrets are independent of each other, which is printed as an assumption.
    - `seed`: the same seed repeats the audit.
    - `attribute`: also infers a column of whole documents from their releases: the `label` or the `subgroup` of the
      data; empty: none.
    - `tasks`: tasks with the label of texts that are measured before and after a release: `classification`,
      `retrieval`.
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
    gamma: float | None = None
    upper: UpperMethod | None = None
    worst_positions: int = 1_000
    success: Mapping[str, float] = field(default_factory=dict)
    advantage: Mapping[str, float] = field(default_factory=dict)
    vacuous: tuple[float, float] = VACUOUS
    independent: bool = False
    seed: int = 0
    paper: PaperOptions = field(default_factory=PaperOptions)
    attribute: AttributeColumn = ""
    tasks: tuple[TaskName, ...] = ()

    def __post_init__(self) -> None:
        """Check every option once."""
        if self.attackers == ALL:
            object.__setattr__(self, "attackers", (ALL,))
        check_question(self.epsilon, self.delta, self.alpha, self.method)
        one_of(self.attribute, "attribute", get_args(AttributeColumn))
        for task in self.tasks:
            one_of(task, "tasks", get_args(TaskName))
        one_of(self.law, "law", PAIR_LAWS)
        check_fitting(self.attackers, self.epochs, self.gamma, self.seed)
        check_caps(self.success, "success")
        check_caps(self.advantage, "advantage")
        check_vacuous(self.vacuous)
        if self.upper is not None:
            one_of(self.upper, "upper", get_args(UpperMethod))
        whole(self.worst_positions, "worst_positions", 1)


def check_question(epsilon: float, delta: float | None, alpha: float, method: str) -> None:
    """Refuse an impossible budget, rate, level or method."""
    positive(epsilon, "epsilon")
    if delta is not None:
        unit_open(delta, "delta")
        if delta < SMALLEST_DELTA:
            raise InvalidInput(f"delta={delta!r}, expected at least {SMALLEST_DELTA:g}: no data could certify less")
    error_level(alpha)
    one_of(method, "method", tuple(METHODS))


def check_fitting(attackers: Sequence[str], epochs: int | None, gamma: float | None, seed: int) -> None:
    """Refuse names, limits or seeds that no attacker could be fitted with."""
    if not isinstance(attackers, tuple) or not all(isinstance(name, str) and name for name in attackers):
        raise InvalidInput(f"{attackers=}, expected a tuple of names, or {ALL!r}")
    if epochs is not None:
        whole(epochs, "epochs", 1)
    if gamma is not None:
        unit_open(gamma, "gamma")
    whole(seed, "seed", 0)


TRIAL = 16
"""Documents on which the cost of measuring one document is estimated."""

FIT_TRIAL, FIT_POSITIONS = 64, 512
"""Documents on which the cost of fitting is estimated first, at least, and then on twice as many; fewer where they are
so long that fewer have this many positions."""

FITTING, FITS, HASTE = 0.4, 2.0, 1.2
"""Share of the remaining seconds for fitting, how many full fits that has to cover (attackers that count are fitted
again on a quarter and on half of the documents), and by what factor an estimate may be exceeded."""

MEASURING, SCANS = 0.7, 2.5
"""Share of the remaining seconds for measuring, and how many scans of everybody that has to cover: those of attackers
that were fitted again, of the recalibrated one, and of worst pairs."""

LOADING, WRITING = 4.0, 2.0
"""Seconds that a process may have used before the limit was stated and that count, at most; and seconds kept back for
the end, where the run is written."""


@dataclass(frozen=True)
class CpuLimit:
    """At most this many CPU seconds from `start` on; `start` is a value of `time.process_time`."""

    seconds: float
    start: float

    @classmethod
    def begin(cls, seconds: float) -> CpuLimit:
        """A limit that counts from now on, and what the process needed in order to start."""
        now = time.process_time()
        return cls(positive(seconds, "max_cpu"), now - min(now, LOADING))

    @property
    def left(self) -> float:
        """Seconds that may still be used; a little is kept back."""
        used = time.process_time() - self.start
        return max(0.95 * self.seconds - min(WRITING, self.seconds / 4.0) - used, 0.0)


def fit_within(
    fit: Records, fitting: Callable[[Records], object], limit: CpuLimit, rng: np.random.Generator
) -> tuple[Records, str]:
    """As many fit documents as the limit allows attackers to learn from, and a line that says so.

    `fitting` fits every attacker on some documents. Its cost is taken to grow linearly, from what two small parts cost;
    where the first of them costs more than fitting may, the second is not tried and the first is all that is taken.
    """
    few = min(FIT_TRIAL, -(-FIT_POSITIONS * len(fit) // max(len(fit.points), 1)))
    order, small = rng.permutation(len(fit)), max(few, len(fit) // 16)
    if 4 * small > len(fit):
        return fit, ""
    allowed = FITTING * limit.left / FITS
    try:
        least, twice = (fit.take(np.sort(order[:size])) for size in (small, 2 * small))
        costs = [_cost(partial(fitting, least))]
        if costs[0] > allowed:
            return least, _learning_from(small, fit, limit)
        costs.append(_cost(partial(fitting, twice)))
    except InvalidInput:  # these attackers need more documents than that
        return fit, ""
    each = max(costs[1] - costs[0], 0.0) / small
    fixed = max(costs[1] - 2.0 * small * each, 0.0)
    if HASTE * (fixed + each * len(fit)) <= allowed:
        return fit, ""
    affordable = (allowed / HASTE - fixed) / max(each, 1e-9)
    size = int(min(max(affordable, small), len(fit)))
    return fit.take(np.sort(order[:size])), _learning_from(size, fit, limit)


def _learning_from(size: int, fit: Records, limit: CpuLimit) -> str:
    return f"limited to {limit.seconds:g} CPU s: attackers learn from {size} of {len(fit)} records"


def within_cpu(
    split: Split, known: Knowledge, attackers: Sequence[Attacker], limit: CpuLimit, seed: int
) -> tuple[Split, str]:
    """The split with as many select and certify documents as the CPU seconds allow, and a line that says so.

    How many that is depends on the machine: an audit under a limit is not repeated bit for bit elsewhere.
    """
    rng = np.random.default_rng([seed, 5])
    some = split.certify.take(rng.permutation(len(split.certify))[:TRIAL])
    release = perturb(some, known.mechanism, known.tiers, rng)
    budget = Budget(known.mechanism, known.tiers, 1.0)
    everyone: tuple[Attacker, ...] = (Null(known), Own(known), *attackers)
    each = _cost(lambda: [scan(attacker, release, some, budget, rng) for attacker in everyone]) / len(some)
    affordable = MEASURING * limit.left / (SCANS * max(each, 1e-9))
    wanted = len(split.select) + len(split.certify)
    if affordable >= wanted:
        return split, ""
    keep = affordable / wanted
    select, certify = (
        part.take(np.sort(rng.permutation(len(part))[: max(TRIAL, round(keep * len(part)))]))
        for part in (split.select, split.certify)
    )
    left = len(select) + len(certify)
    note = f"limited to {limit.seconds:g} CPU s: {left} of {wanted} records to choose and certify with, drawn at random"
    return replace(split, select=select, certify=certify), note


def rows_within(measure: Callable[[int], object], trial: int, most: int, limit: CpuLimit) -> int:
    """How many rows of at most `most` can be measured in the rest of the time, from what `trial` of them cost."""
    if trial >= most:
        return most
    each = _cost(lambda: measure(trial)) / trial
    return int(min(max(limit.left / (HASTE * max(each, 1e-9)), trial), most))


def _cost(work: Callable[[], object]) -> float:
    """CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start
