"""What every choice of budgets costs a corpus: as drawn, remapped word by word, and repaired as whole documents.

Losses are means of (1 − cos)/2 over the words of the certify documents, on one draw of the noise. The remapping is that
of the paper, f(y) = argmin of the expected loss given one output; the repair gives all outputs of a document to a law
of documents and their public words, learned from the fit part with what at least ten of them hold (docs/adapt.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from oddshift.attackers.repair import LEAST, Repair, fit_law
from oddshift.base.arrays import FloatArray, IntArray
from oddshift.mechanisms.remap import Remap
from oddshift.mechanisms.utility import constant_output
from oddshift.model.cost import Cosine, directions
from studies.paper.cell_store import Cell
from studies.paper.paper_reading import released
from studies.paper.reproduction import Place
from studies.paper.studied_corpus import studied
from studies.paper.violations import GRID, sizes

WAYS = ("drawn", "remapped", "repaired")


def loss_grid(cell: Cell, place: Place) -> dict[str, Any]:
    """The loss of each way to release, over the grid on which the ratios of the networks are known."""
    corpus = studied(cell.settings, place.data, cell.seed)
    certify, space, weights = corpus.split.certify, corpus.split.fit.space, corpus.weights
    unit, tiers = directions(space.points), certify.tier_of_position(corpus.tiers)
    law = fit_law(corpus.known((2.5, 2.5)), LEAST, "sequence")
    repair = Repair(law, ("best",) * len(corpus.tiers), Cosine())
    found = {way: np.empty((len(GRID), len(GRID))) for way in WAYS}
    for row, first in enumerate(GRID):
        for column, second in enumerate(GRID):
            known = corpus.known((first, second))
            plain = released(known, certify, [cell.seed, 2])
            release = replace(plain, position_tiers=tiers, context=certify.context)
            outputs: dict[str, IntArray] = {
                "drawn": release.outputs,
                "remapped": Remap(known.mechanism, weights, "cosine").destination[release.outputs],
                "repaired": repair(known, release, np.random.default_rng(cell.seed)),
            }
            for way, words in outputs.items():
                found[way][row, column] = _loss(unit, certify.points, words)
    constant = constant_output(space, weights, "cosine")[0]
    said = _loss(unit, certify.points, np.full(len(certify.points), constant))
    return {"grid": list(GRID), "losses": found, "constant_word": said, **sizes(corpus)}


def _loss(unit: FloatArray, secrets: IntArray, words: IntArray) -> float:
    """The mean of (1 − cos)/2 between secrets and what is released."""
    return float(np.mean(1.0 - (unit[secrets] * unit[words]).sum(axis=1)) / 2.0)
