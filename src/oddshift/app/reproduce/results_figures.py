"""Figures of the results page, each from finished cells and printed tables alone; none where no cell was run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oddshift.app.report.figure import Figure
from oddshift.app.reproduce.paper_claims import Results
from oddshift.app.reproduce.paper_numbers import (
    ATTACKERS,
    CORPORA,
    EPSILONS,
    MISMATCH,
    paper_table,
    paper_text,
    violation,
)
from oddshift.app.reproduce.plot_kinds import BarPlot, LinePlot, MarkedRow, RowPlot


def _trained_on(found: Mapping[str, Any]) -> str:
    """How many documents and how large a layout are behind a figure, where its cell says so."""
    return f" {found['size']['documents'][0]:,} documents to fit." if "size" in found else ""


def dumbbells(results: Results) -> Iterator[Figure]:
    """Table 1: paper hollow, ours at T = 1 filled, null and own as grey ticks, sound as a span at the left."""
    for corpus, name in CORPORA.items():
        rows = []
        for attacker, called in ATTACKERS.items():
            for epsilon in EPSILONS:
                for method in ("EM", "AmPL"):
                    place = (corpus, attacker, epsilon, method)
                    if place not in results.table:
                        continue
                    sound = results.sound_rows.get((corpus, epsilon, method))
                    bounds = (
                        None if sound is None else (100 * sound["uniform"]["lower"], 100 * sound["uniform"]["upper"])
                    )
                    own = [results.mean(place, "one", what) or 0.0 for what in ("null", "own")]
                    ours = results.mean(place, "one", "rate") or 0.0
                    printed = violation(method, corpus, attacker, epsilon)[0]
                    rows.append(MarkedRow(f"{called} {epsilon:g} {method}", (printed,), (ours,), own, bounds))
        if rows:
            yield RowPlot(
                f"{name}: violation ratios",
                f"Printed and recomputed ratios of {len(rows)} cells of {name}, with both controls at the same T = 1.",
                "violation ratio, %",
                rows,
                ("hollow: the paper", "filled: ours at T = 1", "grey ticks: null and own", "thick: sound, 95 % bounds"),
            ).figure


def temperatures(results: Results) -> Iterator[Figure]:
    """Violation ratio against T at ε = 2.5, with the fitted T of the networks."""
    for corpus, name in CORPORA.items():
        cells = {a: results.values("table-violations", f"{corpus}-{a}-0") for a in ATTACKERS}
        found = {a: v for a, v in cells.items() if v is not None}
        if not found:
            continue
        curves = {
            ATTACKERS[a]: [(math.log10(t), 100 * r) for t, r, _, _ in v["temperature_curve"]] for a, v in found.items()
        }
        last = next(iter(found.values()))["temperature_curve"]
        curves["null"] = [(math.log10(t), 100 * n) for t, _, n, _ in last]
        curves["own"] = [(math.log10(t), 100 * o) for t, _, _, o in last]
        fitted = {
            f"fitted, {ATTACKERS[a]}": math.log10(row["rules"]["fitted"]["T"])
            for a, v in found.items()
            for row in v["rows"]
            if row["epsilon"] == 2.5 and row["method"] == "EM"
        }
        yield LinePlot(
            f"{name}: the temperature decides",
            "The violation ratio of EM at ε = 2.5 against the temperature T, which the paper does not state; the "
            "networks and own fall together.",
            "log10 T",
            "violation ratio, %",
            curves,
            fitted,
        ).figure


def distributions(results: Results) -> Iterator[Figure]:
    """Distribution of mPL at T = 1, three networks and the exact single release."""
    found = results.values("mpl-distributions", "ag_news")
    if found is None:
        return
    width = found["span"] / found["bins"]

    def points(shares: list[float]) -> list[tuple[float, float]]:
        return [((k + 0.5) * width, 100 * share) for k, share in enumerate(shares)]

    for attacker, values in found["networks"].items():
        yield LinePlot(
            f"AG News: distribution of mPL, {ATTACKERS[attacker]}",
            f"At T = 1 {values['rate']:.1%} of the triples lie beyond ε = 2.5 (null {values['null']:.1%}, own "
            f"{values['own']:.1%}); the exact single release has none there.",
            "mPL",
            "share of triples, %",
            {
                ATTACKERS[attacker]: points(values["counts"]),
                "own, same T": points(found["controls"]["own"]),
                "exact single release": points(found["controls"]["exact"]),
            },
            {"ε": found["epsilon"]},
        ).figure


def sweep(results: Results) -> Iterator[Figure]:
    """Mean mPL and violation ratio over ε, with the transition."""
    for corpus, name in CORPORA.items():
        found = results.values("epsilon-sweep", corpus)
        if found is None:
            continue
        rows = found["rows"]
        at = {f"ε* = {found['transition']:.2f}": found["transition"]} if found["transition"] <= 5 else {}
        yield LinePlot(
            f"{name}: mean mPL over ε",
            "Mean mPL of an RNN at T = 1 and at its fitted T, and of the exact single release." + _trained_on(found),
            "ε",
            "mean mPL",
            {
                "RNN, T = 1": [(r["epsilon"], r["one"]["mean_mpl"]) for r in rows],
                "RNN, fitted T": [(r["epsilon"], r["fitted"]["mean_mpl"]) for r in rows],
                "exact single release": [(r["epsilon"], r["exact"]["mean_mpl"]) for r in rows],
            },
            at,
        ).figure
        yield LinePlot(
            f"{name}: violation ratio over ε",
            "Violation ratio of an RNN at T = 1 with null and own at the same T; the exact single release has none."
            + _trained_on(found),
            "ε",
            "violation ratio, %",
            {
                label: [(r["epsilon"], 100 * r["one"][what]) for r in rows]
                for label, what in (("RNN", "rate"), ("own", "own"), ("null", "null"))
            },
            at,
        ).figure


def tradeoff(results: Results) -> Iterator[Figure]:
    """Violation ratio against utility loss, with both controls."""
    for corpus, name in CORPORA.items():
        found = results.values("tradeoff", corpus)
        if found is not None:
            yield LinePlot(
                f"{name}: ratio against utility loss",
                f"{len(found['points'])} pairs of scales at ε = 2.5, one Transformer at T = 1; own moves along."
                + _trained_on(found),
                "utility loss",
                "violation ratio, %",
                {
                    **{
                        label: [(p["loss"], 100 * p[what]) for p in found["points"]]
                        for label, what in (("Transformer", "rate"), ("own", "own"), ("null", "null"))
                    },
                    **_printed_point(corpus),
                },
                dots=True,
            ).figure


def _printed_point(corpus: str) -> dict[str, list[tuple[float, float]]]:
    """The one point of the paper's figure that its text gives: EM on AG News; images are missing from the source."""
    if corpus != "ag_news":
        return {}
    loss = paper_text("utility_text")["AG_transformer_2.5_EM"]["no_RMP"]
    return {"EM as printed": [(float(loss), violation("EM", corpus, "transformer", 2.5)[0])]}


