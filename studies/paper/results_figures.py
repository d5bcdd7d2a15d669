"""Figures of the results page, each from finished cells and printed tables alone; none where no cell was run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from oddshift.app.report.figures import LinePlot
from oddshift.app.report.markup import Figure
from studies.paper.compared_plots import MirrorPlot, Slope, SlopePlot
from studies.paper.fronts import WAYS, fronts
from studies.paper.paper_claims import Results, count
from studies.paper.paper_numbers import (
    ATTACKERS,
    CORPORA,
    EPSILONS,
    METHODS,
    MISMATCH,
    paper_table,
    paper_text,
    violation,
)
from studies.paper.plot_kinds import BarPlot
from studies.paper.table_figures import dumbbells, exponents, temperatures


def _trained_on(found: Mapping[str, Any]) -> str:
    """How many documents and how large a layout are behind a figure, where its cell says so."""
    return f" {found['size']['documents'][0]:,} documents to fit." if "size" in found else ""


def distributions(results: Results) -> Iterator[Figure]:
    """Distribution of mPL at T = 1, three networks and the exact single release."""
    found = results.values("mpl-distributions", "ag_news")
    if found is None:
        return
    for attacker, values in found["networks"].items():
        exact = found["controls"]["exact"]
        beyond = round(found["epsilon"] / found["span"] * found["bins"])
        yield MirrorPlot(
            f"AG News: distribution of mPL, {ATTACKERS[attacker]}",
            f"At T = 1 {values['rate']:.1%} of the triples lie beyond ε = {found['epsilon']:g}, of own "
            f"{values['own']:.1%} and of null {values['null']:.1%}. The exact posterior of one release has "
            f"{sum(exact[beyond:]):.1%} there: what lies beyond ε is made by the softmax, not by the release.",
            "mPL",
            (ATTACKERS[attacker], values["counts"]),
            ("own, same T", found["controls"]["own"]),
            found["span"],
            found["epsilon"],
            f"ε = {found['epsilon']:g}",
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
    """Violation ratio against utility loss over all scales, by the way to release."""
    at = {front.place: front for front in fronts(results)}
    for corpus, name in CORPORA.items():
        found, size = at.get((corpus, "transformer", 2.5)), results.values("tradeoff", corpus)
        if found is None or size is None:
            continue
        yield LinePlot(
            f"{name}: ratio against utility loss",
            f"{len(found.ratios)} pairs of scales at ε = 2.5 between those that were computed, a Transformer trained "
            "from nothing for each at T = 1: what is released as drawn, remapped word by word as in the paper, or "
            f"repaired jointly as we do. A constant word loses {size['constant_word']:.3f}." + _trained_on(size),
            "utility loss",
            "violation ratio, %",
            {
                **{
                    says: [(loss, 100 * ratio) for loss, ratio in zip(found.losses[way], found.ratios, strict=True)]
                    for way, says in WAYS.items()
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


SHARED_SCALES = {"AmPL-U": "EM"}
"""Methods whose scales, and so losses, are those of another."""


def utility(results: Results) -> Iterator[Figure]:
    """Utility loss without and with remapping, against one constant word, at the scales of each network."""
    for corpus, name in CORPORA.items():
        found = results.values("utility", corpus)
        for attacker, network in ATTACKERS.items() if found is not None else ():
            mine = [row for row in found["rows"] if row.get("attacker", "transformer") == attacker]
            rows = {row["method"]: row for row in mine if row["epsilon"] == 2.5}
            bars = {m: rows[SHARED_SCALES.get(m, m)] for m in METHODS if SHARED_SCALES.get(m, m) in rows}
            if not bars:
                continue
            outputs = ", ".join(f"{m} {r['outputs']:,.0f} → {r['remapped_outputs']:,.0f}" for m, r in bars.items())
            said = paper_text("utility_text")
            ranges = {m: said["AmPL-1" if m == "AmPL-1" else "core_methods"][name] for m in bars}
            yield BarPlot(
                f"{name}, {network}: utility loss at ε = 2.5",
                f"Cosine loss without and with remapping. Effective outputs: {outputs}.",
                "expected loss",
                {method: (row["loss"], row["remapped_loss"]) for method, row in bars.items()},
                ("grey: as drawn", "blue: remapped"),
                found["constant_word"],
                "one constant word",
                {m: (tuple(r["no_RMP"]), tuple(r["RMP"])) for m, r in ranges.items()},
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
        fits = [(n, v) for c, n in CORPORA.items() if (v := results.values("learning-curve", c)) is not None]
        if series:
            most = ", ".join(f"{name} {max(row['documents'] for row in v['rows']):,}" for name, v in fits)
            yield LinePlot(
                f"Learning curve: {label}",
                f"An LSTM at ε = 2.5, trained on growing shares of the fit documents ({most} in all).",
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
                (float(row["pairs"]), max(1e-9, sum(t["rows"][k][key] for t in toys) / len(toys)))
                for k, row in enumerate(rows)
            ]
            for name, key in (("mean error", "mean_error"), (bound, "bound"))
        }
        yield LinePlot(
            "The toy: error of the learned mPL against training pairs",
            f"Mean |mPL − exact|, over {len(toys)} seeds, and the right side of the faithfulness proposition, "
            f"{_constant(toys)} times the root of the mean KL divergence. The error falls like the number of pairs to "
            f"the power {_slope(curves['mean error']):.2f}, the bound like that to {_slope(curves[bound]):.2f}.",
            "training pairs",
            "mean error",
            curves,
            powers=(True, True),
        ).figure


def _constant(toys: Sequence[Mapping[str, Any]]) -> str:
    """The proposition's constant 2√2/(γ·d) at the largest number of pairs, as the cells have it."""
    found = [row["bound"] / math.sqrt(row["mean_kl"]) for toy in toys for row in toy["rows"][-1:] if row.get("mean_kl")]
    return f"2√2/(γ·d) = {sum(found) / len(found):.1f}" if found else "2√2/(γ·d)"


