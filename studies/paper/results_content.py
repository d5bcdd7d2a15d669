"""The content of the results page: sections of paragraphs, tables with links to cells, and figures.

Everything is read from finished cells and printed tables; what was not run is said not to be run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from studies.paper.cell_store import FinishedCell
from studies.paper.other_weights import replayed_loops, weights_compared
from studies.paper.page_blocks import (
    Block,
    CellLinks,
    Entry,
    Linked,
    Section,
    TableBlock,
    cells_title,
    linked_files,
    linked_seeds,
)
from studies.paper.paper_claims import NOT_RUN, Results
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS, METHODS, MISMATCH, paper_table, violation
from studies.paper.reproduction import ReproductionOptions
from studies.paper.reproductions import REPRODUCTIONS
from studies.paper.results_figures import FIGURES


def figures_section(results: Results) -> Section:
    """Every figure, each group of them with links to its cells."""
    blocks: list[Block] = []
    for make, (name, start) in FIGURES.items():
        drawn, files = list(make(results)), linked_files(results.files(name, start))
        blocks += drawn
        if drawn and isinstance(files, tuple):
            blocks.append(CellLinks(files))
    return Section("figures", "Figures", blocks)


def _percent(value: float | None, spread: float | None = None) -> str:
    if value is None:
        return NOT_RUN
    return f"{value:.2f}" if spread is None else f"{value:.2f} ± {spread:.2f}"


def _loop_said(results: Results) -> str:
    """λ_1, λ_2 and η_0 of the cells that were run."""
    cells = results.cells["table-violations"].values()
    found = {tuple(c.settings["loop"].items()) for c in cells if "loop" in c.settings}
    said = [
        f"λ_1 = {loop['rate']:g}, λ_2 = {loop['loss']:g} and η_0 = {loop['first_step']:g}" for loop in map(dict, found)
    ]
    return "; ".join(said) or "λ_1, λ_2 and η_0 of our choice"


def violations_section(results: Results) -> Section:
    """The table of violation ratios by corpus, theirs next to ours under three rules for T, with null and own."""
    blocks: list[Block] = [
        "Violation ratios in percent: mean ± standard deviation over seeds. T = 1, T fitted by validation log score, "
        "and T matched to the printed EM ratio at each ε, on which nothing rests. null ignores the release, own is the "
        "exact posterior mean of one release; the true ratio of both is 0. AmPL's scales come from the loop on the "
        f"stored surface at T = 1 with {_loop_said(results)}, which the paper does not state, so that no "
        "verdict rests on where it ends."
    ]
    for corpus, name in CORPORA.items():
        rows = [
            row for a in ATTACKERS for e in EPSILONS for m in METHODS if (row := _table_row(results, corpus, a, e, m))
        ]
        if not rows:
            blocks.append(f"{name}: not run.")
            continue
        head = (
            "network",
            "ε",
            "method",
            "paper",
            "T = 1",
            "null",
            "own",
            "fitted T",
            "matched T",
            "scales",
            "loss",
            "cells",
        )
        blocks += [_size_said(results, corpus), TableBlock(name, head, rows)]
    blocks += [*surface_blocks(results), *weights_blocks(results), *temperature_blocks(results)]
    blocks += [_sound_table(results), *embedding_blocks(results)]
    return Section("violations", "Violation ratios", blocks)


def _table_row(results: Results, corpus: str, attacker: str, epsilon: float, method: str) -> list[Entry] | None:
    found = results.table.get((corpus, attacker, epsilon, method))
    if not found:
        return None
    place = (corpus, attacker, epsilon, method)
    printed = violation(method, corpus, attacker, epsilon)
    return [
        ATTACKERS[attacker],
        f"{epsilon:g}",
        method,
        _percent(*printed),
        _percent(results.mean(place, "one", "rate"), results.spread(place, "one")),
        _percent(results.mean(place, "one", "null")),
        _percent(results.mean(place, "one", "own")),
        _percent(results.mean(place, "fitted", "rate")),
        _percent(results.mean(place, "matched", "rate")),
        ", ".join(f"{scale:g}" for scale in found[0]["scales"]),
        f"{found[0]['loss']:.3f}",
        linked_seeds([cell.file for cell in results.whole_networks(corpus, attacker)]),
    ]


def _size_said(results: Results, corpus: str) -> str:
    mine = results.whole_networks(corpus)
    cell, seeds = mine[0], [len(results.whole_networks(corpus, attacker)) for attacker in ATTACKERS]
    size, s = cell.values["size"], cell.settings
    fit, select, certify = size["documents"]
    splits = len({tuple(c.values["size"]["words"]) for c in mine})  # another split has other words
    return (
        f"{CORPORA[corpus]}: {s['documents']:,} documents ({fit:,} fit, {select:,} select, {certify:,} certify), "
        f"{size['words'][0]:,} PII and {size['words'][1]:,} PoII words; {_training_said(mine)}, "
        f"{s['epochs']} epochs, batch {s['batch']}, width {s['width']}; {s['candidates']} candidates by "
        f"{s['observations']} observations; {', '.join(map(str, seeds))} seeds of noise, network and layout for "
        f"{', '.join(ATTACKERS.values())}, "
        + ("one split." if splits == 1 else "each with a split of its own; the sizes are those of the first.")
    )


def _training_said(cells: Sequence[FinishedCell]) -> str:
    """How networks were trained, where cells of an earlier run stand in for those that were not run again."""
    earlier = sum("tuning_epochs" in cell.settings for cell in cells)
    if not earlier:
        return "every network from nothing"
    return (
        f"the networks of {earlier} of the {len(cells)} cells are of an earlier run, in which one network for all "
        "scales chose AmPL's and was trained on at each, and not yet trained from nothing"
    )


def weights_blocks(results: Results) -> list[Block]:
    """AmPL under other weights of its objective, where the surfaces are there, and which is nearest to the paper."""
    loops = replayed_loops(results)
    if not loops:
        return []
    head = ("corpus", "network", "λ_1", "scales", "EM", "AmPL", "loss of EM", "loss of AmPL", "cells")
    rows: list[Sequence[Entry]] = [
        [
            CORPORA[loop.corpus], ATTACKERS[loop.attacker], f"{loop.weight:g}",
            ", ".join(f"{scale:g}" for scale in loop.scales), *(_percent(100 * ratio) for ratio in loop.ratios),
            *(f"{loss:.3f}" for loss in loop.losses),
            linked_files(results.files("table-violations", f"{loop.corpus}-{loop.attacker}-surface")),
        ]
        for loop in loops
        if loop.epsilon == 2.5
    ]  # fmt: skip
    said = (
        "Where AmPL ends is decided by λ_1 and λ_2, and where the loss outweighs the ratio it stays at EM. Replayed on "
        f"the surfaces at T = 1: {weights_compared(loops)}."
    )
    return [said, TableBlock("Other weights, ε = 2.5", head, rows)]


def _sound_table(results: Results) -> TableBlock | str:
    rows = [
        [
            CORPORA[corpus],
            f"{epsilon:g}",
            method,
            ", ".join(f"{scale:g}" for scale in row["scales"]),
            f"{row['uniform']['mean']:.2%} [{row['uniform']['lower']:.2%}, {row['uniform']['upper']:.2%}]",
            f"{row['anchored']['mean']:.2%} [{row['anchored']['lower']:.2%}, {row['anchored']['upper']:.2%}]",
            f"{row['documents']:,}",
            f"{row['top1']:.1%}",
            f"{row['gain']:.3f} ± {row['gain_error']:.3f}",
            f"{row['exact_epsilon']:.3f}",
            linked_seeds(results.files("table-violations", f"{corpus}-sound")),
        ]
        for (corpus, epsilon, method), row in results.sound_rows.items()
    ]
    head = (
        "corpus",
        "ε",
        "method",
        "scales",
        "uniform pairs",
        "pairs with the truth",
        "documents",
        "top 1",
        "gain, nats",
        "exact ε",
        "cells",
    )
    return (
        TableBlock("Sound mode: ratios with 95 % bounds, right first guesses, and the gain over own", head, rows)
        if rows
        else "Sound mode: not run."
    )


def surface_blocks(results: Results) -> list[Block]:
    """Which networks chose the scales, and how they read EM: next to those that are reported."""
    rows: list[Sequence[Entry]] = []
    for corpus in CORPORA:
        for attacker in ATTACKERS:
            found = results.values("table-violations", f"{corpus}-{attacker}-surface")
            if found is None:
                continue
            chosen, place = found["chosen_by"], (corpus, attacker, 2.5, "EM")
            rows.append(
                [
                    CORPORA[corpus], ATTACKERS[attacker], *(_percent(100 * chosen[k]) for k in ("rate", "null", "own")),
                    f"{chosen['cosine']:.3f}",
                    _percent(results.mean(place, "one", "rate"), results.spread(place, "one")),
                    linked_files(results.files("table-violations", f"{corpus}-{attacker}-surface")),
                ]
            )  # fmt: skip
    if not rows:
        return ["Networks that chose the scales: not run."]
    said = (
        "AmPL's scales are chosen on ratios of networks of the same kind, one trained from nothing for each point of a "
        "grid of budgets, read on the documents of the search. Here is how such a network reads EM at ε = 2.5, T = 1, "
        "next to those of the table, which read other documents."
    )
    head = ("corpus", "network", "ratio", "null", "own", "cosine", "ratio in the table", "cells")
    return [said, TableBlock("Networks that chose the scales", head, rows)]


def temperature_blocks(results: Results) -> list[Block]:
    """The T that two printed numbers ask for, budget by budget: EM's ratio, and the mean mPL of a matched embedding."""
    rows, gaps, table = [], [], paper_table(MISMATCH)
    for attacker, name in ATTACKERS.items():
        for epsilon in EPSILONS:
            place = ("ag_news", attacker, epsilon, "EM")
            by_ratio, mean = results.mean(place, "matched", "T"), results.mean(place, "one", "mean_mpl")
            if by_ratio is None or mean is None:
                continue
            by_mean = mean / table.cell(row="matched", attacker=name, epsilon=epsilon)["mean"]
            gaps.append(by_ratio / by_mean - 1.0)
            own = [_percent(results.mean(place, rule, "own")) for rule in ("one", "matched")]
            numbers = (f"{by_ratio / 100:.3f}", f"{by_mean / 100:.3f}", f"{gaps[-1]:+.1%}")
            files = linked_seeds([cell.file for cell in results.whole_networks("ag_news", attacker)])
            rows.append([name, f"{epsilon:g}", *numbers, *own, files])
    if not rows:
        return ["T by the printed numbers: not run."]
    said = (
        "The paper does not state T, and two of its tables ask for one: EM's ratio, and the mean mPL of an attacker "
        "with a matched embedding, which is proportional to 1/T. On our networks of AG News the two agree within "
        f"{max(map(abs, gaps)):.0%} in {len(gaps)} settings, if T may move with ε. The ratio of own, whose true value "
        "is 0, then moves with it."
    )
    head = ("network", "ε", "T by the ratio", "T by the mean", "difference", "own at T = 1", "own at T(ε)", "cells")
    return [said, TableBlock("The temperature that the printed numbers ask for", head, rows)]


