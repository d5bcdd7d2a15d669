"""Attackers by name: what a configuration looks names up in, and how each is fitted.

`ATTACKERS[name](known, rng)` fits one. Only the paper's networks load torch, when one of them is fitted. A package adds
an attacker through the entry point group `oddshift.attackers`.

Options of paper mode are everything that the paper leaves open, each with our default. A configuration file states them
in its table `[audit.paper]`; the name of the attacker chooses the architecture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, get_args

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import fit_and_combine
from oddshift.attackers.controls import Null, Own, PaperControl, exact_attacker
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.attackers.training import Schedule
from oddshift.base.arrays import FloatArray, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.registry import Registry
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.prior import Markov
from oddshift.model.tiers import Tiers

TemperatureRule = Literal["fixed", "fitted", "matched"]
"""With `fixed`, T = τ_base·τ. With `fitted`, T gives the best log score on held-out fit documents (Guo et al.). With
`matched`, T gives a stated violation ratio on them, such as one that the paper prints: it shows nothing by itself."""

PaperPrior = Literal["uniform", "empirical"]
"""The prior that is subtracted from the posterior: uniform over candidates, or frequencies in the fit documents."""

PaperSplit = Literal["document", "pair"]
"""How validation pairs are held out: by whole documents, or as single pairs, which is what the paper describes."""


@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    """Options of paper mode, which is for reproduction and never certifies anything.

    - `temperature`: the rule for T, `fixed`, `fitted` or `matched`.
    - `tau_base`, `tau`: T = τ_base·τ under the rule `fixed`.
    - `matched_epsilon`, `matched_ratio`: the ε and the violation ratio that T gives under the rule `matched`, which
      needs both; the name of the attacker then says that T was matched.
    - `prior`: `uniform` or `empirical`.
    - `split`: validation by `document` or by `pair`.
    - `width`: units of a layer.
    - `epochs`: the largest number of epochs; with None it is 50, or the limit that the audit states.
    - `embedding`: a file of word vectors (`.npz`) through which the attacker sees words, instead of those that the
      mechanism has; scaled to the mean norm of these, and words that it lacks stand at its mean.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    temperature: TemperatureRule = "fixed"
    tau_base: float = 1.0
    tau: float = 1.0
    matched_epsilon: float | None = None
    matched_ratio: float | None = None
    prior: PaperPrior = "uniform"
    split: PaperSplit = "document"
    width: int = 64
    epochs: int | None = None
    embedding: str = ""

    def __post_init__(self) -> None:
        """Check every option."""
        one_of(self.temperature, "temperature", get_args(TemperatureRule))
        one_of(self.prior, "prior", get_args(PaperPrior))
        one_of(self.split, "split", get_args(PaperSplit))
        positive(self.tau_base, "tau_base")
        positive(self.tau, "tau")
        whole(self.width, "width", 4)
        if self.epochs is not None:
            whole(self.epochs, "epochs", 1)
        if (self.temperature == "matched") != (self.matched is not None):
            raise InvalidInput(
                f"temperature={self.temperature!r} with matched_epsilon={self.matched_epsilon} and "
                f"matched_ratio={self.matched_ratio}, expected both of them with temperature='matched' and neither else"
            )

    @property
    def matched(self) -> tuple[float, float] | None:
        """The ε and the ratio to match, None where neither is stated."""
        if self.matched_epsilon is None and self.matched_ratio is None:
            return None
        if self.matched_epsilon is None or self.matched_ratio is None or not 0.0 < self.matched_ratio < 1.0:
            raise InvalidInput(
                f"matched_epsilon={self.matched_epsilon}, matched_ratio={self.matched_ratio}, expected both, with "
                "0 < matched_ratio < 1"
            )
        return positive(self.matched_epsilon, "matched_epsilon"), self.matched_ratio


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What fitting may cost: limits of training, and a folder from which an interrupted fit continues.

    None leaves the attacker's own default. With `max_seconds` the result depends on the machine. With `scale_range`
    networks are trained for all tier scales in it, `family` giving the mechanism at each. `prior_of(length)` is the law
    of a document with that many secrets, where it is known: the attacker `exact` needs it. `paper` has the options
    of paper mode, `embedding` the coordinates of every point in another embedding, which attackers in it see.
    """

    epochs: int | None = None
    width: int | None = None
    max_seconds: float | None = None
    checkpoints: Path | None = None
    scale_range: tuple[float, float] | None = None
    family: Callable[[Tiers], Mechanism] | None = None
    prior_of: Callable[[int], Markov] | None = None
    paper: PaperOptions = field(default_factory=PaperOptions)
    embedding: FloatArray | None = None


Fit = Callable[..., Attacker]
"""A function (known, rng, options) -> attacker; the options may be left out."""


def _alone(make: Callable[[Knowledge, np.random.Generator], Attacker]) -> Fit:
    """A fit that no options concern."""

    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        return make(known, rng)

    return fit


def _weighed(name: str, *fits: Callable[[Knowledge], Attacker]) -> Fit:
    """Parts weighed together."""
    return _alone(lambda known, rng: replace(fit_and_combine(known, fits, rng=rng), name=name))


def _exact(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
    if options is None or options.prior_of is None:
        raise InvalidInput("attacker 'exact' needs data whose law is known (kind people), expected another attacker")
    return exact_attacker(known, options.prior_of)


def _paper(architecture: str) -> Fit:
    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        from oddshift.attackers.paper import (
            PAPER_SCHEDULE,
            fit_paper,
            with_fitted_temperature,
            with_matched_temperature,
        )
        from oddshift.attackers.reconstruction import PaperSettings

        options = options or FitOptions()
        asked = options.paper
        limits = replace(options, epochs=asked.epochs or options.epochs)
        schedule = _limited(replace(PAPER_SCHEDULE, seed=int(rng.integers(1 << 31))), limits)
        settings = PaperSettings(
            architecture=architecture,
            width=options.width or asked.width,
            tau_base=asked.tau_base,
            tau=asked.tau,
            prior=asked.prior,
            split_by=asked.split,
            scale_range=options.scale_range,
        )
        name = f"paper-{architecture}" + ("-scales" if options.scale_range else "")
        checkpoint = _file(options, f"{name}-{schedule.seed}", known)
        made = fit_paper(
            known, settings, schedule, embedding=options.embedding, family=options.family, checkpoint=checkpoint
        )
        if asked.matched is not None:
            return with_matched_temperature(made, schedule.validation, schedule.seed, asked.matched)
        fitted = asked.temperature == "fitted"
        return with_fitted_temperature(made, schedule.validation, schedule.seed) if fitted else made

    return fit


def _paper_control(reads: bool) -> Fit:
    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        asked = (options or FitOptions()).paper
        return PaperControl(known, asked.tau_base * asked.tau, reads)

    return fit


def _limited(schedule: Schedule, options: FitOptions) -> Schedule:
    """The schedule within the options."""
    epochs = schedule.epochs if options.epochs is None else options.epochs
    return replace(schedule, epochs=epochs, max_seconds=options.max_seconds)


def _file(options: FitOptions, name: str, known: Knowledge) -> Path | None:
    """The file from which a fit continues: named by its seed and what is known: a part is another one."""
    return None if options.checkpoints is None else options.checkpoints / f"{name}-{known.fingerprint[:16]}.safetensors"


UNTRAINED = frozenset({"null", "own", "plugin", "cooccurrence", "counts", "portfolio", "portfolio+W"})
"""Attackers that need no training: what is known and the seed determine their fit, whatever the options are."""

PAPER_CONTROLS = ("paper-null", "paper-own")
"""Attackers in paper mode that cannot exceed a budget, at the same T."""

NOT_IN_ALL = frozenset(
    {
        "null",
        "own",
        "plugin",
        "cooccurrence",
        "counts",
        *PAPER_CONTROLS,
        "paper-rnn",
        "paper-lstm",
        "paper-transformer",
    }
)
"""Attackers that `"all"` does not mean: controls, parts of others, and those of the paper, for reproduction only."""

ATTACKERS: Registry[Fit] = Registry(
    "attacker",
    "oddshift.attackers",
    {
        "null": _alone(lambda known, rng: Null(known)),
        "own": _alone(lambda known, rng: Own(known)),
        "exact": _exact,
        "plugin": _alone(lambda known, rng: fit_plugin(known)),
        "cooccurrence": _weighed("cooccurrence", fit_cooccurrence),
        "counts": _weighed("counts", fit_plugin, fit_cooccurrence),
        "portfolio": _alone(fit_portfolio),
        "portfolio+W": _alone(partial(fit_portfolio, reads_words=True)),
        "paper-null": _paper_control(reads=False),
        "paper-own": _paper_control(reads=True),
        "paper-rnn": _paper("rnn"),
        "paper-lstm": _paper("lstm"),
        "paper-transformer": _paper("transformer"),
    },
    retired={
        **dict.fromkeys(("combination", "lstm", "masked", "plugin-topics", "rnn", "transformer"), "portfolio"),
        **dict.fromkeys(("combination+W", "language+W", "lstm+W"), "portfolio+W"),
        "unigram": "plugin",
    },
)
"""Every attacker by name, those of installed packages included; names that end in +W read the public context, the
paper's are for reproduction only, and `exact` needs a known law."""
