"""Attackers by name: what a configuration looks names up in, and how each is fitted.

`ATTACKERS[name](known, rng)` fits one. Only the networks load torch, when one of them is fitted. A package adds an
attacker through the entry point group `oddshift.attackers`.

What attackers cost, roughly: CPU seconds from the sizes of the data, so that `"all"` can stop where time is short.

fit = fixed + positions·(each_position + points·each_entry), an epoch at a time for networks; reading a position costs
points·read_entry. Attackers that count in a verdict are fitted again on smaller parts and read again: that is included.
The constants were measured on one core; another machine differs by a factor, the same for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from oddshift.attackers.attacker import Attacker, Knowledge
from oddshift.attackers.chain import fit_plugin
from oddshift.attackers.combination import fit_and_combine
from oddshift.attackers.controls import Null, Own, exact_attacker
from oddshift.attackers.cooccurrence import fit_cooccurrence
from oddshift.attackers.paper_options import PaperControl, PaperOptions
from oddshift.attackers.portfolio import fit_portfolio
from oddshift.attackers.training import Schedule
from oddshift.base.arrays import FloatArray
from oddshift.base.errors import InvalidInput
from oddshift.base.registry import Registry
from oddshift.mechanisms.mechanism import Mechanism
from oddshift.model.prior import Markov
from oddshift.model.records import Split
from oddshift.model.tiers import Tiers


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


def _informed(reads_context: bool = False) -> Fit:
    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        from oddshift.attackers.informed import Network, fit_informed

        options = options or FitOptions()
        schedule = _limited(Schedule(seed=int(rng.integers(1 << 31))), options)
        network = Network(reads_context=reads_context, scale_range=options.scale_range)
        network = replace(network, width=options.width) if options.width else network
        name = "informed-lstm" + ("-words" if reads_context else "")
        name += "-scales" if options.scale_range else ""  # another network than the one for a single mechanism
        checkpoint = _file(options, f"{name}-{schedule.seed}", known)
        return fit_informed(known, network, schedule, family=options.family, checkpoint=checkpoint)

    return fit


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
        "lstm": _informed(),
        "lstm+W": _informed(reads_context=True),
        "paper-null": _paper_control(reads=False),
        "paper-own": _paper_control(reads=True),
        "paper-rnn": _paper("rnn"),
        "paper-lstm": _paper("lstm"),
        "paper-transformer": _paper("transformer"),
    },
    retired={
        **dict.fromkeys(("masked", "rnn", "transformer"), "lstm"),
        "combination": "portfolio and lstm",
        "combination+W": "portfolio+W and lstm+W",
        "language+W": "portfolio+W",
        "plugin-topics": "portfolio",
        "unigram": "plugin",
    },
)
"""Every attacker by name, those of installed packages included; names that end in +W read the public context, the
paper's are for reproduction only, and `exact` needs a known law."""


FITS, READS = 1.75, 2.5
"""Full fits that all fits of an attacker amount to (a quarter, a half, and all), and how often everything is read."""


@dataclass(frozen=True)
class AttackerCost:
    """Seconds for a fit, for each position (of an epoch), and for each position and point, to fit and to read."""

    fixed: float
    each_position: float
    each_entry: float
    read_entry: float
    epochs: int = 0

    def seconds(self, fit: int, read: int, points: int, epochs: int | None = None) -> float:
        """The cost with this many positions to fit and to read.

        >>> AttackerCost(1.0, 1e-3, 0.0, 1e-6).seconds(1_000, 1_000, 100)
        3.75
        """
        rounds = 1 if not self.epochs else min(self.epochs, epochs or self.epochs)
        fitting = self.fixed + rounds * fit * (self.each_position + points * self.each_entry)
        return FITS * fitting + READS * read * points * self.read_entry


NETWORK = AttackerCost(3.0, 1e-4, 1e-7, 2e-7, epochs=60)
"""Networks that read releases: three seconds to load torch, then as many epochs as they may take."""

COSTS: Mapping[str, AttackerCost] = {
    "exact": AttackerCost(0.0, 0.0, 0.0, 2e-7),
    "counts": AttackerCost(0.1, 1e-5, 1e-8, 2e-7),
    "portfolio": AttackerCost(0.5, 1e-4, 1e-8, 3e-7),
    "portfolio+W": AttackerCost(1.0, 2e-4, 1e-7, 4e-7),
    "lstm": NETWORK,
    "lstm+W": NETWORK,
}
"""The cost of every attacker of our own; one of another package is taken to cost what `portfolio` does."""


def seconds_of(name: str, split: Split, epochs: int | None) -> float:
    """CPU seconds that this attacker takes in an audit of these data, roughly; `epochs` limits the training."""
    read = len(split.select.points) + len(split.certify.points)
    cost = COSTS.get(name, COSTS["portfolio"])
    return cost.seconds(len(split.fit.points), read, len(split.fit.space), epochs)


def in_order_of_cost(names: Sequence[str], seconds: Mapping[str, float]) -> list[str]:
    """The cheapest first; in their order where they cost the same."""
    return sorted(names, key=lambda name: seconds[name])
