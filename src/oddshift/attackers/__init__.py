"""Attackers: each turns a release into beliefs about every secret; one file each.

`ATTACKERS[name](known, rng)` fits one. Nothing heavy is imported before it is asked for: torch only by the networks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from oddshift.attackers.attacker import Attacker, Knowledge
    from oddshift.mechanisms.mechanism import Mechanism
    from oddshift.model.tiers import Tiers


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """What fitting may cost: limits of training, and a folder where an interrupted fit is continued from.

    None leaves the attacker's own default. With `max_seconds` the result depends on the machine. With `scale_range`
    networks are trained for all tier scales in it, `family` giving the mechanism at each.
    """

    epochs: int | None = None
    width: int | None = None
    max_seconds: float | None = None
    checkpoints: Path | None = None
    scale_range: tuple[float, float] | None = None
    family: Callable[[Tiers], Mechanism] | None = None


TOPICS = 8
"""Hidden topics of the plug-in attackers that have any."""

Fit = Callable[..., "Attacker"]
"""A function (known, rng, options) -> attacker; the options may be left out."""


def _null(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
    from oddshift.attackers.controls import Null

    return Null(known)


def _own(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
    from oddshift.attackers.controls import Own

    return Own(known)


def _plugin(topics: int, bigram: bool = True) -> Fit:
    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        from oddshift.attackers.plugin import fit_plugin

        return fit_plugin(known, topics, bigram=bigram, rng=rng)

    return fit


def _cooccurrence(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
    from oddshift.attackers.combination import fit_and_combine
    from oddshift.attackers.cooccurrence import fit_cooccurrence

    return replace(fit_and_combine(known, [fit_cooccurrence], rng=rng), name="cooccurrence")


def _informed(architecture: str, reads_context: bool = False) -> Fit:
    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        from oddshift.attackers.informed import Network, fit_informed
        from oddshift.attackers.training import Schedule

        options = options or FitOptions()
        schedule = _limited(Schedule(seed=int(rng.integers(1 << 31))), options)
        network = Network(architecture=architecture, reads_context=reads_context, scale_range=options.scale_range)
        network = replace(network, width=options.width) if options.width else network
        name = f"informed-{architecture}" + ("-words" if reads_context else "")
        checkpoint = _file(options, name, known)
        return fit_informed(known, network, schedule, family=options.family, checkpoint=checkpoint)

    return fit


def _counts(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
    """All evidence from counts, weighed together: chain with topics, and co-occurrence."""
    from oddshift.attackers.combination import fit_and_combine
    from oddshift.attackers.cooccurrence import fit_cooccurrence

    seed = int(rng.integers(1 << 31))
    fits = [lambda part: _plugin(TOPICS)(part, _generator(seed)), fit_cooccurrence]
    return replace(fit_and_combine(known, fits, rng=rng), name="counts")


def _combination(reads_context: bool = False) -> Fit:
    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        from oddshift.attackers.combination import fit_and_combine
        from oddshift.attackers.cooccurrence import fit_cooccurrence

        seeds = [int(seed) for seed in rng.integers(1 << 31, size=2)]
        fits = [
            lambda part: _plugin(TOPICS)(part, _generator(seeds[0])),
            fit_cooccurrence,
            lambda part: _informed("lstm", reads_context)(part, _generator(seeds[1]), options),
        ]
        name = "combination" + ("+W" if reads_context else "")
        return replace(fit_and_combine(known, fits, refit=(True, True, False), rng=rng), name=name)

    return fit


def _paper(architecture: str) -> Fit:
    def fit(known: Knowledge, rng: np.random.Generator, options: FitOptions | None = None) -> Attacker:
        from oddshift.attackers.paper import PAPER_SCHEDULE, PaperSettings, fit_paper

        options = options or FitOptions()
        schedule = _limited(replace(PAPER_SCHEDULE, seed=int(rng.integers(1 << 31))), options)
        settings = PaperSettings(architecture=architecture)
        settings = replace(settings, width=options.width) if options.width else settings
        return fit_paper(known, settings, schedule, checkpoint=_file(options, f"paper-{architecture}", known))

    return fit


def _limited(schedule: Any, options: FitOptions) -> Any:
    """The schedule within the options."""
    epochs = schedule.epochs if options.epochs is None else options.epochs
    return replace(schedule, epochs=epochs, max_seconds=options.max_seconds)


def _file(options: FitOptions, name: str, known: Knowledge) -> Path | None:
    """Where one fit is continued from; what is known tells a fit on a part from one on all."""
    return None if options.checkpoints is None else options.checkpoints / f"{name}-{known.fingerprint[:16]}.safetensors"


def _generator(seed: int) -> np.random.Generator:
    import numpy as np

    return np.random.default_rng(seed)


ATTACKERS: dict[str, Fit] = {
    "null": _null,
    "own": _own,
    "unigram": _plugin(1, bigram=False),
    "plugin": _plugin(1),
    "plugin-topics": _plugin(TOPICS),
    "cooccurrence": _cooccurrence,
    "counts": _counts,
    "rnn": _informed("rnn"),
    "lstm": _informed("lstm"),
    "transformer": _informed("transformer"),
    "lstm+W": _informed("lstm", reads_context=True),
    "combination": _combination(),
    "combination+W": _combination(reads_context=True),
    "paper-rnn": _paper("rnn"),
    "paper-lstm": _paper("lstm"),
    "paper-transformer": _paper("transformer"),
}
"""Every attacker by name; names that end in +W read the public context, and the paper's are for reproduction only."""