def embedding_blocks(results: Results) -> list[Block]:
    """Matched and mismatched embeddings: printed mean mPL and ours, network by network."""
    rows: list[Sequence[Entry]] = []
    for attacker, name in ATTACKERS.items():
        found = results.values("embedding-mismatch", f"ag_news-{attacker}")
        for row in found["rows"] if found is not None else ():
            printed = paper_table(MISMATCH).cell(row=row["kind"], attacker=name, epsilon=row["epsilon"])
            one, fitted = row["rules"]["one"], row["rules"]["fitted"]
            rows.append(
                [
                    name, f"{row['epsilon']:g}", row["kind"], f"{printed['mean']:.4f}", f"{one['mean_mpl']:.4f}",
                    f"{fitted['mean_mpl']:.4f}", *(_percent(100 * one[k]) for k in ("rate", "null", "own")),
                    f"{row['cosine']:.3f}", linked_files(results.files("embedding-mismatch", f"ag_news-{attacker}")),
                ]
            )  # fmt: skip
    if not rows:
        return ["Matched and mismatched embeddings: not run."]
    head = ("network", "ε", "embedding", "paper", "mean mPL, T = 1", "fitted T", "ratio", "null", "own", "cosine")
    return [TableBlock("Matched and mismatched embeddings, AG News", (*head, "cells"), rows)]


