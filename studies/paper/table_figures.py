"""Figures of the paper's tables: violation ratios as dumbbells, what the temperature does to them, and exponents k."""

from __future__ import annotations

from collections.abc import Iterator

from oddshift.app.report.figures import LinePlot
from oddshift.app.report.markup import Figure
from studies.paper.paper_claims import Results
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS, METHODS, violation
from studies.paper.plot_kinds import MarkedRow, RowPlot

DUMBBELL_KEY = (
    "hollow: the paper",
    "filled: ours at T = 1",
    "grey ticks: null (left) and own, at the same T; the true ratio of both is 0",
    "thick: sound mode, 95 % bounds",
)


def dumbbells(results: Results) -> Iterator[Figure]:
    """Table 1: paper hollow, ours at T = 1 filled, null and own as grey ticks, sound as a span at the left."""
    for corpus, name in CORPORA.items():
        rows = [
            row
            for attacker in ATTACKERS
            for epsilon in EPSILONS
            for method in METHODS
            if (row := _dumbbell(results, corpus, attacker, epsilon, method)) is not None
        ]
        if rows:
            yield RowPlot(
                f"{name}: violation ratios",
                f"Printed and recomputed ratios of {len(rows)} cells of {name}. {_nearer_to_own(rows)}",
                "violation ratio, %",
                rows,
                DUMBBELL_KEY,
            ).figure


def _dumbbell(results: Results, corpus: str, attacker: str, epsilon: float, method: str) -> MarkedRow | None:
    place = (corpus, attacker, epsilon, method)
    if place not in results.table:
        return None
    sound = results.sound_rows.get((corpus, epsilon, "EM" if method == "AmPL-U" else method))
    return MarkedRow(
        method,
        (violation(method, corpus, attacker, epsilon)[0],),
        (results.mean(place, "one", "rate") or 0.0,),
        [results.mean(place, "one", what) or 0.0 for what in ("null", "own")],
        None if sound is None else (100 * sound["uniform"]["lower"], 100 * sound["uniform"]["upper"]),
        f"{ATTACKERS[attacker]}, ε = {epsilon:g}",
    )


def _nearer_to_own(rows: list[MarkedRow]) -> str:
    """How often a network comes nearer to a control that cannot violate anything than to the printed ratio."""
    nearer = sum(abs(row.filled[0] - row.ticks[1]) < abs(row.filled[0] - row.hollow[0]) for row in rows)
    return (
        f"In {nearer} of them the network is nearer to own, which reads one release and cannot violate anything, than "
        "to the printed ratio."
    )


def temperatures(results: Results) -> Iterator[Figure]:
    """Violation ratio against T at ε = 2.5, with the fitted T of the networks."""
    for corpus, name in CORPORA.items():
        cells = {a: results.values("table-violations", f"{corpus}-{a}-0") for a in ATTACKERS}
        found = {a: v for a, v in cells.items() if v is not None}
        if not found:
            continue
        curves = {ATTACKERS[a]: [(t, 100 * r) for t, r, _, _ in v["temperature_curve"]] for a, v in found.items()}
        last = next(iter(found.values()))["temperature_curve"]
        curves["null"] = [(t, 100 * n) for t, _, n, _ in last]
        curves["own"] = [(t, 100 * o) for t, _, _, o in last]
        fitted = {
            f"fitted, {ATTACKERS[a]}": row["rules"]["fitted"]["T"]
            for a, v in found.items()
            for row in v["rows"]
            if row["epsilon"] == 2.5 and row["method"] == "EM"
        }
        highest = max(max(r for _, r in curve) for curve in curves.values())
        yield LinePlot(
            f"{name}: the temperature decides",
            f"The violation ratio of EM at ε = 2.5 against the temperature T, which the paper does not state: any "
            f"ratio up to {highest:.0f} % can be had. The networks and own fall together, and nothing is left at the T "
            "of the best validation log score.",
            "temperature T",
            "violation ratio, %",
            curves,
            fitted,
            powers=(True, False),
        ).figure


def exponents(results: Results) -> Iterator[Figure]:
    """k of the 27 certificates on a logarithmic axis."""
    found = results.values("failure-bounds", "failure-bounds")
    if found is not None:
        rows = [
            MarkedRow(
                f"{r['attacker']} {r['epsilon']:g}",
                (r["printed"],),
                (r["by_proposition"],),
                heading=str(r["dataset"]),
            )
            for r in found["rows"]
        ]
        yield RowPlot(
            "The printed certificates",
            "k as printed and by the paper's own proposition. With observations as units "
            f"{found['observations_say_something']} of {len(rows)} cells have a positive k.",
            "k, where the failure probability is 10^-k",
            rows,
            ("hollow: printed", "filled: by the proposition"),
            powers=True,
        ).figure
