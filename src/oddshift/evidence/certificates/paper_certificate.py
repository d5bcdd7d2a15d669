"""The paper's own certificate, reproduced as such and never used.

Proposition on sampling: if p̂ = ξδ over S triples, "Pr[p ≤ δ] ≥ 1 − 2 exp(−2S(1−ξ)²δ²)", reported as 1 − 10^−k with
δ~ = 1.05 δ*.
"""

from __future__ import annotations

from dataclasses import dataclass

from oddshift.base.arrays import positive, unit_open, whole
from oddshift.base.errors import InvalidInput
from oddshift.bounds import failure_exponent

REASONS = (
    "triples of one document share its releases, so S triples are far fewer than S independent values",
    "delta was set to 1.05 times the rate measured on the same data, so it is not a claim made beforehand",
    "the true rate is a fixed number: the procedure errs with a probability, the statement has none",
    "the printed exponents use a gap of .95 times the rate where delta = 1.05 times the rate gives .05",
)
"""Why the paper's certificate is not used."""

PRINTED_SLIP = 0.95
"""The share of the rate that the printed exponents use as the gap δ − p̂."""


@dataclass(frozen=True, kw_only=True)
class PaperCertificate:
    """δ~ = factor · δ*, ξ = 1/factor, and the exponent k as the proposition gives it and as the table prints it.

    **Guarantee**: none; `reasons` say why.
    """

    rate: float
    triples: int
    delta: float
    xi: float
    exponent: float
    printed_exponent: float
    reasons: tuple[str, ...] = REASONS


def paper_certificate(rate: float, triples: int, factor: float = 1.05) -> PaperCertificate:
    """Return the paper's numbers from a violation rate δ* over S triples.

    **Guarantee**: none; this is for tables that compare our numbers with the paper's.

    >>> c = paper_certificate(0.088, 74_434_304)
    >>> round(c.delta, 4), round(c.exponent), round(c.printed_exponent, -3)
    (0.0924, 1251, 452000.0)
    """
    measured, size = unit_open(rate, "rate"), whole(triples, "triples", 1)
    if positive(factor, "factor") <= 1:
        raise InvalidInput(f"{factor=}, expected a factor above 1")
    delta = factor * measured
    return PaperCertificate(
        rate=measured,
        triples=size,
        delta=delta,
        xi=1 / factor,
        exponent=failure_exponent(size, delta, 1 / factor),
        printed_exponent=failure_exponent(size, delta, 1 - PRINTED_SLIP / factor),
    )
