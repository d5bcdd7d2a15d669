"""The paper's certificates: thresholds δ~ = 1.05·δ*, and the exponents k that it prints for them, all 27 cells.

Its proposition on sampling gives k = (2S(δ − p)² − ln 2)/ln 10. The printed ones use a gap of .95·p where δ = 1.05·p
leaves .05·p; and its S triples are all pairs of 512 candidates for a few hundred observations.
"""

from __future__ import annotations

from typing import Any

from oddshift.bounds import failure_exponent
from studies.paper.paper_numbers import (
    FAILURE_BOUNDS,
    THRESHOLDS,
    VIOLATIONS,
    audit_samples,
    paper_table,
)

CANDIDATES = 512

XI = 1 / 1.05
"""The share of the threshold that the measured rate is, as the paper states it."""

PRINTED_SLIP = 0.95
"""The gap that the printed exponents use, as a share of p, where δ = 1.05·p leaves .05."""

PAIRS = CANDIDATES * (CANDIDATES - 1) // 2


def _rates() -> list[dict[str, Any]]:
    """The names and the measured rate of the 27 cells of AmPL."""
    return [
        {"dataset": c["dataset"], "attacker": c["attacker"], "epsilon": c["epsilon"], "rate": c["mean"] / 100}
        for c in paper_table(VIOLATIONS).cells
        if c["row"] == "AmPL"
    ]


def delta_thresholds() -> dict[str, Any]:
    """The printed thresholds next to 1.05 times the rates of AmPL."""
    rows = []
    for names in _rates():
        printed = paper_table(THRESHOLDS).cell(**{key: names[key] for key in ("dataset", "attacker", "epsilon")})
        rows.append({**names, "printed": printed["mean"], "recomputed": 1.05 * names["rate"]})
    agree = sum(abs(row["printed"] - row["recomputed"]) < 6e-5 for row in rows)
    return {"rows": rows, "agree": agree}


def failure_bounds() -> dict[str, Any]:
    """The printed k, k by the proposition, by the slip, and with observations instead of triples as units."""
    rows = []
    for names in _rates():
        place = {key: names[key] for key in ("dataset", "attacker", "epsilon")}
        printed, delta = (paper_table(label).cell(**place)["mean"] for label in (FAILURE_BOUNDS, THRESHOLDS))
        triples = audit_samples()[names["dataset"]]
        observations = triples // PAIRS
        rows.append(
            {
                **names,
                "delta": delta,
                "printed": printed,
                "by_proposition": failure_exponent(triples, delta, XI),
                "by_slip": failure_exponent(triples, delta, 1 - PRINTED_SLIP * XI),
                "observations": observations,
                "by_observations": failure_exponent(observations, delta, XI),
            }
        )
    return {
        "rows": rows,
        "slip_explains": sum(abs(r["by_slip"] / r["printed"] - 1) < 0.006 for r in rows),
        "by_proposition_range": [f(r["by_proposition"] for r in rows) for f in (min, max)],
        "observations_say_something": sum(r["by_observations"] > 0 for r in rows),
        "triples_are_whole_layouts": all(audit_samples()[r["dataset"]] % PAIRS == 0 for r in rows),
    }
