"""Every reproduction by name: what it is about, which cells it has, and how one of them is computed.

A module that needs torch or a corpus is loaded when one of its cells is computed, so that the others run without both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from studies.paper import corpus_cells as cells
from studies.paper.cell_store import Cell
from studies.paper.non_convexity import non_convexity
from studies.paper.printed_bounds import delta_thresholds, failure_bounds
from studies.paper.propositions import PROPOSITIONS
from studies.paper.reproduction import Place, Reproduction, ReproductionOptions, Values
from studies.paper.toy_values import exact_values, learned_values


def _toy_cells(options: ReproductionOptions) -> list[Cell]:
    learned = [Cell(name="toy", key=f"learned-{seed}", seed=seed) for seed in range(options.seeds)]
    return [Cell(name="toy", key="exact"), *learned]


def _toy(cell: Cell, place: Place) -> Values:
    return exact_values() if cell.key == "exact" else learned_values(cell.seed)


def _proposition_cells(options: ReproductionOptions) -> list[Cell]:
    return [Cell(name="propositions", key=key) for key in PROPOSITIONS]


def _proposition(cell: Cell, place: Place) -> Values:
    return PROPOSITIONS[cell.key](np.random.default_rng(cell.seed))


def _one(name: str) -> Callable[[ReproductionOptions], list[Cell]]:
    return lambda options: [Cell(name=name, key=name)]


def _wdbc_cells(options: ReproductionOptions) -> list[Cell]:
    small = options.scale == "small"
    settings = {"epochs": 8 if small else 50, "candidates": 512}
    seeds = {"one": options.seeds, "diagnosis": 1 if small else options.seeds}
    return [
        Cell(name="wdbc", key=f"{tiers}-{seed}", seed=seed, settings={**settings, "observations": 569, "tiers": tiers})
        for tiers, many in seeds.items()
        for seed in range(many)
    ]


def _wdbc(cell: Cell, place: Place) -> Values:
    from studies.paper.wdbc import wdbc

    return wdbc(cell)


def _violations(cell: Cell, place: Place) -> Values:
    from studies.paper.violations import violations

    return violations(cell, place)


def _figure(name: str) -> Callable[[Cell, Place], Values]:
    """A figure of a corpus by the name of its function."""

    def compute(cell: Cell, place: Place) -> Values:
        from studies.paper import corpus_figures

        found: Values = getattr(corpus_figures, name)(cell, place)
        return found

    return compute


def _utility(cell: Cell, place: Place) -> Values:
    from studies.paper.utility_values import utility_values

    return utility_values(cell, place)


def _losses(cell: Cell, place: Place) -> Values:
    from studies.paper.loss_grid import loss_grid

    return loss_grid(cell, place)


def _mismatch(cell: Cell, place: Place) -> Values:
    from studies.paper.setting_effects import embedding_mismatch

    return embedding_mismatch(cell, place)


def _open(cell: Cell, place: Place) -> Values:
    from studies.paper.setting_effects import open_settings

    return open_settings(cell, place)


def _on_corpora(make: Callable[[bool, int], list[Cell]]) -> Callable[[ReproductionOptions], list[Cell]]:
    return lambda options: make(options.scale == "small", options.seeds)


TRAINED = ("torch", "spacy")
"""Packages of what trains networks on a corpus."""

REPRODUCTIONS: dict[str, Reproduction] = {
    "toy": Reproduction("the two-secret example: exact values, bounds, and what is learned", _toy_cells, _toy),
    "propositions": Reproduction(
        "each proposition and lemma, with its counterexample where it fails", _proposition_cells, _proposition
    ),
    "delta-thresholds": Reproduction(
        "the recommended thresholds, recomputed", _one("delta-thresholds"), lambda cell, place: delta_thresholds()
    ),
    "failure-bounds": Reproduction(
        "the printed certificates, by the paper's own proposition",
        _one("failure-bounds"),
        lambda cell, place: failure_bounds(),
    ),
    "non-convexity": Reproduction(
        "whether the utility loss is convex in the scale", _one("non-convexity"), lambda cell, place: non_convexity()
    ),
    "wdbc": Reproduction(
        "Breast Cancer Wisconsin: single records, exact and in paper mode",
        _wdbc_cells,
        _wdbc,
        ("torch", "scikit-learn"),
    ),
    "table-violations": Reproduction(
        "violation ratios: 5 methods, 3 networks, 3 budgets", _on_corpora(cells.violation_cells), _violations, TRAINED
    ),
    "mpl-distributions": Reproduction(
        "distributions of mPL on AG News", _on_corpora(cells.distribution_cells), _figure("distributions"), TRAINED
    ),
    "utility": Reproduction(
        "utility loss with and without remapping", _on_corpora(cells.utility_cells), _utility, TRAINED
    ),
    "tradeoff": Reproduction(
        "the losses of every choice of budgets",
        _on_corpora(cells.tradeoff_cells),
        _losses,
        TRAINED,
    ),
    "epsilon-sweep": Reproduction(
        "mean mPL and violation ratio over epsilon", _on_corpora(cells.sweep_cells), _figure("epsilon_sweep"), TRAINED
    ),
    "learning-curve": Reproduction(
        "the attacker by training data", _on_corpora(cells.learning_cells), _figure("learning_curve"), TRAINED
    ),
    "embedding-mismatch": Reproduction(
        "an attacker with another embedding", _on_corpora(cells.mismatch_cells), _mismatch, TRAINED
    ),
    "open-settings": Reproduction(
        "how far a row moves with what the paper leaves open", _on_corpora(cells.open_cells), _open, TRAINED
    ),
}
"""Every name of `python -m studies.paper`, in the order in which `all` runs them."""