def _slope(points: Sequence[tuple[float, float]]) -> float:
    """The power by which one number follows another: the slope of the line of least squares through logarithms.

    >>> round(_slope([(10.0, 1.0), (100.0, 0.1), (1000.0, 0.01)]), 6)
    -1.0
    """
    logs = [(math.log10(x), math.log10(y)) for x, y in points]
    across, up = (sum(values) / len(logs) for values in zip(*logs, strict=True))
    spread = sum((x - across) ** 2 for x, _ in logs)
    return sum((x - across) * (y - up) for x, y in logs) / spread if spread else 0.0


def slopes(results: Results) -> Iterator[Figure]:
    """Mean mPL from matched to mismatched at all budgets: paper and ours."""
    table, kinds = paper_table(MISMATCH), ("matched", "mismatched")
    printed: dict[str, list[Slope]] = {}
    for called in ATTACKERS.values():
        cells = [[table.cell(row=kind, attacker=called, epsilon=e)["mean"] for kind in kinds] for e in EPSILONS]
        printed[called] = [(f"{e:g}", float(m), float(o)) for e, (m, o) in zip(EPSILONS, cells, strict=True)]
    ours: dict[str, list[Slope]] = {}
    for attacker, called in ATTACKERS.items():
        found = results.values("embedding-mismatch", f"ag_news-{attacker}")
        means = {(r["epsilon"], r["kind"]): r["rules"]["one"]["mean_mpl"] for r in found["rows"]} if found else {}
        ours[called] = [(f"{e:g}", means[e, kinds[0]], means[e, kinds[1]]) for e in EPSILONS if (e, kinds[0]) in means]
    rises = sum(right > left for mine in printed.values() for _, left, right in mine)
    ours_rise = [right > left for mine in ours.values() for _, left, right in mine]
    said = f" Ours at T = 1, GloVe matched and MiniLM mismatched, rise in {count(ours_rise)}." if ours_rise else ""
    yield SlopePlot(
        "Embeddings: mean mPL from matched to mismatched",
        f"An upper bound would never rise from left to right; the printed values rise in {rises} of 9 cells.{said}",
        "mean mPL",
        kinds,
        printed,
        ours,
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
