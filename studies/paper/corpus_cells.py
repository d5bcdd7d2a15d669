"""Which cells the corpora have, at both scales: documents, epochs, layouts and seeds are stated here and nowhere else.

Both have the paper's layout, and every network is trained from nothing. `full` takes every document and 50 epochs; at
`small` only losses and learning curves take every document. The page says which scale was used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from studies.paper.cell_store import Cell
from studies.paper.paper_numbers import ATTACKERS, CORPORA, EPSILONS

PIPELINE = "ner/en_core_web_sm_ner/ner/model"
GLOVE, MINILM = "glove.6B.100d.npz", "minilm.100d.npz"

SMALL_DOCUMENTS = {"ag_news": 1_500, "amazon": 1_500, "imdb": 550}
FULL_DOCUMENTS = {"ag_news": 12_599, "amazon": 5_000, "imdb": 5_000}

OBSERVATIONS = {"ag_news": 569, "amazon": 669, "imdb": 497}
"""Observations of the paper's layout: its numbers of triples are these many times all pairs of 512 candidates."""

SMALL = {"epochs": 10, "batch": 32, "width": 64, "candidates": 512}
SMALL_ON = {"imdb": {"batch": 16, "fractions": [8 / 11, 1 / 11, 2 / 11]}}
"""What differs for a corpus at the small scale. A review of IMDB holds about thirty secrets and a news item nine, so
reviews are fewer and batches smaller: 400 to fit, 50 to select and 100 to certify. Sound mode, whose bounds count
documents, has three times as many."""

FULL = {"epochs": 50, "batch": 64, "width": 64, "candidates": 512}

LOOP = {"rate": 10.0, "loss": 1.0, "first_step": 0.3}
"""λ_1, λ_2 and η_0 of the loop, which the paper does not state; `open-settings` varies them.

No verdict rests on them: claims are held against all scales (`fronts`).
"""

SOUND_METHODS = ["EM", "AmPL", "AmPL-P", "AmPL-1"]
"""Methods that sound mode reads; AmPL-U is EM."""

PAIRED_SEEDS, PAIRED = 10, {"epsilons": [2.5], "methods": ["EM", "AmPL"]}
"""Seeds in which EM and AmPL are compared in pairs, and what is run for those beyond the seeds of the table."""

Settings = dict[str, Any]


def corpus_settings(corpus: str, small: bool) -> Settings:
    """Return the settings that all cells of a corpus share."""
    documents = (SMALL_DOCUMENTS if small else FULL_DOCUMENTS)[corpus]
    rest = {**SMALL, **SMALL_ON.get(corpus, {})} if small else FULL
    return {"corpus": corpus, "documents": documents, "observations": OBSERVATIONS[corpus], **rest}


def corpus_cell(
    name: str, key: str, settings: Mapping[str, Any], *, seed: int = 0, others: tuple[str, ...] = ()
) -> Cell:
    """Return a cell of a corpus, with the files that it reads."""
    files = (f"{settings['corpus']}.csv", GLOVE, PIPELINE, *others)
    return Cell(name=name, key=key, settings=settings, seed=seed, files=files)


def violation_cells(small: bool, seeds: int) -> list[Cell]:
    """Return the surfaces, the networks seed by seed, and sound mode of each corpus."""
    found = []
    for corpus in CORPORA:
        both = corpus_settings(corpus, small)
        cells: list[tuple[str, int, Settings]] = [
            (f"{attacker}-surface", 0, {"kind": "surface", "attacker": attacker}) for attacker in ATTACKERS
        ]
        cells += [
            (f"{attacker}-{seed}", seed, {"kind": "network", "attacker": attacker, "loop": LOOP})
            for seed in range(seeds)
            for attacker in ATTACKERS
        ]
        cells += [
            (f"{attacker}-{seed}", seed, {"kind": "network", "attacker": attacker, "loop": LOOP, **PAIRED})
            for seed in range(seeds, max(seeds, PAIRED_SEEDS))
            for attacker in ATTACKERS
        ]
        more = {"documents": 3 * both["documents"]} if small and corpus in SMALL_ON else {}
        cells.append(("sound-0", 0, {"kind": "sound", "loop": LOOP, "methods": SOUND_METHODS, **more}))
        found += [
            corpus_cell("table-violations", f"{corpus}-{key}", {**both, **own}, seed=seed) for key, seed, own in cells
        ]
    return found


def _each(name: str, small: bool, own: Settings) -> list[Cell]:
    """Return one cell for each corpus."""
    return [corpus_cell(name, corpus, {**corpus_settings(corpus, small), **own}) for corpus in CORPORA]


def distribution_cells(small: bool, seeds: int) -> list[Cell]:
    """Return the cell of AG News, as in the paper's figure."""
    return [corpus_cell("mpl-distributions", "ag_news", corpus_settings("ag_news", small))]


def utility_cells(small: bool, seeds: int) -> list[Cell]:
    """Return one cell for each corpus, one for all its documents, and one that varies vocabulary and prior."""
    sizes = [2_000, 10_940]
    vocabulary = Cell(name="utility", key="vocabulary", settings={"kind": "vocabulary", "sizes": sizes}, files=(GLOVE,))
    whole = [
        corpus_cell("utility", f"{corpus}-all", {"kind": "all", "corpus": corpus, "documents": documents})
        for corpus, documents in FULL_DOCUMENTS.items()
    ]
    return [*_each("utility", small, {"kind": "corpus", "loop": LOOP}), *whole, vocabulary]


def tradeoff_cells(small: bool, seeds: int) -> list[Cell]:
    """Return what each corpus loses over the grid of budgets, by the way to release."""
    return _each("tradeoff", small, {})


def sweep_cells(small: bool, seeds: int) -> list[Cell]:
    """Return cells over ε from .5 to 5, by tenths where the paper sees a transition."""
    halves, tenths = (range(1, 11), range(20, 32))
    return _each("epsilon-sweep", small, {"epsilons": sorted({k / 2 for k in halves} | {k / 10 for k in tenths})})


def learning_cells(small: bool, seeds: int) -> list[Cell]:
    """Return cells over shares of the fit documents, of all that are there."""
    shares = [0.1, 0.25, 0.4, 0.6, 0.8, 1.0]
    cells = _each("learning-curve", small, {"shares": shares})
    return [replace(c, settings={**c.settings, "documents": FULL_DOCUMENTS[c.key]}) for c in cells]


def mismatch_cells(small: bool, seeds: int) -> list[Cell]:
    """Return cells that compare GloVe with MiniLM on AG News; the paper does not say which corpus it used."""
    shared = {**corpus_settings("ag_news", small), "epsilons": list(EPSILONS)}
    return [
        corpus_cell("embedding-mismatch", f"ag_news-{a}", {**shared, "attacker": a}, others=(MINILM,))
        for a in ATTACKERS
    ]


def open_cells(small: bool, seeds: int) -> list[Cell]:
    """Return the cell for the row of AG News under an LSTM."""
    shared = corpus_settings("ag_news", small)
    return [corpus_cell("open-settings", "ag_news", {**shared, "more_outputs": 2_000 if small else 10_000})]