def utility(results: Results) -> Iterator[Figure]:
    """Utility loss without and with remapping, against one constant word."""
    for corpus, name in CORPORA.items():
        found = results.values("utility", corpus)
        if found is not None:
            rows = [row for row in found["rows"] if row["epsilon"] == 2.5]
            outputs = ", ".join(f"{r['method']} {r['outputs']:.0f} → {r['remapped_outputs']:.0f}" for r in rows)
            yield BarPlot(
                f"{name}: utility loss at ε = 2.5",
                f"Cosine loss without and with remapping. Effective outputs: {outputs}.",
                "expected loss",
                {row["method"]: (row["loss"], row["remapped_loss"]) for row in rows},
                ("grey: as drawn", "blue: remapped"),
                found["constant_word"],
                "one constant word",
            ).figure


def learning(results: Results) -> Iterator[Figure]:
    """Cosine accuracy and violation ratio against the share of training documents."""
    for what, label, factor in (("cosine", "cosine accuracy", 1.0), ("rate", "violation ratio at T = 1, %", 100.0)):
        series = {
            CORPORA[corpus]: [
                (r["share"], factor * (r["cosine"] if what == "cosine" else r["one"]["rate"])) for r in found["rows"]
            ]
            for corpus in CORPORA
            if (found := results.values("learning-curve", corpus)) is not None
        }
        if series:
            yield LinePlot(
                f"Learning curve: {label}",
                "An LSTM at ε = 2.5, trained on growing shares of the fit documents.",
                "share of the fit documents",
                label,
                series,
            ).figure


