"""Options of paper mode: everything that the paper leaves open, each with our default.

A configuration file states them in its table `[audit.paper]`. The name of the attacker chooses the architecture:
`paper-rnn`, `paper-lstm` or `paper-transformer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from oddshift.base.arrays import one_of, positive, whole

TemperatureRule = Literal["fixed", "fitted"]
"""With `fixed`, T = τ_base·τ. With `fitted`, T gives the best log score on held-out fit documents (Guo et al.)."""

PaperPrior = Literal["uniform", "empirical"]
"""The prior that is subtracted from the posterior: uniform over candidates, or frequencies in the fit documents."""

PaperSplit = Literal["document", "pair"]
"""How validation pairs are held out: by whole documents, or as single pairs, which is what the paper describes."""


@dataclass(frozen=True, kw_only=True)
class PaperOptions:
    """Options of paper mode, which is for reproduction and never certifies anything.

    - `temperature`: the rule for T, `fixed` or `fitted`.
    - `tau_base`, `tau`: T = τ_base·τ under the rule `fixed`.
    - `prior`: `uniform` or `empirical`.
    - `split`: validation by `document` or by `pair`.
    - `width`: units of a layer.
    - `epochs`: the largest number of epochs; with None it is 50, or the limit that the audit states.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    temperature: TemperatureRule = "fixed"
    tau_base: float = 1.0
    tau: float = 1.0
    prior: PaperPrior = "uniform"
    split: PaperSplit = "document"
    width: int = 64
    epochs: int | None = None

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
