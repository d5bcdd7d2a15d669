"""Breast Cancer Wisconsin (Diagnostic): 569 single records, exact and in paper mode, with one tier or two by diagnosis.

A record is released alone, so that by the paper's own proposition nothing can exceed ε: the exact violation rate is 0,
and whatever paper mode reports comes from its temperature.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from oddshift.attackers.attacker import Knowledge, knowledge
from oddshift.attackers.paper import PAPER_SCHEDULE, fit_paper
from oddshift.attackers.reconstruction import PaperSettings
from oddshift.mechanisms.tiered import Tiered
from oddshift.mechanisms.utility import expected_loss
from oddshift.model.records import Records, Split
from oddshift.model.tiers import Tiers
from studies.paper.cell_store import Cell
from studies.paper.paper_numbers import ATTACKERS, WDBC, paper_table
from studies.paper.paper_reading import Read, exact_row, layout_size, read
from studies.published import breast_cancer

WDBC_EPSILONS = (0.1, 0.2, 0.3)
WDBC_SCALES = (0.25, 0.5, 0.75, 1.0)
"""Scales that AmPL chooses from, each the same in all tiers."""


def wdbc(cell: Cell) -> dict[str, Any]:
    """Exact ε and paper mode of EM and AmPL at the paper's three budgets, by network."""
    records, tiers = _records(str(cell.settings["tiers"]))
    split = records.split(rng=np.random.default_rng(0))
    rows = []
    for epsilon in WDBC_EPSILONS:
        for architecture in ATTACKERS:
            rows.append(_row(epsilon, architecture, split, tiers, cell))
    return {"records": len(records), "rows": rows}


def _records(layout: str) -> tuple[Records, Tiers]:
    """The records with one tier, or with two by diagnosis (malignant first)."""
    from sklearn.datasets import load_breast_cancer

    records = breast_cancer()[1].records
    labels, names = np.zeros(len(records.space), dtype=np.int64), ("all",)
    if layout == "diagnosis":
        labels[records.points] = load_breast_cancer().target
        names = ("malignant", "benign")  # type: ignore[assignment]
    return records, Tiers(labels, names=names, scales=(1.0,) * len(names), is_public=True)


def _row(epsilon: float, architecture: str, split: Split, tiers: Tiers, cell: Cell) -> dict[str, Any]:
    printed = {
        method: paper_table(WDBC).cell(row=row, attacker=ATTACKERS[architecture], epsilon=epsilon)["mean"]
        for method, row in (("EM", "EM (mDP)"), ("AmPL", "AmPL"))
    }
    found = {scale: _read(_known(epsilon, scale, split, tiers), architecture, split, cell) for scale in WDBC_SCALES}
    matched = found[1.0][0].matched(epsilon, printed["EM"] / 100)
    objective = {scale: f[0].at(epsilon, matched)["rate"] + f[2] for scale, f in found.items()}
    best = min(objective, key=lambda scale: objective[scale])
    methods = {}
    for method, scale in (("EM", 1.0), ("AmPL", best)):
        reading, exact, loss = found[scale]
        methods[method] = {
            "printed": printed[method],
            "scale": scale,
            "loss": loss,
            "exact_epsilon": exact,
            "exact": exact_row(reading, epsilon),
            "rules": reading.rules(epsilon, matched),
        }
    return {"epsilon": epsilon, "attacker": architecture, "methods": methods}


def _read(known: Knowledge, architecture: str, split: Split, cell: Cell) -> tuple[Read, float, float]:
    """Paper mode against a mechanism, the exact ε of one release, and its expected cosine loss."""
    schedule = replace(PAPER_SCHEDULE, epochs=int(cell.settings["epochs"]), seed=cell.seed)
    attacker = fit_paper(known, PaperSettings(architecture=architecture), schedule)
    reading = read(attacker, known, split.certify, split.select, layout_size(cell.settings), seed=cell.seed)
    return reading, known.mechanism.exact_epsilon, expected_loss(known.mechanism, known.weights, "cosine")


def _known(epsilon: float, scale: float, split: Split, tiers: Tiers) -> Knowledge:
    scaled = tiers.with_scales((scale,) * len(tiers))
    return knowledge(Tiered(split.fit.space, scaled, epsilon), scaled, split.fit)