def toy_errors(results: Results) -> Iterator[Figure]:
    """The error of the learned mPL of the toy against the number of training pairs."""
    toys = [found for cell in results.cells["toy"].values() if cell.key != "exact" for found in [cell.values]]
    if toys:
        rows, bound = toys[0]["rows"], "proposition's bound"
        curves = {
            name: [
                (math.log10(row["pairs"]), math.log10(max(1e-9, sum(t["rows"][k][key] for t in toys) / len(toys))))
                for k, row in enumerate(rows)
            ]
            for name, key in (("mean error", "mean_error"), (bound, "bound"))
        }
        yield LinePlot(
            "The toy: error of the learned mPL against training pairs",
            f"Mean |mPL − exact|, over {len(toys)} seeds, and the right side of the faithfulness proposition. The "
            f"error falls like the number of pairs to the power {_slope(curves['mean error']):.2f}, the bound like "
            f"that to {_slope(curves[bound]):.2f}.",
            "log10 of training pairs",
            "log10 of the mean error",
            curves,
        ).figure


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the line of least squares.

    >>> _slope([(0.0, 1.0), (1.0, 0.5), (2.0, 0.0)])
    -0.5
    """
    across, up = (sum(values) / len(points) for values in zip(*points, strict=True))
    spread = sum((x - across) ** 2 for x, _ in points)
    return sum((x - across) * (y - up) for x, y in points) / spread if spread else 0.0


def slopes(results: Results) -> Iterator[Figure]:
    """Mean mPL from matched to mismatched: paper and ours."""
    rows = []
    for attacker, called in ATTACKERS.items():
        printed = [
            paper_table(MISMATCH).cell(row=k, attacker=called, epsilon=2.5)["mean"] for k in ("matched", "mismatched")
        ]
        found = results.values("embedding-mismatch", f"ag_news-{attacker}")
        ours = {r["kind"]: r["rules"]["one"]["mean_mpl"] for r in found["rows"] if r["epsilon"] == 2.5} if found else {}
        for kind, value in zip(("matched", "mismatched"), printed, strict=True):
            rows.append(MarkedRow(f"{called}, {kind}", (value,), (ours[kind],) if kind in ours else ()))
    yield RowPlot(
        "Embeddings: mean mPL matched and mismatched, ε = 2.5",
        "The printed values next to ours at T = 1, with GloVe matched and MiniLM mismatched.",
        "mean mPL",
        rows,
        ("hollow: the paper", "filled: ours, where run"),
    ).figure


def exponents(results: Results) -> Iterator[Figure]:
    """k of the 27 certificates on a logarithmic axis."""
    found = results.values("failure-bounds", "failure-bounds")
    if found is not None:
        rows = [
            MarkedRow(
                f"{r['dataset']} {r['attacker']} {r['epsilon']:g}",
                (math.log10(r["printed"]),),
                (math.log10(r["by_proposition"]),),
            )
            for r in found["rows"]
        ]
        yield RowPlot(
            "The printed certificates",
            "k as printed and by the paper's own proposition. With observations as units "
            f"{found['observations_say_something']} of {len(rows)} cells have a positive k.",
            "log10 k",
            rows,
            ("hollow: printed", "filled: by the proposition"),
        ).figure


FIGURES: dict[Callable[[Results], Iterator[Figure]], tuple[str, str]] = {
    dumbbells: ("table-violations", ""),
    temperatures: ("table-violations", ""),
    distributions: ("mpl-distributions", ""),
    sweep: ("epsilon-sweep", ""),
    tradeoff: ("tradeoff", ""),
    utility: ("utility", ""),
    learning: ("learning-curve", ""),
    toy_errors: ("toy", "learned"),
    slopes: ("embedding-mismatch", ""),
    exponents: ("failure-bounds", ""),
}
"""Every figure of the page, in its order, with the name and the start of the keys of the cells behind it."""