NOT_ATTEMPTED = (
    ("the paper's future work", "beyond text, stronger composition of PBmPL, broader adversaries: not attempted"),
    (
        "only in commented-out text",
        "the step schedule η_0/(t+1)^γ, which ours follows; the convergence statement; the convexity example, which is "
        "among the claims above; wider ranges of ε in km^-1; tables at ε = .3 to .5",
    ),
    ("images of figures", "missing from the source: figures are compared with what the text says about them"),
    (
        "the full scale (--scale full)",
        "not run: networks with all documents and 50 epochs",
    ),
)
"""What is not on this page, and why."""


def absent_section(results: Results) -> Section:
    """What was not attempted, what stands only in commented-out text, and names that were not run."""
    missing = [name for name in REPRODUCTIONS if not results.cells[name]]
    said = f"Not run at all: {', '.join(missing)}." if missing else "Every name was run."
    rows = [[subject, what] for subject, what in NOT_ATTEMPTED]
    table = TableBlock("Left out", ("subject", "why"), rows, wraps=True, shares=(25, 75))
    return Section("absent", "What was not attempted", [said, table])


def origin_section(results: Results) -> Section:
    """Every cell with its command, seed, data and time."""
    head = ("cell", "seed", "CPU s", "data (start of SHA-256)")
    tables: list[Block] = []
    for name, cells in results.cells.items():
        if cells:
            commands = sorted({f"{cell.command} (oddshift {cell.versions['oddshift']})" for cell in cells.values()})
            tables += [TableBlock(cells_title(name), head, _origins(results, name)), f"Command: {'; '.join(commands)}"]
    every = [cell for cells in results.cells.values() for cell in cells.values()]
    by_corpus = {
        name: sum(cell.cpu_seconds for cell in every if cell.settings.get("corpus") == corpus)
        for corpus, name in CORPORA.items()
    }
    parts = ", ".join(f"{name} {seconds / 60:.1f}" for name, seconds in by_corpus.items())
    total = sum(cell.cpu_seconds for cell in every)
    said = f"{len(every)} cells, {total / 60:.0f} CPU minutes in all ({parts})."
    return Section("cells", "Every cell", [said, *_runs_said(every), *tables])


