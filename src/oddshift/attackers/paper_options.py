"""Options of paper mode: everything that the paper leaves open, each with our default.

A configuration file states them in its table `[audit.paper]`. The name of the attacker chooses the architecture:
`paper-rnn`, `paper-lstm` or `paper-transformer`.

Controls of paper mode: the softmax of temperature T around a guess that cannot break a budget.

`paper-null` guesses the mean of all points whatever is released, `paper-own` the exact posterior mean of one release.
The true share beyond ε is 0 for both, so what they show at T is what the temperature makes of any guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Literal, get_args

import numpy as np

from oddshift.attackers.attacker import Beliefs, Knowledge, position_blocks
from oddshift.base.arrays import FloatArray, IntArray, one_of, positive, whole
from oddshift.base.errors import InvalidInput
from oddshift.base.identity import content
from oddshift.model.release import Release

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


@dataclass(frozen=True, eq=False)
class PaperControl:
    """log softmax(−‖x̂ − x‖²/T) around x̂ = E[x], or E[x | y_l] where it `reads` the own release; uniform prior."""

    known: Knowledge
    temperature: float
    reads: bool
    with_context: bool = False

    fingerprint = cached_property(content)

    @property
    def name(self) -> str:
        """`paper-own` or `paper-null`."""
        return "paper-own" if self.reads else "paper-null"

    def against(self, known: Knowledge) -> PaperControl:
        """The same under other scales: nothing was learned."""
        return replace(self, known=known)

    def beliefs(self, release: Release) -> Iterator[Beliefs]:
        """Block by block of positions."""
        points, prior = self.known.mechanism.space.points, np.zeros(len(self.known.log_prior))
        for positions in position_blocks(release):
            guess = self._guesses(release.outputs[positions])
            squares = (guess**2).sum(axis=1)[:, None] - 2.0 * guess @ points.T + (points**2).sum(axis=1)[None, :]
            yield Beliefs(positions, -squares / self.temperature, prior)

    def _guesses(self, outputs: IntArray) -> FloatArray:
        points = self.known.mechanism.space.points
        if not self.reads:
            return np.broadcast_to(points.mean(axis=0), (len(outputs), points.shape[1]))
        belief = self.known.mechanism.log_columns(outputs) + self.known.log_prior
        belief = np.exp(belief - belief.max(axis=1, keepdims=True))
        return np.asarray(belief @ points / belief.sum(axis=1, keepdims=True))