def _runs_said(every: Sequence[FinishedCell]) -> list[str]:
    """Which cells are of earlier settings, and which are not there: a run of everything computes both."""
    asked = {
        cell.file: dict(cell.settings)
        for name, found in REPRODUCTIONS.items()
        for cell in found.cells(ReproductionOptions())
    }
    other = sorted(cell.file for cell in every if dict(cell.settings) != asked.get(cell.file))
    absent = Counter(file.split("/")[0] for file in set(asked) - {cell.file for cell in every})
    missing = ", ".join(f"{many} of {name}" for name, many in sorted(absent.items()))
    parts = (
        (other, f"are of earlier settings, and are computed again by a run of everything: {', '.join(other)}"),
        (list(absent.elements()), f"were not run: {missing}"),
    )
    return [f"{len(files)} cells {says}." for files, says in parts if files]


def _origins(results: Results, name: str) -> list[Sequence[Entry]]:
    """Where each cell of a reproduction comes from; of a file in folders the first folder is enough."""
    return [
        [
            Linked(cell.key, cell.file), str(cell.seed), f"{cell.cpu_seconds:g}",
            ", ".join(f"{file.split('/')[0]} {mark[:12]}" for file, mark in cell.data.items()) or "none",
        ]
        for cell in results.cells[name].values()
    ]  # fmt: skip
